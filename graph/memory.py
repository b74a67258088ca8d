"""Memory: where conversations are kept, and what can be asked of it as a whole."""

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
    """How conversations are kept. Without `database_url` they are in a SQLite file in the home folder.

    `keep_turns` is for how many turns LangGraph's state can be looked at and gone back to.
    """

    database_url: SecretStr | None = None
    key: SecretStr | None = None
    keep_turns: int = KEEP_TURNS
    wait_seconds: float = WAIT_SECONDS

    @classmethod
    def of(cls, settings: Settings) -> MemoryOptions:
        return cls(settings.database_url, settings.encryption_key, settings.keep_turns)


class Database(Protocol):
    """One kind of memory. Every method raises `MemoryFailureError` where the database fails."""

    @property
    def place(self) -> str:
        """What it is called where it is named to a person; never with a password."""
        ...

    @property
    def saver(self) -> KeptSaver: ...

    @property
    def store(self) -> BaseStore: ...

    async def thread_ids(self) -> list[str]:
        """The ids of all stored conversations, the one that was used last first."""
        ...

    async def delete(self, thread_id: str) -> None:
        """Leave no row of the conversation, and where the database allows it no byte."""
        ...

    async def prune(self) -> int:
        """Keep only the newest checkpoint of every conversation, and give the room back. Returns how many went."""
        ...

    def only_here(self, thread_id: str) -> AbstractAsyncContextManager[bool]:
        """The right to a conversation among all processes; False where another has it."""
        ...


class Memory:
    """All conversations of one database."""

    def __init__(self, database: Database, wait_seconds: float = WAIT_SECONDS) -> None:
        self.database = database
        self._locks = ThreadLocks(database.only_here, wait_seconds)

    def compile(self, graph: MachineBuilder) -> CompiledMachine:
        """The graph with this memory behind it."""
        return graph.compile(checkpointer=self.database.saver, store=self.database.store)

    def turn(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """The conversation for one turn alone. Raises `MemoryFailureError` "thread_busy" when it is not to be had."""
        return self._locks.held(thread_id)

    async def threads(self) -> list[str]:
        """The ids of all stored conversations, the one that was used last first."""
        return await self.database.thread_ids()

    async def summary(self, thread_id: str) -> dict[str, Any] | None:
        """What a list shows of a conversation; None where there is none."""
        return await summary(self.database.saver, thread_id)

    async def conversation(self, thread_id: str) -> dict[str, Any] | None:
        """A stored conversation as `graph.conversations.conversation` has it; None where there is none."""
        return await conversation(self.database.saver, self.database.store, thread_id)

    async def probe(self) -> None:
        """Store a checkpoint, read it back and delete it, as turns do. Raises `MemoryFailureError` where that fails."""
        thread_id = f"probe-{new_id()}"
        config = RunnableConfig(configurable={"thread_id": thread_id, "checkpoint_ns": ""})
        checkpoint = empty_checkpoint()
        try:
            await self.database.saver.aput(config, checkpoint, {"source": "input", "step": -1, "parents": {}}, {})
            found = await self.database.saver.aget_tuple(config)
            if found is None or found.checkpoint["id"] != checkpoint["id"]:
                raise broken_conversation(thread_id, self.database.place)
        finally:
            await self.database.delete(thread_id)

    async def delete(self, thread_id: str) -> None:
        """Forget a conversation: every checkpoint, every write on its way, every archived turn."""
        async with self.turn(thread_id):
            await self.database.delete(thread_id)

    async def prune(self) -> int:
        """Keep only the newest checkpoint of every conversation. Returns how many were deleted."""
        return await self.database.prune()


@asynccontextmanager
async def open_memory(
    home: Path, *, persistent: bool = True, options: MemoryOptions | None = None
) -> AsyncIterator[Memory]:
    """The conversations of `home`, or memory that ends with the process.

    Raises `MemoryFailureError` when they cannot be opened, `UsageError` for options that cannot be.
    """
    options = options or MemoryOptions()
    written = serializers(options.key)
    async with _database(home, written, options, persistent=persistent) as database:
        yield Memory(database, options.wait_seconds)


def _database(
    home: Path, written: Serializers, options: MemoryOptions, *, persistent: bool
) -> AbstractAsyncContextManager[Database]:
    if not persistent:
        return nullcontext(LocalDatabase(written.steps, options.keep_turns))
    if options.database_url:
        from graph.memory_postgres import open_postgres

        return open_postgres(options.database_url, written, options.keep_turns)
    from graph.memory_sqlite import open_sqlite

    return open_sqlite(home / FILE, written, options.keep_turns)


def local_memory() -> Memory:
    """Memory that ends with the process, for whoever has no event loop to open one in."""
    return Memory(LocalDatabase(serializers(None).steps, KEEP_TURNS))
