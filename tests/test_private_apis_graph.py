"""What private parts are used for: checkpoints in the order of writing, and a class for compiled graphs."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import aiosqlite
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base import id as ids
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from graph.memory import Memory, MemoryOptions, open_memory
from graph.private_apis import catch_up, change_class, in_its_thread
from graph.storage import thread_config
from state import AgentState, Context, InputState
from tests.machine import ANSWER, Machine

HOUR = 3600 * 10**9  # nanoseconds


def new_process(monkeypatch: pytest.MonkeyPatch, ahead: int) -> None:
    """LangGraph as a process finds it that has written no checkpoint, on a machine whose clock is `ahead`."""
    monkeypatch.setattr(ids, "_last_v6_timestamp", None)
    monkeypatch.setattr(ids, "time", SimpleNamespace(time_ns=lambda: time.time_ns() + ahead))


async def test_no_turn_is_lost_when_the_clock_went_back_or_another_machine_is_ahead(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    for number, ahead in enumerate((0, HOUR, -HOUR, 0)):
        new_process(monkeypatch, ahead)
        machine = Machine(ANSWER, memory=memory)
        asked.append(f"Question {number}?")
        assert (await machine.agent.ask(asked[-1], thread_id="t")).turn_number == number + 1
    assert [turn["question"] for turn in (await machine.agent.conversation("t"))["turns"]] == asked


async def test_a_turn_is_taken_back_when_the_clock_went_back(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    new_process(monkeypatch, HOUR)
    machine = Machine(ANSWER, memory=memory)
    await machine.agent.ask("What is a node?", thread_id="t")
    new_process(monkeypatch, 0)
    assert await machine.agent.undo("t") == "What is a node?"
    assert not (await machine.agent.conversation("t"))["turns"]


async def test_who_goes_back_to_an_earlier_state_goes_on_from_there_when_the_clock_went_back(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(*[ANSWER] * 3, memory=memory)
    await machine.agent.ask("First?", thread_id="t")
    first = await machine.graph.aget_state(thread_config("t"))
    new_process(monkeypatch, HOUR)
    await machine.agent.ask("Second?", thread_id="t")
    new_process(monkeypatch, 0)
    await machine.graph.ainvoke(InputState(messages=[HumanMessage("Another way?")]), first.config)
    turns = (await machine.agent.conversation("t"))["turns"]
    assert [turn["question"] for turn in turns] == ["First?", "Another way?"]


def test_langgraph_makes_ids_that_follow_the_one_that_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when LangGraph renames `_last_v6_timestamp`, or makes checkpoint ids without it."""
    new_process(monkeypatch, HOUR)
    ahead = empty_checkpoint()["id"]
    new_process(monkeypatch, 0)
    assert empty_checkpoint()["id"] < ahead
    catch_up(ahead)
    assert ids.UUID(empty_checkpoint()["id"]).time == ids.UUID(ahead).time + 1


@pytest.mark.parametrize("foreign", ["", "no id", "3f333df6-90a4-4fda-8dd3-9485d27cee36"])
def test_an_id_that_tells_no_time_changes_nothing(foreign: str, monkeypatch: pytest.MonkeyPatch) -> None:
    new_process(monkeypatch, 0)
    catch_up(foreign)
    assert ids._last_v6_timestamp is None


class Tagged(CompiledStateGraph[AgentState, Context, InputState, AgentState]):
    """A compiled graph with one more attribute."""

    received: ClassVar[set[str]] = set()  # the keywords of the latest `__init__` but `tag`

    def __init__(self, *, tag: str, **parts: Any) -> None:
        super().__init__(**parts)
        self.tag = tag
        Tagged.received = set(parts)


def test_langgraph_copies_a_graph_by_its_class_and_its_attributes() -> None:
    """Fails when `Pregel.copy` no longer passes `__dict__` as keywords, or `compile` gives something else."""
    builder = StateGraph(AgentState, context_schema=Context, input_schema=InputState)
    builder.add_node("node", lambda _state: {"turn_number": 7})
    builder.add_edge(START, "node")
    compiled = builder.compile()
    assert type(compiled) is CompiledStateGraph
    attributes = dict(vars(compiled))
    tagged = change_class(compiled, Tagged, tag="a")
    assert vars(tagged) == attributes | {"tag": "a"}
    copied = tagged.with_config(tags=["b"])
    assert (type(copied), copied.tag, Tagged.received) == (Tagged, "a", set(attributes) - {"__orig_class__"})
    assert copied.invoke({"messages": []})["turn_number"] == 7


async def test_work_on_sqlite_gets_its_own_connection_in_the_thread_of_aiosqlite(tmp_path: Path) -> None:
    """Fails when aiosqlite keeps SQLite's connection elsewhere, or calls it in another way."""
    async with aiosqlite.connect(tmp_path / "a.db") as connection:
        found, thread = await in_its_thread(
            connection, lambda own: (own.execute("select 7").fetchone(), threading.current_thread())
        )
    assert (found, thread is threading.main_thread()) == ((7,), False)


async def test_a_memory_that_was_closed_leaves_no_task_behind(memory_tasks: set[asyncio.Task[Any]]) -> None:
    """Fails when LangGraph's stores keep their task elsewhere."""
    assert not memory_tasks


@pytest.fixture(params=["sqlite", "postgres"])
async def memory_tasks(request: pytest.FixtureRequest, tmp_path: Path) -> set[asyncio.Task[Any]]:
    """The tasks that a memory has begun and not ended when it is closed."""
    before = asyncio.all_tasks()
    url = request.getfixturevalue("emptied_url") if request.param == "postgres" else None
    async with open_memory(tmp_path, options=MemoryOptions(url)) as memory:
        await Machine(ANSWER, memory=memory).ask("What is a node?")
        assert asyncio.all_tasks() - before
    return {task for task in asyncio.all_tasks() - before if not task.done()}
