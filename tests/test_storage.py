"""Which checkpoints stay: the newest turn's steps, the ends of the last turns, and nothing else."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from graph.memory import Memory, MemoryOptions, open_memory
from graph.storage import outdated, thread_config
from state import InputState
from tests.machine import ANSWER, Machine

TURNS = [(str(number), number % 5 == 0) for number in range(25, 0, -1)]  # five of five steps, the last step its end


def kept(keep: int) -> list[int]:
    gone = set(outdated(TURNS, keep))
    return [int(one) for one, _ in TURNS if one not in gone]


def test_the_newest_turn_keeps_every_step_and_older_ones_their_end() -> None:
    assert kept(3) == [25, 24, 23, 22, 21, 20, 15]


def test_none_kept_leaves_the_newest_checkpoint() -> None:
    assert kept(0) == [25]


def test_a_turn_on_its_way_keeps_its_steps() -> None:
    assert outdated([("7", False), ("6", False), ("5", True), ("4", False), ("3", True)], 1) == ["3"]


def test_nothing_goes_where_there_is_little() -> None:
    assert outdated([], 20) == outdated([("1", True)], 0) == outdated(TURNS[:5], 20) == []


async def ends(machine: Machine) -> list[int]:
    """The turn numbers of the states that are kept and at rest."""
    history = [one async for one in machine.graph.aget_state_history(thread_config("t"))]
    return [one.values["turn_number"] for one in history if not one.next]


async def test_every_kind_of_memory_keeps_the_same(memory: Memory) -> None:
    machine = Machine(*[ANSWER] * 23, memory=memory)
    for number in range(23):
        await machine.agent.ask(f"Question {number}?", thread_id="t")
    history = [one async for one in machine.graph.aget_state_history(thread_config("t"))]
    assert await ends(machine) == list(range(23, 3, -1))
    assert [one.next for one in history[:5]] == [(), ("IDLE",), ("GENERATING",), ("RETRIEVING",), ("IDLE",)]
    assert len([one for one in history if one.next]) == 5


async def test_an_earlier_state_can_be_gone_back_to(memory: Memory) -> None:
    machine = Machine(*[ANSWER] * 4, memory=memory)
    for number in range(3):
        await machine.agent.ask(f"Question {number}?", thread_id="t")
    history = [one async for one in machine.graph.aget_state_history(thread_config("t"))]
    first = next(one for one in history if not one.next and one.values["turn_number"] == 1)
    values = await machine.graph.ainvoke(InputState(messages=[HumanMessage("Another way?")]), first.config)
    assert values["turn_number"] == 2
    turns = (await machine.agent.conversation("t"))["turns"]
    assert [turn["question"] for turn in turns] == ["Question 0?", "Another way?"]


async def test_how_many_ends_are_kept_can_be_set(tmp_path: Path) -> None:
    async with open_memory(tmp_path, options=MemoryOptions(keep_turns=2)) as memory:
        machine = Machine(*[ANSWER] * 4, memory=memory)
        for number in range(4):
            await machine.agent.ask(f"Question {number}?", thread_id="t")
        assert await ends(machine) == [4, 3]


async def test_a_turn_is_answered_and_stored_though_the_old_ones_could_not_go(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(*_: object) -> int:
        raise sqlite3.OperationalError("database is locked")

    machine = Machine(*[ANSWER] * 3, memory=memory)
    with monkeypatch.context() as patch:
        patch.setattr(type(memory.database.saver), "drop_old", fails)
        for number in range(2):
            assert (await machine.agent.ask(f"Question {number}?", thread_id="t")).status == "success"
    assert "old checkpoints not deleted yet: memory_locked" in caplog.text
    assert (await machine.agent.ask("And then?", thread_id="t")).turn_number == 3
    assert await ends(machine) == [3, 2, 1]
    assert len([one async for one in machine.graph.aget_state_history(thread_config("t"))]) == 8
