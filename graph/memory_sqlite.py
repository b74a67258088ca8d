"""Conversations in a SQLite file that only the user can read: checkpointer, store and file locks."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import portalocker
from langgraph.store.sqlite.aio import AsyncSqliteStore

from graph.memory_errors import border
from graph.private_apis import end_batches, in_its_thread
from graph.savers import RESTS, KeptSaver, outdated
from graph.serializing import SealedStore, Serializers
from graph.sqlite_file import check_beginning, check_owner, make_private, open_connections
from graph.sqlite_steps import StepSaver
from nodes.archive import namespace_of
from rag.errors import MemoryFailureError

_EXCLUSIVE: Final = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING


@asynccontextmanager
async def open_sqlite(path: Path, serde: Serializers, keep: int) -> AsyncIterator[SqliteDatabase]:
    """The database file, created when it is missing. Raises `MemoryFailureError`."""
    with border(str(path)):
        check_beginning(path)
        make_private(path)
    async with AsyncExitStack() as stack:
        connections = await open_connections(path, stack)
        with border(str(path)):
            await check_owner(connections[0], path)
            saver = SqliteSaver(connections[0], serde=serde.steps)
            saver.keep, saver.place = keep, str(path)
            await saver.setup()
            store = AsyncSqliteStore(connections[-1])
            stack.push_async_callback(end_batches, store)
            if len(connections) == 1:
                store.lock = saver.lock  # a transaction of one must not be ended by the other
            await store.setup()
        yield SqliteDatabase(path, saver, SealedStore(store, serde.turns, str(path)), alone=len(connections) == 1)


class SqliteDatabase:
    """One file with its journals, and the lock files of running turns in the same folder."""

    def __init__(self, path: Path, saver: SqliteSaver, store: SealedStore, *, alone: bool = False) -> None:
        """`alone` says that saver and store share one exclusive connection."""
        self.place = str(path)
        self.saver = saver
        self.store = store
        self._alone = alone
        self._path = path
        self._inode = path.stat().st_ino
        self._locks = FileLocks(path.parent, self.place)

    async def thread_ids(self) -> list[str]:
        query = "select thread_id from checkpoints group by thread_id order by max(checkpoint_id) desc"
        async with self.saver.guarded(), self.saver.lock, self.saver.conn.execute(query) as rows:
            return [row[0] async for row in rows]

    async def delete(self, thread_id: str) -> None:
        try:
            await self._delete_rows(thread_id)
        except MemoryFailureError as failure:
            if failure.code != "disk_full":
                raise
            await (self._delete_in_place(thread_id) if self._alone else self._delete_in_steps(thread_id))
            return
        try:
            async with self.saver.guarded():
                await self._rewrite()
        except MemoryFailureError as failure:
            if failure.code != "disk_full":  # the rows are overwritten; the file shrinks when there is room
                raise

    async def _delete_rows(self, thread_id: str) -> None:
        statements = {
            "delete from writes where thread_id = ?": thread_id,
            "delete from checkpoints where thread_id = ?": thread_id,
            "delete from store where prefix = ?": ".".join(namespace_of(thread_id)),
        }
        async with self.saver.guarded(), self.saver.lock:
            for statement, name in statements.items():
                await self.saver.conn.execute(statement, (name,))
            await self.saver.conn.commit()

    async def _delete_in_steps(self, thread_id: str) -> None:
        """Delete one row at a time and empty the journal after each, so that it needs little room.

        The newest checkpoint goes last: until then the conversation is listed and can be deleted again.
        """
        space = ".".join(namespace_of(thread_id))
        steps = (
            ("store where prefix = ?", space, "key"),
            ("writes where thread_id = ?", thread_id, "checkpoint_id"),
            ("checkpoints where thread_id = ?", thread_id, "checkpoint_id"),
        )
        try:
            async with self.saver.guarded(), self.saver.lock:
                for rows, name, order in steps:
                    table = rows.split()[0]
                    one = f"delete from {table} where rowid = (select rowid from {rows} order by {order} limit 1)"
                    while (await self.saver.conn.execute(one, (name,))).rowcount:
                        await self.saver.conn.commit()
                        await self.saver.conn.execute("pragma wal_checkpoint(RESTART)")
        except MemoryFailureError as failure:
            if failure.code != "disk_full":
                raise
            hint = 'Free disk space, or close every askbook program and run "python run.py threads delete ID".'
            raise MemoryFailureError("disk_full", failure.message, hint=hint) from None

    async def _delete_in_place(self, thread_id: str) -> None:
        """Delete without a journal on the disk, which has no room for one.

        The rows are overwritten, but the file is not rewritten without them: that takes long, and until a step with the
        journal in memory is finished, a kill would damage the file.
        """
        await self._journal("memory")
        try:
            await self._delete_rows(thread_id)
        finally:
            await self._journal("wal")

    async def _journal(self, mode: str) -> None:
        async with self.saver.guarded(), self.saver.lock:
            await self.saver.conn.execute(f"pragma journal_mode={mode}")

    async def prune(self) -> int:
        async with self.saver.guarded():
            gone = sum([await self.saver.drop_old(thread, 0) for thread in await self.thread_ids()])
            await self._rewrite()
        return gone

    async def _rewrite(self) -> None:
        """Rewrite the file without deleted data, and truncate the journal, which still holds old pages.

        A reader in another process can keep the journal from being truncated; the last process to close it does that.
        """
        async with self.saver.lock:
            await self.saver.conn.execute("vacuum")
            await self.saver.conn.execute("pragma wal_checkpoint(TRUNCATE)")

    def only_here(self, thread_id: str) -> AbstractAsyncContextManager[bool]:
        """As `Database` says. Raises `MemoryFailureError` when the file was removed or replaced since it was opened.

        Writes to a removed file would be lost without an error.
        """
        try:
            same = self._path.stat().st_ino == self._inode
        except OSError:
            same = False
        if not same:
            hint = "Put it back, or restart askbook."
            raise MemoryFailureError("memory_gone", f"{self.place} was removed while in use.", hint=hint)
        return self._locks.tried(thread_id)


class SqliteSaver(KeptSaver, StepSaver):
    """LangGraph's checkpointer on SQLite, pruned after each turn."""

    async def drop_old(self, thread_id: str, keep: int) -> int:
        async with self.lock:
            return await in_its_thread(self.conn, partial(_without_old, thread_id=thread_id, keep=keep))

    async def recover(self) -> None:
        async with self.lock:
            await self.conn.rollback()


def _without_old(connection: sqlite3.Connection, thread_id: str, keep: int) -> int:
    """Delete the `outdated` checkpoints of a conversation and what belongs to them. Returns how many there were."""
    where = "where thread_id = ? and checkpoint_ns = ''"
    text = "cast(metadata as text)"
    # Damaged metadata of one conversation must not keep the others from being pruned.
    rests = f"iif(json_valid({text}), json_extract({text}, '$.{RESTS}'), null)"
    query = f"select checkpoint_id, {rests} from checkpoints {where} order by checkpoint_id desc"
    gone = outdated([(row[0], bool(row[1])) for row in connection.execute(query, (thread_id,))], keep)
    with connection:  # commits, or rolls back
        for table in ("writes", "checkpoints"):
            statement = f"delete from {table} {where} and checkpoint_id = ?"
            connection.executemany(statement, [(thread_id, checkpoint_id) for checkpoint_id in gone])
    return len(gone)


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
