"""Memory: the database that stores all conversations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.store.base import BaseStore
from pydantic import SecretStr

from graph.compiled import CompiledMachine, MachineBuilder
from graph.conversations import conversation, summary
from graph.memory_errors import broken_conversation
from graph.memory_local import LocalDatabase
from graph.savers import KEEP_TURNS, KeptSaver
from graph.serializing import Serializers, serializers
from graph.turn_locks import WAIT_SECONDS, ThreadLocks
from rag.settings import Settings
from rag.types import new_id

FILE: Final = "memory.sqlite"


@dataclass(frozen=True)
class MemoryOptions:
    """How conversations are stored. Without `database_url` they are in a SQLite file in the home folder.

    `key` encrypts them. `keep_turns` is the number of turns whose last checkpoint is kept, for LangGraph's history.
    `wait_seconds` is how long a turn waits for the thread's lock.
    """

    database_url: SecretStr | None = None
    key: SecretStr | None = None
    keep_turns: int = KEEP_TURNS
    wait_seconds: float = WAIT_SECONDS

    @classmethod
    def of(cls, settings: Settings) -> MemoryOptions:
        return cls(settings.database_url, settings.encryption_key, settings.keep_turns)


class Database(Protocol):
    """One kind of database. Every method raises `MemoryFailureError` when the database fails."""

    @property
    def place(self) -> str:
        """The database's name in messages, without a password."""
        ...

    @property
    def saver(self) -> KeptSaver: ...

    @property
    def store(self) -> BaseStore: ...

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


class Memory:
    """All conversations of one database."""

    def __init__(self, database: Database, wait_seconds: float = WAIT_SECONDS) -> None:
        self.database = database
        self._locks = ThreadLocks(database.only_here, wait_seconds)

    def compile(self, graph: MachineBuilder) -> CompiledMachine:
        """The graph compiled with this memory's checkpointer and store."""
        return graph.compile(checkpointer=self.database.saver, store=self.database.store)

    def turn(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Hold the thread's lock for one turn. Raises `MemoryFailureError` "thread_busy" when it is not to be had."""
        return self._locks.held(thread_id)

    async def threads(self) -> list[str]:
        """The ids of all stored conversations, the most recently used first."""
        return await self.database.thread_ids()

    async def summary(self, thread_id: str) -> dict[str, Any] | None:
        """A conversation's entry in a list, as `graph.conversations.summary` makes it; None when there is none."""
        return await summary(self.database.saver, thread_id)

    async def conversation(self, thread_id: str) -> dict[str, Any] | None:
        """A stored conversation as `graph.conversations.conversation` makes it; None when there is none."""
        return await conversation(self.database.saver, self.database.store, thread_id)

    async def probe(self) -> None:
        """Store a checkpoint, read it back and delete it. Raises `MemoryFailureError` when that fails."""
        thread_id = f"probe-{new_id()}"
        config = RunnableConfig(configurable={"thread_id": thread_id, "checkpoint_ns": ""})
        checkpoint = empty_checkpoint()
        try:
            await self.database.saver.aput(config, checkpoint, {"source": "input", "step": -1, "parents": {}}, {})
            stored = await self.database.saver.aget_tuple(config)
            if stored is None or stored.checkpoint["id"] != checkpoint["id"]:
                raise broken_conversation(thread_id, self.database.place)
        finally:
            await self.database.delete(thread_id)

    async def delete(self, thread_id: str) -> None:
        """Delete a conversation: its checkpoints, pending writes and archived turns."""
        async with self.turn(thread_id):
            await self.database.delete(thread_id)

    async def prune(self) -> int:
        """Keep only the newest checkpoint of every conversation. Returns how many were deleted."""
        return await self.database.prune()


@asynccontextmanager
async def open_memory(
    home: Path, *, persistent: bool = True, options: MemoryOptions | None = None
) -> AsyncIterator[Memory]:
    """The stored conversations of `home`, or with `persistent=False` a memory that ends with the process.

    Raises `MemoryFailureError` when the database cannot be opened and `UsageError` for invalid options.
    """
    options = options or MemoryOptions()
    serde = serializers(options.key)
    async with _database(home, serde, options, persistent=persistent) as database:
        yield Memory(database, options.wait_seconds)


def local_memory() -> Memory:
    """A memory that ends with the process, for callers without an event loop."""
    return Memory(LocalDatabase(serializers(None).steps, KEEP_TURNS))


def _database(
    home: Path, serde: Serializers, options: MemoryOptions, *, persistent: bool
) -> AbstractAsyncContextManager[Database]:
    if not persistent:
        return nullcontext(LocalDatabase(serde.steps, options.keep_turns))
    if options.database_url:
        from graph.memory_postgres import open_postgres

        return open_postgres(options.database_url, serde, options.keep_turns)
    from graph.memory_sqlite import open_sqlite

    return open_sqlite(home / FILE, serde, options.keep_turns)
