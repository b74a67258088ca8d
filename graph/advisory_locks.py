"""Locks between processes, by name: PostgreSQL's own, which the server takes back from a dead process."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import psycopg
from psycopg.rows import DictRow, dict_row
from pydantic import SecretStr

from graph.memory_faults import border

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
