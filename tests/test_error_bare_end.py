"""Whatever fails while a failure is reported, the turn ends with an error response and its question with an answer."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.errors import NodeError
from langgraph.graph import END

from graph.build import build_graph
from graph.storage import thread_config
from nodes.error import end_with_error, error_draft, never_raises, route_to_error, try_fallback
from rag.errors import AskbookError, UsageError
from rag.types import Response
from state import AgentState, InputState
from tests.fakes import FakeServices
from tests.machine import ANSWER, Machine
from tests.stage import asked

FAILURE = AskbookError("api_error", "server_error", "It answered 500.")

STRANGE: list[dict[str, Any]] = [
    {"passages": [{"number": 1, "text": "x"}]},
    {"passages": [5]},
    {"passages": 5},
    {"turn": 5},
    {"turn": {"question": "What is a node?"}},
    {"turn": {}},
    {"retrievals": [{}]},
    {"exchange": 5},
    {"tool_calls": [{}]},
    {"draft": 5, "passages": [{}]},
    {"llm_calls": "many"},
    {"turn_number": "x"},
    {"metadata": 5},
    {"response": 5},
]


@pytest.mark.parametrize("update", STRANGE)
@pytest.mark.parametrize("node", ["IDLE", "RETRIEVING", "GENERATING", "tools"])
async def test_whatever_a_client_writes_into_the_state_the_turn_ends_with_a_response(
    node: str, update: dict[str, Any]
) -> None:
    machine = Machine(*[ANSWER] * 4)
    await machine.ask("What is a node?")
    start = InputState(messages=[HumanMessage("And then?")])
    assert [one async for one in machine.graph.astream(start, thread_config("t"), interrupt_before=["RETRIEVING"])]
    await machine.graph.aupdate_state(thread_config("t"), update, as_node=node)
    assert await machine.agent.unfinished("t") == "And then?"
    events = [event async for event in machine.agent.resume("t")]
    assert events[-1].response is not None
    assert isinstance((await machine.state())["messages"][-1], AIMessage)
    assert (await machine.ask("Does it go on?")).status == "success"


async def test_passages_that_are_no_passages_end_in_an_error_that_is_stored_as_the_answer() -> None:
    machine = Machine(ANSWER)
    start = InputState(messages=[HumanMessage("What is a node?")], metadata={"client": "a"})
    assert [one async for one in machine.graph.astream(start, thread_config("t"), interrupt_before=["RETRIEVING"])]
    await machine.graph.aupdate_state(thread_config("t"), STRANGE[0], as_node="RETRIEVING")
    response = Response.model_validate((await machine.graph.ainvoke(None, thread_config("t")))["response"])
    assert response.error is not None
    assert (response.status, response.error.code, response.thread_id) == ("error", "internal", "t")
    assert (response.turn_number, response.metadata) == (1, {"client": "a"})
    assert await machine.contents() == ["What is a node?", response.content]
    assert await machine.agent.unfinished("t") is None
    assert (await machine.ask("And then?")).turn_number == 2


@pytest.mark.parametrize("method", ["invoke", "stream"])
def test_a_graph_compiled_without_a_memory_refuses_to_run_without_an_event_loop(method: str) -> None:
    machine = Machine(ANSWER)
    graph = build_graph(FakeServices(machine.model, machine.searcher)).compile()
    with pytest.raises(NotImplementedError, match="asynchronous"):
        getattr(graph, method)(InputState(messages=[HumanMessage("What is a node?")]))
    machine.model.script.clear()


def test_a_handler_that_fails_ends_the_turn_with_the_failure_of_the_node() -> None:
    def fails(_state: AgentState, _error: NodeError) -> Any:
        raise KeyError("sk-canary")

    command = never_raises(fails)(asked(), NodeError("GENERATING", FAILURE))
    assert command.goto == END
    assert isinstance(command.update, dict)
    assert command.update["response"]["error"]["code"] == "server_error"


def test_a_profile_that_vanished_during_the_turn_ends_it_with_the_failure_of_the_model() -> None:
    def gone(_profile: str | None) -> Any:
        raise UsageError("There is no profile.", code="unknown_profile")

    command = try_fallback(asked(), NodeError("GENERATING", FAILURE), parts_of=gone)
    assert isinstance(command.update, dict)
    assert command.update["response"]["error"]["code"] == "server_error"


def test_the_error_of_the_draft_is_told_rather_than_the_failure_to_report_it() -> None:
    command = route_to_error(asked(draft=error_draft(FAILURE.info())), NodeError("ERROR", RuntimeError("sk-canary")))
    assert isinstance(command.update, dict)
    assert command.update["response"]["error"]["code"] == "server_error"


def test_a_refused_question_leaves_no_trace_when_its_refusal_could_not_be_reported() -> None:
    state = asked()
    state["turn"] = {"rejected": True}  # type: ignore[typeddict-item]  # as little as there may be
    update = end_with_error(state, FAILURE)
    assert [message.id for message in update["messages"]] == ["question-1"]
    assert "turn_number" not in update


async def test_a_turn_that_ends_while_its_failure_is_reported_has_the_tokens_of_its_calls() -> None:
    draft = error_draft(FAILURE.info()) | {"tokens_used": {"input": 5, "output": 2, "total": 7}}
    update = end_with_error(AgentState(draft=draft, llm_calls=2), FAILURE)
    assert (update["response"]["llm_calls"], update["response"]["tokens_used"]["total"]) == (2, 7)
    strange: Any = {"draft": {"tokens_used": {"input": "many"}}, "llm_calls": "many"}
    response = end_with_error(strange, FAILURE)["response"]
    assert (response["llm_calls"], response["tokens_used"]["total"]) == (0, 0)
