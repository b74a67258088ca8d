"""One change of a book in five steps: load the sources, chunk them, embed the new texts, write the index, verify it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Final

from rag.book import RECIPE, Chunk, Document, IndexEntry, IndexInfo, Point
from rag.errors import AskbookError, RetrievalError, SourceFailedError, UsageError
from rag.index.index_errors import not_ours
from rag.ingest.book_sources import BookSources, IngestOptions, RecalledPage, SourceMemory
from rag.ingest.chunk_vectors import BATCH, ChunkVectors
from rag.ingest.chunking import chunk
from rag.ingest.plan import Plan, check_encoders, check_sources, make_plan
from rag.ingest.report import ChunkCounts, DocumentCounts, IngestFailure, IngestProgress, IngestReport, Step
from rag.ingest.source_files import Failure
from rag.ingest.titles import book_title
from rag.ports import ChunkIndex, Embedder, SparseEncoder, VectorCache
from rag.system.stopping import in_thread, stop_if_cancelled
from rag.types import now

CHUNK_TOKENS: Final = 512  # the longest chunk, if the embedding model sees as much
MARGIN: Final = 4  # tokens reserved for the embedding model's special tokens
EVERY: Final = 0.1  # seconds between two reports about a step

OnStep = Callable[[IngestProgress], None]


class _UnreadPageError(Exception):
    """A page has to be cut whose text was not read, since its source has not changed."""


class Ingestion:
    """Brings the index up to date with the sources, as one change. Writes nothing if nothing changed.

    `watch` is told of every step, also from worker threads. With `memory`, a source in which no file has changed is
    recalled. A dry run neither embeds nor writes. From the step "chunk" on, no other ingestion can change the
    collection, and the step "write" makes the one change of the index: a run that ends before leaves it as it was, and
    its vectors are in the cache, so the same command goes on from there.

    A source that fails is named in the report. `run` raises `UsageError` if all fail and for an index that other models
    encoded; `RetrievalError` if the index fails, and "index_locked" while another ingestion changes it; `AskbookError`
    if embedding fails for good. Call `aclose` in any case.
    """

    def __init__(
        self,
        sources: Sequence[Path | str],
        options: IngestOptions,
        *,
        index: ChunkIndex,
        embedder: Embedder,
        sparse: SparseEncoder,
        vectors: VectorCache,
        watch: OnStep | None = None,
        closes_index: bool = False,
        memory: SourceMemory | None = None,
    ) -> None:
        self.options = options
        self.index = index
        self.embedder = embedder
        self._sources = BookSources(sources, options, memory)
        self._sparse = sparse
        self._vectors = ChunkVectors(embedder, sparse, vectors)
        self._watch = watch or (lambda _progress: None)
        self._shown = 0.0
        self._empty: set[tuple[str, str]] = set()  # source and path of the pages without chunks
        self._chunks: list[Chunk] = []  # to be written
        self._title = ""
        self._closes_index = closes_index

    async def aclose(self) -> None:
        """Close the index, unless it is the caller's."""
        if self._closes_index:
            await self.index.aclose()

    async def run(self) -> IngestReport:
        """All steps, and what they did, or in a dry run would do. Raises as the class says."""
        began = time.monotonic()
        await self._load()
        async with nullcontext() if self.options.dry_run else self.index.writing():
            info, held = await self._read_index()
            plan = await self._chunk(info, held)
            report = self._report(plan, held)
            if not self.options.dry_run:
                await self._embed()
                await self._write(plan, info, held)
        return report.model_copy(update={"seconds": round(time.monotonic() - began, 3)})

    async def _load(self) -> None:
        total = len(self._sources.given)
        await self._sources.load(
            lambda done: self._tell("load", done, total),
            lambda number, pages, known: self._tell("load", number, total, pages=pages, known=known),
        )

    async def _read_index(self) -> tuple[IndexInfo | None, list[IndexEntry]]:
        """The record and the entries; nothing of a broken index. Raises `UsageError` for a foreign collection."""
        try:
            info = await self.index.info()
            if info is not None and info.foreign:
                raise not_ours(self.index.collection)
            return info, await self.index.entries()
        except RetrievalError as error:
            if error.code != "index_broken":
                raise
        if not self.options.dry_run:
            await self.index.drop()
        return None, []

    async def _chunk(self, info: IndexInfo | None, held: Sequence[IndexEntry]) -> Plan:
        """Compare the pages with the points in the index, and cut those that are new or changed."""
        options, entries = self.options, held
        first = self._sources.loaded[0]
        self._title = book_title(first.source, first.documents, first.title)
        if options.rebuild:
            check_sources(self.index.collection, held, [one.source for one in self._sources.loaded])
            entries = []
        else:
            check_encoders(info, self.index, self.embedder, self._sparse, self._sources.given, options.profile)
            if info is not None and info.recipe != RECIPE:
                entries = [replace(entry, document_sha256="") for entry in held]  # every page counts as changed
        try:
            plan = await in_thread(self._make_plan, entries)
        except _UnreadPageError:
            self._sources.recalls = False
            await self._load()
            plan = await in_thread(self._make_plan, entries)
        if not options.dry_run:
            await asyncio.to_thread(self._sources.keep, self._empty)
        if not plan.total:
            raise self._nothing()
        self._sources.forget_texts()
        self._chunks = list(plan.write)
        await asyncio.to_thread(self._vectors.look_up, self._chunks)
        return replace(plan, write=())  # a chunk is freed once it is stored: texts take most of the memory

    def _nothing(self) -> UsageError:
        names = ", ".join(str(source) for source in self._sources.given)
        if not self._failures:
            return UsageError(f"All pages of {names} are empty.", code="no_text", hint="Give pages with text.")
        why = f"{self._failures[0].path}: {self._failures[0].reason}"
        return SourceFailedError(f"No page could be read in {names}: {why}.", code="no_pages")

    def _make_plan(self, entries: Sequence[IndexEntry]) -> Plan:
        limit = min(CHUNK_TOKENS, self.embedder.max_tokens - MARGIN)
        others = {entry.source for entry in entries} if self.options.alone else set()
        documents = self._sources.documents
        failed = {(failure.source, failure.path) for failure in self._failures}
        stored = {(entry.source, entry.source_file_path) for entry in entries}
        numbers = iter(range(1, len(documents) + 1))

        def chunked(document: Document) -> list[Chunk] | None:
            stop_if_cancelled()
            self._tell("chunk", next(numbers, len(documents)), len(documents))
            if isinstance(document, RecalledPage):
                if document.is_empty:
                    return []
                raise _UnreadPageError
            try:
                made = chunk(document, count_tokens=self.embedder.count_tokens, max_tokens=limit)
            except (AskbookError, OSError, MemoryError):  # the tokenizer's
                raise
            except Exception as error:
                self._sources.fail(document, error)
                return None
            if not made:
                self._empty.add((document.source, document.path))
            return made

        return make_plan(
            documents,
            entries,
            sources=others | {result.source for result in self._sources.loaded},
            chunk=chunked,
            spared={page for page in stored if not failed.isdisjoint(_places(*page))},
        )

    async def _embed(self) -> None:
        """Compute the vectors that the cache does not have. They are durable at once."""
        done = 0

        def progress(count: int, total: int) -> None:
            nonlocal done
            done = count
            self._tell("embed", count, total, always=True)

        def waiting(seconds: int) -> None:
            self._watch(IngestProgress(step="embed", done=done, total=len(self._vectors.missing), waiting=seconds))

        await self._vectors.compute(self._chunks, progress, waiting)

    async def _write(self, plan: Plan, info: IndexInfo | None, held: Sequence[IndexEntry]) -> None:
        """Change the index in one step, if anything has changed, and verify it."""
        # Points of other sources are missing, which this run cannot restore; the record has to say so.
        lost = info is not None and info.chunks != len(held)
        chunks, self._chunks = self._chunks, []
        if not (chunks or plan.remove or lost):
            return
        first = await asyncio.to_thread(lambda: list(self._vectors.points(chunks[:BATCH])))
        size = self.embedder.dimension or (len(first[0].dense) if first else info.dimension if info else 0)
        written = {hash((one.id, one.sha256)) for one in chunks}  # numbers: a large book has many chunks
        ids = {one.id for one in chunks}
        replaced = {entry.id for entry in held if self.options.rebuild or entry.id in ids}
        rest = deque(chunks[BATCH:])
        chunks.clear()
        points = self._told(first, self._vectors.consumed(rest), len(written))
        await self.index.replace(self._record(plan, info, size), add=points, remove=replaced | set(plan.remove))
        await self._verify(plan, written)

    def _record(self, plan: Plan, info: IndexInfo | None, size: int) -> IndexInfo:
        kept = None if self.options.alone or self.options.rebuild else info
        generators = {one.source: f"{one.generator} ({one.reason})" for one in self._sources.loaded}
        return IndexInfo(
            self.index.collection,
            self.embedder.model_id,
            size,
            self._sparse.model_id,
            plan.total,
            recipe=RECIPE,
            generators={**(kept.generators if kept else {}), **generators},
            title=kept.title if kept else self._title,
            pages=plan.pages,
            updated_at=now(),
        )

    def _told(self, first: Sequence[Point], rest: Iterator[Point], total: int) -> Iterator[Point]:
        for done, point in enumerate(chain(first, rest), 1):
            yield point
            self._tell("write", done, total)

    async def _verify(self, plan: Plan, written: set[int]) -> None:
        """Read the index again: every chunk of the plan must be there. Raises `RetrievalError` otherwise."""
        self._tell("verify", 0, plan.total, always=True)
        stored = {hash((entry.id, entry.sha256)) for entry in await self.index.entries()}
        wrong = len(written - stored)
        if wrong or len(stored) != plan.total:
            message = (
                f'The book "{self.index.collection}" was written, but it holds {len(stored):,} passages instead of '
                f"{plan.total:,}, and {wrong:,} of the new ones are missing."
            )
            hint = "Another program may be changing it. Run the same command again."
            raise RetrievalError("index_unverified", message, hint=hint, retryable=True)
        self._tell("verify", plan.total, plan.total, always=True)

    @property
    def _failures(self) -> list[Failure]:
        return [failure for result in self._sources.loaded for failure in result.failures]

    def _tell(self, step: Step, done: int, total: int, *, always: bool = False, **site: int) -> None:
        """Tell how far a step is, but not too often. `site` counts the pages of the site that is being fetched."""
        moment = time.monotonic()
        if always or (done in (0, total) and not site) or moment - self._shown >= EVERY:
            self._shown = moment
            self._watch(IngestProgress(step=step, done=done, total=total, **site))

    def _report(self, plan: Plan, held: Sequence[IndexEntry]) -> IngestReport:
        failures, loaded = self._failures, self._sources.loaded
        others = {entry.source for entry in held} - {one.source for one in loaded}
        return IngestReport(
            collection=self.index.collection,
            embedding_model=self.embedder.model_id,
            documents=DocumentCounts(
                added=len(plan.documents_added),
                changed=len(plan.documents_changed),
                unchanged=len(plan.documents_unchanged),
                deleted=len(plan.documents_deleted),
                failed=len(failures),
                empty=len(plan.empty),
            ),
            chunks=ChunkCounts(added=plan.added, deleted=plan.deleted, unchanged=plan.unchanged, total=plan.total),
            embedded=len(self._vectors.missing),
            tokens=self._vectors.tokens,
            seconds=0.0,
            failures=[*self._sources.failed, *(IngestFailure(source=one.file, reason=one.reason) for one in failures)],
            sources=[one.summary() for one in loaded],
            without_text=[Failure(*page, reason="").file for page in plan.empty],
            beside=[] if self.options.alone or self.options.rebuild else sorted(filter(None, others)),
        )


def _places(source: str, path: str) -> list[tuple[str, str]]:
    """A page and its folders: if reading one of them failed, the page does not count as deleted."""
    return [(source, path), *((source, folder.as_posix()) for folder in PurePosixPath(path).parents)]
