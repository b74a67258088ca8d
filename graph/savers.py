"""Which checkpoints are kept: the end of each of the last turns, and every step of the newest."""

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

from graph.memory_errors import border, broken_conversation
from graph.node_ids import with_todays_node_ids
from graph.private_apis import catch_up
from rag.errors import AskbookError, MemoryFailureError

KEEP_TURNS: Final = 20
RESTS: Final = "rests"  # the key of a checkpoint's metadata that says that no turn was open


def at_rest(checkpoint: Checkpoint, metadata: CheckpointMetadata) -> bool:
    """Whether a turn has just ended here, by its answer or by being taken back, and no question waits."""
    values: Mapping[str, Any] = checkpoint["channel_values"]
    if metadata.get("source") == "input" or values.get("phase") != "IDLE" or values.get("turn") is not None:
        return False
    messages = values.get("messages") or []
    return not (messages and isinstance(messages[-1], HumanMessage))


def outdated(checkpoints: Iterable[tuple[str, bool]], keep: int) -> list[str]:
    """The ids that may go, of (id, at rest) from new to old.

    The newest turn keeps every step, for LangGraph's view of it and for going on in the middle; older turns keep their
    end, as far as `keep` ends reach. `keep` 0 leaves the newest checkpoint alone.

    >>> outdated([("6", True), ("5", False), ("4", True), ("3", False), ("2", True), ("1", False)], keep=2)
    ['3', '2', '1']
    """
    gone, ends = [], 0
    for position, (one, rests) in enumerate(checkpoints):
        ends += rests
        stays = (rests and ends <= keep) or (not rests and ends <= min(keep, 1))
        if position > 0 and not stays:
            gone.append(one)
    return gone


log: Final = logging.getLogger("askbook")

Saver = BaseCheckpointSaver[Any]


class KeptSaver(BaseCheckpointSaver[Any]):
    """To be put in front of one of LangGraph's checkpointers.

    Every method raises `MemoryFailureError` where the database fails, and leaves no transaction open then, nor when it
    is cancelled: one would keep other processes out. `keep` is how many turns keep the checkpoint at their end.
    """

    keep: int = KEEP_TURNS
    place: str = "the memory"

    async def drop_old(self, thread_id: str, keep: int) -> int:
        """Delete what `outdated` names of a conversation. Returns how many checkpoints went."""
        raise NotImplementedError

    async def recover(self) -> None:
        """Leave a transaction that broke off."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        thread = str(config["configurable"]["thread_id"])
        async with self.guarded(reading=thread):
            found = await super().aget_tuple(config)
            if found is not None and config["configurable"].get("checkpoint_id"):  # who goes on there comes after all
                here = {"thread_id": thread, "checkpoint_ns": config["configurable"].get("checkpoint_ns", "")}
                newest = await super().aget_tuple(RunnableConfig(configurable=here))
                catch_up(newest.checkpoint["id"] if newest else "")
        if found is not None:
            if "step" not in found.metadata or not isinstance(found.checkpoint.get("channel_values"), dict):
                raise broken_conversation(thread, self.place)
            catch_up(found.checkpoint["id"])
            return with_todays_node_ids(found)
        return None

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncIterator[CheckpointTuple]:
        thread = config["configurable"]["thread_id"] if config else "?"
        async with self.guarded(reading=str(thread)):
            async for one in super().alist(config, **options):
                yield with_todays_node_ids(one)

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
        except MemoryFailureError as failure:  # the turn is stored, and the next one tidies up after both
            log.warning("old checkpoints stay for now: %s", failure.code)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        async with self.guarded():
            await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        async with self.guarded():
            await super().adelete_thread(thread_id)

    @asynccontextmanager
    async def guarded(self, *, reading: str | None = None) -> AsyncIterator[None]:
        """The border around one use of the database; `reading` names the conversation whose data are being read."""
        try:
            with border(self.place):
                try:
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
