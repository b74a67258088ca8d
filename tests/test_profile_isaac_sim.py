"""The profile isaac-sim over real HTTP, at an endpoint of its own: configuration, prompt, citations, states, errors."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from uuid import UUID

import pytest
from pydantic import ValidationError

from rag.conversation.retrieval_context import RetrievalContext
from rag.errors import RetrievalError
from rag.profiles.profile import load_profile
from rag.profiles.schema import ModelSection, RetrievalSection
from rag.prompt.budget import estimate_tokens
from rag.types import Response
from tests.command_line import CommandLine
from tests.fakes import passage
from tests.openai_server import OPENAI_KEY, Endpoint, answer, calls_tool, openai_server, refuses
from tests.profile_wire import OWN_KEY, OWN_VARIABLE, QUESTION, Wire

REFUSAL = "I don't have information about that in the book content"
SOURCE = "[Source: Page 1](https://book.example/page-1)"
GOOD = answer("A node is ", f"a process {SOURCE[:12]}", f"{SOURCE[12:]}.")


@pytest.fixture
def wire(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wire:
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv(OWN_VARIABLE, OWN_KEY)
    return Wire("isaac-sim", endpoint, tmp_path, own_endpoint=True)


# --- the agent's configuration --------------------------------------------------------------------------------------


async def test_the_request_has_the_designs_model_and_temperature(wire: Wire) -> None:
    await wire.ask(GOOD)
    body = wire.endpoint.requests[0].body
    assert (body["model"], body["temperature"]) == ("meta-llama/llama-3.2-3b-instruct:free", 0.7)
    assert body["stream"] is True


async def test_no_tool_is_offered(wire: Wire) -> None:
    await wire.ask(GOOD)
    assert not {"tools", "tool_choice", "functions"} & wire.endpoint.requests[0].body.keys()


async def test_a_tool_call_that_nobody_offered_is_not_carried_out(wire: Wire) -> None:
    response = await wire.ask(calls_tool("nodes"))
    assert (response.content, response.tool_calls, len(wire.searcher.asked)) == (REFUSAL, [], 1)


async def test_five_passages_of_a_score_of_at_least_three_tenths_are_retrieved(wire: Wire) -> None:
    wire.searcher.passages = [passage(1, score=0.3), passage(2, score=0.29)]
    response = await wire.ask(GOOD)
    assert wire.searcher.asked[0][:3] == (QUESTION, 5, 0.3)
    assert [chunk.rank for chunk in response.retrieved_chunks] == [1]


async def test_the_five_rules_of_the_design_stand_first_in_the_prompt(wire: Wire) -> None:
    await wire.ask(GOOD)
    system = wire.sent()[0]["content"]
    assert system.startswith("You are a helpful assistant for the Isaac Sim robotics book. Your role is to answer")
    assert "2. Always cite your sources using the format: [Source: title](url)\n" in system
    assert f'3. If the context doesn\'t contain relevant information, say "{REFUSAL}"\n' in system
    assert "4. Do not answer questions outside the scope of robotics and Isaac Sim\n" in system


async def test_the_key_of_the_profiles_own_variable_goes_to_its_endpoint_and_openais_does_not(wire: Wire) -> None:
    await wire.ask(GOOD)
    (request,) = wire.endpoint.requests
    assert request.headers["authorization"] == f"Bearer {OWN_KEY}"
    assert OPENAI_KEY not in json.dumps([request.headers, request.body])


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
    assert "[1] Source: Page 1 > Nodes (https://book.example/page-1)\nA node is a process.\n" in asked
    assert "[2] Source: Page 2 > Nodes (https://book.example/page-2)\nA topic is a bus.\n" in asked
    assert asked.endswith(f"Question: {QUESTION}")


def test_the_retrieved_context_can_be_had_in_the_designs_own_format() -> None:
    context = RetrievalContext(query=QUESTION, results=[passage(1), passage(2, "A topic is a bus.")])
    assert context.format_for_prompt() == (
        "Context from book:\n\n"
        "[1] Source: Page 1 (https://book.example/page-1)\nA node is a process.\n\n"
        "[2] Source: Page 2 (https://book.example/page-2)\nA topic is a bus."
    )


async def test_the_prompt_is_system_then_history_then_context_and_question(wire: Wire) -> None:
    await wire.ask(GOOD, thread="t", question="What is Isaac?")
    await wire.ask(GOOD, thread="t")
    assert [message["role"] for message in wire.sent()] == ["system", "user", "assistant", "user"]
    assert wire.sent()[1]["content"] == "What is Isaac?"


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


# --- citations ------------------------------------------------------------------------------------------------------


async def test_a_citation_is_written_as_source_title_and_address(wire: Wire) -> None:
    response = await wire.ask(GOOD)
    assert response.content == "A node is a process [Source: Page 1](https://book.example/page-1#nodes)."


async def test_a_citation_has_title_address_score_excerpt_and_chunk(wire: Wire) -> None:
    wire.searcher.passages = [passage(1, "A node is a process. " + "It does much. " * 40)]
    (citation,) = (await wire.ask(GOOD)).citations
    assert (citation.title, citation.url) == ("Page 1", "https://book.example/page-1#nodes")
    assert (citation.score, citation.chunk_id) == (0.9, "00000000-0000-0000-0000-000000000001")
    assert citation.quote == "A node is a process."
    assert 0 < len(citation.text_preview) <= 200


async def test_a_source_that_was_not_retrieved_is_no_citation(wire: Wire) -> None:
    response = await wire.ask(answer("A node is a process [Source: Made up](https://elsewhere.example)."))
    assert response.citations == []
    assert "elsewhere" not in response.content


async def test_without_context_the_refusal_is_said_and_no_model_asked(wire: Wire) -> None:
    wire.searcher.passages = []
    response = await wire.ask()
    assert (response.status, response.content, wire.endpoint.requests) == ("fallback", REFUSAL, [])


# --- conversation and states ----------------------------------------------------------------------------------------


async def test_a_turn_goes_from_retrieving_through_generating_to_idle(wire: Wire) -> None:
    await wire.ask(GOOD)
    phases = [event.data["phase"] for event in wire.events if event.type == "phase"]
    assert phases == ["RETRIEVING", "GENERATING", "IDLE"]


async def test_any_failure_leads_through_error_back_to_idle(wire: Wire) -> None:
    await wire.ask(refuses(401))
    phases = [event.data["phase"] for event in wire.events if event.type == "phase"]
    assert phases == ["RETRIEVING", "GENERATING", "ERROR", "IDLE"]


async def test_the_tokens_of_a_turn_are_counted(wire: Wire) -> None:
    assert (await wire.ask(GOOD)).tokens_used.total == 18


async def test_conversations_and_messages_have_ids_and_times_of_their_own(wire: Wire) -> None:
    first, second = await wire.ask(GOOD), await wire.ask(GOOD)
    assert UUID(first.thread_id) != UUID(second.thread_id)
    (turn,) = await wire.stored(first.thread_id)
    assert UUID(turn["id"]) != UUID(turn["request_id"])
    assert datetime.fromisoformat(turn["created_at"]).tzinfo is not None
    assert turn["citations"][0]["title"] == "Page 1"


async def test_a_conversation_knows_when_it_began_and_the_tokens_of_all_its_turns(wire: Wire) -> None:
    first, _ = await wire.ask(GOOD, thread="t"), await wire.ask(GOOD, thread="t")
    stored = await wire.conversation("t")
    assert stored["started_at"] <= first.created_at
    assert stored["total_tokens_used"] == 2 * 18
    assert [turn["tokens_used"]["total"] for turn in stored["turns"]] == [18, 18]


async def test_after_clear_only_the_system_prompt_is_left_of_the_conversation(wire: Wire) -> None:
    await wire.ask(GOOD, thread="t")
    await wire.clear("t")
    response = await wire.ask(GOOD, thread="t")
    assert response.turn_number == 1
    assert [message["role"] for message in wire.sent()] == ["system", "user"]


def test_clear_in_the_chat_starts_the_conversation_afresh(tiny_book: Path, tmp_path: Path) -> None:
    run = CommandLine(tmp_path, tiny_book)
    (run.home / "profiles").mkdir()
    question = "How many teeth does a widget have?"
    with openai_server() as endpoint:
        endpoint.script += [answer("It has four teeth [1].")] * 3
        own = f'extends = "isaac-sim"\n[model]\nbase_url = "{endpoint.address}"\napi_key_env = "OWN_API_KEY"\n'
        (run.home / "profiles" / "isaac-sim.toml").write_text(own)
        typed = "\n".join([question, question, "clear", question, ""])
        keys = {"OWN_API_KEY": OWN_KEY, "OPENAI_API_KEY": OPENAI_KEY}
        run("chat", "--profile", "isaac-sim", stdin=typed, **keys)
    assert [len(request.body["messages"]) for request in endpoint.requests] == [2, 4, 2]
    assert {request.headers["authorization"] for request in endpoint.requests} == {f"Bearer {OWN_KEY}"}


# --- errors ---------------------------------------------------------------------------------------------------------

ERRORS = {
    "rate_limit": ("The service is busy. Please wait 7 seconds and try again.", True),
    "api_error": ("There was a problem connecting to the AI service. Please try again.", True),
    "retrieval_error": ("Could not search the book content. Please try again.", True),
    "auth_error": ("Authentication failed. Please check your API keys.", False),
    "invalid_input": ("Your question couldn't be processed. Please rephrase.", False),
    "context_overflow": ("Your conversation is too long. Type 'clear' to start fresh.", False),
}
STATUS = {"rate_limit": 429, "api_error": 500, "auth_error": 401, "context_overflow": 413}


async def provoked(wire: Wire, error_type: str) -> Response:
    if error_type == "retrieval_error":
        wire.searcher.failures = [RetrievalError("index_broken", "It broke.")]
        return await wire.ask()
    if error_type == "invalid_input":
        return await wire.ask(question=" ")
    return await wire.ask(*[refuses(STATUS[error_type], retry_after="7")] * 3)


@pytest.mark.parametrize("error_type", ERRORS)
async def test_each_error_has_its_type_its_sentence_and_says_whether_a_retry_may_help(
    error_type: str, wire: Wire
) -> None:
    response = await provoked(wire, error_type)
    assert response.error is not None
    sentence, recoverable = ERRORS[error_type]
    assert (response.error.error_type, response.error.user_message) == (error_type, sentence)
    assert (response.error.recoverable, response.content) == (recoverable, sentence)
    assert response.error.message not in ("", sentence)


async def test_only_a_rate_limit_says_how_long_to_wait_before_the_next_try(wire: Wire) -> None:
    limited = await provoked(wire, "rate_limit")
    refused = await wire.ask(refuses(401))
    assert limited.error is not None
    assert refused.error is not None
    assert (limited.error.retry_after, refused.error.retry_after) == (7, None)
