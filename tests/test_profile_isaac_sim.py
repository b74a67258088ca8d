"""What the design of isaac-sim promises beyond every profile: its own endpoint, its context, its budget."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from rag.conversation.retrieval_context import RetrievalContext
from rag.profiles.profile import load_profile
from rag.profiles.schema import ModelSection, RetrievalSection
from rag.prompt.prompts import estimate_tokens
from tests.command_line import CommandLine
from tests.fakes import passage
from tests.openai_server import OPENAI_KEY, Endpoint, answer, calls_tool, openai_server
from tests.profile_wire import OWN_KEY, OWN_VARIABLE, QUESTION, Wire

SOURCE = "[Source: Page 1](https://book.example/page-1)"
GOOD = answer("A node is ", f"a process {SOURCE[:12]}", f"{SOURCE[12:]}.")


@pytest.fixture
def wire(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wire:
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv(OWN_VARIABLE, OWN_KEY)
    return Wire("isaac-sim", endpoint, tmp_path, own_endpoint=True)


# --- the agent's configuration --------------------------------------------------------------------------------------


async def test_a_tool_call_that_nobody_offered_is_not_carried_out(wire: Wire) -> None:
    response = await wire.ask(calls_tool("nodes"), GOOD)
    assert (response.status, response.tool_calls, len(wire.searcher.asked)) == ("success", [], 1)


def test_the_profile_names_openrouter_with_the_variable_of_its_key() -> None:
    model = load_profile("isaac-sim").model
    assert (model.base_url, model.api_key_env) == ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY")
    assert (model.max_tokens, model.context_window) == (2048, 8192)


@pytest.mark.parametrize("temperature", [-0.1, 1.1])
def test_a_temperature_must_be_from_0_to_1(temperature: float) -> None:
    with pytest.raises(ValidationError):
        ModelSection(temperature=temperature)


@pytest.mark.parametrize("most", [0, 8192])
def test_the_longest_answer_must_be_positive_and_less_than_the_window(most: int) -> None:
    with pytest.raises(ValidationError):
        ModelSection(max_tokens=most, context_window=8192)


@pytest.mark.parametrize("values", [{"top_k": 0}, {"top_k": 21}, {"score_threshold": -0.1}, {"score_threshold": 1.1}])
def test_k_must_be_from_1_to_20_and_the_threshold_from_0_to_1(values: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        RetrievalSection.model_validate(values)


# --- the context in the prompt --------------------------------------------------------------------------------------


async def test_passages_stand_before_the_question_with_number_source_and_address(wire: Wire) -> None:
    await wire.ask(GOOD)
    asked = wire.sent()[-1]["content"]
    assert asked.startswith("Context from book:\n\n")
    assert "[1] Source: Page 1 > Nodes (https://book.example/page-1#nodes)\nA node is a process.\n" in asked
    assert "[2] Source: Page 2 > Nodes (https://book.example/page-2#nodes)\nA topic is a bus.\n" in asked
    assert asked.endswith(f"Question: {QUESTION}")


def test_the_retrieved_context_can_be_had_in_the_designs_own_format() -> None:
    context = RetrievalContext(query=QUESTION, results=[passage(1), passage(2, "A topic is a bus.")])
    assert context.format_for_prompt() == (
        "Context from book:\n\n"
        "[1] Source: Page 1 (https://book.example/page-1)\nA node is a process.\n\n"
        "[2] Source: Page 2 (https://book.example/page-2)\nA topic is a bus."
    )


async def test_beyond_the_budget_of_the_context_the_lowest_scores_are_left_out(wire: Wire) -> None:
    wire.searcher.passages = [passage(number, "word " * 900) for number in range(1, 6)]
    response = await wire.ask(GOOD)
    assert [chunk.rank for chunk in response.retrieved_chunks] == [1, 2]
    assert wire.sent()[-1]["content"].count("] Source: ") == 2
    assert estimate_tokens(wire.sent()[-1]["content"]) <= 4000


async def test_beyond_the_budget_of_the_history_the_oldest_turns_are_left_out(wire: Wire) -> None:
    for number in range(4):
        await wire.ask(answer("A node is a process [1]. " * 80), thread="t", question=f"{number} " + "why " * 400)
    await wire.ask(GOOD, thread="t")
    questions = [one["content"][:1] for one in wire.sent()[1:-1] if one["role"] == "user"]
    assert questions == ["2", "3"]
    assert sum(estimate_tokens(one["content"]) for one in wire.sent()[1:-1]) <= 2500


async def test_question_and_answer_share_twelve_hundred_tokens(wire: Wire) -> None:
    await wire.ask(GOOD)
    body = wire.endpoint.requests[0].body
    most = body.get("max_completion_tokens") or body["max_tokens"]
    assert most == 1200 - estimate_tokens(QUESTION)


def test_the_parts_of_the_window_are_those_of_the_design_and_fill_it(wire: Wire) -> None:
    budget = wire.profile.budget
    assert budget is not None
    assert (budget.system, budget.history, budget.exchange, budget.total()) == (500, 2500, 1200, 8192)
    assert budget.context == 3992  # the design's 4,000 would be eight more than the window has


@pytest.mark.parametrize("command", ["ask", "doctor"])
def test_instructions_beyond_their_budget_are_refused_before_a_model_is_called(
    command: str, tiny_book: Path, tmp_path: Path
) -> None:
    run = CommandLine(tmp_path, tiny_book)
    (run.home / "profiles").mkdir()
    long = "Be concise. " * 1500
    (run.home / "profiles" / "long.toml").write_text(f'extends = "isaac-sim"\ninstructions = "{long}"\n')
    given = ["A question?"] if command == "ask" else []
    done = run(command, *given, "--profile", "long", OPENROUTER_API_KEY=OWN_KEY)
    assert done.code == (2 if command == "ask" else 1)
    assert "The system prompt of the profile long has about 6," in done.out + done.err
    assert "budget.system allows 500." in done.out + done.err


# --- citations ------------------------------------------------------------------------------------------------------


async def test_a_source_that_the_model_writes_itself_is_a_citation_in_the_same_form(wire: Wire) -> None:
    response = await wire.ask(GOOD)
    assert response.content == "A node is a process [Source: Page 1](https://book.example/page-1#nodes)."


async def test_a_citation_has_title_address_score_excerpt_and_chunk(wire: Wire) -> None:
    wire.searcher.passages = [passage(1, "A node is a process. " + "It does much. " * 40)]
    (citation,) = (await wire.ask(GOOD)).citations
    assert (citation.title, citation.url) == ("Page 1", "https://book.example/page-1#nodes")
    assert (citation.score, citation.chunk_id) == (0.9, "00000000-0000-0000-0000-000000000001")
    assert citation.quote == "A node is a process."
    assert 0 < len(citation.text_preview) <= 200


# --- conversation and states ----------------------------------------------------------------------------------------


def test_clear_in_the_chat_starts_the_conversation_afresh(tiny_book: Path, tmp_path: Path) -> None:
    run = CommandLine(tmp_path, tiny_book)
    (run.home / "profiles").mkdir()
    question = "How many teeth does a widget have?"
    with openai_server() as endpoint:
        endpoint.script += [answer("It has four teeth [1].")] * 3
        own = f'extends = "isaac-sim"\n[model]\nbase_url = "{endpoint.address}"\napi_key_env = "OWN_API_KEY"\n'
        (run.home / "profiles" / "isaac-sim.toml").write_text(own)
        run("trust", str(run.home / "profiles" / "isaac-sim.toml"))
        typed = "\n".join([question, question, "clear", question, ""])
        keys = {"OWN_API_KEY": OWN_KEY, "OPENAI_API_KEY": OPENAI_KEY}
        run("chat", "--profile", "isaac-sim", stdin=typed, **keys)
    assert [len(request.body["messages"]) for request in endpoint.requests] == [2, 4, 2]
    assert {request.headers["authorization"] for request in endpoint.requests} == {f"Bearer {OWN_KEY}"}
