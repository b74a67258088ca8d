"""From sources to the index: load, compare with the index, embed new texts, change the index in one step."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

from rag.book import RECIPE, Chunk, IndexEntry, IndexInfo, Point
from rag.errors import RetrievalError, UsageError
from rag.index.index_errors import not_ours, rebuilding, way_back
from rag.ingest.book_title import book_title
from rag.ingest.chunking import chunk
from rag.ingest.loaders import LoadResult, load_source
from rag.ingest.patterns import EVERYTHING, Selection
from rag.ingest.plan import Plan, make_plan
from rag.ports import ChunkIndex, Embedder, SparseEncoder, VectorCache
from rag.program import program
from rag.types import Record, now

CHUNK_TOKENS: Final = 512  # the longest chunk, if the embedding model sees as much
MARGIN: Final = 4  # tokens reserved for the embedding model's special tokens


class DocumentCounts(Record):
    """Pages by what the ingestion does with them. The chunks of a `failed` page, which cannot be read, are kept."""

    added: int
    changed: int
    unchanged: int
    deleted: int
    failed: int


class ChunkCounts(Record):
    """Chunks by what happens to their text. `total` is the size of the collection afterwards."""

    added: int
    deleted: int
    unchanged: int
    total: int


class IngestFailure(Record):
    """A file that could not be read, and why."""

    source: str
    reason: str


class SourceSummary(Record):
    """Whose rules a source was read by, and why. `passed_over` counts files that are no pages, by their endings."""

    source: str
    generator: str
    reason: str
    passed_over: dict[str, int]


class IngestReport(Record):
    """What an ingestion did, or would do: the object that `ingest --json` prints. `embedded` counts texts."""

    collection: str
    embedding_model: str
    documents: DocumentCounts
    chunks: ChunkCounts
    embedded: int
    seconds: float
    failures: list[IngestFailure]
    sources: list[SourceSummary]


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
) -> IngestReport:
    """Bring the index up to date with the sources, as one change. Writes nothing if nothing changed.

    `skip` names folders or files by their path in the source. `generator` names the site generator whose rules are
    followed; without it, it is found. `selection` says which files are read. `alone` removes the chunks of all other
    sources. `own` says that the sources are part of askbook, see `load_source`.
    `rebuild` makes the collection again, whatever models encoded it; it must have no other sources. `profile` is the
    one that the collection belongs to, for the hints of errors. `progress(done, total)` counts embedded texts. A dry
    run reports what would happen (`embedded`, too), and neither embeds nor writes. A cancelled run keeps its vectors in
    the cache and does not change the index.

    Raises `UsageError`, before anything is embedded, for a source that cannot be used and an index that other models
    encoded, and `RetrievalError` if the index fails.
    """
    began = time.monotonic()
    loaded = await asyncio.to_thread(_load, sources, base_url, skip, generator, selection, own=own)
    info, entries = await _held(index, dry_run=dry_run)
    replaced: set[str] = set()
    if rebuild:
        _check_sources(index.collection, entries, loaded)
        replaced, entries = {entry.id for entry in entries}, []
    else:
        _check_models(info, index, embedder, sparse, sources, profile)
        if info is not None and info.recipe != RECIPE:
            entries = [replace(entry, document_sha256="") for entry in entries]  # every page counts as changed
    plan = await asyncio.to_thread(_plan, loaded, entries, embedder, alone=alone)
    if not plan.total:
        names = ", ".join(str(source) for source in sources)
        raise UsageError(f"All pages of {names} are empty.", code="no_text", hint="Give pages with text.")
    texts = list(dict.fromkeys(c.embedded_text for c in plan.write))
    known = await asyncio.to_thread(vectors.get, embedder.model_id, texts) if texts else {}
    missing = [text for text in texts if text not in known]
    lost = info is not None and info.chunks != len(entries)  # points of other sources, which this run cannot restore
    if not dry_run and (lost or not plan.is_empty):
        known |= await _embed(missing, embedder, vectors, progress)
        points = await asyncio.to_thread(_points, plan.write, known, sparse)
        size = embedder.dimension or (len(points[0].dense) if points else info.dimension if info else 0)
        new_info = IndexInfo(
            index.collection,
            embedder.model_id,
            size,
            sparse.model_id,
            plan.total,
            recipe=RECIPE,
            generators=_generators(loaded, {} if alone or rebuild or info is None else info.generators),
            title=book_title(loaded[0].source, loaded[0].documents) if alone or not info or rebuild else info.title,
            pages=plan.pages,
            updated_at=now(),
        )
        await index.replace(new_info, add=points, remove=replaced | set(plan.remove))
    return _report(loaded, plan, index.collection, embedder.model_id, len(missing), time.monotonic() - began)


async def _held(index: ChunkIndex, *, dry_run: bool) -> tuple[IndexInfo | None, list[IndexEntry]]:
    """The record and the entries of the index. A broken index counts as empty and is dropped, to be built again.

    Raises `UsageError` for a foreign collection, before its entries are read.
    """
    try:
        info = await index.info()
        if info is not None and info.foreign:
            raise not_ours(index.collection)
        return info, await index.entries()
    except RetrievalError as error:
        if error.code != "index_broken":
            raise
    if not dry_run:
        await index.drop()
    return None, []


def _load(
    sources: Sequence[Path | str],
    base_url: str | None,
    skip: Collection[str],
    generator: str | None,
    selection: Selection,
    *,
    own: bool,
) -> list[LoadResult]:
    """Load every source. One that is given twice counts once."""
    if not sources:
        raise UsageError(
            "No source was given.", code="source", hint="Give a folder, a file or an address: ingest SOURCE."
        )
    loaded = (
        load_source(source, base_url=base_url, skip=skip, generator=generator, own=own, selection=selection)
        for source in sources
    )
    return list({result.source: result for result in loaded}.values())


def _plan(loaded: Sequence[LoadResult], entries: Sequence[IndexEntry], embedder: Embedder, *, alone: bool) -> Plan:
    limit = min(CHUNK_TOKENS, embedder.max_tokens - MARGIN)
    others = {entry.source for entry in entries} if alone else set()
    failed = {(failure.source, failure.path) for result in loaded for failure in result.failures}
    stored = {(entry.source, entry.source_file_path) for entry in entries}
    return make_plan(
        [document for result in loaded for document in result.documents],
        entries,
        sources=others | {result.source for result in loaded},
        chunk=partial(chunk, count_tokens=embedder.count_tokens, max_tokens=limit),
        spared={page for page in stored if not failed.isdisjoint(_places(*page))},
    )


def _places(source: str, path: str) -> list[tuple[str, str]]:
    """A page and the folders that it is in: if one of them failed, the page is not gone."""
    return [(source, path), *((source, folder.as_posix()) for folder in PurePosixPath(path).parents)]


def _check_sources(collection: str, entries: Sequence[IndexEntry], loaded: Sequence[LoadResult]) -> None:
    """Raise `UsageError` if the collection has other sources, whose chunks a rebuild would lose."""
    others = {entry.source for entry in entries} - {result.source for result in loaded}
    if others:
        named = ", ".join(sorted(others)) if all(others) else "points that another program made"
        message = f"The collection {collection!r} also holds {named}, which --rebuild would delete."
        hint = "Name all of its sources in one command, or ingest into another --collection."
        raise UsageError(message, code="rebuild", hint=hint)


def _check_models(
    info: IndexInfo | None,
    index: ChunkIndex,
    embedder: Embedder,
    sparse: SparseEncoder,
    sources: Sequence[Path | str],
    profile: str,
) -> None:
    """Raise `UsageError` if other models encoded the collection: vectors of two models cannot be compared."""
    if info is None:
        return
    differences = [
        f"{what} {theirs} instead of {ours}"
        for what, theirs, ours in (
            ("embedding model", info.embedding_model, embedder.model_id),
            ("dimension", info.dimension, embedder.dimension or info.dimension),
            ("sparse model", info.sparse_model, sparse.model_id),
        )
        if theirs != ours
    ]
    if differences:
        paths = [str(source) for source in sources]
        other = " ".join(shlex.quote(path) for path in paths)
        raise UsageError(
            f"The collection {index.collection!r} was made with {', '.join(differences)}.",
            code="model_mismatch",
            hint=f'Run "{rebuilding(index.collection, paths, profile)}" to embed the whole book again, '
            f"{way_back(info.embedding_model)}, or ingest into another collection: "
            f"{program()} ingest {other} --collection NAME",
        )


async def _embed(
    texts: Sequence[str], embedder: Embedder, vectors: VectorCache, progress: Callable[[int, int], None] | None
) -> dict[str, list[float]]:
    """Embed in batches and cache each one, so that an interruption loses one batch at most."""

    def embed_batch(batch: list[str]) -> dict[str, list[float]]:
        embedded_batch = dict(zip(batch, embedder.embed_documents(batch), strict=True))
        vectors.put(embedder.model_id, embedded_batch)
        return embedded_batch

    embedded: dict[str, list[float]] = {}
    step = embedder.batch_size
    for begin in range(0, len(texts), step):
        if progress:
            progress(begin, len(texts))
        # If this task is cancelled, the thread still finishes and caches its vectors.
        embedded |= await asyncio.to_thread(embed_batch, list(texts[begin : begin + step]))
    if progress and texts:
        progress(len(texts), len(texts))
    return embedded


def _generators(loaded: Sequence[LoadResult], before: Mapping[str, str]) -> dict[str, str]:
    """For each source of the book, by whose rules it was read and why."""
    return {**before, **{one.source: f"{one.generator} ({one.reason})" for one in loaded}}


def _points(chunks: Sequence[Chunk], vectors: dict[str, list[float]], sparse: SparseEncoder) -> list[Point]:
    return [Point(c, vectors[c.embedded_text], sparse.encode_document(c.worded_text)) for c in chunks]


def _report(
    loaded: Sequence[LoadResult], plan: Plan, collection: str, model_id: str, embedded: int, seconds: float
) -> IngestReport:
    failures = [failure for result in loaded for failure in result.failures]
    return IngestReport(
        collection=collection,
        embedding_model=model_id,
        documents=DocumentCounts(
            added=len(plan.documents_added),
            changed=len(plan.documents_changed),
            unchanged=len(plan.documents_unchanged),
            deleted=len(plan.documents_deleted),
            failed=len(failures),
        ),
        chunks=ChunkCounts(added=plan.added, deleted=plan.deleted, unchanged=plan.unchanged, total=plan.total),
        embedded=embedded,
        seconds=round(seconds, 3),
        failures=[IngestFailure(source=failure.file, reason=failure.reason) for failure in failures],
        sources=[
            SourceSummary(
                source=one.source, generator=one.generator, reason=one.reason, passed_over=dict(one.passed_over)
            )
            for one in loaded
        ],
    )
