"""Memory: the checkpointer that keeps the conversations, and what can be asked of it as a whole."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from rag.conversation import turns
from rag.errors import MemoryFailureError
from rag.transcript import transcript

Saver = BaseCheckpointSaver[Any]

FILE: Final = "memory.sqlite"
_WAIT_SECONDS: Final = 5  # for another process that writes


@asynccontextmanager
async def open_memory(home: Path, *, persistent: bool) -> AsyncIterator[Saver]:
    """The checkpointer: a SQLite file in `home`, private to the user, or memory that ends with the process.

    Raises `MemoryFailureError` when the file cannot be opened or is no database.
    """
    # Only LangChain's messages and plain data may come back from a checkpoint: a crafted one must not run code.
    serde = JsonPlusSerializer(allowed_msgpack_modules=None)
    if not persistent:
        yield InMemorySaver(serde=serde)
        return
    import aiosqlite
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    path = home / FILE
    try:
        _make_private(path)
        connection = await aiosqlite.connect(path, timeout=_WAIT_SECONDS)
    except (sqlite3.Error, OSError) as error:
        raise broken_memory(error, path) from error
    try:
        try:
            # A power cut may cost the last turn, never the file; a crash of the process costs nothing.
            await connection.execute("pragma synchronous=NORMAL")
            saver = AsyncSqliteSaver(connection, serde=serde)
            await saver.setup()
        except sqlite3.Error as error:
            raise broken_memory(error, path) from error
        yield saver
    finally:
        await connection.close()


def _make_private(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    path.chmod(0o600)  # a file of another program's making too; SQLite's journals take its permissions


def broken_memory(error: Exception, path: Path | None = None) -> MemoryFailureError:
    """What a failing memory is called, and what to do about it."""
    place = path or FILE
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return MemoryFailureError("memory_locked", f"{place} is locked by another process.", hint="Try again.")
    if isinstance(error, sqlite3.OperationalError) and "full" in str(error):
        return MemoryFailureError("disk_full", f"There is no room to write {place}.", hint="Make room, then try again.")
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        hint = "Move the file away to start afresh; its conversations stay in it."
        return MemoryFailureError("memory_broken", f"{place} is not a readable database.", hint=hint)
    hint = "Set ASKBOOK_HOME to a folder that you may write."
    return MemoryFailureError("memory_unreachable", f"{place} cannot be opened or written.", hint=hint)


def thread_config(thread_id: str) -> RunnableConfig:
    return RunnableConfig(configurable={"thread_id": thread_id})


async def thread_ids(saver: Saver) -> list[str]:
    """The ids of all stored conversations, the one that was used last first."""
    if isinstance(saver, InMemorySaver):
        newest = {thread: max(spaces[""]) for thread, spaces in saver.storage.items() if spaces.get("")}
        return sorted(newest, key=lambda thread: newest[thread], reverse=True)
    query = (
        "select thread_id from checkpoints where checkpoint_ns = '' group by thread_id order by max(checkpoint_id) desc"
    )
    async with saver.lock, saver.conn.execute(query) as rows:  # type: ignore[attr-defined]  # AsyncSqliteSaver's own
        return [row[0] async for row in rows]


async def conversation(saver: Saver, thread_id: str) -> dict[str, Any] | None:
    """A stored conversation as `rag.transcript` has it; None where there is none."""
    found = await saver.aget_tuple(thread_config(thread_id))
    if found is None:
        return None
    finished = turns(found.checkpoint["channel_values"].get("messages", []))
    return transcript(thread_id, finished, found.checkpoint["ts"])


async def delete_thread(saver: Saver, thread_id: str) -> None:
    """Forget a conversation: every checkpoint and every pending write of it."""
    await saver.adelete_thread(thread_id)


async def prune(saver: Saver) -> int:
    """Keep only the newest checkpoint of every conversation, and give the room back. Returns how many were deleted."""
    if isinstance(saver, InMemorySaver):
        return 0
    older = """ from {table} where checkpoint_id <> (select max(checkpoint_id) from checkpoints as newest
        where newest.thread_id = {table}.thread_id and newest.checkpoint_ns = {table}.checkpoint_ns)"""
    async with saver.lock:  # type: ignore[attr-defined]  # AsyncSqliteSaver's own
        connection = saver.conn  # type: ignore[attr-defined]
        await connection.execute("delete" + older.format(table="writes"))
        deleted = await connection.execute("delete" + older.format(table="checkpoints"))
        await connection.commit()
        await connection.execute("vacuum")
    return int(deleted.rowcount)
