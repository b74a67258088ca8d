"""LangGraph's checkpointers with pruning: the last checkpoint of recent turns and every step of the newest stay."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from graph.memory_errors import answered_within, border, broken_conversation
from graph.private_apis import catch_up
from graph.stored_form import is_whole, with_todays_node_ids
from rag.errors import AskbookError, MemoryFailureError, UsageError

log: Final = logging.getLogger("askbook")

KEEP_TURNS: Final = 20
RESTS: Final = "rests"  # key in a checkpoint's metadata: no turn was open


def at_rest(checkpoint: Checkpoint, metadata: CheckpointMetadata) -> bool:
    """Whether a turn has just ended here, answered or undone, and no question waits."""
    values: Mapping[str, Any] = checkpoint["channel_values"]
    if metadata.get("source") == "input" or values.get("phase") != "IDLE" or values.get("turn") is not None:
        return False
    messages = values.get("messages") or []
    return not (messages and isinstance(messages[-1], HumanMessage))


def outdated(checkpoints: Iterable[tuple[str, bool]], keep: int) -> list[str]:
    """The ids of checkpoints to delete, given (id, at rest) pairs from new to old.

    The newest turn keeps every step, so that it can be inspected and resumed. The last `keep` turns keep the checkpoint
    at their end. With `keep` 0 only the newest checkpoint stays. The newest checkpoint is never deleted.

    >>> outdated([("6", True), ("5", False), ("4", True), ("3", False), ("2", True), ("1", False)], keep=2)
    ['3', '2', '1']
    """
    gone, ends = [], 0
    for position, (checkpoint_id, rests) in enumerate(checkpoints):
        ends += rests
        stays = (rests and ends <= keep) or (not rests and ends <= min(keep, 1))
        if position > 0 and not stays:
            gone.append(checkpoint_id)
    return gone


class KeptSaver(BaseCheckpointSaver[Any]):
    """A mixin for LangGraph's checkpointers, listed before them in the bases.

    Every method raises `MemoryFailureError` when the database fails. A method that fails or is cancelled leaves no
    transaction open, which would lock out other processes. `keep` is how many turns keep the checkpoint at their end;
    `seconds` is how long the database may take for a method, None for ever. Once `closed`, every method raises
    `UsageError`.
    """

    keep: int = KEEP_TURNS
    place: str = "the memory"
    seconds: float | None = None
    closed: bool = False

    async def drop_old(self, thread_id: str, keep: int) -> int:
        """Delete the `outdated` checkpoints of a conversation. Returns how many were deleted."""
        raise NotImplementedError

    async def recover(self) -> None:
        """Roll back a transaction that failed or was cancelled."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        thread = str(config["configurable"]["thread_id"])
        async with self.guarded(reading=thread):
            found = await super().aget_tuple(config)
            if found is not None and config["configurable"].get("checkpoint_id"):
                # A run from an earlier checkpoint must write ids after the newest one too.
                newest_of = {"thread_id": thread, "checkpoint_ns": config["configurable"].get("checkpoint_ns", "")}
                newest = await super().aget_tuple(RunnableConfig(configurable=newest_of))
                catch_up(newest.checkpoint["id"] if newest else "")
        if found is not None:
            if not is_whole(found):
                raise broken_conversation(thread, self.place)
            catch_up(found.checkpoint["id"])
            return with_todays_node_ids(found)
        return None

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncIterator[CheckpointTuple]:
        thread = config["configurable"]["thread_id"] if config else "?"
        async with self.guarded(reading=str(thread)):
            async for found in super().alist(config, **options):
                yield with_todays_node_ids(found)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        rests = at_rest(checkpoint, metadata)
        marked: Any = {**metadata, RESTS: True} if rests else metadata
        async with self.guarded():
            stored = await super().aput(config, checkpoint, marked, new_versions)
        if rests:
            await self._tidy(config["configurable"]["thread_id"])
        return stored

    async def _tidy(self, thread_id: str) -> None:
        try:
            async with self.guarded():
                await self.drop_old(thread_id, self.keep)
        except MemoryFailureError as failure:  # the turn is stored, and the next one prunes again
            log.warning("old checkpoints not deleted yet: %s", failure.code)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        async with self.guarded():
            await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        async with self.guarded():
            await super().adelete_thread(thread_id)

    @asynccontextmanager
    async def guarded(self, *, reading: str | None = None, limited: bool = True) -> AsyncIterator[None]:
        """Roll back and translate what fails in the block; while `reading` a conversation, its data may be damaged.

        Raises `UsageError` when the memory is closed.
        """
        if self.closed:
            raise UsageError("The agent is closed.", hint="Use it inside its block: async with open_agent(...).")
        try:
            with border(self.place):
                try:
                    async with answered_within(self.seconds if limited else None):
                        yield
                except asyncio.CancelledError:
                    await asyncio.shield(self.recover())
                    raise
                except Exception:
                    await self.recover()
                    raise
        except AskbookError:
            raise
        except Exception as error:
            if reading is None:
                raise
            raise broken_conversation(reading, self.place) from error
