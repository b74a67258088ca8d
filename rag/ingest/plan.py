"""What an ingestion has to change: the difference between the sources and the index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rag.book import Chunk, Document, IndexEntry
from rag.ingest.chunking import page_key

PageId = tuple[str, str]  # source, path


@dataclass(frozen=True, slots=True)
class Plan:
    """Pages by their fate, and the chunks to write and to remove.

    `write` holds every chunk of the pages that are new or changed, since their record changes even where their text
    does not. The counts are of texts: `added` and `deleted` both count a chunk whose text changed, `unchanged` one that
    keeps its text, so that `total`, what the index holds afterwards, is before + added - deleted.
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

    @property
    def is_empty(self) -> bool:
        """Whether the index is right as it stands."""
        return not self.write and not self.remove


def make_plan(
    documents: Iterable[Document],
    entries: Sequence[IndexEntry],
    *,
    sources: Collection[str],
    chunk: Callable[[Document], Sequence[Chunk]],
    spared: Collection[PageId] = (),
) -> Plan:
    """Compares pages with what the index holds of `sources`; other sources are left alone.

    Only new and changed pages are chunked. Of pages with one key (an address that two sources share) the last counts.
    Pages in `spared` could not be read this time: what the index holds of them stays. A page without chunks counts as
    unchanged.
    """
    stored: dict[PageId, list[IndexEntry]] = defaultdict(list)
    for entry in entries:
        if entry.source in sources:
            stored[(entry.source, entry.source_file_path)].append(entry)
    added: list[PageId] = []
    changed: list[PageId] = []
    unchanged: list[PageId] = []
    write: dict[str, Chunk] = {}
    kept = {entry.id for page in set(spared) & stored.keys() for entry in stored[page]}
    wanted = list({page_key(document): document for document in documents}.values())
    for document in wanted:
        page = (document.source, document.path)
        held = stored.get(page, [])
        if held and all(entry.document_sha256 == document.sha256 for entry in held):
            unchanged.append(page)
            kept.update(entry.id for entry in held)
            continue
        chunks = chunk(document)
        write.update((c.id, c) for c in chunks)
        (changed if held else added if chunks else unchanged).append(page)
    present = {(d.source, d.path) for d in wanted} | set(spared)
    gone = tuple(page for page in stored if page not in present)
    ours = {entry.id for held in stored.values() for entry in held}
    remove = frozenset(ours - kept - write.keys())
    pages = (tuple(added), tuple(changed), tuple(unchanged), gone)
    return Plan(*pages, tuple(write.values()), remove, *_counts(entries, write, remove))


def _counts(
    entries: Sequence[IndexEntry], write: Mapping[str, Chunk], remove: Collection[str]
) -> tuple[int, int, int, int]:
    """Chunks added, deleted, unchanged and in all, by their text: one whose text changes is deleted and added."""
    texts = {entry.id: entry.sha256 for entry in entries}
    same = sum(texts.get(c.id) == c.sha256 for c in write.values())
    replaced = sum(c.id in texts and texts[c.id] != c.sha256 for c in write.values())
    total = len(texts.keys() | write.keys()) - len(remove)
    return len(write) - same, len(remove) + replaced, len(texts) - len(remove) - replaced, total
