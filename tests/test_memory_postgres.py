"""A server of memory that fails: it is told by its name, and the conversation goes on when it is back."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool
from pydantic import SecretStr

from graph.memory import MemoryOptions, open_memory
from rag.errors import MemoryFailureError, UsageError
from tests.machine import Machine
from tests.mending import FIRST_OR_LATER, failing, goes_on, talked
from tests.postgres import PASSWORD, Cluster

ALL_GONE = """
select pg_terminate_backend(pid, 5000) from pg_stat_activity
where pid <> pg_backend_pid() and datname = current_database()
"""


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


@pytest.mark.parametrize("name", ["psycopg", "psycopg.pool"])
async def test_psycopg_warns_only_where_a_program_has_asked_for_logs(
    database_url: SecretStr,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
) -> None:
    async with open_memory(tmp_path, options=MemoryOptions(database_url)):
        warned = logging.getLogger(name)
        monkeypatch.setattr(logging.root, "handlers", [])
        warned.warning("error connecting")
        assert capfd.readouterr().err == ""
        monkeypatch.setattr(logging.root, "handlers", [logging.StreamHandler()])
        warned.warning("error connecting")
        assert "error connecting" in capfd.readouterr().err


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


@pytest.mark.parametrize("address", ["127.0.0.1:1/askbook", "host.invalid/askbook", "/askbook?host=/nowhere"])
async def test_a_server_that_is_not_there_is_told_apart_from_a_file(tmp_path: Path, address: str) -> None:
    with pytest.raises(MemoryFailureError, match=r"^The PostgreSQL .* cannot be reached") as caught:
        async with open_memory(tmp_path, options=MemoryOptions(SecretStr(f"postgresql://{address}"))):
            pass
    assert "ASKBOOK_HOME" not in caught.value.hint


async def test_a_database_that_may_only_be_read_is_told(database_url: SecretStr, tmp_path: Path) -> None:
    async with open_memory(tmp_path, options=MemoryOptions(database_url)) as memory:
        await talked(Machine(memory=memory), 1)
    address = SecretStr(f"{database_url.get_secret_value()}?options=-cdefault_transaction_read_only%3Don")
    with pytest.raises(MemoryFailureError, match="allows only reading"):
        async with open_memory(tmp_path, options=MemoryOptions(address)):
            pass


async def test_a_conversation_whose_messages_are_gone_is_damaged_and_not_empty(
    database_url: SecretStr, tmp_path: Path
) -> None:
    async with open_memory(tmp_path, options=MemoryOptions(database_url)) as memory:
        await talked(Machine(memory=memory), 1)
        with psycopg.connect(database_url.get_secret_value()) as other:
            other.execute("delete from checkpoint_blobs")
        with pytest.raises(MemoryFailureError) as caught:
            await memory.conversation("t")
        assert caught.value.code == "conversation_broken"
        await memory.delete("t")
        assert await memory.threads() == []


@contextmanager
def frozen(postgres: Cluster) -> Iterator[None]:
    """The server keeps its connections open and answers nothing."""
    first = int((postgres.folder / "postmaster.pid").read_text().split()[0])
    children = subprocess.run(["pgrep", "-P", str(first)], capture_output=True, text=True, check=False).stdout.split()
    everyone = [first, *map(int, children)]
    for process in everyone:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in everyone:
            os.kill(process, signal.SIGCONT)


async def test_a_server_that_no_longer_answers_is_told_and_the_conversation_goes_on(
    postgres: Cluster, database_url: SecretStr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in {"_ANSWER_SECONDS": 1, "CONNECT_SECONDS": 1, "_CANCEL_SECONDS": 0.1}.items():
        monkeypatch.setattr(f"graph.memory_postgres.{name}", seconds)
    async with open_memory(tmp_path, options=MemoryOptions(database_url)) as memory:
        machine = Machine(memory=memory)
        await talked(machine, 1)
        with frozen(postgres):
            error = await failing(machine)
            assert (error.code, "does not answer" in error.message) == ("memory_unreachable", True)
            with pytest.raises(MemoryFailureError, match="does not answer"):
                await memory.threads()
        await goes_on(machine, 1)


async def test_a_connection_is_asked_whether_it_lives_only_when_the_server_has_sent_something(
    database_url: SecretStr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    asks = AsyncConnectionPool.check_connection

    async def check(connection: Any) -> None:
        asked.append(connection)
        await asks(connection)

    monkeypatch.setattr(AsyncConnectionPool, "check_connection", staticmethod(check))
    async with open_memory(tmp_path, options=MemoryOptions(database_url)) as memory:
        machine = Machine(memory=memory)
        await talked(machine, 1)
        assert asked == []
        with psycopg.connect(database_url.get_secret_value()) as other:
            other.execute(ALL_GONE)
        await goes_on(machine, 1)
        assert asked


async def test_a_restart_of_the_server_costs_the_next_turn_no_wait(
    database_url: SecretStr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """psycopg's pool waits longer after each dead connection that it finds: a second, then two, then four."""

    async def busy(database: Any) -> None:
        async with database.saver.conn.connection() as connection:
            await connection.execute("select pg_sleep(0.2)")

    async with open_memory(tmp_path, options=MemoryOptions(database_url)) as memory:
        machine = Machine(memory=memory)
        await talked(machine, 1)
        await asyncio.gather(*(busy(memory.database) for _ in range(5)))
        with psycopg.connect(database_url.get_secret_value()) as other:
            other.execute(ALL_GONE)
        waits: list[float] = []

        async def wait(seconds: float) -> None:
            waits.append(seconds)

        monkeypatch.setattr("psycopg_pool.pool_async.asleep", wait)
        await goes_on(machine, 1)
        assert sum(waits) == 0


@pytest.mark.parametrize(
    ("sql", "user", "database", "said"),
    [
        ("select 1", "askbook", "nowhere", "does not exist"),
        ("select 1", "nobody-canary", "postgres", "refuses the role"),
        ("create database latin encoding 'LATIN1' template template0 locale 'C'", "askbook", "latin", "as LATIN1"),
        (
            "create database bytes encoding 'SQL_ASCII' template template0 locale 'C'",
            "askbook",
            "bytes",
            "as SQL_ASCII",
        ),
        ("create role poor login password 'canary-password'", "poor", "postgres", "denies the role a right"),
        (
            "create role one login password 'canary-password' connection limit 0",
            "one",
            "postgres",
            "no connection left",
        ),
    ],
)
async def test_each_refusal_of_a_server_has_its_own_sentence(
    postgres: Cluster, tmp_path: Path, sql: str, user: str, database: str, said: str
) -> None:
    with psycopg.connect(postgres.url().get_secret_value(), autocommit=True) as connection:
        connection.execute(sql)
    address = postgres.url(database).get_secret_value().replace("//askbook:", f"//{user}:")
    with pytest.raises(MemoryFailureError, match=said) as caught:
        async with open_memory(tmp_path, options=MemoryOptions(SecretStr(address))):
            pass
    assert caught.value.code == "memory_unreachable"
    assert caught.value.hint
    assert "canary" not in caught.value.message + caught.value.hint
