"""The plan of an ingestion: whether it may change the collection, and the difference between sources and index."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rag.book import Chunk, Document, IndexEntry, IndexInfo
from rag.errors import RetrievalError, UsageError
from rag.index.catalog import check_models
from rag.ingest.chunking import page_key
from rag.ports import ChunkIndex, Embedder, SparseEncoder
from rag.system.process import program

PageId = tuple[str, str]  # source, path
Chunker = Callable[[Document], Sequence[Chunk] | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens to the pages, and the chunks to write and to remove.

    `write` holds all chunks of new and changed pages, since a chunk's record changes even if its text does not. The
    counts are of texts: a chunk whose text changed counts as `added` and as `deleted`, one whose text is the same as
    `unchanged`. So `total`, the size of the index afterwards, is its size before + added - deleted. `pages` are
    the pages with chunks afterwards, `empty` those without text, which count as unchanged.
    """

    documents_added: tuple[PageId, ...]
    documents_changed: tuple[PageId, ...]
    documents_unchanged: tuple[PageId, ...]
    documents_deleted: tuple[PageId, ...]
    write: tuple[Chunk, ...]
    remove: frozenset[str]
    added: int
    deleted: int
    unchanged: int
    total: int
    pages: int = 0
    empty: tuple[PageId, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the index is up to date."""
        return not self.write and not self.remove


def check_sources(collection: str, entries: Sequence[IndexEntry], sources: Sequence[str]) -> None:
    """Raise `UsageError` if the collection has other sources, whose chunks a rebuild would lose."""
    others = {entry.source for entry in entries} - set(sources)
    if others:
        named = ", ".join(sorted(others)) if all(others) else "points that another program made"
        message = f"The collection {collection!r} also holds {named}, which --rebuild would delete."
        hint = "Name all of its sources in one command, or ingest into another --collection."
        raise UsageError(message, code="rebuild", hint=hint)


def check_encoders(
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
    paths = [str(source) for source in sources]
    try:
        check_models(info, index.collection, embedder, sparse, profile, paths)
    except RetrievalError as error:
        other = f'run "{program()} ingest {shlex.join(paths)} --collection NAME" to fill another collection'
        hint = f"{error.hint.removesuffix('.')}, or {other}."
        raise UsageError(error.message, code="model_mismatch", hint=hint) from None


def make_plan(
    documents: Iterable[Document],
    entries: Sequence[IndexEntry],
    *,
    sources: Collection[str],
    chunk: Chunker,
    spared: Collection[PageId] = (),
) -> Plan:
    """Compare the pages with the index's entries of `sources`. Entries of other sources are not touched.

    Only new and changed pages are chunked, and those that lack chunks, of which only the missing ones are written. Of
    several pages with the same key, such as an address in two sources, the last one counts. Pages in `spared` could not
    be read this time, and keep their chunks, as does a page that `chunk` makes None of. A new page without chunks
    counts as unchanged.
    """
    stored: dict[PageId, list[IndexEntry]] = defaultdict(list)
    for entry in entries:
        if entry.source in sources:
            stored[(entry.source, entry.source_file_path)].append(entry)
    wanted = list({page_key(document): document for document in documents}.values())
    found = _Comparison()
    found.kept.update(entry.id for page in set(spared) & stored.keys() for entry in stored[page])
    for document in wanted:
        found.compare(document, stored.get((document.source, document.path), []), chunk)
    present = {(d.source, d.path) for d in wanted} | set(spared)
    gone = tuple(page for page in stored if page not in present)
    ours = {entry.id for held in stored.values() for entry in held}
    remove = frozenset(ours - found.kept - found.write.keys())
    empty = tuple(page for page in found.unchanged if page not in stored)
    pages = (tuple(found.added), tuple(found.changed), tuple(found.unchanged), gone)
    left = {(entry.source, entry.source_file_path) for entry in entries if entry.id not in remove}
    left |= {(c.source, c.source_file_path) for c in found.write.values()}
    counts = _counts(entries, found.write, remove)
    return Plan(*pages, tuple(found.write.values()), remove, *counts, len(left), empty)


@dataclass(slots=True)
class _Comparison:
    """What the comparison of pages with their stored chunks has found: the pages, the chunks to write, by id, and the
    ids of the stored chunks to keep.
    """

    added: list[PageId] = field(default_factory=list)
    changed: list[PageId] = field(default_factory=list)
    unchanged: list[PageId] = field(default_factory=list)
    write: dict[str, Chunk] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)

    def compare(self, document: Document, held: Sequence[IndexEntry], chunk: Chunker) -> None:
        """Compare one page with the entries that the index holds of it."""
        page = (document.source, document.path)
        same = bool(held) and all(entry.document_sha256 == document.sha256 for entry in held)
        if same and is_whole(held):
            self.unchanged.append(page)
            self.kept.update(entry.id for entry in held)
            return
        chunks = chunk(document)
        if chunks is None:
            self.kept.update(entry.id for entry in held)
            return
        there = {entry.id for entry in held} if same else set()
        self.kept.update(there & {c.id for c in chunks})
        self.write.update((c.id, c) for c in chunks if c.id not in there)
        (self.changed if held else self.added if chunks else self.unchanged).append(page)


def is_whole(held: Sequence[IndexEntry]) -> bool:
    """Whether all chunks of a page are there, and no others."""
    return len(held) == max(entry.page_chunks for entry in held)


def _counts(
    entries: Sequence[IndexEntry], write: Mapping[str, Chunk], remove: Collection[str]
) -> tuple[int, int, int, int]:
    """The counts of chunks as in `Plan`: added, deleted, unchanged, total."""
    texts = {entry.id: entry.sha256 for entry in entries}
    same = sum(texts.get(c.id) == c.sha256 for c in write.values())
    replaced = sum(c.id in texts and texts[c.id] != c.sha256 for c in write.values())
    total = len(texts.keys() | write.keys()) - len(remove)
    return len(write) - same, len(remove) + replaced, len(texts) - len(remove) - replaced, total
