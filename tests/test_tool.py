"""The search that the model may ask for: how it is offered and what it may ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag.errors import UsageError
from rag.profiles.profile import load_profile
from rag.profiles.schema import ToolSection
from rag.prompt.tool import SearchArguments, read_arguments, tool_schema
from tests.stage import tool_of

TOOL = ToolSection()


def test_the_tool_is_offered_as_the_profile_describes_it() -> None:
    function = tool_schema(ToolSection(name="look_up", description="Looks up."))["function"]
    assert (function["name"], function["description"]) == ("look_up", "Looks up.")
    assert function["parameters"]["properties"]["query"] == {
        "type": "string",
        "description": "What to search for.",
    }
    assert function["parameters"]["required"] == ["query"]


def test_bounds_are_part_of_the_offer_unless_the_profile_keeps_them_to_itself() -> None:
    offered = tool_schema(TOOL)["function"]["parameters"]["properties"]["top_k"]
    assert (offered["minimum"], offered["maximum"]) == (1, 20)
    assert "minimum" not in tool_schema(tool_of("robotics-tutor"))["function"]["parameters"]["properties"]["k"]


def test_the_book_agent_offers_the_documentation_agents_tool() -> None:
    assert tool_of("book-agent") == tool_of("documentation-agent")


def test_isaac_sim_has_no_tool() -> None:
    assert load_profile("isaac-sim").tool is None


def test_the_textbook_assistants_tool_takes_a_query_alone() -> None:
    function = tool_schema(tool_of("textbook-assistant"))["function"]
    assert function["name"] == "search_knowledge_base"
    assert list(function["parameters"]["properties"]) == function["parameters"]["required"] == ["query"]


def test_the_tutors_tool_takes_a_query_and_k() -> None:
    function = tool_schema(tool_of("robotics-tutor"))["function"]
    assert function["name"] == "retrieve_textbook_content"
    assert function["description"] == "Retrieve relevant content from Physical AI & Humanoid Robotics textbook."
    assert function["parameters"]["properties"] == {
        "query": {"type": "string", "description": "User's question or search query"},
        "k": {"type": "integer", "description": "Number of top results (default: 3)", "default": 3},
    }
    assert function["parameters"]["required"] == ["query"]


def test_arguments_are_read_into_what_they_set() -> None:
    assert read_arguments(TOOL, {"query": "nodes", "top_k": 3}) == SearchArguments("nodes", 3)
    assert read_arguments(tool_of("robotics-tutor"), {"query": "nodes", "k": 10}) == SearchArguments("nodes", 10)
    args = {"query": " nodes ", "similarity_threshold": 0.5, "top_k": None}
    assert read_arguments(tool_of("documentation-agent"), args) == SearchArguments("nodes", None, 0.5)


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert read_arguments(TOOL, {"query": "nodes", "top_k": 3.0}) == SearchArguments("nodes", 3)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, "query is required"),
        ({"query": ""}, "query must not be empty"),
        ({"query": " \n"}, "query must not be empty"),
        ({"query": "x" * 2001}, "query must have at most 2000 characters"),
        ({"query": 7}, "query must be a text"),
        ({"query": "q", "top_k": 0}, "top_k must be a whole number from 1 to 20"),
        ({"query": "q", "top_k": 21}, "top_k must be a whole number from 1 to 20"),
        ({"query": "q", "top_k": 2.5}, "top_k must be a whole number from 1 to 20"),
        ({"query": "q", "top_k": float("nan")}, "top_k must be a whole number from 1 to 20"),
        ({"query": "q", "top_k": float("inf")}, "top_k must be a whole number from 1 to 20"),
        ({"query": "q", "top_k": True}, "top_k must be a whole number from 1 to 20"),
        ({"query": "q", "top_k": "5"}, "top_k must be a whole number from 1 to 20"),
        ({"query": "q", "filter": "https://"}, "There is no argument 'filter'; there are query, top_k"),
        (None, "The arguments must be a JSON object"),
        ("query", "The arguments must be a JSON object"),
        ([], "The arguments must be a JSON object"),
    ],
)
def test_wrong_arguments_are_answered_with_what_is_wrong(args: Any, said: str) -> None:
    assert read_arguments(TOOL, args) == said


@pytest.mark.parametrize(
    ("profile", "args", "said"),
    [
        ("robotics-tutor", {"query": "q", "k": 11}, "k must be a whole number from 1 to 10"),
        (
            "documentation-agent",
            {"query": "q", "similarity_threshold": 1.1},
            "similarity_threshold must be a number from 0 to 1",
        ),
        ("textbook-assistant", {"query": "q", "top_k": 3}, "There is no argument 'top_k'; there are query"),
    ],
)
def test_the_bounds_are_the_profiles(profile: str, args: Any, said: str) -> None:
    assert read_arguments(tool_of(profile), args) == said


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        ('sets = "top_k"\ntype = "string"', 'must have the type "integer"'),
        ('sets = "top_k"\ntype = "integer"\nmaximum = 30', "its bounds must be from 1 to 20"),
        ('sets = "top_k"\ntype = "integer"\nmaximum = 5\ndefault = 6', "its default must be from 1 to 5"),
        ('sets = "query"\ntype = "string"', "two arguments set the same option"),
        ('sets = "filter"\ntype = "string"', "sets: 'filter' is not allowed"),
    ],
)
def test_a_profile_cannot_offer_what_the_search_cannot_do(parameter: str, said: str, tmp_path: Path) -> None:
    query = 'sets = "query"\ntype = "string"\nrequired = true\ndescription = "d"\n'
    text = f'description = "d"\ninstructions = "i"\n[tool.parameters.q]\n{query}'
    text += f'[tool.parameters.other]\ndescription = "d"\n{parameter}\n'
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_profile("mine", [tmp_path])
    assert said in caught.value.message
