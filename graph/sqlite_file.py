"""The file of conversations: created in one step, checked, closed to others, opened; and the locks beside it."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any, Final

import aiosqlite
import portalocker
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore

from graph.memory_errors import border
from rag.errors import MemoryFailureError
from rag.system.private_files import private_folder
from rag.types import new_id

_WAIT_SECONDS: Final = 5  # for another process that is writing
_WAIT_ALONE: Final = 0.2  # for the exclusive use of the file, when the disk is almost full
_ROOM: Final = 262_144  # bytes of disk for the journal of a deletion
_PRAGMAS: Final = (
    # A power cut may lose the last turn but never the file; a crash of the process loses nothing.
    "pragma synchronous=NORMAL",
    # Overwrite deleted data, also on pages that stay in use.
    "pragma secure_delete=ON",
    # Keep the journal at about half a megabyte.
    "pragma wal_autocheckpoint=128",
    "pragma journal_size_limit=524288",
)
_ALONE: Final = ("pragma locking_mode=EXCLUSIVE", "pragma temp_store=MEMORY")
_EXCLUSIVE: Final = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
_BEGINNING: Final = b"SQLite format 3\x00"


async def open_connections(path: Path, stack: AsyncExitStack) -> list[aiosqlite.Connection]:
    """One connection for the saver and one for the store; a single exclusive one for both while the disk is full.

    Connections share an index of the journal in a file of its own, for which a full disk has no room. An exclusive
    connection has it in memory, so that conversations can still be read and deleted. With less than `_ROOM` the index
    fits, but the journal of a deletion does not; so the exclusive connection is tried first, unless others read.
    """
    if shutil.disk_usage(path.parent).free < _ROOM:
        async with AsyncExitStack() as opened:
            with suppress(MemoryFailureError):
                only = await opened.enter_async_context(_connection(path, alone=True, wait=_WAIT_ALONE))
                await stack.enter_async_context(opened.pop_all())
                return [only]
    try:
        async with AsyncExitStack() as opened:
            both = [
                await opened.enter_async_context(_connection(path)),
                await opened.enter_async_context(_connection(path, isolation_level=None)),
            ]
            await stack.enter_async_context(opened.pop_all())
            return both
    except MemoryFailureError as failure:
        if failure.code != "disk_full":
            raise
    return [await stack.enter_async_context(_connection(path, alone=True))]


@asynccontextmanager
async def _connection(
    path: Path, *, alone: bool = False, wait: float = _WAIT_SECONDS, **options: Any
) -> AsyncIterator[aiosqlite.Connection]:
    with border(str(path)):
        connection = await aiosqlite.connect(path, timeout=wait, **options)
    try:
        with border(str(path)):
            for pragma in (*_ALONE, *_PRAGMAS) if alone else _PRAGMAS:
                await connection.execute(pragma)
            # The first access fails where any would. Close its cursor: an open one keeps the journal's mode as it is.
            async with connection.execute("select 1 from sqlite_master") as rows:
                await rows.fetchall()
        yield connection
    finally:
        await connection.close()


def check_beginning(path: Path) -> None:
    """Raise `MemoryFailureError` for a file that does not begin as SQLite's do. SQLite takes one of up to a byte for a
    new database and drops its journal; `_create` never leaves such a file."""
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

    A killed process must not leave an empty file. Of two programs that create the tables in one file at the same time,
    one fails, since LangGraph records each migration once.
    """
    new = path.with_name(f"{path.name}-{new_id()}")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            connection.execute("pragma journal_mode=WAL")
            SqliteSaver(connection).setup()
            SqliteStore(connection).setup()
        os.link(new, path)
    except FileExistsError:  # another process was faster
        pass
    except OSError:  # a file system without links
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


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
            descriptor = self._acquire(path)
        if descriptor is None:
            yield False
            return
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)  # before the lock is freed, so that `_is_still` sees the file is gone
            os.close(descriptor)

    def _acquire(self, path: Path) -> int | None:
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                portalocker.lock(descriptor, _EXCLUSIVE)
            except portalocker.AlreadyLocked:
                os.close(descriptor)
                return None
            except portalocker.LockException as error:
                os.close(descriptor)
                raise OSError("the file system refuses a lock") from error
            if _is_still(path, descriptor):
                return descriptor
            os.close(descriptor)  # its holder deleted the file between our `open` and `lock`


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False
