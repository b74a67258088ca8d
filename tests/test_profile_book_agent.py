"""What the design of the book agent promises beyond every profile: environment, sources, limits, storage."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rag.conversation.retrieval_context import RetrievalContext
from rag.errors import UsageError
from rag.profiles.profile import load_profile
from rag.settings import Settings
from state import Context
from tests.fakes import passage
from tests.homes import copied
from tests.openai_server import Endpoint, answer
from tests.profile_wire import QUESTION, Wire, calls, over_book

NAME, TOOL = "book-agent", "retrieve_documentation"
NODES, TOPICS = passage(1, score=0.876), passage(2, "A topic is a bus.", score=0.5)
GOOD = answer("A node is ", "a process [1].")
FOOTER = "\n\n---\n**Sources:**\n"


@pytest.fixture
def wire(endpoint: Endpoint) -> Wire:
    return Wire(NAME, endpoint, passages=[NODES, TOPICS], thread="t")


@pytest.fixture
def home(tiny_book: Path, tmp_path: Path) -> Path:
    """A home with the tiny book, for conversations that are stored."""
    return copied(tiny_book, tmp_path / "home")


# --- configuration --------------------------------------------------------------------------------------------------


async def test_the_environment_sets_model_chunks_and_threshold(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"OPENAI_MODEL": "gpt-4o", "AGENT_TOP_K": "3", "AGENT_SCORE_THRESHOLD": "0.4"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    wire = Wire(NAME, endpoint)
    await wire.ask(GOOD)
    assert wire.bodies[0]["model"] == "gpt-4o"
    assert wire.searcher.asked[0][1:3] == (3, 0.4)


async def test_the_environment_sets_how_many_turns_there_are(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_MAX_TURNS", "1")
    wire = Wire(NAME, endpoint, thread="t")
    await wire.ask(GOOD)
    beyond = await wire.ask(GOOD)
    assert beyond.error is not None
    assert beyond.error.message == "This conversation has reached its limit of 1 turn."


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AGENT_TOP_K", "0"),
        ("AGENT_TOP_K", "many"),
        ("AGENT_SCORE_THRESHOLD", "1.5"),
        ("AGENT_MAX_TURNS", "0"),
    ],
)
def test_a_variable_that_is_out_of_range_is_refused_by_its_name(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match=variable):
        Settings.from_env(None)


def test_a_key_for_this_profile_needs_no_form() -> None:
    form = load_profile(NAME).model.openai_key
    assert (form.prefix, form.min_length) == ("", 1)


# --- retrieved content ----------------------------------------------------------------------------------------------


CONTEXT = RetrievalContext(query=QUESTION, results=[NODES, TOPICS])
NOTHING = RetrievalContext(query=QUESTION, results=[])


def test_retrieved_content_is_formatted_for_the_agent_with_source_score_and_content() -> None:
    assert CONTEXT.format_for_agent() == (
        "[1] Source: https://book.example/page-1\n    Score: 0.88\n    Content: A node is a process.\n\n"
        "[2] Source: https://book.example/page-2\n    Score: 0.50\n    Content: A topic is a bus.\n"
    )


def test_nothing_retrieved_is_a_sentence_for_the_agent_and_no_footer() -> None:
    assert NOTHING.format_for_agent() == "No relevant content found in the book."
    assert NOTHING.format_sources_footer() == ""


def test_the_footer_of_all_that_was_retrieved_numbers_addresses_with_their_scores() -> None:
    assert CONTEXT.format_sources_footer() == (
        f"{FOOTER}[1] https://book.example/page-1#nodes (score: 0.88)\n"
        "[2] https://book.example/page-2#nodes (score: 0.50)"
    )


async def test_a_filter_keeps_the_search_to_pages_whose_address_begins_so(endpoint: Endpoint, home: Path) -> None:
    endpoint.script += [answer("Every widget has exactly four teeth [1].")] * 2
    async with over_book(home, NAME) as agent:
        everything = await agent.ask("How many teeth has a widget?")
        urls = {one.url for one in everything.retrieved_chunks}
        prefix = next(url for url in urls if "widgets" in url)
        kept = await agent.ask("How many teeth has a widget?", context=Context(filter=prefix))
    assert (len(urls), everything.retrievals[0].filter_applied) == (2, None)
    assert ({one.url for one in kept.retrieved_chunks}, kept.retrievals[0].filter_applied) == ({prefix}, prefix)


async def test_a_retrieval_is_recorded_with_its_query_and_time(endpoint: Endpoint, home: Path) -> None:
    endpoint.script.append(answer("Every widget has exactly four teeth [1]."))
    async with over_book(home, NAME) as agent:
        (record,) = (await agent.ask("How many teeth has a widget?")).retrievals
    assert (record.tool_name, record.query) == (TOOL, "How many teeth has a widget?")
    assert datetime.fromisoformat(record.timestamp).tzinfo is not None


# --- the response ---------------------------------------------------------------------------------------------------


async def test_an_answer_ends_with_its_numbered_sources_and_their_scores(wire: Wire) -> None:
    response = await wire.ask(answer("A node is a process [1]. A topic is a bus [2]."))
    assert response.content == (
        f"A node is a process [1]. A topic is a bus [2].{FOOTER}"
        "[1] https://book.example/page-1#nodes (score: 0.88)\n[2] https://book.example/page-2#nodes (score: 0.50)"
    )


async def test_sources_are_the_chunks_that_were_cited_and_no_others(wire: Wire) -> None:
    response = await wire.ask(answer("A topic is a bus [2]."))
    assert response.content == f"A topic is a bus [1].{FOOTER}[1] https://book.example/page-2#nodes (score: 0.50)"
    assert [(one.marker, one.score) for one in response.citations] == [(1, 0.5)]


async def test_an_answer_that_cites_nothing_has_no_sources_and_no_footer(wire: Wire) -> None:
    response = await wire.ask(answer("Cows fly."), context=Context(grounding="off"))
    assert (response.content, response.citations) == ("Cows fly.", [])


async def test_a_response_names_its_model_its_chunks_and_its_time(wire: Wire) -> None:
    response = await wire.ask(GOOD)
    assert (response.model, response.retrieval_count) == ("gpt-4o-mini", 2)
    assert datetime.fromisoformat(response.created_at).tzinfo is not None


async def test_tokens_used_count_every_call_of_a_turn(wire: Wire) -> None:
    searching = calls(TOOL, {"query": "topics"}, usage={"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7})
    assert (await wire.ask(searching, GOOD)).tokens_used.total == 25


async def test_a_model_that_says_nothing_is_a_failure_and_never_an_empty_answer(wire: Wire) -> None:
    response = await wire.ask(answer(""), answer(""), answer(""))
    assert response.error is not None
    assert response.error.code == "empty_answer"
    assert response.content


# --- the conversation -----------------------------------------------------------------------------------------------


async def test_fifty_turns_are_answered_and_beyond_a_hundred_messages_a_notice_is_given(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[Any] = [await wire.ask(GOOD) for _ in range(50)]
    assert [turn.status for turn in turns] == ["success"] * 50
    told = [[notice for notice in turn.notices if "messages" in notice] for turn in turns]
    assert told[:49] == [[]] * 49  # the system's message and 49 turns of two are 99
    assert told[49][0].startswith("This conversation has 101 messages, more than the 100")
    beyond = await wire.ask(GOOD)
    assert beyond.error is not None
    assert beyond.error.message == "This conversation has reached its limit of 50 turns."
    assert len(wire.bodies) == 50
    monkeypatch.setenv("AGENT_MAX_TURNS", "60")
    later: Any = await wire.ask(GOOD)
    assert later.status == "success"
    assert "messages" in later.notices[0]


async def test_a_conversation_is_kept_with_its_id_model_and_times(endpoint: Endpoint, home: Path) -> None:
    endpoint.script.append(answer("Every widget has exactly four teeth [1]."))
    async with over_book(home, NAME) as agent:
        await agent.ask("How many teeth has a widget?", thread_id="t")
    async with over_book(home, NAME) as agent:
        stored = await agent.conversation("t")
    (turn,) = stored["turns"]
    assert (stored["thread_id"], turn["question"], turn["model"]) == (
        "t",
        "How many teeth has a widget?",
        "gpt-4o-mini",
    )
    times = [stored["started_at"], turn["asked_at"], turn["created_at"], stored["updated_at"]]
    assert times == sorted(times, key=datetime.fromisoformat)
    assert stored["model"] == "gpt-4o-mini"
