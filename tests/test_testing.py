"""What the page "Test a node" is about; `test_package.py` runs its tests, and `test_types.py` checks their types."""

from __future__ import annotations

import ast

import pytest

from askbook.testing import MemoryIndex, ScriptedModel, ScriptedServices, passage, tool_call
from graph.build import build_graph
from tests.manual import DOCS, examples

QUESTION = "How many teeth does a widget have?"


def test_the_page_has_three_tests_of_at_most_ten_lines() -> None:
    tests = [
        node
        for block in examples(DOCS / "testing.md")
        for node in ast.parse(block).body
        if isinstance(node, ast.AsyncFunctionDef)
    ]
    assert len(tests) == 3
    assert all((one.end_lineno or 0) - one.lineno < 10 for one in tests)


async def test_a_whole_turn_runs_over_the_services() -> None:
    model = ScriptedModel([tool_call("gadgets")], "A widget has four teeth [1].")
    index = MemoryIndex("A widget has four teeth.", "A gadget is blue.")
    result = await build_graph(ScriptedServices(model, index)).compile().ainvoke({"messages": [("user", QUESTION)]})
    assert result["response"]["status"] == "success"
    assert index.asked == [QUESTION, "gadgets"]
    assert [call["name"] for call in result["response"]["tool_calls"]] == ["search_book"]
    model.assert_complete()


def test_a_script_that_is_not_used_up_is_found() -> None:
    with pytest.raises(AssertionError, match="1 replies"):
        ScriptedModel("never asked for").assert_complete()


async def test_the_index_in_memory_scores_by_words_and_filters() -> None:
    index = MemoryIndex(passage("Bananas are yellow."), passage("Widgets have teeth.", 2, score=0.1))
    found = await index.retrieve("Which teeth do widgets have?", k=5, threshold=0.5)
    assert [(one.number, one.text) for one in found.passages] == [(1, "Widgets have teeth.")]
    assert (await index.retrieve("Which teeth?", k=5, threshold=1.1)).passages == []
