"""Conversations in a PostgreSQL database, for several processes: checkpointer, store and advisory locks."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import select
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

import psycopg
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool
from pydantic import SecretStr

from graph.private_apis import end_batches
from graph.storage import RESTS, PruningSaver, SealedStore, Serializers, border, outdated
from nodes.archive import namespace_of
from rag.errors import MemoryFailureError, UsageError

CONNECT_SECONDS: Final = 5
_POOL_SIZE: Final = 10  # connections of one process at most; a statement takes one only while it runs
_POOL_SECONDS: Final = 10.0  # wait for a connection of the pool
_LOCK_SECONDS: Final = 10.0  # wait for a table or row that another transaction has locked
_ANSWER_SECONDS: Final = 15.0  # wait for the server to answer a statement, longer than it waits for a lock itself
_CANCEL_SECONDS: Final = 1.0  # wait for the server to cancel a statement that was given up
_PAUSE: Final = 0.05  # seconds between two attempts at the setup lock
_SETUP: Final = "askbook setup"
# psycopg warns of every attempt to connect and to cancel, and the failure of the turn says it once. With a handler of
# its own, its lines go only where a program has asked for logs, and not to standard error.
_UNASKED: Final = logging.NullHandler()
_KEEPALIVE: Final = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
# Servers before version 14 have no such limit.
_NEVER_IDLE: Final = "select set_config(name, '0', false) from pg_settings where name = 'idle_session_timeout'"
# Vacuum after this many turns of the process, or this share of all checkpoints, whichever is more. The server itself
# looks for dead rows only once a minute; a vacuum of large tables has to read their indexes.
_VACUUM_TURNS: Final = 10
_VACUUM_SHARE: Final = 0.01
_TABLES: Final = ("checkpoint_writes", "checkpoint_blobs", "checkpoints")
# Delete the blobs that no remaining checkpoint refers to.
_DELETE_BLOBS: Final = """
with used as (
    select distinct one.key as channel, one.value as version
    from checkpoints cross join lateral jsonb_each_text(checkpoint -> 'channel_versions') as one
    where thread_id = %(thread)s and checkpoint_ns = ''
)
delete from checkpoint_blobs as blob where thread_id = %(thread)s and checkpoint_ns = ''
and not exists (select 1 from used where used.channel = blob.channel and used.version = blob.version)
"""

Connection = psycopg.AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]


@asynccontextmanager
async def open_postgres(address: SecretStr, serde: Serializers, keep: int) -> AsyncIterator[PostgresDatabase]:
    """The database, with its tables created or migrated. Raises `MemoryFailureError`."""
    place = place_of(address)
    logging.getLogger("psycopg").addHandler(_UNASKED)
    locks = AdvisoryLocks(address, place)

    async def limit_locks(connection: Connection) -> None:
        await connection.execute("select set_config('lock_timeout', %s, false)", (f"{_LOCK_SECONDS * 1000:.0f}ms",))

    async def check(connection: Connection) -> None:
        try:
            await _check(connection)
        except psycopg.Error:  # the others ended too, as a rule, and the pool waits a second, two, four after each
            await pool.drain()
            raise

    pool: Pool = AsyncConnectionPool(
        address.get_secret_value(),
        connection_class=ClosingConnection,
        kwargs=_options() | {"prepare_threshold": 0},
        min_size=1,
        max_size=_POOL_SIZE,
        timeout=_POOL_SECONDS,
        reconnect_timeout=_POOL_SECONDS,  # the next statement tries again, however long the server was away
        open=False,
        configure=limit_locks,
        check=check,
    )
    saver, store = PostgresSaver(pool, serde=serde.steps), AsyncPostgresStore(pool)
    try:
        saver.keep, saver.place, saver.seconds = keep, place, _ANSWER_SECONDS
        with border(place):
            await _set_up(locks, pool, saver, store)
        yield PostgresDatabase(place, saver, SealedStore(store, serde.turns, place, _ANSWER_SECONDS), locks)
    finally:
        await end_batches(store)
        await pool.close()
        await locks.aclose()


def place_of(address: SecretStr) -> str:
    """The database's name in messages. Raises `UsageError` for an invalid address, without showing it."""
    try:
        parts = conninfo_to_dict(address.get_secret_value())
    except psycopg.Error:
        hint = "Example: postgresql://user:password@host/database."
        raise UsageError("ASKBOOK_DATABASE_URL is not a PostgreSQL address.", code="settings", hint=hint) from None
    return f'the PostgreSQL database "{parts.get("dbname") or "default"}" on {parts.get("host") or "this machine"}'


class PostgresDatabase:
    """The tables of one database, and one connection that holds this process's locks."""

    def __init__(self, place: str, saver: PostgresSaver, store: SealedStore, locks: AdvisoryLocks) -> None:
        self.place = place
        self.saver = saver
        self.store = store
        self._locks = locks

    async def thread_ids(self) -> list[str]:
        query = "select thread_id from checkpoints group by thread_id order by max(checkpoint_id) desc"
        async with self.saver.guarded(), self.saver.conn.connection() as connection:
            rows = await (await connection.execute(query)).fetchall()
        return [row["thread_id"] for row in rows]

    async def delete(self, thread_id: str) -> None:
        async with self.saver.guarded(), self.saver.conn.connection() as connection, connection.transaction():
            for table in _TABLES:
                await connection.execute(f"delete from {table} where thread_id = %s", (thread_id,))
            prefix = ".".join(namespace_of(thread_id))
            await connection.execute("delete from store where prefix = %s", (prefix,))

    async def prune(self) -> int:
        async with self.saver.guarded(limited=False):  # a vacuum of large tables takes its time
            gone = sum([await self.saver.drop_old(thread, 0) for thread in await self.thread_ids()])
            async with self.saver.conn.connection() as connection:
                await connection.execute(f"vacuum {', '.join(_TABLES)}, store")
        return gone

    def only_here(self, thread_id: str) -> AbstractAsyncContextManager[bool]:
        return self._locks.tried(thread_id)


class PostgresSaver(PruningSaver, AsyncPostgresSaver):
    """LangGraph's checkpointer on PostgreSQL, pruned after each turn."""

    conn: Pool
    turns: int = 0

    async def drop_old(self, thread_id: str, keep: int) -> int:
        where = "where thread_id = %s and checkpoint_ns = ''"
        async with self.conn.connection() as connection, connection.cursor() as cursor:
            query = f"select checkpoint_id, metadata ->> '{RESTS}' as rests from checkpoints {where}"
            await cursor.execute(query + " order by checkpoint_id desc", (thread_id,))
            rows = await cursor.fetchall()
            gone = outdated([(row["checkpoint_id"], row["rests"] is not None) for row in rows], keep)
            if not gone:
                return 0
            async with connection.transaction():
                for table in ("checkpoint_writes", "checkpoints"):
                    await cursor.execute(f"delete from {table} {where} and checkpoint_id = any(%s)", (thread_id, gone))
                await cursor.execute(_DELETE_BLOBS, {"thread": thread_id})
            self.turns += 1
            if self.turns >= _VACUUM_TURNS and self.turns >= await _checkpoints(connection) * _VACUUM_SHARE:
                self.turns = 0
                # Frees the space of deleted rows. Tables that another process is vacuuming are skipped.
                await connection.execute(f"vacuum (skip_locked) {', '.join(_TABLES)}")
        return len(gone)


class ClosingConnection(Connection):
    """A connection that is closed when the server does not even cancel a statement that was given up.

    psycopg would wait ten seconds more: five for the cancellation, five for the end of the statement.
    """

    async def cancel_safe(self, *, timeout: float = 30.0) -> None:  # noqa: ASYNC109  # as psycopg names it
        try:
            await super().cancel_safe(timeout=min(timeout, _CANCEL_SECONDS))
        except psycopg.Error:
            await self.close()
            raise


class AdvisoryLocks:
    """PostgreSQL's advisory locks. One connection of this process holds them all; when it ends the server frees them.

    A broken connection is replaced at its next use. TCP keepalives and an idle timeout of zero keep it open while a
    turn waits for its model.
    """

    def __init__(self, address: SecretStr, place: str) -> None:
        self._address = address
        self._place = place
        self._connection: Connection | None = None
        self._in_use = asyncio.Lock()

    @asynccontextmanager
    async def tried(self, name: str) -> AsyncIterator[bool]:
        """Try once to take the lock; when that yields True it is held for the block. Raises `MemoryFailureError`."""
        number = _number(name)
        request = asyncio.ensure_future(self._call("select pg_try_advisory_lock(%s) as done", number))
        with border(self._place):
            try:
                locked = await asyncio.shield(request)
            except asyncio.CancelledError:  # the server may still grant the lock, which nobody would release
                if await request:
                    await self._release(number)
                raise
        try:
            yield locked
        finally:
            if locked:
                await asyncio.shield(self._release(number))

    async def aclose(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def _release(self, number: int) -> None:
        with border(self._place):
            await self._call("select pg_advisory_unlock(%s) as done", number)

    async def _call(self, query: str, number: int) -> bool:
        async with self._in_use:
            old = self._connection
            try:
                return await self._call_once(query, number)
            except psycopg.errors.ConnectionTimeout:
                raise  # another attempt would make the turn wait twice as long
            except psycopg.OperationalError:
                if old is None or old is not self._connection:
                    raise  # a new connection failed too, so the server is away
                await old.close()
                return await self._call_once(query, number)

    async def _call_once(self, query: str, number: int) -> bool:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                if self._connection is None or self._connection.closed or self._connection.broken:
                    self._connection = await connect(self._address)
                    _check_encoding(self._connection, self._place)
                    await self._connection.execute(_NEVER_IDLE)
                row = await (await self._connection.execute(query, (number,))).fetchone()
        except TimeoutError:
            raise psycopg.errors.ConnectionTimeout("no answer") from None
        return bool(row and row["done"])


async def connect(address: SecretStr) -> Connection:
    return await ClosingConnection.connect(address.get_secret_value(), **_options())


def _options() -> dict[str, Any]:
    return {"autocommit": True, "row_factory": dict_row, "connect_timeout": CONNECT_SECONDS} | _KEEPALIVE


def _check_encoding(connection: Connection, place: str) -> None:
    """Raise `MemoryFailureError` for a database that cannot hold every text."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        message = f"T{place[1:]} stores text as {encoding}, which cannot hold every question."
        hint = "Create a database with the encoding UTF8, and name it in ASKBOOK_DATABASE_URL."
        raise MemoryFailureError("memory_unreachable", message, hint=hint)


def _number(name: str) -> int:
    """The signed 64-bit number of a lock, a hash of its name."""
    return int.from_bytes(hashlib.sha256(f"askbook:{name}".encode()).digest()[:8], "big", signed=True)


async def _checkpoints(connection: Connection) -> int:
    """The approximate number of stored checkpoints, from the last vacuum."""
    query = "select reltuples::bigint as many from pg_class where oid = 'checkpoints'::regclass"
    row = await (await connection.execute(query)).fetchone()
    return row["many"] if row else 0


async def _check(connection: Connection) -> None:
    """Raise `psycopg.Error` for a connection that died while the server was away.

    The server sends an idle connection nothing but its end, or a rare notice. So the server is asked, which costs a
    round trip, only when there is something to read.
    """
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    if waiting.poll(0):
        await AsyncConnectionPool.check_connection(connection)


async def _set_up(locks: AdvisoryLocks, pool: Pool, saver: PostgresSaver, store: AsyncPostgresStore) -> None:
    """Create the tables in one process at a time.

    Polls for the lock: a statement that waited inside PostgreSQL would block the other process's index creation.
    """
    while True:
        async with locks.tried(_SETUP) as locked:
            if locked:
                await pool.open()
                await saver.setup()
                await store.setup()
                return
        await asyncio.sleep(_PAUSE)
