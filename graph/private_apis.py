"""What `graph` uses of the private parts of LangGraph and aiosqlite, why, and the upstream issue where one is known.

`tests/test_private_apis_graph.py` fails when a library changes such a part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from langgraph.checkpoint.base import id as ids
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base.batch import AsyncBatchedBaseStore

if TYPE_CHECKING:
    import sqlite3

    import aiosqlite

_TIME_ORDERED: Final = 6  # the UUID version whose ids sort by their time

T = TypeVar("T")
CompiledT = TypeVar("CompiledT", bound=CompiledStateGraph[Any, Any, Any, Any])


def catch_up(checkpoint_id: str) -> None:
    """Make every checkpoint id that this process generates from now on greater than `checkpoint_id`.

    LangGraph takes the checkpoint with the greatest id as the newest of a thread. Its ids are UUIDv6, which begin with
    a timestamp; `_last_v6_timestamp` makes them ascend within one process only. If another machine's clock is ahead, or
    the clock was set back, a new checkpoint would sort before older ones, and its turn would be lost
    (langchain-ai/langgraphjs#2854 is the same in JavaScript). An id that is not a UUIDv6 is ignored.
    """
    try:
        seen = ids.UUID(checkpoint_id)
    except ValueError:
        return
    if seen.version == _TIME_ORDERED and seen.time > (ids._last_v6_timestamp or 0):
        ids._last_v6_timestamp = seen.time  # type: ignore[assignment]  # inferred as None from its first value


async def end_batches(store: AsyncBatchedBaseStore) -> None:
    """End the task in which a store of LangGraph collects operations, once the store is no longer used.

    The store itself cancels it when it is garbage collected, which may be after its event loop has been closed; asyncio
    then prints "Task was destroyed but it is pending" (langchain-ai/langgraph#6367).
    """
    if store._task is not None:
        store._task.cancel()
        await asyncio.gather(store._task, return_exceptions=True)


async def in_its_thread(connection: aiosqlite.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    """What `work` returns for SQLite's own connection, called once in the thread that aiosqlite runs it in.

    There is no public way: each method of aiosqlite switches to its thread and back for one call of SQLite.
    """
    found: T = await connection._execute(work, connection._conn)  # type: ignore[no-untyped-call]  # it has no types
    return found


def change_class(graph: CompiledStateGraph[Any, Any, Any, Any], cls: type[CompiledT], **attributes: Any) -> CompiledT:
    """Turn a compiled graph into an instance of `cls`, in place, and set `attributes` on it.

    `StateGraph.compile` always builds a `CompiledStateGraph`; no parameter chooses the class. `Pregel.copy`, which
    `with_config` calls, passes the graph's `__dict__` to `__init__` as keyword arguments, so `cls.__init__` must accept
    each of `attributes` by its name.
    """
    changed: Any = graph
    changed.__class__ = cls
    vars(changed).update(attributes)
    instance: CompiledT = changed
    return instance
