"""Conversations in a SQLite file: the database, and LangGraph's checkpointer on it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver as BlockingSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.sqlite.aio import AsyncSqliteStore

from graph.private_apis import end_batches
from graph.sqlite_file import FileLocks, SharedJobs, check_beginning, check_owner, connect, make_private
from graph.storage import RESTS, PruningSaver, SealedStore, Serializers, border, outdated
from nodes.archive import namespace_of
from rag.errors import MemoryFailureError

T = TypeVar("T")


@asynccontextmanager
async def open_sqlite(path: Path, serde: Serializers, keep: int) -> AsyncIterator[SqliteDatabase]:
    """The database file, created when it is missing. Raises `MemoryFailureError`."""
    with border(str(path)):
        check_beginning(path)
        make_private(path)
    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(connect(path))
        others = await stack.enter_async_context(connect(path, isolation_level=None))
        with border(str(path)):
            await check_owner(connection, path)
            saver = SqliteSaver(connection, serde=serde.steps)
            saver.keep, saver.place = keep, str(path)
            await saver.setup()
            store = AsyncSqliteStore(others)
            stack.push_async_callback(end_batches, store)
            await store.setup()
        yield SqliteDatabase(path, saver, SealedStore(store, serde.turns, str(path)))


class SqliteDatabase:
    """One file with its journals, and the lock files of running turns in the same folder."""

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
        """Delete a conversation and rewrite the file without it, if the disk has room for that.

        Raises `MemoryFailureError` "disk_full" without room for the journal of the deletion; nothing is deleted then.
        """
        await self._delete_rows(thread_id)
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
            await self._run("vacuum")
            await self._run("pragma wal_checkpoint(TRUNCATE)")

    async def _run(self, statement: str) -> None:
        """Run a statement to its end. A cursor with rows left would lock the database until it is collected."""
        async with self.saver.conn.execute(statement) as rows:
            await rows.fetchall()

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


class _Dumped:
    """Returns data that was serialized before, since serializing in the database's thread would delay every turn."""

    def __init__(self, inner: SerializerProtocol) -> None:
        self.loads_typed = inner.loads_typed

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        dumped: tuple[str, bytes] = obj["dumped"]
        return dumped


class _SaverInJob(BlockingSaver):
    """LangGraph's blocking saver, in a job that has begun a transaction and will end it."""

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:  # noqa: ARG002
        with closing(self.conn.cursor()) as cursor:
            yield cursor


class StepSaver(AsyncSqliteSaver):
    """`AsyncSqliteSaver` that batches the reads and writes of several conversations. LangGraph's blocking `SqliteSaver`
    executes each, in one switch to the database's thread.

    LangGraph's own switches three to six times for each of the thirteen reads and writes of a turn. A call that is
    cancelled has stored everything or nothing.
    """

    _blocking: _SaverInJob | None = None
    _jobs: SharedJobs | None = None

    @property
    def jobs(self) -> SharedJobs:
        if self._jobs is None:
            self._jobs = SharedJobs(self.conn, self.lock)
        return self._jobs

    async def _job(self, work: Callable[[BlockingSaver], T], *, changes: bool = True) -> T:
        if not self.is_setup:  # `setup` waits for the lock, also when nothing is left to do
            await self.setup()

        def job(connection: sqlite3.Connection) -> T:
            if self._blocking is None:
                self._blocking = _SaverInJob(connection, serde=_Dumped(self.serde))
                self._blocking.is_setup = True  # by this saver; tables that are missing now are a failure
            return work(self._blocking)

        return await (self.jobs.change(job) if changes else self.jobs.read(job))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._job(lambda saver: saver.get_tuple(config), changes=False)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        dumped: Any = {"id": checkpoint["id"], "dumped": self.serde.dumps_typed(checkpoint)}
        return await self._job(lambda saver: saver.put(config, dumped, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        dumped = [(channel, {"dumped": self.serde.dumps_typed(value)}) for channel, value in writes]
        await self._job(lambda saver: saver.put_writes(config, dumped, task_id, task_path))


class SqliteSaver(PruningSaver, StepSaver):
    """LangGraph's checkpointer on SQLite, pruned after each turn."""

    async def drop_old(self, thread_id: str, keep: int) -> int:
        return await self.jobs.change(partial(_without_old, thread_id=thread_id, keep=keep))

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
    for table in ("writes", "checkpoints"):
        statement = f"delete from {table} {where} and checkpoint_id = ?"
        connection.executemany(statement, [(thread_id, checkpoint_id) for checkpoint_id in gone])
    return len(gone)
