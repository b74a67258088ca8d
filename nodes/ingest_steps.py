"""The nodes of the graph that reads books: one for each step of an ingestion.

A state holds only data, so the process keeps the ingestion itself, and the state its id. A run that is resumed in
another process does not find it and repeats the earlier steps. They change nothing in the index, and the vectors that
were computed are in the cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from langgraph.runtime import Runtime

from rag.ingest.ingestion import Ingestion, OnStep
from rag.ingest.report import STEPS, IngestProgress, Step
from rag.types import new_id
from state import IngestState

Begin = Callable[[Mapping[str, Any], OnStep], Ingestion]
_PLANNED: Final = STEPS.index("chunk")


class OpenIngestions:
    """The ingestions of this process that are under way, by the ids in their states."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._open: dict[str, tuple[Ingestion, list[OnStep]]] = {}

    async def get_or_begin(self, state: IngestState, step: Step, watch: OnStep) -> tuple[str, Ingestion]:
        """The id and the ingestion of a state, ready for a step. `watch` is told of it from now on."""
        key = state.get("ingestion", "")
        if step != "load" and key in self._open:
            ingestion, watching = self._open[key]
            watching[:] = [watch]
            return key, ingestion
        key, watching = new_id(), [watch]
        ingestion = await asyncio.to_thread(self._begin, state, lambda progress: watching[0](progress))
        self._open[key] = ingestion, watching
        for earlier in STEPS[: STEPS.index(step)]:
            await ingestion.step(earlier)
        return key, ingestion

    async def close(self, key: str) -> None:
        """End the ingestion with this id, done or not."""
        if key in self._open:
            await self._open.pop(key)[0].aclose()


async def ingest_step(
    state: IngestState, runtime: Runtime, *, step: Step, open_ingestions: OpenIngestions
) -> IngestState:
    """The node of a step. Raises what the step raises."""

    def watch(progress: IngestProgress) -> None:
        runtime.stream_writer(progress.as_data())

    key = state.get("ingestion", "")
    try:
        key, ingestion = await open_ingestions.get_or_begin(state, step, watch)
        await ingestion.step(step)
    except BaseException:  # a cancelled run must not keep the book locked
        await open_ingestions.close(key)
        raise
    result = IngestState(ingestion=key)
    if STEPS.index(step) >= _PLANNED:
        result["report"] = ingestion.report().model_dump(mode="json")
    if step == STEPS[-1]:
        await open_ingestions.close(key)
    else:
        await ingestion.pause()  # a run that is stopped here may never go on
    return result
