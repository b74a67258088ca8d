"""What a memory needs of a database, and two of them: dictionaries, and the checkpointer and store of the caller.

The others are in `graph.memory_sqlite` and `graph.memory_postgres`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any, Final, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.store.base import BaseStore, Op, PutOp, Result, SearchOp
from langgraph.store.memory import InMemoryStore

from graph.storage import RESTS, PruningSaver, outdated
from nodes.archive import namespace_of
from rag.errors import AskbookError, MemoryFailureError, UsageError


class Database(Protocol):
    """One kind of database. Every method raises `MemoryFailureError` when the database fails."""

    @property
    def place(self) -> str:
        """The database's name in messages, without a password."""
        ...

    @property
    def saver(self) -> PruningSaver: ...

    @property
    def store(self) -> BaseStore | None:
        """Where old turns are archived; None if they stay in the checkpoints."""
        ...

    async def thread_ids(self) -> list[str]:
        """The ids of all stored conversations, the most recently used first."""
        ...

    async def delete(self, thread_id: str) -> None:
        """Delete every row of the conversation, and its bytes where the database can."""
        ...

    async def prune(self) -> int:
        """Keep only the newest checkpoint of every conversation and free the space. Returns how many were deleted."""
        ...

    def only_here(self, thread_id: str) -> AbstractAsyncContextManager[bool]:
        """Try to lock a conversation against other processes. Yields False when another process has the lock."""
        ...


class LocalSaver(PruningSaver, InMemorySaver):
    """LangGraph's in-memory checkpointer, pruned like the others so that a long conversation does not fill it."""

    async def drop_old(self, thread_id: str, keep: int) -> int:
        stored = self.storage[thread_id].get("", {})
        newest_first = sorted(stored, reverse=True)
        rests = [(id_, bool(self.serde.loads_typed(stored[id_][1]).get(RESTS))) for id_ in newest_first]
        gone = outdated(rests, keep)
        for checkpoint_id in gone:
            del stored[checkpoint_id]
            self.writes.pop((thread_id, "", checkpoint_id), None)
        versions = [self.serde.loads_typed(kept[0])["channel_versions"] for kept in stored.values()]
        used = {pair for channels in versions for pair in channels.items()}
        for key in [key for key in self.blobs if key[0] == thread_id and (key[2], key[3]) not in used]:
            del self.blobs[key]
        return len(gone)


class LocalDatabase:
    """Conversations in dictionaries of this process, which end with it."""

    place = "the memory of this process"

    def __init__(self, serializer: SerializerProtocol, keep: int) -> None:
        self.saver = LocalSaver(serde=serializer)
        self.saver.keep = keep
        self.saver.place = self.place
        self.store: BaseStore = InMemoryStore()

    async def thread_ids(self) -> list[str]:
        newest = {thread: max(spaces[""]) for thread, spaces in self.saver.storage.items() if spaces.get("")}
        return sorted(newest, key=lambda thread: newest[thread], reverse=True)

    async def delete(self, thread_id: str) -> None:
        await self.saver.adelete_thread(thread_id)
        await forget(self.store, thread_id)

    async def prune(self) -> int:
        return sum([await self.saver.drop_old(thread, 0) for thread in await self.thread_ids()])

    def only_here(self, _thread_id: str) -> AbstractAsyncContextManager[bool]:
        """Always succeeds, since no other process has this memory."""
        return nullcontext(True)


_PAGE: Final = 1_000  # items of one search in the store


class _Delegate(BaseCheckpointSaver[Any]):
    """Passes every asynchronous call on to another checkpointer."""

    def __init__(self, inner: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=inner.serde)
        self.inner = inner

    @property
    def config_specs(self) -> list[Any]:
        return self.inner.config_specs

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self.inner.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[Any]:
        return type(self)(self.inner.with_allowlist(extra_allowlist))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self.inner.aget_tuple(config)

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncIterator[CheckpointTuple]:
        async for found in self.inner.alist(config, **options):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self.inner.aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self.inner.aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await self.inner.adelete_thread(thread_id)


class GivenSaver(PruningSaver, _Delegate):
    """The caller's checkpointer with our errors. Turns delete none of its checkpoints: that is up to the caller."""

    def __init__(self, inner: BaseCheckpointSaver[Any]) -> None:
        super().__init__(inner)
        self.place = f"the {type(inner).__name__} that was given"

    async def drop_old(self, _thread_id: str, _keep: int) -> int:
        return 0

    async def prune_all(self, thread_ids: Sequence[str]) -> None:
        """As LangGraph's `aprune`. Raises `NotImplementedError` for a checkpointer that cannot."""
        async with self.guarded():
            await self.inner.aprune(thread_ids, strategy="keep_latest")

    @asynccontextmanager
    async def guarded(self, *, reading: str | None = None, limited: bool = True) -> AsyncIterator[None]:  # noqa: ARG002
        """Turn every failure of the checkpointer, which may be of any kind, into `MemoryFailureError`."""
        try:
            async with super().guarded(limited=limited):
                yield
        except (AskbookError, NotImplementedError):
            raise
        except Exception as error:
            raise _failed("checkpointer", self.inner, error) from None


class GivenStore(BaseStore):
    """The caller's store with our errors."""

    def __init__(self, inner: BaseStore) -> None:
        self.inner = inner

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self.inner.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        try:
            return await self.inner.abatch(ops)
        except AskbookError:
            raise
        except Exception as error:
            raise _failed("store", self.inner, error) from None


def _failed(role: str, given: object, error: Exception) -> MemoryFailureError:
    """What an exception of any kind of an object that the caller gave becomes, without its text."""
    message = f"The {type(given).__name__} that was given raised {type(error).__name__}."
    return MemoryFailureError("memory_unreachable", message, hint=f"Check the {role} that was given to open_agent.")


class GivenDatabase:
    """A `graph.database.Database` over the caller's objects. Without a store, old turns are not archived.

    Turns of one conversation queue within this process; a checkpointer has no lock against others.
    """

    def __init__(self, checkpointer: BaseCheckpointSaver[Any], store: BaseStore | None) -> None:
        self.saver = GivenSaver(checkpointer)
        self.store = store
        self.place = self.saver.place

    async def thread_ids(self) -> list[str]:
        newest: dict[str, str] = {}
        async for found in self.saver.alist(None):
            place = found.config["configurable"]
            if not place.get("checkpoint_ns"):
                thread = str(place["thread_id"])
                newest[thread] = max(newest.get(thread, ""), found.checkpoint["id"])
        return sorted(newest, key=lambda thread: newest[thread], reverse=True)

    async def delete(self, thread_id: str) -> None:
        await self.saver.adelete_thread(thread_id)
        if self.store is not None:
            await forget(self.store, thread_id)

    async def prune(self) -> int:
        """As `Database` says; deletes nothing if the checkpointer cannot."""
        threads, before = await self.thread_ids(), await self._checkpoints()
        try:
            await self.saver.prune_all(threads)
        except NotImplementedError:
            return 0
        return before - await self._checkpoints()

    async def _checkpoints(self) -> int:
        return len([found async for found in self.saver.alist(None)])

    def only_here(self, _thread_id: str) -> AbstractAsyncContextManager[bool]:
        return nullcontext(True)


class OtherStore:
    """Our database with the caller's store."""

    def __init__(self, database: Database, store: BaseStore) -> None:
        self._database = database
        self.saver = database.saver
        self.store = store
        self.place = database.place
        self.thread_ids = database.thread_ids
        self.prune = database.prune
        self.only_here = database.only_here

    async def delete(self, thread_id: str) -> None:
        await self._database.delete(thread_id)
        await forget(self.store, thread_id)


async def forget(store: BaseStore, thread_id: str) -> None:
    """Delete the archived turns of a conversation."""
    space = namespace_of(thread_id)
    while True:
        items: Any = (await store.abatch([SearchOp(space, limit=_PAGE)]))[0]
        mine = [item for item in items if item.namespace == space]
        await store.abatch([PutOp(space, item.key, None) for item in mine])
        if not mine:
            return


async def given_database(checkpointer: object, store: BaseStore | None) -> GivenDatabase:
    """The database over the caller's checkpointer and store. Raises `UsageError` if the checkpointer is of no use."""
    if not isinstance(checkpointer, BaseCheckpointSaver):
        kind = type(checkpointer).__name__
        raise UsageError(f"checkpointer must be a checkpointer of LangGraph, not of the class {kind}.", code="given")
    database = GivenDatabase(checkpointer, store)
    try:
        await database.saver.aget_tuple(RunnableConfig(configurable={"thread_id": "probe", "checkpoint_ns": ""}))
    except NotImplementedError:
        message = f"{type(checkpointer).__name__} has no asynchronous methods, which the graph needs."
        raise UsageError(message, code="given", hint="Use the one whose name begins with Async.") from None
    return database
