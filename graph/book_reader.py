"""An agent's ingestion of a book: the same as the command's, with the agent's own parts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rag.books.book_settings import MANUAL
from rag.caller_parts import CallerParts
from rag.profiles.profile import profile_of
from rag.services import LiveServices
from rag.settings import Settings

if TYPE_CHECKING:
    from rag.ingest.book_sources import IngestOptions
    from rag.ingest.report import IngestProgress, IngestReport


async def read_book(
    settings: Settings,
    profile_name: str,
    services: LiveServices,
    caller_parts: CallerParts,
    sources: Sequence[Path | str],
    options: IngestOptions,
    collection: str | None,
    watch: Callable[[IngestProgress], None] | None,
) -> IngestReport:
    """Run an ingestion with the parts of an agent, as `graph.agent.Agent.ingest` describes it."""
    from rag.books.book_ingestion import begin_ingestion

    loop, current = asyncio.get_running_loop(), services.index.collection

    def told(progress: IngestProgress) -> None:
        if watch is not None:  # steps are told from worker threads too
            loop.call_soon_threadsafe(watch, progress)

    profile = await asyncio.to_thread(profile_of, settings, profile_name)
    ingestion = await asyncio.to_thread(
        begin_ingestion,
        settings,
        profile,
        sources,
        options,
        collection=collection or (None if current == MANUAL else current),
        caller_parts=caller_parts,
        watch=told,
    )
    report = await ingestion.run()
    if current == MANUAL and collection is None and not options.dry_run:
        await services.switch_collection(report.collection)
    return report
