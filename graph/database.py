"""What a memory needs of a database, and the simplest one: dictionaries. The others are in `graph.memory_*`."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Final, Protocol

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.store.base import BaseStore, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from graph.storage import RESTS, KeptSaver, outdated
from nodes.archive import namespace_of

_ALL: Final = 10_000_000  # limit of a search that returns every item


class Database(Protocol):
    """One kind of database. Every method raises `MemoryFailureError` when the database fails."""

    @property
    def place(self) -> str:
        """The database's name in messages, without a password."""
        ...

    @property
    def saver(self) -> KeptSaver: ...

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


class LocalSaver(KeptSaver, InMemorySaver):
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
        space = namespace_of(thread_id)
        items: Any = (await self.store.abatch([SearchOp(space, limit=_ALL)]))[0]
        await self.store.abatch([PutOp(space, item.key, None) for item in items if item.namespace == space])

    async def prune(self) -> int:
        return sum([await self.saver.drop_old(thread, 0) for thread in await self.thread_ids()])

    def only_here(self, _thread_id: str) -> AbstractAsyncContextManager[bool]:
        """Always succeeds, since no other process has this memory."""
        return nullcontext(True)
