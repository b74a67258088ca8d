"""LangGraph's checkpointer on SQLite, with one switch to the database's thread for each step that is stored.

LangGraph's own needs three or four: for the cursor, the statement, the end of the transaction, and the end of the
cursor. A turn stores eleven times, and a switch costs most when the process is busy, since the thread must wait until
another one gives Python up. What is written is the same, row for row.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from graph.private_apis import in_its_thread

_STEP: Final = (
    "insert or replace into checkpoints "
    "(thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata) "
    "values (?, ?, ?, ?, ?, ?, ?)"
)
_WRITE: Final = (
    "insert or {} into writes "
    "(thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value) "
    "values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class StepSaver(AsyncSqliteSaver):
    """`AsyncSqliteSaver` that stores a checkpoint, or the writes of a task, in one transaction of one call.

    A call that is cancelled has stored everything or nothing.
    """

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002  # SQLite stores all channels in one value
    ) -> RunnableConfig:
        """As LangGraph's."""
        await self.setup()
        place = config["configurable"]
        ids = {"thread_id": place["thread_id"], "checkpoint_ns": place["checkpoint_ns"]}
        kept = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False).encode("utf-8", "ignore")
        row = (
            str(place["thread_id"]),
            place["checkpoint_ns"],
            checkpoint["id"],
            place.get("checkpoint_id"),
            *self.serde.dumps_typed(checkpoint),
            kept,
        )
        await self._store(_STEP, [row])
        return RunnableConfig(configurable={**ids, "checkpoint_id": checkpoint["id"]})

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As LangGraph's."""
        await self.setup()
        names = ("thread_id", "checkpoint_ns", "checkpoint_id")
        ids = [str(config["configurable"][name]) for name in names]
        rows = [
            (*ids, task_id, task_path, WRITES_IDX_MAP.get(channel, place), channel, *self.serde.dumps_typed(value))
            for place, (channel, value) in enumerate(writes)
        ]
        replaced = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        await self._store(_WRITE.format("replace" if replaced else "ignore"), rows)

    async def _store(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        def store(connection: sqlite3.Connection) -> None:
            with connection:  # commits, or rolls back
                connection.executemany(statement, rows)

        async with self.lock:
            await in_its_thread(self.conn, store)
