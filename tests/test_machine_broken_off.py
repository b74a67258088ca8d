"""Runs that are broken off, and failures that cannot be reported: the thread goes on all the same."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime

from graph import build
from graph.storage import thread_config
from graph.turn_run import response_of
from nodes.turn import Update
from rag.errors import USER_MESSAGES
from state import AgentState, Context, InputState
from tests.fakes import final
from tests.machine import ANSWER, Machine
from tests.stage import limited


class _Hanging:
    """A search that never comes back. `reached` is set when it is asked."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()

    async def retrieve(self, *_: Any, **__: Any) -> Any:
        self.reached.set()
        await asyncio.Event().wait()


async def broken_off(machine: Machine, question: str) -> None:
    """Ask, and cancel the run while it searches."""
    hanging, usual = _Hanging(), machine.services.searcher
    machine.services.searcher = hanging  # type: ignore[assignment]  # a search that hangs
    run = asyncio.ensure_future(machine.ask(question))
    await hanging.reached.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    machine.services.searcher = usual


async def test_a_cancelled_run_leaves_the_thread_usable() -> None:
    machine = Machine(ANSWER)
    await broken_off(machine, "What is a wreck?")
    response = await machine.ask("What is a node?")
    assert (response.status, response.turn_number) == ("success", 1)
    assert "wreck" not in machine.prompt()
    assert await machine.is_at_rest()


async def test_turns_that_were_never_answered_have_no_number_and_use_up_no_limit() -> None:
    machine = Machine(ANSWER, ANSWER, profile=limited(max_turns=3))
    await machine.ask("What is a node?")
    for _ in range(3):
        await broken_off(machine, "What is a wreck?")
    assert (await machine.ask("")).turn_number == 2
    response = await machine.ask("And then?")
    assert (response.status, response.turn_number) == ("success", 2)
    assert "1 turn left" in response.notices[0]


async def test_a_conversation_whose_broken_turns_were_once_counted_goes_on() -> None:
    machine = Machine(ANSWER, ANSWER, profile=limited(max_turns=3))
    await machine.ask("What is a node?")
    await machine.graph.aupdate_state(thread_config("t"), {"turn_number": 3}, as_node="IDLE")
    assert (await machine.ask("And then?")).turn_number == 2


async def test_the_question_of_a_cancelled_run_is_kept() -> None:
    machine = Machine(ANSWER)
    await broken_off(machine, "What is a wreck?")
    assert await machine.contents() == ["What is a wreck?"]


async def test_a_cancelled_run_can_go_on_where_it_was() -> None:
    machine = Machine(ANSWER)
    await broken_off(machine, "What is a node?")
    values = await machine.graph.ainvoke(None, thread_config("t"))
    assert values["response"]["status"] == "success"


async def test_an_invalid_question_after_a_cancelled_run_leaves_no_trace() -> None:
    machine = Machine()
    await broken_off(machine, "What is a wreck?")
    response = await machine.ask("")
    assert response.error is not None
    assert response.error.code == "empty_question"
    assert await machine.contents() == ["What is a wreck?"]


async def test_an_invalid_question_after_a_run_cancelled_in_error_is_told_all_the_same() -> None:
    machine = Machine(final())
    await machine.ask("What is a wreck?")
    history = [one async for one in machine.graph.aget_state_history(thread_config("t"))]
    in_error = next(one for one in history if one.next == ("ERROR",))
    values = {**in_error.values, "messages": []}
    await machine.graph.aupdate_state(thread_config("u"), values, as_node="GENERATING")
    response = await machine.ask("", thread="u")
    assert response.error is not None
    assert response.error.code == "empty_question"


async def test_a_second_failure_while_reporting_ends_the_run_and_leaves_the_thread_usable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine(final(), ANSWER)

    def fails(*_: Any) -> None:
        raise RuntimeError("the report failed")

    with monkeypatch.context() as patch:
        patch.setattr("nodes.idle.Response.model_validate", fails)
        values = await machine.graph.ainvoke(
            InputState(messages=[HumanMessage("What is a wreck?")]), thread_config("t")
        )
    assert values["response"]["error"]["code"] == "wrong_key"
    assert values["messages"][-1].text == values["response"]["content"] == USER_MESSAGES["auth_error"]
    assert (await machine.ask("What is a node?")).status == "success"


async def test_a_failure_of_the_error_node_ends_the_run_and_leaves_the_thread_usable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def error(_state: AgentState, _runtime: Runtime[Context]) -> Update:
        raise RuntimeError("the report failed")

    monkeypatch.setattr(build, "error", error)
    machine = Machine(final(), ANSWER)
    values = await machine.graph.ainvoke(InputState(messages=[HumanMessage("What is it?")]), thread_config("t"))
    assert values["response"]["error"]["code"] == "wrong_key"
    assert values["phase"] == "IDLE"
    assert await machine.contents() == ["What is it?", USER_MESSAGES["auth_error"]]
    assert (await machine.ask("What is a node?")).status == "success"


class _Observer(AsyncCallbackHandler):
    """An observer of runs that gives way to other tasks, as one that writes to a file does."""

    async def on_chain_start(self, *_: Any, **__: Any) -> None:
        await asyncio.sleep(0)


@pytest.mark.parametrize("waits", range(20))
@pytest.mark.parametrize("left_at", ["GENERATING", "sentence", "IDLE"])
async def test_a_run_left_at_any_moment_of_its_answer_can_go_on(left_at: str, waits: int) -> None:
    machine = Machine(ANSWER, ANSWER)
    config = thread_config("t") | {"callbacks": [_Observer()]}
    asked = InputState(messages=[HumanMessage("What is a node?")])
    run = machine.agent.graph.astream(asked, config, stream_mode="custom")
    async with aclosing(run) as events:  # type: ignore[type-var]  # a generator, typed as an iterator
        async for event in events:
            if left_at in (event["type"], event.get("phase")):
                break
        for _ in range(waits):
            await asyncio.sleep(0)
    assert await machine.agent.unfinished("t") == "What is a node?"
    assert (await response_of(machine.agent.resume("t"))).status == "success"
    told = await machine.agent.conversation("t")
    assert [turn["plain_content"] for turn in told["turns"]] == [ANSWER]
    assert await machine.is_at_rest()
