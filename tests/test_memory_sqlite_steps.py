"""What a turn stores in SQLite: the rows that LangGraph's own checkpointer writes, in one call of its thread each."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, empty_checkpoint
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from graph.memory import open_memory
from graph.memory_sqlite import StepSaver
from tests.machine import ANSWER, Machine

CONFIG = RunnableConfig(
    configurable={"thread_id": 7, "checkpoint_ns": "", "checkpoint_id": "parent"}, metadata={"user": "Zoë"}
)
METADATA: CheckpointMetadata = {"source": "loop", "step": 1, "parents": {}}
WRITES: tuple[tuple[str, Any], ...] = (("messages", [HumanMessage("What is a node?", id="1")]), ("phase", "IDLE"))
FAILURE = (("__error__", "ValueError('x')"),)


async def rows_of(kind: type[AsyncSqliteSaver], path: Path, checkpoint: Checkpoint) -> list[Any]:
    """Everything that a checkpointer of this kind writes for a checkpoint, the writes of a task, and a failure."""
    async with aiosqlite.connect(path) as connection:
        saver = kind(connection)
        stored = await saver.aput(CONFIG, checkpoint, METADATA, {})
        for writes in (WRITES, WRITES[:1], FAILURE, FAILURE):
            await saver.aput_writes(stored, writes, "task", "path")
        rows: list[Any] = [stored["configurable"]]
        for table in ("checkpoints", "writes"):
            rows += await connection.execute_fetchall(f"select * from {table} order by 1, 2, 3, 4, 5, 6")
        rows.append(await saver.aget_tuple(stored))
    return rows


async def test_the_rows_are_those_of_langgraphs_checkpointer(tmp_path: Path) -> None:
    checkpoint = empty_checkpoint() | {"channel_values": {"messages": [HumanMessage("Hello", id="2")]}}
    ours = await rows_of(StepSaver, tmp_path / "ours", checkpoint)
    assert ours == await rows_of(AsyncSqliteSaver, tmp_path / "theirs", checkpoint)
    assert len(ours) == 6


async def test_the_writes_of_a_task_are_stored_whole_or_not_at_all(tmp_path: Path) -> None:
    async with aiosqlite.connect(tmp_path / "steps") as connection:
        saver = StepSaver(connection)
        stored = await saver.aput(CONFIG, empty_checkpoint(), METADATA, {})
        refuse = "begin select raise(abort, 'full'); end"
        await connection.execute(f"create trigger one before insert on writes when new.channel = 'phase' {refuse}")
        with pytest.raises(sqlite3.IntegrityError, match="full"):
            await saver.aput_writes(stored, WRITES, "task")
        assert not connection.in_transaction
        assert list(await connection.execute_fetchall("select * from writes")) == []


async def test_a_turn_seldom_switches_to_the_thread_of_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    switches = 0
    execute = aiosqlite.Connection._execute

    async def counted(connection: Any, *given: Any, **named: Any) -> Any:
        nonlocal switches
        switches += 1
        return await execute(connection, *given, **named)  # type: ignore[no-untyped-call]  # it has no types

    monkeypatch.setattr(aiosqlite.Connection, "_execute", counted)
    async with open_memory(tmp_path) as memory:
        machine = Machine(ANSWER, ANSWER, memory=memory)
        await machine.agent.ask("What is a node?", thread_id="t")
        before = switches
        await machine.agent.ask("What is a topic?", thread_id="t")
    assert 0 < switches - before < 25  # 11 for what is stored, the rest for what is read and deleted
