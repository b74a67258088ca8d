"""Rows of several conversations, stored in one transaction of SQLite.

A busy process keeps the database's thread waiting for Python's lock, up to 5 milliseconds each time that SQLite has
given it back: with each statement, and with the end of each transaction. Fifty answers stored more often than that
allows.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import aiosqlite

from graph.private_apis import in_its_thread


class _Rows(NamedTuple):
    """Rows for one statement. `stored` is set when they are in the file, or to why they are not."""

    statement: str
    rows: Sequence[Sequence[Any]]
    stored: asyncio.Future[None]


class SharedTransactions:
    """Stores rows in their order. What comes while a transaction is under way shares the next one.

    `lock` is held for each transaction.
    """

    def __init__(self, connection: aiosqlite.Connection, lock: asyncio.Lock) -> None:
        self._connection = connection
        self._lock = lock
        self._waiting: list[_Rows] = []
        self._storing: asyncio.Task[None] | None = None

    async def store(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Return when the rows are stored. A call that fails or is cancelled has stored all of them or none.

        Raises what SQLite raises: of rows that it refuses only to their caller, of a file that cannot be written to
        everyone who waits for the transaction.
        """
        stored = asyncio.get_running_loop().create_future()
        self._waiting.append(_Rows(statement, rows, stored))
        if self._storing is None or self._storing.done():
            self._storing = asyncio.create_task(self._store_waiting())
        await stored

    async def _store_waiting(self) -> None:
        while self._waiting:
            async with self._lock:
                group = [one for one in self._waiting if not one.stored.done()]  # a cancelled caller stores nothing
                self._waiting = []
                failures = await self._stored(group)
            for one, failure in zip(group, failures, strict=True):
                if one.stored.done():
                    continue
                if failure is None:
                    one.stored.set_result(None)
                else:
                    one.stored.set_exception(failure)

    async def _stored(self, group: Sequence[_Rows]) -> list[Exception | None]:
        try:
            return await in_its_thread(self._connection, partial(_together, group=group))
        except Exception as failure:  # the connection is closed
            return [failure for _ in group]


def _together(connection: sqlite3.Connection, group: Sequence[_Rows]) -> list[Exception | None]:
    """Store the group in one transaction; if some of its rows are refused, each member in a transaction of its own."""
    failure = _in_transaction(connection, group)
    if failure is None or len(group) == 1 or isinstance(failure, sqlite3.OperationalError):
        return [failure for _ in group]
    return [_in_transaction(connection, [one]) for one in group]


def _in_transaction(connection: sqlite3.Connection, group: Sequence[_Rows]) -> Exception | None:
    try:
        with connection:  # commits, or rolls back
            for one in group:
                connection.executemany(one.statement, one.rows)
    except Exception as failure:
        return failure
    return None
