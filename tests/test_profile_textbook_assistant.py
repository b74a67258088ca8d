"""What the design of the textbook assistant promises beyond every profile: context, citations, failures."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest

from rag.errors import RetrievalError
from rag.types import Response
from tests.command_line import CommandLine
from tests.fakes import passage
from tests.openai_server import OPENAI_KEY, Endpoint, answer, openai_server, refuses
from tests.profile_wire import Wire, calls

TOOL = "search_knowledge_base"
GOOD = answer("A node is ", "a process [1", "].")


@pytest.fixture
def wire(endpoint: Endpoint, tmp_path: Path) -> Wire:
    return Wire("textbook-assistant", endpoint, tmp_path)


# --- the tool -------------------------------------------------------------------------------------------------------


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


# --- the response ---------------------------------------------------------------------------------------------------


async def test_a_failure_has_the_status_error_and_content_all_the_same(wire: Wire) -> None:
    response = await wire.ask(refuses(401))
    assert (response.status, response.content) == ("error", "Authentication failed. Please check your API keys.")


async def test_passages_below_the_threshold_of_a_fifth_are_not_used(wire: Wire) -> None:
    wire.searcher.passages = [passage(1, score=0.19)]
    assert (await wire.ask()).status == "fallback"
    assert wire.searcher.asked[0][2] == 0.2


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


# --- processing states ----------------------------------------------------------------------------------------------


async def test_a_failed_request_is_processed_again_by_retry(wire: Wire) -> None:
    await wire.ask(refuses(401), thread="t")
    wire.endpoint.script[:] = [GOOD]
    async with wire.agent() as agent:
        again = await agent.retry("t")
    assert (again.processing_state, again.turn_number) == ("response_generated", 1)


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
