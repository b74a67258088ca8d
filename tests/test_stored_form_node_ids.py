"""Conversations that were stored while the nodes had lower-case names go on under today's names.

An earlier version wrote `data/memory_with_lowercase_nodes.sqlite` over a scripted model. Each conversation has one
answered turn. In three of them the second turn was broken off, at the node that the thread's name tells.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from graph.memory import FILE, Memory, MemoryOptions, open_memory
from graph.storage import thread_config
from tests.machine import ANSWER, Machine
from tests.postgres import Cluster

STORED = Path(__file__).parent / "data" / "memory_with_lowercase_nodes.sqlite"
NEXT = {"searching": "RETRIEVING", "answering": "GENERATING", "searching-again": "tools"}


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    shutil.copy(STORED, tmp_path / FILE)
    async with open_memory(tmp_path) as opened:
        yield opened


async def test_an_answered_conversation_goes_on(memory: Memory) -> None:
    machine = Machine(ANSWER, memory=memory)
    assert await machine.is_at_rest("at-rest")
    response = await machine.agent.ask("And then?", thread_id="at-rest")
    assert (response.status, response.turn_number) == ("success", 2)
    asked = [turn["question"] for turn in (await machine.agent.conversation("at-rest"))["turns"]]
    assert asked == ["What is a node?", "And then?"]


@pytest.mark.parametrize("thread", NEXT)
async def test_a_turn_that_was_broken_off_is_finished_from_where_it_was(memory: Memory, thread: str) -> None:
    machine = Machine(ANSWER, memory=memory)
    assert (await machine.graph.aget_state(thread_config(thread))).next == (NEXT[thread],)
    events = [event async for event in machine.agent.resume(thread)]
    response = events[-1].response
    assert response is not None
    assert (response.status, response.turn_number) == ("success", 2)
    assert len(machine.searcher.asked) == (thread != "answering")  # what had been found is not searched again
    assert await machine.is_at_rest(thread)


@pytest.mark.parametrize("thread", NEXT)
async def test_another_question_can_follow_a_turn_that_was_broken_off(memory: Memory, thread: str) -> None:
    machine = Machine(ANSWER, memory=memory)
    assert (await machine.agent.ask("What is a topic?", thread_id=thread)).status == "success"
    assert await machine.is_at_rest(thread)


@pytest.mark.parametrize("thread", NEXT)
async def test_a_turn_that_was_broken_off_can_be_taken_back(memory: Memory, thread: str) -> None:
    machine = Machine(memory=memory)
    assert await machine.agent.undo(thread) == "What is a wreck?"
    assert await machine.is_at_rest(thread)


@pytest.mark.parametrize("thread", ["at-rest", *NEXT])
async def test_the_history_names_no_node_that_is_gone(memory: Memory, thread: str) -> None:
    machine = Machine(memory=memory)
    history = [one async for one in machine.graph.aget_state_history(thread_config(thread))]
    assert history
    assert {name for one in history for name in one.next} <= {"__start__", *machine.graph.nodes}


async def test_a_broken_off_turn_is_finished_in_postgresql_too(postgres: Cluster, tmp_path: Path) -> None:
    shutil.copy(STORED, tmp_path / FILE)
    options = MemoryOptions(database_url=postgres.new_database("node_ids"))
    async with open_memory(tmp_path) as old, open_memory(tmp_path, options=options) as new:
        config = thread_config("answering")
        raw = await AsyncSqliteSaver.aget_tuple(cast("AsyncSqliteSaver", old.database.saver), config)
        assert raw is not None
        versions = raw.checkpoint["channel_versions"]
        assert "branch:to:generate" in versions
        place: RunnableConfig = {"configurable": {"thread_id": "answering", "checkpoint_ns": ""}}
        await new.database.saver.aput(place, raw.checkpoint, raw.metadata, versions)
        machine = Machine(ANSWER, memory=new)
        assert (await machine.graph.aget_state(config)).next == ("GENERATING",)
        events = [event async for event in machine.agent.resume("answering")]
        assert events[-1].response is not None
        assert events[-1].response.status == "success"
        assert await machine.is_at_rest("answering")
