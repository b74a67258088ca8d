"""A file of memory that fails: it is told by its name, and the conversation goes on when it is mended."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.sqlite import SqliteStore

from graph.memory import FILE, Memory, open_memory
from graph.memory_sqlite import SqliteDatabase
from graph.sqlite_file import make_private
from rag.errors import MemoryFailureError
from rag.types import ErrorInfo
from tests.machine import ANSWER, Machine
from tests.mending import FIRST_OR_LATER, damage, failing, goes_on, talked


def of_sqlite(memory: Memory) -> SqliteDatabase:
    assert isinstance(memory.database, SqliteDatabase)
    return memory.database


async def on_both(memory: Memory, statement: str) -> None:
    """Run a statement on both connections of a SQLite memory."""
    database = of_sqlite(memory)
    beside: Any = database.store.inner
    for connection in (database.saver.conn, beside.conn):
        await connection.execute(statement)


@asynccontextmanager
async def locked(memory: Memory, path: Path) -> AsyncIterator[None]:
    await on_both(memory, "pragma busy_timeout = 10")
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("begin immediate")
        yield
        other.execute("rollback")
    other.close()


@asynccontextmanager
async def read_only(memory: Memory, _path: Path) -> AsyncIterator[None]:
    await on_both(memory, "pragma query_only = on")
    yield
    await on_both(memory, "pragma query_only = off")


@asynccontextmanager
async def taken_away(_memory: Memory, path: Path) -> AsyncIterator[None]:
    shutil.move(path, path.with_suffix(".away"))
    yield
    shutil.move(path.with_suffix(".away"), path)


Trouble = Callable[[Memory, Path], AbstractAsyncContextManager[None]]


@FIRST_OR_LATER
@pytest.mark.parametrize(
    ("trouble", "code"), [(locked, "memory_locked"), (read_only, "memory_unreachable"), (taken_away, "memory_gone")]
)
async def test_a_file_that_cannot_be_written_is_told_and_the_conversation_goes_on(
    tmp_path: Path, earlier: int, trouble: Trouble, code: str
) -> None:
    async with open_memory(tmp_path) as memory:
        machine = Machine(memory=memory)
        await talked(machine, earlier)
        async with trouble(memory, tmp_path / FILE):
            assert (await failing(machine)).code == code
        await goes_on(machine, earlier)


@FIRST_OR_LATER
async def test_a_full_disk_is_told_and_the_conversation_goes_on(tmp_path: Path, earlier: int) -> None:
    async with open_memory(tmp_path) as memory:
        machine = Machine(memory=memory)
        await talked(machine, earlier)
        await on_both(memory, "pragma max_page_count = 1")  # SQLite raises it to the pages that there are
        machine.searcher.passages[:] = [machine.searcher.passages[0].model_copy(update={"text": "long " * 50_000})]
        assert (await failing(machine)).code == "disk_full"
        machine.searcher.passages[:] = [
            machine.searcher.passages[0].model_copy(update={"text": "A node is a process."})
        ]
        await on_both(memory, "pragma max_page_count = 1000000")
        await goes_on(machine, earlier)


@FIRST_OR_LATER
@pytest.mark.parametrize("how", ["cut", "overwritten"])
async def test_a_damaged_file_is_told_and_goes_on_when_a_copy_is_put_back(
    tmp_path: Path, earlier: int, how: str
) -> None:
    path = tmp_path / FILE
    async with open_memory(tmp_path) as memory:
        await talked(Machine(memory=memory), earlier)
    shutil.copy(path, tmp_path / "copy")
    if how == "cut":
        os.truncate(path, 4096 + 100)
    else:
        path.write_bytes(path.read_bytes()[:100] + b"\xff" * (path.stat().st_size - 100))
    error = await failing_to_open_or_to_ask(tmp_path)
    assert error.code == "memory_broken"
    assert FILE in error.message
    shutil.copy(tmp_path / "copy", path)
    async with open_memory(tmp_path) as memory:
        await goes_on(Machine(memory=memory), earlier)


async def failing_to_open_or_to_ask(home: Path) -> ErrorInfo:
    try:
        async with open_memory(home) as memory:
            return await failing(Machine(memory=memory))
    except MemoryFailureError as error:
        return error.info()


async def test_one_damaged_conversation_harms_no_other(memory: Memory) -> None:
    machine = Machine(ANSWER, ANSWER, memory=memory)
    await machine.agent.ask("What is a node?", thread_id="t")
    await machine.agent.ask("What is a node?", thread_id="u")
    await damage(memory)
    error = await failing(machine)
    assert error.code == "conversation_broken"
    assert '"t"' in error.message
    assert len((await machine.agent.conversation("u"))["turns"]) == 1
    await machine.agent.clear("t")
    machine.model.script[:] = [ANSWER]
    assert (await machine.agent.ask("What is a node?", thread_id="t")).turn_number == 1


async def test_a_file_that_was_cut_to_nothing_is_told_and_not_taken_for_a_new_one(tmp_path: Path) -> None:
    (tmp_path / FILE).touch()
    with pytest.raises(MemoryFailureError, match="is empty") as caught:
        async with open_memory(tmp_path):
            pass
    assert caught.value.code == "memory_broken"


@pytest.mark.parametrize("journal", [False, True])
async def test_a_file_that_was_cut_to_a_byte_is_told_and_not_taken_for_a_new_one(tmp_path: Path, journal: bool) -> None:
    (tmp_path / FILE).write_bytes(b"S")
    if journal:
        (tmp_path / f"{FILE}-wal").write_bytes(b"x")
    with pytest.raises(MemoryFailureError) as caught:
        async with open_memory(tmp_path):
            pass
    assert caught.value.code == "memory_broken"
    assert (tmp_path / FILE).read_bytes() == b"S"


def test_a_new_file_is_never_without_a_byte_and_leaves_no_other(tmp_path: Path) -> None:
    make_private(tmp_path / FILE)
    assert [(file.name, file.stat().st_size > 0) for file in tmp_path.iterdir()] == [(FILE, True)]


def test_a_new_file_has_all_tables_from_its_first_moment(tmp_path: Path) -> None:
    """Of two programs that create LangGraph's tables in one file at the same time, one fails."""
    make_private(tmp_path / FILE)
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        tables = {row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")}
        migrations = connection.execute("select count(*) from store_migrations").fetchone()[0]
    assert tables >= {"checkpoints", "writes", "store"}
    assert migrations == len(SqliteStore.MIGRATIONS)
