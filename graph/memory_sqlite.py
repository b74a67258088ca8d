"""Conversations in a SQLite file that only the user can read: checkpointer, store and file locks."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any, Final

import aiosqlite
import portalocker
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.sqlite.aio import AsyncSqliteStore

from graph.memory_errors import border
from graph.savers import RESTS, KeptSaver, outdated
from graph.serializing import SealedStore, Serializers
from nodes.archive import namespace_of
from rag.errors import MemoryFailureError
from rag.types import new_id

_EXCLUSIVE = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING


class FileLocks:
    """The operating system takes the lock of a dead process back, so a file that was left behind is in nobody's way.

    The name of a file is a hash: ids of conversations are not for everyone who can list a folder.
    """

    def __init__(self, folder: Path, place: str) -> None:
        self._folder = folder
        self._place = place

    @asynccontextmanager
    async def tried(self, name: str) -> AsyncIterator[bool]:
        """Whether the lock could be had at once; then it is held for the block. Raises `MemoryFailureError`."""
        path = self._folder / f"turn-{hashlib.sha256(name.encode()).hexdigest()[:32]}.lock"
        with border(self._place):
            descriptor = self._acquire(path)
        if descriptor is None:
            yield False
            return
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)  # while it is still held: who waits for it sees that its file is no more
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
            os.close(descriptor)  # its holder took the file away between our two calls


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


_WAIT_SECONDS: Final = 5  # for another process that writes
_PRAGMAS: Final = (
    # A power cut may cost the last turn, never the file; a crash of the process costs nothing.
    "pragma synchronous=NORMAL",
    # What is deleted is overwritten, also where only a page of it is left.
    "pragma secure_delete=ON",
    # The journal beside the file is kept at about half a megabyte.
    "pragma wal_autocheckpoint=128",
    "pragma journal_size_limit=524288",
)


class SqliteSaver(KeptSaver, AsyncSqliteSaver):
    """LangGraph's checkpointer on SQLite, pruned after each turn."""

    async def drop_old(self, thread_id: str, keep: int) -> int:
        where = "where thread_id = ? and checkpoint_ns = ''"
        text = "cast(metadata as text)"  # damaged in one conversation, it must not keep the others from being pruned
        rests = f"iif(json_valid({text}), json_extract({text}, '$.{RESTS}'), null)"
        query = f"select checkpoint_id, {rests} from checkpoints {where} order by checkpoint_id desc"
        async with self.lock:
            async with self.conn.execute(query, (thread_id,)) as rows:
                gone = outdated([(row[0], bool(row[1])) async for row in rows], keep)
            if gone:
                for table in ("writes", "checkpoints"):
                    statement = f"delete from {table} {where} and checkpoint_id = ?"
                    await self.conn.executemany(statement, [(thread_id, one) for one in gone])
                await self.conn.commit()
        return len(gone)

    async def recover(self) -> None:
        async with self.lock:
            await self.conn.rollback()


class SqliteDatabase:
    """One file with its journals, and beside it the locks of the turns that run."""

    def __init__(self, path: Path, saver: SqliteSaver, store: SealedStore) -> None:
        self.place = str(path)
        self.saver = saver
        self.store = store
        self._path = path
        self._inode = path.stat().st_ino
        self._locks = FileLocks(path.parent, self.place)

    async def thread_ids(self) -> list[str]:
        query = "select thread_id from checkpoints group by thread_id order by max(checkpoint_id) desc"
        async with self.saver.guarded(), self.saver.lock, self.saver.conn.execute(query) as rows:
            return [row[0] async for row in rows]

    async def delete(self, thread_id: str) -> None:
        statements = {
            "delete from writes where thread_id = ?": thread_id,
            "delete from checkpoints where thread_id = ?": thread_id,
            "delete from store where prefix = ?": ".".join(namespace_of(thread_id)),
        }
        async with self.saver.guarded():
            async with self.saver.lock:
                for statement, name in statements.items():
                    await self.saver.conn.execute(statement, (name,))
                await self.saver.conn.commit()
            await self._rewrite()

    async def prune(self) -> int:
        async with self.saver.guarded():
            gone = sum([await self.saver.drop_old(thread, 0) for thread in await self.thread_ids()])
            await self._rewrite()
        return gone

    async def _rewrite(self) -> None:
        """Write the file anew without what was deleted, and empty its journal, which still holds old pages.

        A reader in another process can keep the journal from being emptied; the next one who leaves empties it.
        """
        async with self.saver.lock:
            await self.saver.conn.execute("vacuum")
            await self.saver.conn.execute("pragma wal_checkpoint(TRUNCATE)")

    def only_here(self, thread_id: str) -> AbstractAsyncContextManager[bool]:
        """The right to a conversation among all processes; False where another has it.

        Raises `MemoryFailureError` when the file is no longer the one that was opened: what is written to a file
        without a name is lost without a word.
        """
        try:
            same = self._path.stat().st_ino == self._inode
        except OSError:
            same = False
        if not same:
            hint = "Put it back, or start askbook anew."
            raise MemoryFailureError("memory_gone", f"{self.place} was taken away while in use.", hint=hint)
        return self._locks.tried(thread_id)


@asynccontextmanager
async def open_sqlite(path: Path, written: Serializers, keep: int) -> AsyncIterator[SqliteDatabase]:
    """The file, made where it is missing. Raises `MemoryFailureError`."""
    with border(str(path)):
        if _is_emptied(path):
            hint = "Put a copy of it back, or delete it to start afresh."
            raise MemoryFailureError("memory_broken", f"{path} is empty; what was in it is gone.", hint=hint)
        _make_private(path)
    async with _connection(path) as conn, _connection(path, isolation_level=None) as beside:
        with border(str(path)):
            saver = SqliteSaver(conn, serde=written.steps)
            saver.keep, saver.place = keep, str(path)
            await saver.setup()
            store = AsyncSqliteStore(beside)
            await store.setup()
        yield SqliteDatabase(path, saver, SealedStore(store, written.turns, str(path)))


@asynccontextmanager
async def _connection(path: Path, **options: Any) -> AsyncIterator[aiosqlite.Connection]:
    with border(str(path)):
        connection = await aiosqlite.connect(path, timeout=_WAIT_SECONDS, **options)
    try:
        with border(str(path)):
            for pragma in _PRAGMAS:
                await connection.execute(pragma)
        yield connection
    finally:
        await connection.close()


def _is_emptied(path: Path) -> bool:
    """Whether the file was cut to nothing: ours has a byte from its beginning, and one that is open has a journal."""
    return path.is_file() and not path.stat().st_size and not path.with_name(f"{path.name}-wal").exists()


def _make_private(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        _create(path)
    path.chmod(0o600)  # a file of another program's making too; SQLite's journals take its permissions


def _create(path: Path) -> None:
    """The file with SQLite's first page, at once: one that a killed process left empty would look like one cut."""
    new = path.with_name(f"{path.name}-{new_id()}")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        with closing(sqlite3.connect(new)) as connection:
            connection.execute("pragma journal_mode=WAL")
        os.link(new, path)
    except FileExistsError:  # another process was faster
        pass
    except OSError:  # a file system without links
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
