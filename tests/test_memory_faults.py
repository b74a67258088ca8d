"""A memory that fails: every failure has a name and says what to do, and the conversation goes on when it is mended."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import psycopg_pool
import pytest
from pydantic import SecretStr

from graph.memory import FILE, Memory, MemoryOptions, open_memory
from graph.memory_faults import border, memory_failure
from graph.memory_sqlite import SqliteDatabase
from rag.errors import USER_MESSAGES, MemoryFailureError, UsageError
from rag.types import ErrorInfo
from tests.machine import ANSWER, Machine
from tests.manual import section
from tests.postgres import PASSWORD, Cluster

SECRET = "canary of a foreign text"


def family(of: type[BaseException]) -> Iterator[type[BaseException]]:
    yield of
    for one in of.__subclasses__():
        yield from family(one)


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("root", [sqlite3.Error, psycopg.Error, PermissionError, FileNotFoundError, IsADirectoryError])
def test_every_exception_of_a_database_has_a_name_and_says_what_to_do(root: type[BaseException]) -> None:
    codes = section("errors.md", "memory_error").first_cells()
    for kind in family(root):
        failure = memory_failure(kind(SECRET), "the file")
        assert failure is not None, kind
        assert failure.error_type == "memory_error"
        assert failure.code in codes
        assert failure.hint
        assert SECRET not in failure.message + failure.hint


def test_the_exceptions_of_the_pool_are_among_them() -> None:
    kinds = [kind for kind in vars(psycopg_pool).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert kinds
    assert set(kinds) <= set(family(psycopg.Error))


@pytest.mark.parametrize("failure", [ValueError(SECRET), KeyError(SECRET), MemoryError(), psycopg.Warning(SECRET)])
def test_what_is_no_failure_of_a_database_keeps_its_own_name(failure: BaseException) -> None:
    assert memory_failure(failure, "the file") is None


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (psycopg.errors.DiskFull(), "disk_full"),
        (psycopg.errors.LockNotAvailable(), "memory_locked"),
        (psycopg.errors.DeadlockDetected(), "memory_locked"),
        (psycopg.errors.UndefinedTable(), "memory_broken"),
        (psycopg.errors.DataCorrupted(), "memory_broken"),
        (psycopg.errors.InsufficientPrivilege(), "memory_unreachable"),
        (psycopg.errors.ReadOnlySqlTransaction(), "memory_unreachable"),
        (psycopg.OperationalError(), "memory_unreachable"),
        (psycopg_pool.PoolTimeout(), "memory_unreachable"),
        (sqlite3.ProgrammingError("Cannot operate on a closed database."), "memory_broken"),
    ],
)
def test_a_failure_is_named_after_what_it_means(failure: Exception, code: str) -> None:
    found = memory_failure(failure, "the file")
    assert found is not None
    assert found.code == code


def test_what_a_failure_came_from_is_looked_at() -> None:
    error = ValueError("Error executing GET query")
    error.__cause__ = sqlite3.OperationalError("database is locked")
    found = memory_failure(error, "the file")
    assert found is not None
    assert found.code == "memory_locked"


def test_no_foreign_text_hangs_on_what_passes_the_border() -> None:
    with pytest.raises(MemoryFailureError) as caught, border("the file"):
        raise sqlite3.OperationalError(SECRET)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


# --- a file that fails, and is mended -------------------------------------------------------------------------------


def of_sqlite(memory: Memory) -> SqliteDatabase:
    assert isinstance(memory.database, SqliteDatabase)
    return memory.database


async def on_both(memory: Memory, statement: str) -> None:
    """Run a statement on both connections of a SQLite memory."""
    database = of_sqlite(memory)
    beside: Any = database.store.inner
    for connection in (database.saver.conn, beside.conn):
        await connection.execute(statement)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("begin immediate")
        yield
        other.execute("rollback")
    other.close()


@contextmanager
def taken_away(path: Path) -> Iterator[None]:
    path.rename(path.with_suffix(".away"))
    yield
    path.with_suffix(".away").rename(path)


async def failing(machine: Machine) -> ErrorInfo:
    """Ask, and get the error of it."""
    machine.model.script[:] = [ANSWER]
    response = await machine.agent.ask("Does it fail?", thread_id="t")
    assert response.error is not None
    assert response.error.error_type == "memory_error"
    assert response.content == USER_MESSAGES["memory_error"]
    return response.error


async def goes_on(machine: Machine, earlier: int) -> None:
    """Ask again: the answer comes, and all that was answered before is there."""
    machine.model.script[:] = [ANSWER]
    assert (await machine.agent.ask("Does it go on?", thread_id="t")).status == "success"
    turns = (await machine.agent.conversation("t"))["turns"]
    assert [turn["question"] for turn in turns][:earlier] == [f"Earlier {n}?" for n in range(earlier)]
    assert turns[-1]["question"] == "Does it go on?"
    assert len(turns) <= earlier + 2


async def talked(machine: Machine, earlier: int) -> None:
    machine.model.script[:] = [ANSWER] * earlier
    for number in range(earlier):
        assert (await machine.agent.ask(f"Earlier {number}?", thread_id="t")).status == "success"


FIRST_OR_LATER = pytest.mark.parametrize("earlier", [0, 2], ids=["first turn", "later turn"])


@FIRST_OR_LATER
async def test_a_locked_file_is_told_and_the_conversation_goes_on(tmp_path: Path, earlier: int) -> None:
    async with open_memory(tmp_path) as memory:
        await on_both(memory, "pragma busy_timeout = 10")
        machine = Machine(memory=memory)
        await talked(machine, earlier)
        with locked(tmp_path / FILE):
            assert (await failing(machine)).code == "memory_locked"
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
async def test_a_read_only_file_is_told_and_the_conversation_goes_on(tmp_path: Path, earlier: int) -> None:
    async with open_memory(tmp_path) as memory:
        machine = Machine(memory=memory)
        await talked(machine, earlier)
        await on_both(memory, "pragma query_only = on")
        assert (await failing(machine)).code == "memory_unreachable"
        await on_both(memory, "pragma query_only = off")
        await goes_on(machine, earlier)


@FIRST_OR_LATER
async def test_a_file_that_was_taken_away_is_told_and_the_conversation_goes_on(tmp_path: Path, earlier: int) -> None:
    async with open_memory(tmp_path) as memory:
        machine = Machine(memory=memory)
        await talked(machine, earlier)
        with taken_away(tmp_path / FILE):
            assert (await failing(machine)).code == "memory_gone"
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


async def damage(memory: Memory) -> None:
    """Overwrite what is stored of the conversation `t`."""
    saver: Any = memory.database.saver
    broken = b"\xc1 no msgpack"
    if isinstance(memory.database, SqliteDatabase):
        await saver.conn.execute("update checkpoints set checkpoint = ? where thread_id = 't'", (broken,))
        await saver.conn.commit()
    elif hasattr(saver, "blobs"):
        for key in [key for key in saver.blobs if key[0] == "t"]:
            saver.blobs[key] = ("msgpack", broken)
    else:
        async with saver.conn.connection() as connection:
            await connection.execute(
                "update checkpoint_blobs set blob = %s where thread_id = 't' and type <> 'empty'", (broken,)
            )


# --- a server that fails --------------------------------------------------------------------------------------------


@FIRST_OR_LATER
async def test_a_server_that_is_gone_is_told_and_the_conversation_goes_on(
    postgres: Cluster, database_url: SecretStr, tmp_path: Path, earlier: int
) -> None:
    async with open_memory(tmp_path, options=MemoryOptions(database_url)) as memory:
        machine = Machine(memory=memory)
        await talked(machine, earlier)
        with stopped(postgres):
            error = await failing(machine)
            assert error.code == "memory_unreachable"
            assert PASSWORD not in str(error)
        await goes_on(machine, earlier)


@FIRST_OR_LATER
async def test_a_locked_table_is_told_and_the_conversation_goes_on(
    database_url: SecretStr, tmp_path: Path, earlier: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph.memory_postgres._LOCK_SECONDS", 0.01)
    async with open_memory(tmp_path, options=MemoryOptions(database_url)) as memory:
        machine = Machine(memory=memory)
        await talked(machine, earlier)
        with psycopg.connect(database_url.get_secret_value()) as other:
            other.execute("lock table checkpoints")
            assert (await failing(machine)).code == "memory_locked"
        await goes_on(machine, earlier)


@contextmanager
def stopped(postgres: Cluster) -> Iterator[None]:
    postgres.stop()
    try:
        yield
    finally:
        postgres.start()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (f"postgresql://askbook:{PASSWORD}@127.0.0.1:1/askbook", "memory_unreachable"),
        (f"postgresql://askbook:{PASSWORD}@[broken/askbook", "settings"),
        (f"nonsense {PASSWORD}", "settings"),
    ],
)
async def test_an_address_where_no_server_is_is_refused_without_its_password(
    tmp_path: Path, address: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises((MemoryFailureError, UsageError)) as caught:
        async with open_memory(tmp_path, options=MemoryOptions(SecretStr(address))):
            pass
    assert caught.value.code == said
    assert PASSWORD not in caught.value.message + caught.value.hint + caplog.text


async def test_a_wrong_password_is_told_without_it(postgres: Cluster, tmp_path: Path) -> None:
    address = SecretStr(postgres.url().get_secret_value().replace(PASSWORD, "wrong-canary"))
    with pytest.raises(MemoryFailureError) as caught:
        async with open_memory(tmp_path, options=MemoryOptions(address)):
            pass
    assert caught.value.code == "memory_unreachable"
    assert "canary" not in caught.value.message + caught.value.hint
