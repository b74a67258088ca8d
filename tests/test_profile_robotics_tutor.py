"""What the design of the robotics tutor promises beyond every profile: its results, its links, its session."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from cli.greeting import greet
from cli.session import ChatSession as Session
from rag.settings import Settings
from tests.command_line import CommandLine
from tests.fakes import passage
from tests.openai_server import OPENAI_KEY, Endpoint, answer, openai_server
from tests.profile_wire import Wire, calls

TOOL = "retrieve_textbook_content"
SESSION = "robotics_chatbot"
GOOD = answer("A node is ", "a process [1", "].")


@pytest.fixture
def wire(endpoint: Endpoint, tmp_path: Path) -> Wire:
    return Wire("robotics-tutor", endpoint, tmp_path)


# --- the agent ------------------------------------------------------------------------------------------------------


async def test_the_tutor_is_shown_as_robotics_tutor(wire: Wire, capsys: pytest.CaptureFixture[str]) -> None:
    async with wire.agent() as agent:
        await greet(Session(agent, Settings.from_env(None), "robotics-tutor"))
    assert capsys.readouterr().err.startswith("Robotics Tutor · the book is ")


async def test_the_window_of_gpt_4_is_8k_tokens(wire: Wire) -> None:
    assert wire.profile.model.context_window == 8192


# --- the retrieval tool ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 10])
async def test_k_may_be_from_1_to_10(k: int, wire: Wire) -> None:
    await wire.ask(calls(TOOL, {"query": "topics", "k": k}), GOOD)
    assert wire.searcher.asked[1][1] == k
    assert wire.tool_said()["error"] is None


async def test_a_result_has_rank_score_url_title_heading_and_text(wire: Wire) -> None:
    await wire.ask(calls(TOOL, {"query": "nodes", "k": 1}), GOOD)
    said = wire.tool_said()
    assert list(said) == ["results", "error"]
    assert said["error"] is None
    (result,) = said["results"]
    assert result.pop("number") == 1  # by which the model cites it
    assert result == {
        "rank": 1,
        "score": 0.9,
        "url": "https://book.example/page-1",
        "title": "Page 1",
        "heading": "Nodes",
        "text": "A node is a process.",
    }


async def test_results_are_ranked_from_1_by_their_score(wire: Wire) -> None:
    await wire.ask(calls(TOOL, {"query": "nodes"}), GOOD)
    results = wire.tool_said()["results"]
    assert [(one["rank"], one["score"]) for one in results] == [(1, 0.9), (2, 0.8)]


async def test_finding_nothing_is_no_error(wire: Wire) -> None:
    wire.searcher.later = [[]]
    await wire.ask(calls(TOOL, {"query": "cooking"}), GOOD)
    assert wire.tool_said() == {"results": [], "error": None}


# --- citations ------------------------------------------------------------------------------------------------------


async def test_a_citation_of_a_page_without_heading_is_a_link_of_its_title(wire: Wire) -> None:
    wire.searcher.passages = [passage(1, heading="", link="https://book.example/page-1")]
    response = await wire.ask(GOOD)
    assert response.content == "A node is a process [Page 1](https://book.example/page-1)."


@pytest.mark.parametrize(
    "written", ["[Page 1](https://book.example/page-1)", "[Page 1 - Nodes](https://book.example/page-1)"]
)
async def test_a_link_that_the_model_writes_itself_is_checked_and_counts_as_citation(written: str, wire: Wire) -> None:
    response = await wire.ask(answer(f"A node is a process {written}."))
    assert [(one.title, one.heading, one.url) for one in response.citations] == [
        ("Page 1", "Nodes", "https://book.example/page-1#nodes")
    ]
    assert response.content == "A node is a process [Page 1 - Nodes](https://book.example/page-1#nodes)."


async def test_what_was_streamed_is_the_answer_with_its_links(wire: Wire) -> None:
    response = await wire.ask(GOOD)
    assert "".join(event.data["text"] for event in wire.events if event.type == "sentence") == response.content


# --- conversation turns and the session -----------------------------------------------------------------------------


async def test_a_turn_is_stored_with_everything_that_belongs_to_it(wire: Wire) -> None:
    response = await wire.ask(calls(TOOL, {"query": "What is ROS 2?", "k": 3}), GOOD, question="What is ROS 2?")
    (turn,) = await wire.stored(SESSION)
    assert (turn["turn_number"], turn["question"]) == (1, "What is ROS 2?")
    assert turn["tool_calls"] == [{"name": TOOL, "args": {"query": "What is ROS 2?", "k": 3}}]
    assert [(one["rank"], one["score"], one["url"]) for one in turn["retrieved_chunks"]] == [
        (1, 0.9, "https://book.example/page-1"),
        (2, 0.8, "https://book.example/page-2"),
    ]
    assert turn["content"] == response.content
    assert datetime.fromisoformat(turn["created_at"]).tzinfo is not None


async def test_a_turn_without_a_tool_call_has_an_empty_list_of_them(wire: Wire) -> None:
    await wire.ask(GOOD)
    assert (await wire.stored(SESSION))[0]["tool_calls"] == []


async def test_the_session_goes_on_after_a_restart(wire: Wire) -> None:
    await wire.ask(GOOD, question="What is ROS 2?")
    second = await wire.ask(GOOD, question="How do I install it?")
    assert (second.thread_id, second.turn_number) == (SESSION, 2)
    assert [(one["role"], one["content"]) for one in wire.sent()[1:3]] == [
        ("user", "What is ROS 2?"),
        ("assistant", "A node is a process."),
    ]


async def test_turns_are_numbered_without_a_limit(wire: Wire) -> None:
    assert [(await wire.ask(GOOD)).turn_number for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    assert wire.profile.limits.max_turns is None


async def test_the_session_is_kept_in_a_sqlite_file(wire: Wire) -> None:
    await wire.ask(GOOD)
    assert wire.home is not None
    with closing(sqlite3.connect(wire.home / "memory.sqlite")) as database:
        assert database.execute("select distinct thread_id from checkpoints").fetchall() == [(SESSION,)]


async def test_a_stored_turn_is_not_changed_by_the_next(wire: Wire) -> None:
    await wire.ask(GOOD)
    before = await wire.stored(SESSION)
    await wire.ask(answer("A topic is a bus [2]."))
    assert (await wire.stored(SESSION))[:1] == before


def test_the_command_line_goes_on_with_the_session_in_another_process(tiny_book: Path, tmp_path: Path) -> None:
    run = CommandLine(tmp_path, tiny_book)
    asked = ("ask", "How many teeth does a widget have?", "--profile", "robotics-tutor", "--json")
    with openai_server() as endpoint:
        endpoint.script += [answer("It has four teeth [1]."), answer("It has four teeth [1].")]
        wired = {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": endpoint.address}
        done = [run(*asked, **wired).data, run.process(*asked, **wired).data]
    assert [(one["thread_id"], one["turn_number"]) for one in done] == [(SESSION, 1), (SESSION, 2)]
    assert done[0]["content"].startswith("It has four teeth [Widgets](")
    assert endpoint.requests[1].body["messages"][2]["content"] == "It has four teeth."
