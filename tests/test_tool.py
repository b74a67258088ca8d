"""The search that the model may ask for: how it is offered, what it may ask, what it reads."""

from __future__ import annotations

from typing import Any

import pytest

from rag.profiles import ToolSection
from rag.prompt_format import parse_passages
from rag.tool import SearchArguments, read_arguments, tool_result, tool_schema
from tests.fakes import passage


def test_the_tool_is_offered_as_the_profile_describes_it() -> None:
    function = tool_schema(ToolSection(name="look_up", description="Looks up.", query_description="What for."))[
        "function"
    ]
    assert (function["name"], function["description"]) == ("look_up", "Looks up.")
    assert function["parameters"]["properties"]["query"]["description"] == "What for."
    assert function["parameters"]["required"] == ["query"]


def test_the_model_may_set_query_and_count_and_nothing_else() -> None:
    assert set(tool_schema(ToolSection())["function"]["parameters"]["properties"]) == set(SearchArguments.model_fields)


def test_arguments_are_read() -> None:
    assert read_arguments({"query": "nodes", "top_k": 3}) == SearchArguments(query="nodes", top_k=3)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, "query: Field required"),
        ({"query": ""}, "query: "),
        ({"query": "x" * 2001}, "query: "),
        ({"query": 7}, "query: "),
        ({"query": "q", "top_k": 0}, "top_k: "),
        ({"query": "q", "top_k": 21}, "top_k: "),
        ({"query": "q", "filter": "https://"}, "filter: "),
        (None, "the arguments: "),
        ("query", "the arguments: "),
        ([], "the arguments: "),
    ],
)
def test_wrong_arguments_are_answered_with_what_is_wrong(args: Any, said: str) -> None:
    answer = read_arguments(args)
    assert isinstance(answer, str)
    assert answer.startswith(said)
    assert "\n" not in answer


def test_a_result_is_the_new_passages_fenced_as_data() -> None:
    found, _ = parse_passages(tool_result([passage(3), passage(4)], []))
    assert [one.number for one in found] == [3, 4]


def test_a_passage_that_was_given_is_only_named() -> None:
    result = tool_result([passage(3)], [passage(1), passage(2)])
    assert result.startswith("Already given: [1], [2].\n")
    assert [one.number for one in parse_passages(result)[0]] == [3]


def test_a_search_without_anything_new_says_so() -> None:
    assert tool_result([], []) == "No further passages found."
