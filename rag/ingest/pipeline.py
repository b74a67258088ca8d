"""From sources to the index, in one call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from rag.ingest.book_sources import IngestOptions
from rag.ingest.ingestion import Ingestion, Watch
from rag.ingest.patterns import EVERYTHING, Selection
from rag.ingest.report import IngestProgress, IngestReport
from rag.ingest.source_memory import SourceMemory
from rag.ports import ChunkIndex, Embedder, SparseEncoder, VectorCache

__all__ = ["IngestReport", "ingest"]


async def ingest(
    sources: Sequence[Path | str],
    *,
    base_url: str | None = None,
    index: ChunkIndex,
    embedder: Embedder,
    sparse: SparseEncoder,
    vectors: VectorCache,
    skip: Collection[str] = (),
    generator: str | None = None,
    selection: Selection = EVERYTHING,
    alone: bool = False,
    own: bool = False,
    rebuild: bool = False,
    profile: str = "",
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
    watch: Watch | None = None,
    memory: SourceMemory | None = None,
) -> IngestReport:
    """Bring the index up to date with the sources, as one change. Writes nothing if nothing changed.

    `skip` names folders or files by their path in the source. `generator` names the site generator whose rules are
    followed; without it, it is found. `selection` says which files are read. `alone` removes the chunks of all other
    sources. `own` says that the sources are part of askbook, see `load_source`.
    `rebuild` makes the collection again, whatever models encoded it; it must have no other sources. `profile` is the
    one that the collection belongs to, for the hints of errors. `progress(done, total)` counts embedded texts; `watch`
    is told of every step, also from worker threads. A dry run reports what would happen (`embedded`, too), and neither
    embeds nor writes. A cancelled run keeps its vectors in the cache and does not change the index.

    With `memory`, a source in which no file has changed is not read again, unless one of its pages has to be cut.

    A source that fails is named in the report, and the others are read. Raises `UsageError`, before anything is
    embedded, if all sources fail and for an index that other models encoded; `RetrievalError` if the index fails, and
    with the code "index_locked" while another ingestion changes it; `AskbookError` if embedding fails for good.
    """

    def watched(step: IngestProgress) -> None:
        if watch:
            watch(step)
        if progress and step.step == "embed" and step.waiting is None:
            progress(step.done, step.total)

    options = IngestOptions(base_url, skip, generator, selection, alone, own, rebuild, profile, dry_run)
    return await Ingestion(
        sources, options, index=index, embedder=embedder, sparse=sparse, vectors=vectors, watch=watched, memory=memory
    ).run()
