"""An ingestion in one call, for tests and benches. The product runs its steps one by one, or tells of them itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rag.ingest.book_sources import IngestOptions, SourceMemory
from rag.ingest.ingestion import Ingestion, OnStep
from rag.ingest.report import IngestProgress, IngestReport
from rag.ports import ChunkIndex, Embedder, SparseEncoder, VectorCache


async def ingest(
    sources: Sequence[Path | str],
    *,
    index: ChunkIndex,
    embedder: Embedder,
    sparse: SparseEncoder,
    vectors: VectorCache,
    progress: Callable[[int, int], None] | None = None,
    watch: OnStep | None = None,
    memory: SourceMemory | None = None,
    **options: Any,
) -> IngestReport:
    """All steps of an `Ingestion` in one call, with the fields of `IngestOptions`. `progress` counts embedded texts."""

    def watched(step: IngestProgress) -> None:
        if watch:
            watch(step)
        if progress and step.step == "embed" and step.waiting is None:
            progress(step.done, step.total)

    given = IngestOptions(**options)
    return await Ingestion(
        sources, given, index=index, embedder=embedder, sparse=sparse, vectors=vectors, watch=watched, memory=memory
    ).run()
