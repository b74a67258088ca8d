"""What a turn stores in SQLite: the rows that LangGraph's own checkpointer writes, in few transactions."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, empty_checkpoint
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from graph import sqlite_file
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
    assert 0 < switches - before < 16  # 11 for what is stored, the rest for what is read and deleted


async def stored_at_once(saver: StepSaver, *tasks: str) -> list[Any]:
    """The outcomes of storing the writes of these tasks at the same instant."""
    calls = (saver.aput_writes(CONFIG, WRITES, task) for task in tasks)
    return await asyncio.gather(*calls, return_exceptions=True)


async def tasks_of(connection: aiosqlite.Connection) -> list[str]:
    return [row[0] for row in await connection.execute_fetchall("select distinct task_id from writes order by rowid")]


async def test_readers_get_their_own_answer_and_failure(tmp_path: Path) -> None:
    def broken(_: sqlite3.Connection) -> int:
        raise ValueError("damaged")

    async with aiosqlite.connect(tmp_path / "steps") as connection:
        await (saver := StepSaver(connection)).setup()
        reads = (lambda one: one.execute("select 1").fetchone()[0], broken, lambda _: 3)
        found = await asyncio.gather(
            *(saver.jobs.read(read) for read in reads),
            saver.aput_writes(CONFIG, WRITES, "a"),
            saver.jobs.change(lambda _: 4),
            return_exceptions=True,
        )
        assert [found[0], *found[2:]] == [1, 3, None, 4]
        assert isinstance(found[1], ValueError)
        assert await tasks_of(connection) == ["a"]


async def test_what_comes_at_once_shares_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transactions = []
    together = sqlite_file._together

    def counted(connection: sqlite3.Connection, group: Any) -> Any:
        transactions.append(len(group))
        return together(connection, group)

    monkeypatch.setattr(sqlite_file, "_together", counted)
    async with aiosqlite.connect(tmp_path / "steps") as connection:
        saver, names = StepSaver(connection), [str(number) for number in range(20)]
        assert await stored_at_once(saver, *names) == [None] * 20
        assert await tasks_of(connection) == names
    assert (sum(transactions), len(transactions) < 4) == (20, True)


async def test_rows_that_are_refused_fail_alone(tmp_path: Path) -> None:
    async with aiosqlite.connect(tmp_path / "steps") as connection:
        await (saver := StepSaver(connection)).setup()
        refuse = "begin select raise(abort, 'no'); end"
        await connection.execute(f"create trigger one before insert on writes when new.task_id = 'bad' {refuse}")
        outcomes = await stored_at_once(saver, "a", "bad", "b")
        assert [type(one) for one in outcomes] == [type(None), sqlite3.IntegrityError, type(None)]
        assert await tasks_of(connection) == ["a", "b"]
        assert not connection.in_transaction


async def test_a_file_that_cannot_be_written_fails_everyone_once(tmp_path: Path) -> None:
    async with aiosqlite.connect(tmp_path / "steps") as connection, aiosqlite.connect(tmp_path / "steps") as other:
        await (saver := StepSaver(connection)).setup()
        await connection.execute("pragma busy_timeout=10")
        await other.execute("begin immediate")
        outcomes = await stored_at_once(saver, "a", "b", "c")
        assert [type(one) for one in outcomes] == [sqlite3.OperationalError] * 3
        await other.rollback()
        assert await stored_at_once(saver, "d") == [None]
        assert await tasks_of(connection) == ["d"]


async def test_a_caller_that_is_cancelled_harms_no_other(tmp_path: Path) -> None:
    async with aiosqlite.connect(tmp_path / "steps") as connection:
        saver = StepSaver(connection)
        await saver.setup()
        calls = [asyncio.create_task(saver.aput_writes(CONFIG, WRITES, task)) for task in "abc"]
        await asyncio.sleep(0)
        calls[1].cancel()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(one) for one in outcomes] == [type(None), asyncio.CancelledError, type(None)]
        async with saver.lock:
            assert set(await tasks_of(connection)) >= {"a", "c"}
            rows = await connection.execute_fetchall("select count(*) from writes where task_id = 'b'")
        assert next(iter(rows))[0] in (0, len(WRITES))


async def test_a_closed_connection_fails_every_caller(tmp_path: Path) -> None:
    async with aiosqlite.connect(tmp_path / "steps") as connection:
        saver = StepSaver(connection)
        await saver.setup()
    outcomes = await stored_at_once(saver, "a", "b")
    assert [type(one) for one in outcomes] == [ValueError] * 2
