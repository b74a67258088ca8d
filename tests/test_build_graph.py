"""The graph as programs get it: what they do with a conversation waits for its turn, or is told that it cannot be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from graph.agent import Agent
from graph.build import with_thread_lock
from graph.memory import Memory, MemoryOptions, open_memory
from graph.storage import thread_config
from nodes.archive import BLOCK, WINDOW
from rag.errors import MemoryFailureError, UsageError
from state import AgentState, Context, InputState
from tests.machine import ANSWER, Machine

HASTY = 0.02  # seconds that a test waits in vain


def question(text: str = "What is a node?") -> InputState:
    return InputState(messages=[HumanMessage(text)])


@pytest.fixture(params=["sqlite", "postgres"])
async def two(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Memory, Memory]]:
    """Two memories over one database, as two processes have them."""
    url = request.getfixturevalue("emptied_url") if request.param == "postgres" else None
    options = MemoryOptions(url)
    async with open_memory(tmp_path, options=options) as one, open_memory(tmp_path, options=options) as other:
        yield one, other


@pytest.fixture
async def hasty(tmp_path: Path) -> AsyncIterator[tuple[Memory, Agent]]:
    """A memory, and an agent of another over the same file that waits for nobody."""
    options = MemoryOptions(wait_seconds=HASTY)
    async with open_memory(tmp_path) as one, open_memory(tmp_path, options=options) as other:
        await Machine(ANSWER, memory=one).agent.ask("What is a node?", thread_id="t")
        yield one, Machine(ANSWER, memory=other).agent


async def test_runs_of_two_processes_on_one_conversation_follow_each_other(two: tuple[Memory, Memory]) -> None:
    machines = [Machine(*[ANSWER] * 3, memory=one) for one in two]
    asked = [(machine, f"{name}{n}?") for n in range(3) for name, machine in zip("ab", machines, strict=True)]
    runs = (machine.agent.graph.ainvoke(question(text), thread_config("t")) for machine, text in asked)
    states = await asyncio.gather(*runs)
    assert sorted(state["turn_number"] for state in states) == list(range(1, 7))
    turns = (await machines[0].agent.conversation("t"))["turns"]
    assert sorted(turn["question"] for turn in turns) == sorted(text for _, text in asked)
    assert all(turn["status"] == "success" for turn in turns)


async def ainvoke(graph: Any) -> None:
    await graph.ainvoke(question(), thread_config("t"))


async def astream(graph: Any) -> None:
    assert [step async for step in graph.astream(question(), thread_config("t"))]


async def astream_events(graph: Any) -> None:
    assert [one async for one in graph.astream_events(question(), thread_config("t"), version="v2")]


async def aupdate_state(graph: Any) -> None:
    await graph.aupdate_state(thread_config("t"), {"turn_number": 9}, as_node="IDLE")


async def configured(graph: Any) -> None:
    await graph.with_config(thread_config("t")).ainvoke(question())


@pytest.mark.parametrize("use", [ainvoke, astream, astream_events, aupdate_state, configured])
async def test_whoever_uses_the_graph_during_a_turn_is_told_so_and_changes_nothing(
    hasty: tuple[Memory, Agent], use: Callable[[Any], Any]
) -> None:
    memory, agent = hasty
    before = await agent.graph.aget_state(thread_config("t"))
    async with memory.turn("t"):
        with pytest.raises(MemoryFailureError) as caught:
            await use(agent.graph)
    assert caught.value.code == "thread_busy"
    assert await agent.graph.aget_state(thread_config("t")) == before
    await use(agent.graph)


async def test_a_turn_of_the_agent_is_told_of_a_run_of_the_graph(hasty: tuple[Memory, Agent]) -> None:
    memory, agent = hasty
    other = Machine(ANSWER, memory=memory)
    running = other.agent.graph.astream(question("Another?"), thread_config("t"))
    await anext(running)
    response = await agent.ask("What is a node?", thread_id="t")
    assert response.error is not None
    assert response.error.code == "thread_busy"
    assert [step async for step in running]
    assert (await agent.ask("What is a node?", thread_id="t")).turn_number == 3


@pytest.mark.parametrize("method", ["invoke", "stream", "update_state"])
def test_without_an_event_loop_the_graph_does_nothing(method: str) -> None:
    machine = Machine(ANSWER)
    with pytest.raises(NotImplementedError, match="asynchronous"):
        getattr(machine.agent.graph, method)(thread_config("t"), {})
    assert not asyncio.run(machine.agent.threads())


async def test_within_another_graph_it_uses_that_ones_conversation_and_takes_no_lock() -> None:
    machine = Machine(ANSWER)
    hasty = Memory(machine.memory.database, HASTY)
    outer = StateGraph(AgentState)
    outer.add_node("book", with_thread_lock(machine.graph, hasty.turn))
    outer.add_edge(START, "book")
    outer.add_edge("book", END)
    graph: Any = outer.compile(checkpointer=Machine().memory.database.saver)
    async with hasty.turn("t"):
        values = await graph.ainvoke(question(), thread_config("t"))
    assert values["messages"][-1].text.startswith("A node is a process")


@pytest.mark.parametrize("saver", [None, InMemorySaver()])
@pytest.mark.parametrize("called", [False, True])
async def test_within_another_graph_it_runs_with_and_without_that_ones_checkpointer(
    saver: InMemorySaver | None, called: bool
) -> None:
    machine = Machine(ANSWER)

    async def book(state: AgentState) -> Any:
        return await machine.agent.graph.ainvoke(InputState(messages=state["messages"]))

    outer = StateGraph(AgentState)
    outer.add_node("book", book if called else machine.agent.graph)
    outer.add_edge(START, "book")
    values = await outer.compile(checkpointer=saver).ainvoke(question(), thread_config("t"))  # type: ignore[arg-type]  # an InputState
    assert values["response"]["status"] == "success"


@dataclass
class Theirs:
    user: str = "ann"


@pytest.mark.parametrize("context", [Theirs(), {"user": "ann"}])
@pytest.mark.parametrize("called", [False, True])
async def test_the_context_of_a_graph_around_it_is_left_alone(context: Any, called: bool) -> None:
    machine = Machine(ANSWER)

    async def book(state: MessagesState) -> Any:
        return {"messages": (await machine.agent.graph.ainvoke(InputState(messages=state["messages"])))["messages"]}

    outer = StateGraph(MessagesState, context_schema=type(context))
    outer.add_node("book", book if called else machine.agent.graph)
    outer.add_edge(START, "book")
    values = await outer.compile().ainvoke(question(), thread_config("t"), context=context)  # type: ignore[arg-type]  # an InputState
    assert values["messages"][-1].text.startswith("A node is a process")


async def test_a_context_of_ours_reaches_it_through_another_graph() -> None:
    machine = Machine(ANSWER)
    outer = StateGraph(AgentState, context_schema=Context)
    outer.add_node("book", machine.agent.graph)
    outer.add_edge(START, "book")
    await outer.compile().ainvoke(question(), thread_config("t"), context=Context(top_k=3))  # type: ignore[arg-type]  # an InputState
    assert machine.searcher.asked[0][1] == 3


async def test_a_run_of_the_graph_that_breaks_off_can_be_finished(memory: Memory) -> None:
    machine = Machine(ANSWER, memory=memory)
    async for step in machine.agent.graph.astream(question(), thread_config("t")):
        if "RETRIEVING" in step:
            break
    assert await machine.agent.unfinished("t") == "What is a node?"
    machine.searcher.asked.clear()
    assert [event async for event in machine.agent.resume("t")][-1].response
    assert machine.searcher.asked == []


@pytest.mark.parametrize("thread", ["", "a\x00b", "x" * 256])
async def test_an_id_that_the_agent_refuses_is_refused_by_the_graph_too(thread: str) -> None:
    machine = Machine(ANSWER)
    with pytest.raises(UsageError, match="id"):
        await machine.agent.graph.ainvoke(question(), thread_config(thread))
    assert not await machine.agent.threads()


@pytest.mark.parametrize("configurable", [{"thread_id": None}, {}, None])
async def test_a_run_without_an_id_is_refused_since_its_callers_would_share_a_conversation(configurable: Any) -> None:
    machine = Machine(ANSWER)
    with pytest.raises(UsageError, match="The run has no thread_id"):
        await machine.agent.graph.ainvoke(question(), {"configurable": configurable})
    assert not await machine.agent.threads()


async def test_a_number_is_an_id_too(tmp_path: Path) -> None:
    many = WINDOW + BLOCK
    async with open_memory(tmp_path) as memory:
        machine = Machine(*[ANSWER] * many, memory=memory)
        for _ in range(many):
            values = await machine.agent.graph.ainvoke(question(), {"configurable": {"thread_id": 42}})
        assert values["response"]["thread_id"] == "42"
        assert (await machine.agent.conversation("42"))["turn_count"] == many
