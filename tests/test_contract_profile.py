"""What every profile promises over HTTP, each in the words and with the numbers of its own design."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from rag.books.book_settings import choose_collection
from rag.errors import RetrievalError
from rag.profiles.profile import load_profile
from rag.settings import Settings
from rag.types import Response
from tests.conftest import only_endpoint
from tests.fakes import passage
from tests.message_rules import problems
from tests.openai_server import OPENAI_KEY, Endpoint, answer, openai_server, refuses
from tests.profile_designs import DESIGNS, FAILED_SEARCHES, REFUSAL, WITH_TOOL, WRONG_CALLS, Design
from tests.profile_wire import OWN_KEY, QUESTION, Wire, calls

SAID = "A node is a process [1]."
GOOD = answer("A node is ", "a process [1", "].")
METADATA = {"course": "robotics", "week": 3}


def named(value: Any) -> str | None:
    return value.name if isinstance(value, Design) else None


@pytest.fixture(params=DESIGNS, ids=named)
def design(request: pytest.FixtureRequest) -> Design:
    chosen: Design = request.param
    return chosen


@pytest.fixture
def wire(design: Design, endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wire:
    return design.wire(endpoint, tmp_path, monkeypatch)


class Answered(NamedTuple):
    """One question that each design has answered, for the tests that only look at what was sent, shown and told."""

    design: Design
    wire: Wire
    response: Response


@pytest.fixture(scope="module", params=DESIGNS, ids=named)
def answered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Answered:
    design: Design = request.param
    with pytest.MonkeyPatch.context() as patch, openai_server() as endpoint:
        only_endpoint(endpoint, patch)
        wire = design.wire(endpoint, tmp_path_factory.mktemp("answered"), patch)
        return Answered(design, wire, asyncio.run(wire.ask(GOOD, metadata=METADATA)))


only_with_tool = pytest.mark.parametrize("design", WITH_TOOL, ids=named)


def phases(wire: Wire, field: str = "phase") -> list[str]:
    return [event.data[field] for event in wire.events if event.type == "phase"]


# --- configuration --------------------------------------------------------------------------------------------------


def test_the_request_has_the_designs_model_and_temperature(answered: Answered) -> None:
    design, wire, response = answered
    (body,) = wire.bodies
    assert (body["model"], response.model, body["temperature"]) == (design.model, design.model, design.temperature)
    assert body["stream"] is True


def test_the_length_of_an_answer_is_limited_only_where_the_design_says_so(answered: Answered) -> None:
    design, wire, _ = answered
    assert bool({"max_tokens", "max_completion_tokens"} & wire.bodies[0].keys()) == design.limits_answers


@pytest.mark.parametrize("model", ["gpt-3.5-turbo", "gpt-4o"])
async def test_openai_model_names_another_model(model: str, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_MODEL", model)
    response = await wire.ask(GOOD)
    assert wire.bodies[0]["model"] == response.model == model


def test_the_key_goes_to_its_endpoint_in_the_header_alone_and_no_other_key_does(answered: Answered) -> None:
    design, wire, _ = answered
    (request,) = wire.endpoint.requests
    assert request.headers["authorization"] == f"Bearer {design.key}"
    others = {name: value for name, value in request.headers.items() if name != "authorization"}
    for key in (OPENAI_KEY, OWN_KEY):
        assert key not in str([request.body, others])


async def test_the_passages_of_the_designs_number_and_score_are_retrieved(design: Design, wire: Wire) -> None:
    wire.searcher.passages = [passage(1, score=design.threshold), passage(2, score=design.threshold - 0.01)]
    response = await wire.ask(GOOD)
    assert wire.searcher.asked[0][:3] == (QUESTION, design.top_k, design.threshold)
    assert [chunk.rank for chunk in response.retrieved_chunks] == [1]


def test_the_instructions_say_every_rule_of_the_design(answered: Answered) -> None:
    design, wire, _ = answered
    system = wire.sent()[0]
    assert system["role"] == "system"
    assert system["content"].startswith(design.says[0])
    assert [said for said in design.says if said not in system["content"]] == []


@pytest.mark.parametrize("design", [one for one in DESIGNS if one.collection], ids=named)
async def test_the_collection_on_a_server_is_the_environments_else_the_designs(design: Design) -> None:
    profile = load_profile(design.name)
    server = Settings(qdrant_url="http://127.0.0.1:1")
    other = server.model_copy(update={"qdrant_collection_name": "mine"})
    assert [await choose_collection(one, profile, None) for one in (server, other)] == [design.collection, "mine"]


# --- messages -------------------------------------------------------------------------------------------------------


async def test_the_systems_message_is_first_and_then_user_and_assistant_alternate(wire: Wire) -> None:
    for number in range(3):
        await wire.ask(GOOD, thread="t", question=f"{QUESTION} {number}")
    assert wire.roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [problems(body["messages"]) for body in wire.bodies] == [[], [], []]


async def test_a_follow_up_is_sent_with_the_question_and_answer_before_it(wire: Wire) -> None:
    await wire.ask(GOOD, thread="t", question="What is ROS 2?")
    await wire.ask(GOOD, thread="t")
    assert [(one["role"], one["content"]) for one in wire.sent()[1:3]] == [
        ("user", "What is ROS 2?"),
        ("assistant", "A node is a process."),
    ]
    assert [past.question for past in wire.searcher.asked[1][4]] == ["What is ROS 2?"]


def test_what_was_retrieved_is_sent_before_the_question(answered: Answered) -> None:
    wire = answered.wire
    content = wire.sent()[-1]["content"]
    assert all(one.text in content and one.url in content for one in wire.searcher.passages)
    assert content.endswith(QUESTION)


async def test_a_message_may_have_1_to_2000_characters(wire: Wire) -> None:
    for length in (1, 2000):
        assert (await wire.ask(GOOD, question="x" * length)).status == "success", length


async def test_any_other_message_is_refused_before_anything_is_searched_or_sent(wire: Wire) -> None:
    for message, code in (("", "empty_question"), ("  \n", "empty_question"), ("x" * 2001, "question_too_long")):
        response = await wire.ask(question=message)
        assert response.error is not None, code
        assert (response.status, response.error.error_type, response.error.code) == ("error", "invalid_input", code)
        assert (wire.searcher.asked, wire.bodies) == ([], []), code


# --- the search tool ------------------------------------------------------------------------------------------------


def test_the_tool_is_offered_exactly_as_the_design_has_it(answered: Answered) -> None:
    design, wire, _ = answered
    (body,) = wire.bodies
    if design.function is None:
        assert not {"tools", "tool_choice", "functions"} & body.keys()
    else:
        assert body["tools"] == [{"type": "function", "function": design.function}]


@only_with_tool
async def test_only_the_assistant_calls_and_only_the_tool_answers_by_the_calls_id(design: Design, wire: Wire) -> None:
    await wire.ask(calls(design.tool, {"query": "topics"}, "call-9"), GOOD)
    assert wire.roles == ["system", "user", "assistant", "tool"]
    assert [problems(body["messages"]) for body in wire.bodies] == [[], []]
    (call,) = [message for message in wire.sent() if message.get("tool_calls")]
    assert (call["role"], call["tool_calls"][0]["id"]) == ("assistant", "call-9")
    assert call["tool_calls"][0]["function"]["name"] == design.tool
    answers = [(one["role"], one["tool_call_id"]) for one in wire.sent() if one.get("tool_call_id")]
    assert answers == [("tool", "call-9")]


@only_with_tool
async def test_a_call_without_options_searches_as_the_design_does(design: Design, wire: Wire) -> None:
    await wire.ask(calls(design.tool, {"query": "topics"}), GOOD)
    assert wire.searcher.asked[1][:3] == ("topics", design.top_k, design.threshold)


@pytest.mark.parametrize(("design", "arguments", "said"), WRONG_CALLS, ids=named)
async def test_a_call_against_the_rules_gets_the_designs_error_and_is_not_searched(
    design: Design, arguments: Any, said: Mapping[str, Any], wire: Wire
) -> None:
    response = await wire.ask(calls(design.tool, arguments), GOOD)
    assert wire.tool_said() == said
    assert (response.status, len(wire.searcher.asked)) == ("success", 1)


@pytest.mark.parametrize(("design", "code", "said"), FAILED_SEARCHES, ids=named)
async def test_a_search_that_fails_is_told_to_the_model_and_the_turn_goes_on(
    design: Design, code: str, said: Mapping[str, Any], wire: Wire
) -> None:
    wire.searcher.later_failures = [RetrievalError(code, "It broke.")]
    response = await wire.ask(calls(design.tool, {"query": "q"}), GOOD)
    assert wire.tool_said() == said
    assert response.status == "success"


@only_with_tool
async def test_the_response_lists_the_calls_and_the_searches(design: Design, wire: Wire) -> None:
    response = await wire.ask(calls(design.tool, {"query": "nodes"}), GOOD)
    assert [one.model_dump() for one in response.tool_calls] == [{"name": design.tool, "args": {"query": "nodes"}}]
    assert [(one.query, one.total_chunks_found) for one in response.retrievals] == [(QUESTION, 2), ("nodes", 2)]
    assert all(one.retrieval_time_ms >= 0 for one in response.retrievals)


# --- the answer -----------------------------------------------------------------------------------------------------


def test_a_citation_is_shown_in_the_form_of_the_design(answered: Answered) -> None:
    design, _, response = answered
    assert (response.status, response.content, response.plain_content) == ("success", design.one, SAID)


async def test_several_sources_are_shown_each_in_its_place(design: Design, wire: Wire) -> None:
    response = await wire.ask(answer(f"{SAID} A topic is a bus [2]."))
    assert response.content == design.both


async def test_a_source_that_was_not_retrieved_goes_with_its_sentence(design: Design, wire: Wire) -> None:
    response = await wire.ask(answer(design.invented))
    assert design.never not in response.content
    assert [one.marker for one in response.citations] in ([], [1])


async def test_without_a_passage_the_refusal_is_given_and_no_model_is_asked(wire: Wire) -> None:
    wire.searcher.passages = []
    response = await wire.ask()
    assert (response.status, response.fallback_reason, response.content) == ("fallback", "no_passage", REFUSAL)
    assert (response.citations, response.retrieval_count, wire.bodies) == ([], 0, [])


async def test_the_models_own_refusal_is_the_sentence_of_the_design_without_sources(wire: Wire) -> None:
    response = await wire.ask(answer(REFUSAL))
    assert (response.status, response.content, response.citations) == ("fallback", REFUSAL, [])


def test_the_tokens_and_the_time_of_a_turn_are_told(answered: Answered) -> None:
    response = answered.response
    assert response.tokens_used.total == 18
    assert datetime.fromisoformat(response.created_at).tzinfo is not None


# --- phases ---------------------------------------------------------------------------------------------------------


def test_a_turn_goes_from_retrieving_through_generating_to_idle(answered: Answered) -> None:
    _, wire, response = answered
    assert phases(wire) == ["RETRIEVING", "GENERATING", "IDLE"]
    assert phases(wire, "processing_state") == ["processing", "processing", "response_generated"]
    assert response.processing_state == "response_generated"


@only_with_tool
async def test_a_tool_call_is_carried_out_on_the_way_to_the_response(design: Design, wire: Wire) -> None:
    response = await wire.ask(calls(design.tool, {"query": "nodes"}), GOOD)
    assert phases(wire) == ["RETRIEVING", "GENERATING", "RETRIEVING", "GENERATING", "IDLE"]
    states = ["processing", "processing", "tool_call_needed", "tool_executed", "response_generated"]
    assert phases(wire, "processing_state") == states
    assert response.processing_state == "response_generated"


async def test_any_failure_leads_through_error_back_to_idle(wire: Wire) -> None:
    response = await wire.ask(refuses(401))
    assert phases(wire) == ["RETRIEVING", "GENERATING", "ERROR", "IDLE"]
    assert phases(wire, "processing_state") == ["processing", "processing", "failed", "failed"]
    assert (response.status, response.processing_state) == ("error", "failed")


# --- the conversation -----------------------------------------------------------------------------------------------


async def test_a_question_without_a_conversation_belongs_to_the_designs_or_to_a_new_one(
    design: Design, wire: Wire
) -> None:
    first, second = await wire.ask(GOOD), await wire.ask(GOOD)
    if design.thread is None:
        assert UUID(first.thread_id) != UUID(second.thread_id)
    else:
        assert (first.thread_id, second.thread_id) == (design.thread, design.thread)


async def test_request_and_response_have_ids_and_belong_together(wire: Wire) -> None:
    first, second = await wire.ask(GOOD, thread="t"), await wire.ask(GOOD, thread="u")
    assert len({UUID(one) for one in (first.id, first.request_id, second.id, second.request_id)}) == 4
    (turn,) = await wire.stored("t")
    assert (turn["id"], turn["request_id"], turn["question"]) == (first.id, first.request_id, QUESTION)
    assert datetime.fromisoformat(turn["created_at"]).tzinfo is not None
    assert turn["citations"][0]["title"] == "Page 1"


async def test_a_conversation_knows_its_turns_when_it_began_and_what_it_used(wire: Wire) -> None:
    first, _ = await wire.ask(GOOD, thread="t"), await wire.ask(GOOD, thread="t")
    stored = await wire.conversation("t")
    assert stored["turn_count"] == 2
    assert stored["started_at"] == stored["turns"][0]["asked_at"] <= first.created_at
    assert stored["total_tokens_used"] == 2 * 18
    assert [turn["tokens_used"]["total"] for turn in stored["turns"]] == [18, 18]


async def test_after_clear_only_the_systems_message_is_left_of_the_conversation(wire: Wire) -> None:
    await wire.ask(GOOD, thread="t")
    await wire.clear("t")
    response = await wire.ask(GOOD, thread="t")
    assert response.turn_number == 1
    assert wire.roles == ["system", "user"]


def test_the_metadata_of_a_request_comes_back_with_its_response(answered: Answered) -> None:
    response = answered.response
    assert response.metadata == {"course": "robotics", "week": 3}


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
    headers = {"retry_after": "7"} if error_type == "rate_limit" else {}
    return await wire.ask(*[refuses(STATUS[error_type], **headers)] * 3)


async def test_each_error_has_its_type_its_sentence_and_says_whether_a_retry_may_help(wire: Wire) -> None:
    """And only a rate limit says how long to wait before the next try."""
    for error_type, (sentence, recoverable) in ERRORS.items():
        response = await provoked(wire, error_type)
        assert response.error is not None, error_type
        assert (response.error.error_type, response.error.user_message) == (error_type, sentence)
        assert (response.error.recoverable, response.content) == (recoverable, sentence), error_type
        assert response.error.message not in ("", sentence), error_type
        assert response.error.retry_after == (7 if error_type == "rate_limit" else None), error_type
