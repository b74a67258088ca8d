"""What the design of the documentation agent promises beyond every profile: keys, chapters, its twenty questions."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from cli.commands import COMMANDS
from cli.prompt import input_history
from cli.session import ChatSession as Session
from rag.errors import UsageError
from rag.index.collection_schema import fields_of
from rag.model.endpoint import build_model
from rag.profiles.profile import FOLDER, load_profile
from rag.settings import Settings
from tests.command_line import CommandLine
from tests.fakes import FakeEmbedder, passage
from tests.message_rules import problems
from tests.openai_server import OPENAI_KEY, Endpoint, answer
from tests.profile_wire import Wire, calls, over_book

NAME, TOOL = "documentation-agent", "retrieve_documentation"
INSTALLATION = passage(
    1, "You need Python 3.11.", title="Chapter 2: Installation", heading="Prerequisites", breadcrumb=""
)
USAGE = passage(2, "Run the agent from a shell.", title="Chapter 3: Usage", heading="", breadcrumb="")
GOOD = answer("You need Python 3.11 ", "[1].")


@pytest.fixture
def wire(endpoint: Endpoint) -> Wire:
    return Wire(NAME, endpoint, passages=[INSTALLATION, USAGE], thread="t")


# --- agent configuration --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", ["-0.1", "1.1"])
def test_a_temperature_outside_zero_to_one_is_refused(temperature: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(f'extends = "{NAME}"\n[model]\ntemperature = {temperature}\n')
    with pytest.raises(UsageError, match="it must be from 0 to 1"):
        load_profile("own", [tmp_path, FOLDER])


def test_an_empty_system_prompt_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(f'extends = "{NAME}"\ninstructions = " "\n')
    with pytest.raises(UsageError, match=r"instructions: '.*' is not allowed; it must not be empty"):
        load_profile("own", [tmp_path, FOLDER])


@pytest.mark.parametrize("key", ["pk-" + 40 * "x", "sk-" + 36 * "x"])
def test_a_key_for_openai_that_is_short_or_begins_otherwise_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(UsageError, match='must start with "sk-" and have at least 40 characters') as caught:
        build_model(load_profile(NAME), _openai(key), FakeEmbedder())
    assert key not in f"{caught.value} {caught.value.hint}"


def test_a_key_of_forty_characters_that_begins_with_sk_is_accepted() -> None:
    assert build_model(load_profile(NAME), _openai("sk-" + 37 * "x"), FakeEmbedder()).quoter is None


async def test_the_key_of_another_endpoint_may_have_any_form(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "local")
    await Wire(NAME, endpoint).ask(answer("A node is a process [1]."))
    assert endpoint.requests[0].headers["authorization"] == "Bearer local"


def test_key_address_and_model_may_stand_in_the_env_file(endpoint: Endpoint, tiny_book: Path, tmp_path: Path) -> None:
    lines = [f"OPENAI_API_KEY={OPENAI_KEY}", f"OPENAI_BASE_URL={endpoint.address}", "OPENAI_MODEL=gpt-4-turbo"]
    (tmp_path / ".env").write_text("\n".join([*lines, "QDRANT_COLLECTION_NAME=book"]))
    endpoint.script.append(answer("Every widget has exactly four teeth [1]."))
    asking = ("ask", "How many teeth has a widget?", "--profile", NAME, "--json")
    run = CommandLine(tmp_path, tiny_book)
    run("trust", ".env")
    done = run(*asking)
    assert (done.code, done.data["model"], done.data["content"]) == (
        0,
        "gpt-4-turbo",
        "Every widget has exactly four teeth (from Widgets).",
    )
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {OPENAI_KEY}"


# --- the answer -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "marker", ["[1]", "(from Chapter 2: Installation)", "(from Chapter 2: Installation, Prerequisites)"]
)
async def test_a_source_is_named_by_its_page_and_section_inside_the_sentence(marker: str, wire: Wire) -> None:
    response = await wire.ask(answer("You need Python 3.11 ", marker, "."))
    assert response.content == "You need Python 3.11 (from Chapter 2: Installation, Prerequisites)."
    assert [(one.title, one.heading) for one in response.citations] == [("Chapter 2: Installation", "Prerequisites")]


async def test_what_only_the_models_search_found_can_be_cited(endpoint: Endpoint) -> None:
    wire = Wire(NAME, endpoint, passages=[INSTALLATION], later=[[USAGE]])
    response = await wire.ask(calls(TOOL, {"query": "shell"}), answer("Run it from a shell (from Chapter 3: Usage)."))
    assert response.content == "Run it from a shell (from Chapter 3: Usage)."
    assert [one.title for one in response.citations] == ["Chapter 3: Usage"]


async def test_a_page_whose_heading_is_its_title_is_named_once(endpoint: Endpoint) -> None:
    page = passage(1, "You need Python 3.11.", title="Setup", heading="Setup")
    response = await Wire(NAME, endpoint, passages=[page]).ask(GOOD)
    assert response.content == "You need Python 3.11 (from Setup)."


# --- the collection -------------------------------------------------------------------------------------------------


def test_a_collection_with_the_fields_of_the_design_is_read() -> None:
    payload = {
        "chunk_text": "You need Python 3.11.",
        "page_title": "Chapter 2: Installation",
        "section_heading": "Prerequisites",
        "source_url": "https://book.example/chapter-02",
        "breadcrumb": "Guide > Installation",
        "chunk_index": 4,
    }
    chunk = fields_of(load_profile(NAME).book).chunk(1, payload)
    assert (chunk.text, chunk.title, chunk.heading) == tuple(list(payload.values())[:3])
    assert (chunk.url, chunk.breadcrumb, chunk.chunk_index) == tuple(list(payload.values())[3:])


def test_a_collection_in_the_layout_of_langchain_is_read_as_before() -> None:
    about = {"title": "Installation", "source": "https://book.example/2", "chunk_index": 1}
    chunk = fields_of(load_profile(NAME).book).chunk(1, {"page_content": "Text.", "metadata": about})
    assert (chunk.text, chunk.title, chunk.url, chunk.chunk_index) == ("Text.", *about.values())


# --- the conversation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "files"), [(NAME, []), ("default", ["history"])])
def test_questions_are_written_into_the_history_file_only_if_conversations_are_kept(
    name: str, files: list[str], tmp_path: Path
) -> None:
    history = input_history(tmp_path, persistent=load_profile(name).memory.persistent)
    history.append_string("What is my diagnosis?")
    assert [path.name for path in tmp_path.iterdir()] == files
    assert list(history.get_strings()) == ["What is my diagnosis?"]


async def test_every_request_begins_with_the_system_and_keeps_the_order_of_roles(wire: Wire) -> None:
    await wire.ask(calls(TOOL, {"query": "q"}), GOOD)
    assert wire.roles == ["system", "user", "assistant", "tool"]
    await wire.ask(GOOD, question="Tell me more")
    assert wire.roles == ["system", "user", "assistant", "user"]
    assert [problems(body["messages"]) for body in wire.bodies] == [[], [], []]


async def test_twenty_questions_are_answered_and_the_next_is_not_sent(wire: Wire) -> None:
    turns = [await wire.ask(GOOD) for _ in range(20)]
    assert [(turn.turn_number, turn.status) for turn in turns] == [(n, "success") for n in range(1, 21)]
    beyond = await wire.ask(GOOD)
    assert beyond.error is not None
    assert beyond.error.message == "This conversation has reached its limit of 20 turns."
    assert len(wire.bodies) == 20


async def test_the_history_of_retrieval_logs_every_call_with_count_mean_score_and_time(
    endpoint: Endpoint, tiny_book: Path
) -> None:
    endpoint.script += [calls(TOOL, {"query": "gadget paint", "top_k": 1}), answer("A widget has four teeth [1].")]
    async with over_book(tiny_book, NAME) as agent:
        await agent.ask("How many teeth has a widget?", thread_id="t")
        log = (await agent.conversation("t"))["retrieval_history"]
    assert [(one["tool_name"], one["query"]) for one in log] == [
        (TOOL, "How many teeth has a widget?"),
        (TOOL, "gadget paint"),
    ]
    assert log[1]["results_count"] == 1
    assert all(0 < one["avg_similarity"] <= 1 and datetime.fromisoformat(one["timestamp"]) for one in log)


async def test_a_conversation_ends_with_the_process_and_nothing_of_it_is_stored(
    endpoint: Endpoint, tiny_book: Path
) -> None:
    before = _memories(tiny_book)
    endpoint.script.append(answer("A widget has four teeth [1]."))
    async with over_book(tiny_book, NAME) as agent:
        await agent.ask("How many teeth has a widget?", thread_id="t")
        assert await agent.threads() == ["t"]
    async with over_book(tiny_book, NAME) as agent:
        assert await agent.threads() == []
    assert _memories(tiny_book) == before


def _openai(key: str) -> Settings:
    """Settings for OpenAI's own endpoint, which is not called."""
    return Settings(openai_api_key=SecretStr(key))


def _memories(home: Path) -> list[bytes]:
    return [file.read_bytes() for file in sorted(home.rglob("memory*"))]


async def test_a_chat_that_is_stored_says_so_when_it_changes_to_this_profile(
    endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Wire("default", endpoint).agent() as agent:
        session = Session(agent, Settings.from_env(None), "default")
        await COMMANDS["profile"].run(session, NAME)
        await COMMANDS["profile"].run(session, "default")
    said = f"This chat is still stored. Start with --profile {NAME} for one that is not.\n"
    assert capsys.readouterr().err == said
