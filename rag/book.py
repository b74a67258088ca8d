"""A book as it is read, stored and searched: frozen records that never leave the process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# Which texts of a chunk are encoded: `embedded_text` and `worded_text`. A collection records it and is encoded anew
# when it changes, since vectors of two recipes cannot be ranked together.
RECIPE: Final = "heading, breadcrumb"


@dataclass(frozen=True, slots=True)
class Document:
    """One page of a source, cleaned to plain Markdown.

    `source` names the folder or site it came from, `path` is POSIX and relative to it, `sha256` is of the bytes that
    were read, and `breadcrumb` holds the titles above the page, outermost first.
    """

    source: str
    path: str
    url: str
    title: str
    text: str
    sha256: str
    breadcrumb: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: the unit that is embedded, found, shown to the model and cited.

    `text` is what the reader wrote, unchanged; citations count code points in it. `sha256` is of `text`. `url` has no
    anchor; `anchor` is the heading's, empty when the page is not on a site. `chunk_index` counts from 0 in its page.
    """

    id: str
    text: str
    title: str
    heading: str
    breadcrumb: str
    url: str
    anchor: str
    source: str
    source_file_path: str
    chunk_index: int
    sha256: str
    document_sha256: str = ""
    chapter: str | None = None
    page_number: int | None = None

    @property
    def embedded_text(self) -> str:
        """What the embedding model reads: the nearest heading, or the page's title, then the text.

        The whole way to the chunk would be a part of every vector under it, and make them all alike.
        """
        nearest = self.heading if self.breadcrumb.endswith(self.heading) else ""
        nearest = nearest or self.breadcrumb.rpartition(" > ")[2]
        return f"{nearest}\n\n{self.text}" if nearest else self.text

    @property
    def worded_text(self) -> str:
        """What the search by words reads: the way to the chunk, then its text."""
        return f"{self.breadcrumb}\n\n{self.text}" if self.breadcrumb else self.text

    @property
    def link(self) -> str:
        """The address of the chunk's heading, or of its page where headings have no address."""
        return f"{self.url}#{self.anchor}" if self.anchor else self.url


@dataclass(frozen=True, slots=True)
class SparseVector:
    """A sparse vector: parallel lists, indices unique."""

    indices: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Point:
    """A chunk with its vectors, ready for the index. `dense` has unit length."""

    chunk: Chunk
    dense: Sequence[float]
    sparse: SparseVector


@dataclass(frozen=True, slots=True)
class Hit:
    """One chunk in one ranking. `score` is the leg's own: a cosine for a dense leg, BM25 for a sparse one."""

    chunk: Chunk
    score: float
    dense: Sequence[float]


@dataclass(frozen=True, slots=True)
class Where:
    """A filter on a search: what the fields of a chunk begin with. Empty fields do not restrict."""

    url_prefix: str = ""
    title: str = ""
    heading: str = ""
    file: str = ""
    chapter: str = ""

    def __str__(self) -> str:
        """The filter as a user writes it."""
        fields = {"title": self.title, "heading": self.heading, "file": self.file, "chapter": self.chapter}
        named = (f"{name}:{value}" for name, value in fields.items() if value)
        return " ".join(filter(None, (self.url_prefix, *named)))


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """What a collection says of itself: who encoded it, by which recipe, and how many chunks it holds.

    `foreign`: somebody else made it. Then `embedding_model` is what the profile says of it, and `sparse_model` the name
    of its sparse vector; either may be empty.
    """

    collection: str
    embedding_model: str
    dimension: int
    sparse_model: str
    chunks: int
    foreign: bool = False
    recipe: str = ""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The part of a stored chunk that planning an ingestion needs."""

    id: str
    source: str
    source_file_path: str
    document_sha256: str
    sha256: str
