"""Work on SQLite for several conversations, done in one switch to the database's thread and one transaction.

A busy process keeps the database's thread waiting for Python's lock, up to 5 milliseconds each time that SQLite has
given it back: with each statement, and with the end of each transaction. The event loop then takes two rounds until the
next job begins. Fifty answers had more jobs than that allows.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import aiosqlite

from graph.private_apis import in_its_thread

T = TypeVar("T")


class _Job(NamedTuple):
    """Work on the connection; `changes` says that it needs a transaction, which it must not end itself."""

    work: Callable[[sqlite3.Connection], Any]
    changes: bool
    done: asyncio.Future[Any]


class _Outcome(NamedTuple):
    value: Any = None
    failure: Exception | None = None


class SharedJobs:
    """Runs jobs in their order, those that change the database before the others.

    What comes while jobs are under way shares the next switch to the thread, and one transaction. `lock` is held
    meanwhile.
    """

    def __init__(self, connection: aiosqlite.Connection, lock: asyncio.Lock) -> None:
        self._connection = connection
        self._lock = lock
        self._waiting: list[_Job] = []
        self._running: asyncio.Task[None] | None = None

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` returns, which only reads. Raises what it raises."""
        return await self._job(work, changes=False)

    async def change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` returns, once its changes are stored. A call that fails or is cancelled changes all or nothing.

        Raises what SQLite raises: for rows that it refuses only to their caller, for a file that cannot be written to
        everyone who waits for the transaction. `work` may be called twice.
        """
        return await self._job(work, changes=True)

    async def _job(self, work: Callable[[sqlite3.Connection], T], *, changes: bool) -> T:
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Job(work, changes, done))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await done

    async def _run(self) -> None:
        while self._waiting:
            async with self._lock:
                jobs = [job for job in self._waiting if not job.done.done()]  # a cancelled caller changes nothing
                self._waiting = []
                outcomes = await self._outcomes(sorted(jobs, key=lambda job: not job.changes))
            for job, outcome in outcomes:
                if job.done.done():
                    continue
                if outcome.failure is None:
                    job.done.set_result(outcome.value)
                else:
                    job.done.set_exception(outcome.failure)

    async def _outcomes(self, jobs: Sequence[_Job]) -> list[tuple[_Job, _Outcome]]:
        try:
            found = await in_its_thread(self._connection, partial(_all, jobs=jobs))
        except Exception as failure:  # the connection is closed
            found = [_Outcome(failure=failure) for _ in jobs]
        return list(zip(jobs, found, strict=True))


def _all(connection: sqlite3.Connection, jobs: Sequence[_Job]) -> list[_Outcome]:
    changes = [job for job in jobs if job.changes]
    found = _together(connection, changes)
    for job in jobs[len(changes) :]:
        try:
            found.append(_Outcome(job.work(connection)))
        except Exception as failure:
            found.append(_Outcome(failure=failure))
    return found


def _together(connection: sqlite3.Connection, jobs: Sequence[_Job]) -> list[_Outcome]:
    """Make the changes in one transaction; if some of them are refused, each in a transaction of its own."""
    try:
        return _in_transaction(connection, jobs)
    except Exception as failure:
        if len(jobs) == 1 or isinstance(failure, sqlite3.OperationalError):
            return [_Outcome(failure=failure) for _ in jobs]
    return [one for job in jobs for one in _together(connection, [job])]


def _in_transaction(connection: sqlite3.Connection, jobs: Sequence[_Job]) -> list[_Outcome]:
    with connection:  # commits, or rolls back
        return [_Outcome(job.work(connection)) for job in jobs]
