"""What a memory needs of a database; `graph.memory_*` are the kinds."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from langgraph.store.base import BaseStore

from graph.savers import KeptSaver


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
