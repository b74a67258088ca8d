"""Reads books for an agent: the same ingestion as the command, with the agent's own parts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rag.caller_parts import Given
from rag.profiles.profile import profile_of
from rag.services import MANUAL, LiveServices
from rag.settings import Settings

if TYPE_CHECKING:
    from rag.ingest.ingestion import IngestOptions
    from rag.ingest.report import IngestProgress, IngestReport


class BookReader:
    """Ingestions with the settings, the profile and the given objects of an agent."""

    def __init__(self, settings: Settings, profile: str, services: LiveServices, given: Given) -> None:
        self._settings = settings
        self._profile = profile
        self._services = services
        self._given = given

    async def read(
        self,
        sources: Sequence[Path | str],
        options: IngestOptions,
        collection: str | None,
        watch: Callable[[IngestProgress], None] | None,
    ) -> IngestReport:
        """Run an ingestion, as `graph.agent.Agent.ingest` describes it."""
        from rag.books.book_ingestion import begin_ingestion

        loop, current = asyncio.get_running_loop(), self._services.index.collection

        def told(progress: IngestProgress) -> None:
            if watch is not None:  # steps are told from worker threads too
                loop.call_soon_threadsafe(watch, progress)

        profile = await asyncio.to_thread(profile_of, self._settings, self._profile)
        ingestion = await asyncio.to_thread(
            begin_ingestion,
            self._settings,
            profile,
            sources,
            options,
            collection=collection or (None if current == MANUAL else current),
            given=self._given,
            watch=told,
        )
        report = await ingestion.run()
        if current == MANUAL and collection is None and not options.dry_run:
            await self._services.turn_to(report.collection)
        return report
