"""The file of conversations: created in one step, checked, opened; the jobs done on it, and the locks beside it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import aiosqlite
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore

from graph.private_apis import in_its_thread
from graph.storage import border
from rag.errors import MemoryFailureError
from rag.system.files import private_folder, try_lock
from rag.types import new_id

_WAIT_SECONDS: Final = 5  # for another process that is writing
_PRAGMAS: Final = (
    # A power cut may lose the last turn but never the file; a crash of the process loses nothing.
    "pragma synchronous=NORMAL",
    # Overwrite deleted data, also on pages that stay in use.
    "pragma secure_delete=ON",
    # Keep the journal at about half a megabyte.
    "pragma wal_autocheckpoint=128",
    "pragma journal_size_limit=524288",
)
_BEGINNING: Final = b"SQLite format 3\x00"

T = TypeVar("T")


@asynccontextmanager
async def connect(path: Path, **options: Any) -> AsyncIterator[aiosqlite.Connection]:
    """A connection to the file. Raises `MemoryFailureError`, also when the disk has no room for its journal."""
    with border(str(path)):
        connection = await aiosqlite.connect(path, timeout=_WAIT_SECONDS, **options)
    try:
        with border(str(path)):
            for pragma in _PRAGMAS:
                await connection.execute(pragma)
            # The first access fails where any would. Close its cursor: an open one keeps the journal's mode as it is.
            async with connection.execute("select 1 from sqlite_master") as rows:
                await rows.fetchall()
        yield connection
    finally:
        await connection.close()


def check_beginning(path: Path) -> None:
    """Raise `MemoryFailureError` for a file that does not begin as SQLite's do. SQLite treats a file of at most one
    byte as a new database and drops its journal; `_create` never leaves such a file.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        beginning = file.read(len(_BEGINNING))
    if beginning == _BEGINNING:
        return
    hint = "Restore a backup, or delete it to start afresh."
    what = "is damaged or was not made by askbook" if beginning else "is empty; its conversations are lost"
    raise MemoryFailureError("memory_broken", f"{path} {what}.", hint=hint)


async def check_owner(connection: aiosqlite.Connection, path: Path) -> None:
    """Raise `MemoryFailureError` for another program's database. askbook's first table is `checkpoints`."""
    async with connection.execute("select name from sqlite_master where type = 'table'") as rows:
        tables = {row[0] async for row in rows}
    if tables and "checkpoints" not in tables:
        hint = "Move it away, or set ASKBOOK_HOME to another folder."
        raise MemoryFailureError("memory_broken", f"{path} was not made by askbook, or is damaged.", hint=hint)


def make_private(path: Path) -> None:
    private_folder(path.parent)
    if not path.exists():
        _create(path)
    path.chmod(0o600)  # also a file that another program created; SQLite's journals take its permissions


def _create(path: Path) -> None:
    """Create the file with LangGraph's tables in one step.

    A killed process must not leave an empty file, and two programs must not create the tables in one file: LangGraph
    records each migration once, so one of them would fail. The file is written to the disk once, before it is renamed.
    """
    new = path.with_name(f"{path.name}-{new_id()}")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            connection.execute("pragma synchronous=OFF")
            connection.execute("pragma journal_mode=WAL")
            SqliteSaver(connection).setup()
            SqliteStore(connection).setup()
        with new.open("rb") as file:  # closed before it has its name: that would free the locks of others on it
            os.fsync(file.fileno())
        try:
            os.link(new, path)
        except FileExistsError:  # another process was faster
            pass
        except OSError:  # a file system without links
            new.replace(path)
    finally:
        new.unlink(missing_ok=True)


class _Job(NamedTuple):
    """Work on the connection; `changes` says that it needs a transaction, which it must not end itself."""

    work: Callable[[sqlite3.Connection], Any]
    changes: bool
    done: asyncio.Future[Any]


class SharedJobs:
    """Runs jobs of several conversations in their order, those that change the database before the others.

    Jobs that arrive while others run share the next switch to the database's thread, and one transaction. `lock` is
    held meanwhile. In a busy process each switch waits up to 5 milliseconds for Python's lock; fifty answers at a time
    have more jobs than that allows.
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
                jobs.sort(key=lambda job: not job.changes)
                try:
                    outcomes = await in_its_thread(self._connection, partial(_outcomes, jobs=jobs))
                except Exception as failure:  # the connection is closed
                    outcomes = [failure for _ in jobs]
            for job, outcome in zip(jobs, outcomes, strict=True):
                if job.done.done():
                    continue
                if isinstance(outcome, Exception):
                    job.done.set_exception(outcome)
                else:
                    job.done.set_result(outcome)


def _outcomes(connection: sqlite3.Connection, jobs: Sequence[_Job]) -> list[Any]:
    """What each job returns or raises: all changes in one transaction, the others, which follow them, one by one."""
    changes = [job for job in jobs if job.changes]
    return _together(connection, changes) + [_together(connection, [job])[0] for job in jobs[len(changes) :]]


def _together(connection: sqlite3.Connection, jobs: Sequence[_Job]) -> list[Any]:
    """Do the jobs in one transaction; if some of them are refused, each in a transaction of its own."""
    try:
        with connection:  # commits, or rolls back
            return [job.work(connection) for job in jobs]
    except Exception as failure:
        if len(jobs) == 1 or isinstance(failure, sqlite3.OperationalError):
            return [failure for _ in jobs]
    return [one for job in jobs for one in _together(connection, [job])]


class FileLocks:
    """Locked files in a folder. The operating system frees the lock of a dead process, so leftover files do no harm.

    Files are named by a hash, so that listing the folder does not reveal the ids of conversations.
    """

    def __init__(self, folder: Path, place: str) -> None:
        self._folder = folder
        self._place = place

    @asynccontextmanager
    async def tried(self, name: str) -> AsyncIterator[bool]:
        """Try once to take the lock; when that yields True it is held for the block. Raises `MemoryFailureError`."""
        path = self._folder / f"turn-{hashlib.sha256(name.encode()).hexdigest()[:32]}.lock"
        with border(self._place):
            descriptor = try_lock(path)
        if descriptor is None:
            yield False
            return
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)  # before the lock is freed, so that those who wait see it is gone
            os.close(descriptor)
