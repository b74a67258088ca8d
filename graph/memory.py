"""Memory: the database that stores all conversations, and one turn at a time on each of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.store.base import BaseStore
from pydantic import SecretStr

from graph.conversations import conversation, summary
from graph.database import Database, GivenStore, LocalDatabase, OtherStore, given_database
from graph.memory_errors import broken_conversation
from graph.storage import KEEP_TURNS, Serializers, serializers
from rag.conversation.turns import unknown_thread
from rag.errors import MemoryFailureError, UsageError
from rag.settings import Settings
from rag.system.process import need
from rag.types import new_id

if TYPE_CHECKING:
    from graph.build import AgentGraph, AgentGraphBuilder

WAIT_SECONDS: Final = 10.0
_PAUSE: Final = 0.02  # seconds between the first two attempts at a lock that another process holds
_BACKOFF: Final = 1.3  # growth of the pause, so that hundreds of waiting turns do not slow the database down
_LONGEST: Final = 0.25  # seconds, the longest pause

ProcessLock = Callable[[str], AbstractAsyncContextManager[bool]]
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


class Memory:
    """All conversations of one database."""

    def __init__(self, database: Database, wait_seconds: float = WAIT_SECONDS) -> None:
        self.database = database
        self._locks = ThreadLocks(database.only_here, wait_seconds)

    def compile(self, graph: AgentGraphBuilder) -> AgentGraph:
        """The graph compiled with this memory's checkpointer and store."""
        return graph.compile(checkpointer=self.database.saver, store=self.database.store)

    def turn(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Hold the thread's lock for one turn.

        Raises `MemoryFailureError` "thread_busy" when it cannot be acquired in time, and `UsageError` for None.
        """
        if not isinstance(thread_id, str):
            raise unknown_thread(thread_id)
        return self._locks.held(thread_id)

    async def threads(self) -> list[str]:
        """The ids of all stored conversations, the most recently used first."""
        return await self.database.thread_ids()

    async def summary(self, thread_id: str) -> dict[str, Any] | None:
        """A conversation's entry in a list, as `graph.conversations.summary` makes it; None when there is none."""
        return await summary(self.database, thread_id)

    async def conversation(self, thread_id: str) -> dict[str, Any] | None:
        """A stored conversation as `graph.conversations.conversation` makes it; None when there is none."""
        return await conversation(self.database, thread_id)

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
            await self.database.saver.adelete_thread(thread_id)  # `database.delete` would rewrite the file as well

    async def delete(self, thread_id: str) -> None:
        """Delete a conversation: its checkpoints, pending writes and archived turns."""
        async with self.turn(thread_id):
            await self.database.delete(thread_id)

    async def prune(self) -> int:
        """Keep only the newest checkpoint of every conversation. Returns how many were deleted."""
        return await self.database.prune()


@asynccontextmanager
async def open_memory(
    home: Path,
    *,
    persistent: bool = True,
    options: MemoryOptions | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
) -> AsyncIterator[Memory]:
    """The stored conversations of `home`, or with `persistent=False` a memory that ends with the process.

    `checkpointer` and `store` are the caller's, in place of ours; they are not closed. Raises `MemoryFailureError` when
    the database cannot be opened and `UsageError` for invalid options.
    """
    options = options or MemoryOptions()
    if store is not None and not isinstance(store, BaseStore):
        raise UsageError(f"store must be a store of LangGraph, not of the class {type(store).__name__}.", code="given")
    given = GivenStore(store) if store is not None else None
    if checkpointer is not None:
        yield Memory(await given_database(checkpointer, given), options.wait_seconds)
        return
    serde = serializers(options.key)
    async with _database(home, serde, options, persistent=persistent) as database:
        try:
            yield Memory(database if given is None else OtherStore(database, given), options.wait_seconds)
        finally:
            database.saver.closed = True


def _database(
    home: Path, serde: Serializers, options: MemoryOptions, *, persistent: bool
) -> AbstractAsyncContextManager[Database]:
    if not persistent:
        return nullcontext(LocalDatabase(serde.steps, options.keep_turns))
    if options.database_url:
        need("psycopg", "postgres", "ASKBOOK_DATABASE_URL")
        from graph.memory_postgres import open_postgres

        return open_postgres(options.database_url, serde, options.keep_turns)
    from graph.memory_sqlite import open_sqlite

    return open_sqlite(home / FILE, serde, options.keep_turns)


class ThreadLocks:
    """Turns of one process queue in their order of arrival. `only_here` locks a thread against other processes."""

    def __init__(self, only_here: ProcessLock, seconds: float = WAIT_SECONDS) -> None:
        self._only_here = only_here
        self._seconds = seconds
        self._locks: dict[str, asyncio.Lock] = {}
        self._users: dict[str, int] = {}

    @asynccontextmanager
    async def held(self, thread_id: str) -> AsyncIterator[None]:
        """Hold the thread's lock for the block. Raises `MemoryFailureError` "thread_busy" after waiting `seconds`."""
        deadline = asyncio.get_running_loop().time() + self._seconds
        lock = self._locks.setdefault(thread_id, asyncio.Lock())
        self._users[thread_id] = self._users.get(thread_id, 0) + 1
        try:
            async with AsyncExitStack() as locks:
                try:
                    async with asyncio.timeout_at(deadline):
                        await lock.acquire()
                except TimeoutError:
                    raise self._busy(thread_id) from None
                locks.callback(lock.release)
                await self._wait_for_others(locks, thread_id, deadline)
                yield
        finally:
            self._users[thread_id] -= 1
            if not self._users[thread_id]:
                del self._users[thread_id], self._locks[thread_id]

    async def _wait_for_others(self, locks: AsyncExitStack, thread_id: str, deadline: float) -> None:
        pause = _PAUSE
        while True:
            attempt = self._only_here(thread_id)
            if await attempt.__aenter__():
                locks.push_async_exit(attempt)
                return
            await attempt.__aexit__(None, None, None)
            if asyncio.get_running_loop().time() >= deadline:
                raise self._busy(thread_id)
            await asyncio.sleep(random.uniform(pause / 2, pause))  # jitter
            pause = min(pause * _BACKOFF, _LONGEST)

    def _busy(self, thread_id: str) -> MemoryFailureError:
        return MemoryFailureError(
            "thread_busy",
            f'Another turn of conversation "{thread_id}" is still running; gave up after {self._seconds:g} seconds.',
            hint="Try again when it has finished, or start another conversation.",
        )
