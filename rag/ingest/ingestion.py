"""One change of a book in five steps: load the sources, chunk them, embed the new texts, write the index, verify it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
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
from rag.ingest.report import STEPS, ChunkCounts, DocumentCounts, IngestFailure, IngestProgress, IngestReport, Step
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

    The steps are run one by one, or all by `run`; call `aclose` in any case. `watch` is told of every step, also from
    worker threads. With `memory`, a source in which no file has changed is recalled. A dry run neither embeds nor
    writes.

    From the step "chunk" on, no other ingestion can change the collection. The step "write" makes the one change of the
    index. A step that is cancelled leaves the index as it was, and the vectors in the cache.

    A source that fails is named in the report. Raises `UsageError` if all fail and for an index that other models
    encoded; `RetrievalError` if the index fails, and "index_locked" while another ingestion changes it; `AskbookError`
    if embedding fails for good.
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
        self._sources = BookSources(sources, options, memory)
        self.index = index
        self.embedder = embedder
        self._sparse = sparse
        self._vectors = ChunkVectors(embedder, sparse, vectors)
        self._watch = watch or (lambda _progress: None)
        self._shown = 0.0
        self._began = time.monotonic()
        self._locks = AsyncExitStack()
        self._empty: set[tuple[str, str]] = set()  # source and path of the pages without chunks
        self._locked = False
        self._closes_index = closes_index
        self._info: IndexInfo | None = None
        self._held: list[IndexEntry] = []
        self._plan: Plan | None = None
        self._written: set[int] | None = None  # what the step "write" has stored
        self._title = ""

    async def run(self) -> IngestReport:
        """All steps, then the report."""
        try:
            for step in STEPS:
                await self.step(step)
            return self.report()
        finally:
            await self.aclose()

    async def step(self, name: Step) -> None:
        """One step. Raises as the class says."""
        steps = (self.load, self.chunk, self.embed, self.write, self.verify)
        await steps[STEPS.index(name)]()

    async def aclose(self) -> None:
        """Let others change the collection. The second time this does nothing."""
        await self.pause()
        if self._closes_index:
            await self.index.aclose()

    async def load(self) -> None:
        """Read all sources. Those that fail are named in the report. Raises as `BookSources.load`."""
        total = len(self._sources.given)
        await self._sources.load(
            lambda done: self._tell("load", done, total),
            lambda number, pages, known: self._tell("load", number, total, pages=pages, known=known),
        )
        first = self._sources.loaded[0]
        self._title = book_title(first.source, first.documents, first.title)

    async def chunk(self) -> None:
        """Compare the pages with the points in the index, and cut those that are new or changed."""
        options = self.options
        await self._lock()
        self._info, entries = await self._read_index()
        self._held = entries
        if options.rebuild:
            check_sources(self.index.collection, entries, [one.source for one in self._sources.loaded])
            entries = []
        else:
            check_encoders(self._info, self.index, self.embedder, self._sparse, self._sources.given, options.profile)
            if self._info is not None and self._info.recipe != RECIPE:
                entries = [replace(entry, document_sha256="") for entry in entries]  # every page counts as changed
        try:
            self._plan = plan = await in_thread(self._make_plan, entries)
        except _UnreadPageError:
            self._sources.recalls = False
            await self.load()
            self._plan = plan = await in_thread(self._make_plan, entries)
        if not options.dry_run:
            await asyncio.to_thread(self._sources.keep, self._empty)
        if not plan.total:
            raise self._nothing()
        self._sources.forget_texts()
        await asyncio.to_thread(self._vectors.look_up, plan.write)

    def _nothing(self) -> UsageError:
        names = ", ".join(str(source) for source in self._sources.given)
        if not self._failures:
            return UsageError(f"All pages of {names} are empty.", code="no_text", hint="Give pages with text.")
        why = f"{self._failures[0].path}: {self._failures[0].reason}"
        return SourceFailedError(f"No page could be read in {names}: {why}.", code="no_pages")

    async def _lock(self) -> None:
        if not self.options.dry_run and not self._locked:
            await self._locks.enter_async_context(self.index.writing())
            self._locked = True

    async def pause(self) -> None:
        """Let others change the collection until the next step, which plans anew if they did."""
        self._locked = False
        await self._locks.aclose()

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

    def _make_plan(self, entries: Sequence[IndexEntry]) -> Plan:
        limit = min(CHUNK_TOKENS, self.embedder.max_tokens - MARGIN)
        others = {entry.source for entry in entries} if self.options.alone else set()
        loaded, documents = self._sources.loaded, self._sources.documents
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
            sources=others | {result.source for result in loaded},
            chunk=chunked,
            spared={page for page in stored if not failed.isdisjoint(_places(*page))},
        )

    async def embed(self) -> None:
        """Compute the vectors that the cache does not have. They are durable at once."""
        if self.options.dry_run:
            return
        done = 0

        def progress(count: int, total: int) -> None:
            nonlocal done
            done = count
            self._tell("embed", count, total, always=True)

        def waiting(seconds: int) -> None:
            self._watch(IngestProgress(step="embed", done=done, total=len(self._vectors.missing), waiting=seconds))

        await self._vectors.compute(self._made_plan.write, progress, waiting)

    async def write(self) -> None:
        """Change the index in one step, if anything has changed."""
        if not self._locked and not self.options.dry_run:
            await self._lock()
            if set((await self._read_index())[1]) != set(self._held):
                for step in STEPS[: STEPS.index("write")]:
                    await self.step(step)
        plan, options, info = self._made_plan, self.options, self._info
        # Points of other sources are missing, which this run cannot restore; the record has to say so.
        lost = info is not None and info.chunks != len(self._held)
        if options.dry_run or (plan.is_empty and not lost):
            return
        first = await asyncio.to_thread(lambda: list(self._vectors.points(plan.write[:BATCH])))
        size = self.embedder.dimension or (len(first[0].dense) if first else info.dimension if info else 0)
        kept = None if options.alone or options.rebuild else info
        generators = {one.source: f"{one.generator} ({one.reason})" for one in self._sources.loaded}
        new_info = IndexInfo(
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
        written = {chunk.id for chunk in plan.write}
        replaced = {entry.id for entry in self._held if options.rebuild or entry.id in written}
        self._written = {hash((one.id, one.sha256)) for one in plan.write}  # numbers: a large book has many chunks
        points = self._told(first, self._vectors.consumed(deque(plan.write[BATCH:])), len(plan.write))
        self._plan = plan = replace(plan, write=())  # a chunk is freed once it is stored: texts take most of the memory
        await self.index.replace(new_info, add=points, remove=replaced | set(plan.remove))

    def _told(self, first: Sequence[Point], rest: Iterator[Point], total: int) -> Iterator[Point]:
        for done, point in enumerate(chain(first, rest), 1):
            yield point
            self._tell("write", done, total)

    async def verify(self) -> None:
        """Read the index again: every chunk of the plan must be there. Raises `RetrievalError` otherwise."""
        plan, written = self._made_plan, self._written
        if written is None:
            return
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
    def _made_plan(self) -> Plan:
        assert self._plan is not None, "the step chunk comes first"  # noqa: S101
        return self._plan

    @property
    def _failures(self) -> list[Failure]:
        return [failure for result in self._sources.loaded for failure in result.failures]

    def _tell(self, step: Step, done: int, total: int, *, always: bool = False, **site: int) -> None:
        """Tell how far a step is, but not too often. `site` counts the pages of the site that is being fetched."""
        moment = time.monotonic()
        if always or (done in (0, total) and not site) or moment - self._shown >= EVERY:
            self._shown = moment
            self._watch(IngestProgress(step=step, done=done, total=total, **site))

    def report(self) -> IngestReport:
        """What was done, or in a dry run what would be; once the step "chunk" has run."""
        plan = self._made_plan
        failures = self._failures
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
            seconds=round(time.monotonic() - self._began, 3),
            failures=[*self._sources.failed, *(IngestFailure(source=one.file, reason=one.reason) for one in failures)],
            sources=[one.summary() for one in self._sources.loaded],
            without_text=[f"{source}/{path}" for source, path in plan.empty],
        )


def _places(source: str, path: str) -> list[tuple[str, str]]:
    """A page and its folders: if reading one of them failed, the page does not count as deleted."""
    return [(source, path), *((source, folder.as_posix()) for folder in PurePosixPath(path).parents)]
