"""What the page "Test a node" is about; `test_package.py` runs its tests, and `test_types.py` checks their types."""

from __future__ import annotations

import ast

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from askbook.testing import MemoryIndex, Recorder, ScriptedModel, ScriptedServices, node, open_state, passage, tool_call
from graph.build import build_graph
from rag.errors import UsageError
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


async def test_a_doubtful_sentence_is_put_to_the_judge_as_in_a_turn() -> None:
    model, recorder = (
        ScriptedModel("The device probably chews with its widgets in four places [1].", "yes", "yes"),
        Recorder(),
    )
    update = await node("GENERATING", model, recorder=recorder)(open_state(QUESTION, "A widget has four teeth."))
    assert {"type": "checking", "sentences": 1} in recorder.events
    assert "chews with its widgets" in model.prompts[1][-1].text
    assert update["llm_calls"] == len(model.prompts) == 3
    model.assert_complete()


def test_a_script_that_is_not_used_up_is_found() -> None:
    with pytest.raises(AssertionError, match="1 replies"):
        ScriptedModel("never asked for").assert_complete()


async def test_a_model_without_further_answers_says_so_in_a_node_and_in_a_turn() -> None:
    with pytest.raises(AssertionError, match="no more answers"):
        await node("GENERATING", ScriptedModel())(open_state(QUESTION, "A widget has four teeth."))
    services = ScriptedServices(ScriptedModel(), MemoryIndex("A widget has four teeth."))
    result = await build_graph(services).compile().ainvoke({"messages": [("user", QUESTION)]})
    assert "no more answers" in result["response"]["error"]["message"]


async def test_every_node_of_the_graph_can_be_called() -> None:
    names = [name for name in build_graph(ScriptedServices()).nodes if not name.startswith("__")]
    for name in names:
        node(name)
    with pytest.raises(UsageError, match='no node "retrieve"') as caught:
        node("retrieve")
    assert all(name in caught.value.hint for name in names)


async def test_the_nodes_error_and_rewrite_give_their_updates() -> None:
    failed = await node("ERROR")({"messages": [HumanMessage("")]})
    assert failed["turn"]["rejected"]
    assert (await node("ERROR")(open_state(QUESTION))) == {"exchange": []}
    earlier = [HumanMessage("What is a widget?"), AIMessage("A part with teeth."), HumanMessage("How many?")]
    model = ScriptedModel("How many teeth does a widget have?")
    update = await node("rewrite", model)(open_state("How many?", messages=earlier))
    assert update["turn"]["rewrite"] == "How many teeth does a widget have?"


async def test_the_node_tools_gives_the_model_a_passage_that_it_has_not_seen() -> None:
    state = open_state(QUESTION, "A widget has four teeth.")
    asked = await node("GENERATING", ScriptedModel([tool_call("gadget")]))(state)
    state["exchange"] = asked["exchange"]
    update = await node("tools", index=MemoryIndex("A gadget is blue."))(state)
    assert [found["text"] for found in update["passages"]] == ["A widget has four teeth.", "A gadget is blue."]


async def test_the_index_in_memory_scores_by_words_and_filters() -> None:
    index = MemoryIndex(passage("Bananas are yellow."), passage("Widgets have teeth.", 2, score=0.1))
    found = await index.retrieve("Which teeth do widgets have?", k=5, threshold=0.5)
    assert [(one.number, one.text) for one in found.passages] == [(1, "Widgets have teeth.")]
    assert (await index.retrieve("Which teeth?", k=5, threshold=1.1)).passages == []
