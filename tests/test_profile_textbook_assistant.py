"""The profile textbook-assistant over real HTTP: tool, request, response, retrieved context, citations, states."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from uuid import UUID

import pytest

from rag.errors import RetrievalError
from rag.types import Response
from tests.command_line import CommandLine
from tests.fakes import passage
from tests.openai_server import OPENAI_KEY, Endpoint, Reply, answer, openai_server, refuses
from tests.profile_wire import QUESTION, Wire, calls

TOOL = "search_knowledge_base"
GOOD = answer("A node is ", "a process [1", "].")


@pytest.fixture
def wire(endpoint: Endpoint, tmp_path: Path) -> Wire:
    return Wire("textbook-assistant", endpoint, tmp_path)


# --- the tool -------------------------------------------------------------------------------------------------------


async def test_the_tool_is_offered_with_a_required_query_and_nothing_else(wire: Wire) -> None:
    await wire.ask(GOOD)
    (offered,) = wire.endpoint.requests[0].body["tools"]
    assert (offered["type"], offered["function"]["name"]) == ("function", TOOL)
    assert offered["function"]["description"].startswith("Search the textbook")
    assert offered["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "The question or topic to search the textbook for"},
        },
        "required": ["query"],
    }


async def test_the_assistant_is_told_to_answer_strictly_from_the_retrieved_context(wire: Wire) -> None:
    await wire.ask(GOOD)
    assert wire.sent()[0]["content"].startswith(
        "You are a Textbook Assistant. You answer strictly from the context that was retrieved from the textbook."
    )


async def test_the_tool_answers_with_the_retrieved_context(wire: Wire) -> None:
    wire.searcher.passages = [passage(1, chunk_index=4)]
    await wire.ask(calls(TOOL, {"query": "nodes"}), GOOD)
    said = wire.tool_said()
    assert list(said) == ["query", "chunks", "total_chunks_found", "retrieval_time_ms"]
    assert (said["query"], said["total_chunks_found"]) == ("nodes", 1)
    assert said["retrieval_time_ms"] >= 0
    (chunk,) = said["chunks"]
    assert chunk.pop("number") == 1  # by which the model cites it
    assert chunk == {
        "content": "A node is a process.",
        "score": 0.9,
        "source_url": "https://book.example/page-1",
        "source_file_path": "page-1.md",
        "chunk_index": 4,
    }


async def test_a_search_that_fails_is_told_to_the_model_and_the_turn_goes_on(wire: Wire) -> None:
    wire.searcher.later_failures = [RetrievalError("index_unreachable", "It broke.")]
    response = await wire.ask(calls(TOOL, {"query": "nodes"}), GOOD)
    assert wire.tool_said() == {"query": "nodes", "error": "Could not search the book content. Please try again."}
    assert response.status == "success"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{}", "query is required"),
        ('{"query": ""}', "query must not be empty"),
        ('{"query": 7}', "query must be a text"),
        ('{"query": "q", "top_k": 3}', "There is no argument 'top_k'; there are query"),
        ("nodes, please", "The arguments are not valid JSON."),
    ],
)
async def test_a_call_against_the_schema_gets_an_error_that_the_model_can_mend(
    arguments: str, said: str, wire: Wire
) -> None:
    call = Reply(tool={"id": "call-1", "name": TOOL, "arguments": arguments}, finish="tool_calls")
    response = await wire.ask(call, GOOD)
    assert wire.tool_said()["error"] == said
    assert (response.status, len(wire.searcher.asked)) == ("success", 1)


# --- the request ----------------------------------------------------------------------------------------------------


async def test_request_and_response_have_an_id_each_and_belong_together(wire: Wire) -> None:
    response = await wire.ask(GOOD)
    assert UUID(response.id) != UUID(response.request_id)
    (turn,) = await wire.stored(response.thread_id)
    assert (turn["id"], turn["request_id"], turn["question"]) == (response.id, response.request_id, QUESTION)


async def test_each_request_has_an_id_of_its_own(wire: Wire) -> None:
    first, second = await wire.ask(GOOD), await wire.ask(GOOD)
    assert len({first.id, first.request_id, second.id, second.request_id}) == 4


async def test_the_metadata_of_a_request_comes_back_with_its_response(wire: Wire) -> None:
    response = await wire.ask(GOOD, metadata={"course": "robotics", "week": 3})
    assert response.metadata == {"course": "robotics", "week": 3}


@pytest.mark.parametrize("length", [1, 2000])
async def test_a_message_may_have_1_to_2000_characters(length: int, wire: Wire) -> None:
    assert (await wire.ask(GOOD, question="x" * length)).status == "success"


@pytest.mark.parametrize(
    ("message", "code"), [("", "empty_question"), (" \n", "empty_question"), ("x" * 2001, "question_too_long")]
)
async def test_any_other_message_is_refused_before_anything_is_searched_or_sent(
    message: str, code: str, wire: Wire
) -> None:
    response = await wire.ask(question=message)
    assert (response.status, response.error and response.error.code) == ("error", code)
    assert wire.searcher.asked == []
    assert wire.endpoint.requests == []


# --- the response ---------------------------------------------------------------------------------------------------


async def test_an_answer_from_the_book_has_the_status_success(wire: Wire) -> None:
    response = await wire.ask(GOOD)
    assert (response.status, response.plain_content) == ("success", "A node is a process [1].")
    assert datetime.fromisoformat(response.created_at).tzinfo is not None


async def test_a_question_that_the_book_does_not_answer_has_the_status_fallback(wire: Wire) -> None:
    wire.searcher.passages = []
    response = await wire.ask()
    assert (response.status, response.fallback_reason) == ("fallback", "no_passage")
    assert response.content == "I don't have information about that in the book content"
    assert wire.endpoint.requests == []


async def test_the_models_own_refusal_has_the_status_fallback(wire: Wire) -> None:
    response = await wire.ask(answer("I don't have information about that in the book content"))
    assert (response.status, response.citations) == ("fallback", [])


async def test_a_failure_has_the_status_error_and_content_all_the_same(wire: Wire) -> None:
    response = await wire.ask(refuses(401))
    assert (response.status, response.content) == ("error", "Authentication failed. Please check your API keys.")


async def test_passages_below_the_threshold_of_a_fifth_are_not_used(wire: Wire) -> None:
    wire.searcher.passages = [passage(1, score=0.19)]
    assert (await wire.ask()).status == "fallback"
    assert wire.searcher.asked[0][2] == 0.2


async def test_the_response_lists_the_tools_that_were_called(wire: Wire) -> None:
    response = await wire.ask(calls(TOOL, {"query": "nodes"}), GOOD)
    assert [one.model_dump() for one in response.tool_calls] == [{"name": TOOL, "args": {"query": "nodes"}}]


async def test_each_search_is_recorded_with_its_count_and_time(wire: Wire) -> None:
    response = await wire.ask(calls(TOOL, {"query": "nodes"}), GOOD)
    assert [(one.query, one.total_chunks_found) for one in response.retrievals] == [(QUESTION, 2), ("nodes", 2)]
    assert all(one.retrieval_time_ms >= 0 for one in response.retrievals)


# --- citations ------------------------------------------------------------------------------------------------------


async def test_a_citation_names_file_address_chapter_page_preview_and_confidence(wire: Wire) -> None:
    wire.searcher.passages = [passage(1, chapter="Chapter 2: Nodes", page_number=12)]
    (citation,) = (await wire.ask(GOOD)).citations
    UUID(citation.id)
    assert (citation.source_file_path, citation.url) == ("page-1.md", "https://book.example/page-1#nodes")
    assert (citation.chapter, citation.page_number) == ("Chapter 2: Nodes", 12)
    assert (citation.text_preview, citation.confidence_score) == ("A node is a process.", 0.9)


async def test_a_citation_without_chapter_and_page_has_none_of_them(wire: Wire) -> None:
    (citation,) = (await wire.ask(GOOD)).citations
    assert (citation.chapter, citation.page_number) == (None, None)


async def test_what_is_cited_is_listed_below_the_answer(wire: Wire) -> None:
    response = await wire.ask(GOOD)
    assert response.content == (
        "A node is a process [1].\n\n---\n**Sources:**\n- [1] Page 1 > Nodes (https://book.example/page-1#nodes)"
    )


async def test_a_marker_of_no_passage_is_no_citation(wire: Wire) -> None:
    response = await wire.ask(answer("A node is a process [1][7]."))
    assert [citation.marker for citation in response.citations] == [1]
    assert "[7]" not in response.content


# --- processing states ----------------------------------------------------------------------------------------------


def phases(wire: Wire) -> list[str]:
    return [event.data["phase"] for event in wire.events if event.type == "phase"]


def states(wire: Wire) -> list[str]:
    return [event.data["processing_state"] for event in wire.events if event.type == "phase"]


async def test_the_states_of_a_request_go_by_as_it_is_processed(wire: Wire) -> None:
    await wire.ask(GOOD)
    assert states(wire) == ["processing", "processing", "response_generated"]


async def test_a_tool_call_is_needed_and_executed_on_the_way_to_the_response(wire: Wire) -> None:
    await wire.ask(calls(TOOL, {"query": "nodes"}), GOOD)
    assert states(wire) == ["processing", "processing", "tool_call_needed", "tool_executed", "response_generated"]


async def test_a_request_that_fails_ends_as_failed(wire: Wire) -> None:
    await wire.ask(refuses(401))
    assert states(wire) == ["processing", "processing", "failed", "failed"]


async def test_a_failed_request_is_processed_again_by_retry(wire: Wire) -> None:
    await wire.ask(refuses(401), thread="t")
    wire.endpoint.script[:] = [GOOD]
    async with wire.agent() as agent:
        again = await agent.retry("t")
    assert (again.processing_state, again.turn_number) == ("response_generated", 1)


async def test_without_a_tool_call_processing_goes_straight_to_the_response(wire: Wire) -> None:
    response = await wire.ask(GOOD)
    assert phases(wire) == ["RETRIEVING", "GENERATING", "IDLE"]
    assert response.processing_state == "response_generated"


async def test_a_tool_call_is_carried_out_before_the_response_is_generated(wire: Wire) -> None:
    response = await wire.ask(calls(TOOL, {"query": "nodes"}), GOOD)
    assert phases(wire) == ["RETRIEVING", "GENERATING", "RETRIEVING", "GENERATING", "IDLE"]
    assert response.processing_state == "response_generated"


async def failed(wire: Wire, state: str) -> Response:
    if state == "received":
        return await wire.ask(question="")
    if state == "processing":
        wire.searcher.failures = [RetrievalError("index_broken", "It broke.")]
        return await wire.ask()
    return await wire.ask(*([calls(TOOL, {"query": "nodes"})] if state == "tool_executed" else []), refuses(401))


@pytest.mark.parametrize("state", ["received", "processing", "tool_call_needed", "tool_executed"])
async def test_a_critical_error_in_any_state_leads_to_failed(state: str, wire: Wire) -> None:
    response = await failed(wire, state)
    assert (response.processing_state, response.status) == ("failed", "error")


async def test_a_request_that_may_succeed_later_is_retried_without_a_word(wire: Wire) -> None:
    response = await wire.ask(refuses(503), GOOD)
    assert (response.processing_state, len(wire.endpoint.requests)) == ("response_generated", 2)


async def test_a_failed_request_can_be_asked_again(wire: Wire) -> None:
    first = await wire.ask(refuses(401), thread="t")
    second = await wire.ask(GOOD, thread="t")
    assert (first.processing_state, second.processing_state) == ("failed", "response_generated")


# --- the whole path -------------------------------------------------------------------------------------------------


def test_from_the_command_line_the_tool_searches_the_book_and_the_answer_cites_its_file(
    tiny_book: Path, tmp_path: Path
) -> None:
    run = CommandLine(tmp_path, tiny_book)
    with openai_server() as endpoint:
        endpoint.script += [calls(TOOL, {"query": "How many teeth has a widget?"}), answer("It has four teeth [1].")]
        asked = ("ask", "How many teeth does a widget have?", "--profile", "textbook-assistant", "--json")
        done = run(*asked, OPENAI_API_KEY=OPENAI_KEY, OPENAI_BASE_URL=endpoint.address)
    chunks = json.loads(endpoint.requests[1].body["messages"][-1]["content"])["chunks"]
    assert any("exactly four teeth" in chunk["content"] for chunk in chunks)
    assert {chunk["source_file_path"] for chunk in chunks} <= {"widgets.md", "gadgets.md"}
    assert (done.data["status"], done.data["citations"][0]["source_file_path"]) == ("success", "widgets.md")
