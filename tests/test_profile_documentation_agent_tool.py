"""The search tool of the documentation agent beyond what every profile promises: its whole range and its JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes import passage
from tests.openai_server import Endpoint, answer
from tests.profile_wire import Wire, calls, over_book

NAME, TOOL = "documentation-agent", "retrieve_documentation"
INSTALLATION = passage(
    1, "You need Python 3.11.", title="Chapter 2: Installation", heading="Prerequisites", breadcrumb=""
)
USAGE = passage(2, "Run the agent from a shell.", title="Chapter 3: Usage", heading="", breadcrumb="")
GOOD = answer("You need Python 3.11 ", "[1].")


@pytest.fixture
def wire(endpoint: Endpoint) -> Wire:
    return Wire(NAME, endpoint, passages=[INSTALLATION, USAGE])


@pytest.mark.parametrize(("top_k", "threshold"), [(1, 0.0), (20, 1.0)])
async def test_a_call_may_use_the_whole_range(top_k: int, threshold: float, wire: Wire) -> None:
    await wire.ask(calls(TOOL, {"query": "q", "top_k": top_k, "similarity_threshold": threshold}), GOOD)
    assert wire.searcher.asked[1][:3] == ("q", top_k, threshold)


async def test_what_the_tool_found_is_the_json_of_the_design(wire: Wire) -> None:
    await wire.ask(calls(TOOL, {"query": "python version"}), GOOD)
    said = wire.tool_said()
    assert wire.tool_text == json.dumps(said, indent=2)
    assert list(said) == ["results", "total_results", "query"]
    assert (said["total_results"], said["query"]) == (2, "python version")
    assert {name: value for name, value in said["results"][0].items() if name != "number"} == {
        "chunk_text": "You need Python 3.11.",
        "page_title": "Chapter 2: Installation",
        "section_heading": "Prerequisites",
        "source_url": "https://book.example/page-1",
        "similarity_score": 0.9,
        "rank": 1,
    }


async def test_ranks_count_from_one_and_a_missing_heading_is_null(wire: Wire) -> None:
    await wire.ask(calls(TOOL, {"query": "q"}), GOOD)
    results = wire.tool_said()["results"]
    assert [(one["rank"], one["section_heading"]) for one in results] == [(1, "Prerequisites"), (2, None)]


async def test_a_search_that_finds_nothing_answers_with_an_empty_list(endpoint: Endpoint) -> None:
    wire = Wire(NAME, endpoint, passages=[INSTALLATION], later=[[]])
    await wire.ask(calls(TOOL, {"query": "q"}), GOOD)
    assert wire.tool_said() == {"results": [], "total_results": 0, "query": "q"}


async def test_scores_of_a_real_search_are_from_zero_to_one_and_nothing_is_empty(
    endpoint: Endpoint, tiny_book: Path
) -> None:
    endpoint.script += [calls(TOOL, {"query": "gadget"}), answer("A widget has four teeth [1].")]
    async with over_book(tiny_book, NAME) as agent:
        await agent.ask("How many teeth has a widget?")
    results = json.loads(endpoint.requests[1].body["messages"][-1]["content"])["results"]
    assert results
    assert all(0 <= one["similarity_score"] <= 1 for one in results)
    assert all(one["chunk_text"] and one["page_title"] and one["source_url"] for one in results)
