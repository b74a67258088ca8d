"""What the model reads of a search that it asked for, in each profile's own form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag.errors import AskbookError, RetrievalError
from rag.profiles.schema import ToolSection
from rag.prompt.tool import failed_answer, refused_answer, tool_answer
from tests.fakes import passage, retrieval
from tests.prompt_reader import parse_passages
from tests.stage import tool_of

TOOL = ToolSection()
SEARCH = retrieval("nodes", total_chunks_found=9, retrieval_time_ms=12.5)
EMBEDDING = RetrievalError("embedding_failed", "The question could not be embedded (X).")
INDEX = RetrievalError("index_unreachable", "The Qdrant server q does not answer.")
OTHER = AskbookError("api_error", "timeout", "Too late.")


def test_a_result_is_the_new_passages_fenced_as_data() -> None:
    found, _ = parse_passages(tool_answer(TOOL, [passage(3), passage(4)], 2, SEARCH))
    assert [one.number for one in found] == [3, 4]


def test_a_passage_that_was_given_is_only_named() -> None:
    result = tool_answer(TOOL, [passage(1), passage(3), passage(2)], 2, SEARCH)
    assert result.startswith("Already given: [1], [2].\n")
    assert [one.number for one in parse_passages(result)[0]] == [3]


def test_a_search_without_anything_new_says_so() -> None:
    assert tool_answer(TOOL, [], 0, SEARCH) == "No relevant content found in the book."


def test_the_documentation_agent_answers_with_indented_json() -> None:
    answer = tool_answer(tool_of("documentation-agent"), [passage(6, heading="")], 5, SEARCH)
    expected = {
        "results": [
            {
                "chunk_text": "A node is a process.",
                "page_title": "Page 6",
                "section_heading": None,
                "source_url": "https://book.example/page-6",
                "similarity_score": 0.4,
                "rank": 1,
                "number": 6,
            }
        ],
        "total_results": 1,
        "query": "nodes",
    }
    assert answer == json.dumps(expected, indent=2)


def test_the_tutor_answers_with_results_and_no_error() -> None:
    answer = json.loads(tool_answer(tool_of("robotics-tutor"), [passage(1)], 0, SEARCH))
    assert list(answer["results"][0]) == ["rank", "score", "url", "title", "heading", "text", "number"]
    assert (list(answer), answer["error"]) == (["results", "error"], None)


def test_nothing_found_is_no_error() -> None:
    assert json.loads(tool_answer(tool_of("robotics-tutor"), [], 0, SEARCH)) == {"results": [], "error": None}


def test_the_textbook_assistant_answers_with_the_retrieved_context() -> None:
    answer = json.loads(tool_answer(tool_of("textbook-assistant"), [passage(1)], 0, SEARCH))
    assert list(answer) == ["query", "chunks", "total_chunks_found", "retrieval_time_ms"]
    assert (answer["retrieval_time_ms"], answer["total_chunks_found"]) == (12.5, SEARCH.total_chunks_found)
    assert answer["chunks"][0] == {
        "content": "A node is a process.",
        "score": 0.9,
        "source_url": "https://book.example/page-1",
        "source_file_path": "page-1.md",
        "chunk_index": 0,
        "number": 1,
    }


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (EMBEDDING, "Embedding generation failed"),
        (INDEX, "Textbook search unavailable"),
        (RetrievalError("no_index", "There is no book."), "Textbook search unavailable"),
        (OTHER, "Retrieval failed: Too late."),
    ],
)
def test_the_tutor_tells_failures_of_embedding_and_of_search_apart(failure: AskbookError, said: str) -> None:
    assert json.loads(failed_answer(tool_of("robotics-tutor"), "q", failure)) == {"results": [], "error": said}


def test_the_documentation_agent_echoes_the_query_with_the_error() -> None:
    answer = json.loads(failed_answer(tool_of("documentation-agent"), "nodes", INDEX))
    assert answer == {"error": "The Qdrant server q does not answer.", "query": "nodes"}


def test_without_a_form_of_its_own_a_failure_is_the_sentence_of_its_type() -> None:
    assert failed_answer(TOOL, "q", INDEX) == "Could not search the book content. Please try again."


@pytest.mark.parametrize(
    ("profile", "answer"),
    [
        ("documentation-agent", {"error": "k is wrong", "query": "nodes"}),
        ("book-agent", {"error": "k is wrong", "query": "nodes"}),
        ("textbook-assistant", {"query": "nodes", "error": "k is wrong"}),
        ("robotics-tutor", {"results": [], "error": "Retrieval failed: k is wrong"}),
    ],
)
def test_a_call_that_is_wrong_gets_the_profiles_error_answer(profile: str, answer: Any) -> None:
    assert json.loads(refused_answer(tool_of(profile), {"query": "nodes"}, "k is wrong")) == answer


@pytest.mark.parametrize("args", [None, "text", {}, {"query": 7}])
def test_a_call_without_a_query_echoes_an_empty_one(args: Any) -> None:
    assert json.loads(refused_answer(tool_of("documentation-agent"), args, "wrong"))["query"] == ""
