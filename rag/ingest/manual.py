"""The manual as a book, and the vectors of its passages, which are shipped: embedding them takes half a minute.

`tests/manual_vectors.py` writes them. Texts that they lack, after a page has changed, are embedded as for any book.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rag import ports
from rag.book import IndexEntry, IndexInfo
from rag.errors import RetrievalError

if TYPE_CHECKING:
    from rag.ingest.report import IngestProgress

DOCS: Final = Path(__file__).parent.parent.parent / "docs"
SKIPPED: Final = ("decisions",)
_LONGEST_WAIT: Final = 60.0  # seconds that a process waits for another one to index the manual
VECTORS: Final = Path(__file__).parent.parent / "data" / "manual-vectors.txt"


async def index_manual(
    index: ports.ChunkIndex,
    embedder: ports.Embedder,
    sparse: ports.SparseEncoder,
    vectors: ports.VectorCache,
    progress: Callable[[int, int], None] | None = None,
    *,
    pages: Path | None = None,
    stamp: Path | None = None,
) -> None:
    """Bring a collection up to date with the pages of the manual, those in `docs/` unless others are given.

    A run leaves the fingerprint of what it made in the file `stamp`. If it is still the right one, only the pages are
    read, and the ingestion is not imported. Of several processes that start in a new home, one indexes the manual and
    the others wait; raises `RetrievalError` "index_locked" after a minute.
    """
    watch = _progress_of_embedding(progress)
    give_up = time.monotonic() + _LONGEST_WAIT
    while not await is_current(index, embedder, sparse, stamp):
        from rag.ingest.book_sources import IngestOptions
        from rag.ingest.ingestion import Ingestion

        try:
            if await _fitting(index, embedder, sparse) is None:
                await index.drop()
            # `alone`: after the program has moved to another folder, the pages of the old one must go.
            options = IngestOptions(skip=SKIPPED, own=True, alone=True)
            await Ingestion(
                [pages or DOCS], options, index=index, embedder=embedder, sparse=sparse, vectors=vectors, watch=watch
            ).run()
            if stamp is not None and (made := await index.info()):
                await asyncio.to_thread(_remember, stamp, fingerprint(made, await index.entries()))
            return
        except RetrievalError as error:
            if error.code != "index_locked" or time.monotonic() > give_up:
                raise
        await asyncio.sleep(random.uniform(0.2, 0.6))


def _progress_of_embedding(progress: Callable[[int, int], None] | None) -> Callable[[IngestProgress], None]:
    """Reports how many texts are embedded, which is nearly all the time that the manual takes."""

    def watch(step: IngestProgress) -> None:
        if progress and step.step == "embed" and step.waiting is None:
            progress(step.done, step.total)

    return watch


async def _fitting(index: ports.ChunkIndex, embedder: ports.Embedder, sparse: ports.SparseEncoder) -> IndexInfo | None:
    """The record of the collection if these models encoded it; None for no collection and for a broken one."""
    try:
        info = await index.info()
    except RetrievalError as error:
        if error.code != "index_broken":
            raise
        return None
    models = (embedder.model_id, sparse.model_id)
    return info if info is not None and (info.embedding_model, info.sparse_model) == models else None


async def is_current(
    index: ports.ChunkIndex, embedder: ports.Embedder, sparse: ports.SparseEncoder, stamp: Path | None
) -> bool:
    """Whether the collection is unchanged since the run that wrote the stamp."""
    info = None if stamp is None else await _fitting(index, embedder, sparse)
    if stamp is None or info is None:
        return False
    try:
        entries = await index.entries()
        kept = await asyncio.to_thread(stamp.read_text, "ascii")
    except (RetrievalError, OSError, ValueError):  # what is wrong with the index is told by the ingestion
        return False
    return kept == await asyncio.to_thread(fingerprint, info, entries)


def fingerprint(info: IndexInfo, entries: Sequence[IndexEntry]) -> str:
    """A fingerprint of the pages, of the code that ingests them, and of their collection."""
    digest = hashlib.sha256(f"{DOCS} {info} {sorted(map(repr, entries))}".encode("utf-8", "surrogateescape"))
    pages = (page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in SKIPPED)
    for file in (*sorted(pages), *sorted(Path(__file__).parent.rglob("*.py"))):
        content = file.read_bytes()
        digest.update(f"{file} {len(content)} ".encode("utf-8", "surrogateescape") + content)
    return digest.hexdigest()


def _remember(stamp: Path, text: str) -> None:
    with contextlib.suppress(OSError):  # it only saves time
        stamp.write_text(text, "ascii")
