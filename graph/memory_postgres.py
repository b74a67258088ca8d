"""Conversations in a PostgreSQL database, for several processes: checkpointer, store and advisory locks."""

from __future__ import annotations

import asyncio
import hashlib
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

from graph.memory_errors import border
from graph.savers import RESTS, KeptSaver, outdated
from graph.serializing import SealedStore, Serializers
from nodes.archive import namespace_of
from rag.errors import UsageError

CONNECT_SECONDS: Final = 5

# Servers before version 14 have no such limit.
_NEVER_IDLE: Final = "select set_config(name, '0', false) from pg_settings where name = 'idle_session_timeout'"
_ALIVE: Final = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}

Connection = psycopg.AsyncConnection[DictRow]


class AdvisoryLocks:
    """PostgreSQL's locks by number, all on one connection of this process: the server gives them back with it.

    A connection that broke, such as of a server that started anew, is replaced when it is next used. Neither the
    network nor the server's limit on idle sessions should end it while a turn waits for its model, for the lock of that
    turn would go with it.
    """

    def __init__(self, address: SecretStr, place: str) -> None:
        self._address = address
        self._place = place
        self._connection: Connection | None = None
        self._alone = asyncio.Lock()

    @asynccontextmanager
    async def tried(self, name: str) -> AsyncIterator[bool]:
        """Whether the lock could be had at once; then it is held for the block. Raises `MemoryFailureError`."""
        number = _number(name)
        asking = asyncio.ensure_future(self._call("select pg_try_advisory_lock(%s) as done", number))
        with border(self._place):
            try:
                had = await asyncio.shield(asking)
            except asyncio.CancelledError:  # the answer is on its way, and a lock that nobody knows of would stay
                if await asking:
                    await self._give_back(number)
                raise
        try:
            yield had
        finally:
            if had:
                await asyncio.shield(self._give_back(number))

    async def _give_back(self, number: int) -> None:
        with border(self._place):
            await self._call("select pg_advisory_unlock(%s) as done", number)

    async def _call(self, query: str, number: int) -> bool:
        async with self._alone:
            old = self._connection
            try:
                return await self._ask(query, number)
            except psycopg.OperationalError:
                if old is None or old is not self._connection:
                    raise  # the server is away, and not only what we had of it
                await old.close()
                return await self._ask(query, number)

    async def _ask(self, query: str, number: int) -> bool:
        if self._connection is None or self._connection.closed or self._connection.broken:
            self._connection = await connect(self._address)
            await self._connection.execute(_NEVER_IDLE)
        row = await (await self._connection.execute(query, (number,))).fetchone()
        return bool(row and row["done"])

    async def aclose(self) -> None:
        if self._connection is not None:
            await self._connection.close()


def _number(name: str) -> int:
    """A lock's number, signed and of 64 bits, of its name."""
    return int.from_bytes(hashlib.sha256(f"askbook:{name}".encode()).digest()[:8], "big", signed=True)


async def connect(address: SecretStr) -> Connection:
    options: Any = {"autocommit": True, "row_factory": dict_row, "connect_timeout": CONNECT_SECONDS} | _ALIVE
    return await psycopg.AsyncConnection.connect(address.get_secret_value(), **options)


_CONNECTIONS: Final = 10  # of one process at most; each statement takes one for its own time only
_WAIT_SECONDS: Final = 10.0  # for a connection
_LOCK_SECONDS: Final = 10.0  # for a table or row that another transaction holds
_PAUSE: Final = 0.05  # seconds between two looks at a lock
_SETUP: Final = "askbook setup"
# A vacuum is due after this many turns of the process, or this part of all checkpoints, whichever is more: the server
# looks for dead rows by itself only once a minute, and a vacuum of large tables has to read their indexes.
_VACUUM_TURNS: Final = 10
_VACUUM_PART: Final = 0.01
_TABLES: Final = ("checkpoint_writes", "checkpoint_blobs", "checkpoints")

Pool = AsyncConnectionPool[Connection]


class PostgresSaver(KeptSaver, AsyncPostgresSaver):
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
            if self.turns >= _VACUUM_TURNS and self.turns >= await _checkpoints(connection) * _VACUUM_PART:
                self.turns = 0
                await _vacuum(connection)
        return len(gone)


# What no checkpoint that is left refers to.
_DELETE_BLOBS: Final = """
with used as (
    select distinct one.key as channel, one.value as version
    from checkpoints cross join lateral jsonb_each_text(checkpoint -> 'channel_versions') as one
    where thread_id = %(thread)s and checkpoint_ns = ''
)
delete from checkpoint_blobs as blob where thread_id = %(thread)s and checkpoint_ns = ''
and not exists (select 1 from used where used.channel = blob.channel and used.version = blob.version)
"""


async def _checkpoints(connection: Connection) -> int:
    """About how many checkpoints are stored, as the last vacuum found."""
    query = "select reltuples::bigint as many from pg_class where oid = 'checkpoints'::regclass"
    row = await (await connection.execute(query)).fetchone()
    return row["many"] if row else 0


async def _vacuum(connection: Connection) -> None:
    """Make the room of deleted rows usable again; tables that another process is at are left to it."""
    await connection.execute(f"vacuum (skip_locked) {', '.join(_TABLES)}")


class PostgresDatabase:
    """The tables in one database, and a connection that holds this process's locks."""

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
        async with self.saver.guarded():
            gone = sum([await self.saver.drop_old(thread, 0) for thread in await self.thread_ids()])
            async with self.saver.conn.connection() as connection:
                await connection.execute(f"vacuum {', '.join(_TABLES)}, store")
        return gone

    def only_here(self, thread_id: str) -> AbstractAsyncContextManager[bool]:
        """The right to a conversation among all processes of the database; False where another has it."""
        return self._locks.tried(thread_id)


def place_of(address: SecretStr) -> str:
    """The database as it is named to a person. Raises `UsageError` for an address that is none, without showing it."""
    try:
        parts = conninfo_to_dict(address.get_secret_value())
    except psycopg.Error:
        hint = "Use one such as postgresql://user:password@host/database."
        raise UsageError("ASKBOOK_DATABASE_URL is no PostgreSQL address.", code="settings", hint=hint) from None
    return f'the PostgreSQL database "{parts.get("dbname") or "default"}" on {parts.get("host") or "this machine"}'


@asynccontextmanager
async def open_postgres(address: SecretStr, written: Serializers, keep: int) -> AsyncIterator[PostgresDatabase]:
    """The database, its tables made or brought up to date. Raises `MemoryFailureError`."""
    place = place_of(address)
    locks = AdvisoryLocks(address, place)
    options: Any = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    pool: Pool = AsyncConnectionPool(
        address.get_secret_value(),
        kwargs=options | {"connect_timeout": CONNECT_SECONDS},
        min_size=1,
        max_size=_CONNECTIONS,
        timeout=_WAIT_SECONDS,
        reconnect_timeout=_WAIT_SECONDS,  # the next statement tries again, however long the server was away
        open=False,
        configure=_configure,
        check=AsyncConnectionPool.check_connection,  # after the server was away, the old ones are dead
    )
    try:
        saver, store = PostgresSaver(pool, serde=written.steps), AsyncPostgresStore(pool)
        saver.keep, saver.place = keep, place
        with border(place):
            await _set_up(locks, pool, saver, store)
        yield PostgresDatabase(place, saver, SealedStore(store, written.turns, place), locks)
    finally:
        await pool.close()
        await locks.aclose()


async def _configure(connection: Connection) -> None:
    await connection.execute("select set_config('lock_timeout', %s, false)", (f"{_LOCK_SECONDS * 1000:.0f}ms",))


async def _set_up(locks: AdvisoryLocks, pool: Pool, saver: PostgresSaver, store: AsyncPostgresStore) -> None:
    """Make the tables, one process at a time. Waiting inside PostgreSQL would hold up the other's index for ever."""
    while True:
        async with locks.tried(_SETUP) as alone:
            if alone:
                await pool.open()
                await saver.setup()
                await store.setup()
                return
        await asyncio.sleep(_PAUSE)
