"""The records of a book as it is ingested, indexed and searched. They are frozen and never leave the process."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from rag.types import Passage, Retrieval

if TYPE_CHECKING:
    from numpy import float64, intp
    from numpy.typing import NDArray

# Names how `embedded_text` and `worded_text` are made. A collection records it and is embedded again when it changes,
# because vectors of two recipes cannot be ranked together.
RECIPE: Final = "heading, breadcrumb"
_IN_PASSAGE: Final = (  # what a passage has of its chunk under the same name
    "text", "title", "heading", "breadcrumb", "url", "link", "source_file_path", "chunk_index", "chapter",
    "page_number",
)  # fmt: skip
SHOWN: Final = 20  # candidates of a trace that are printed
_ADDRESS: Final = re.compile(r"\]\(https?://[^\s()<>]*\)")

Outcome = Literal["kept", "neighbour", "below_threshold", "duplicate", "beyond_k"]
QueryKind = Literal["question", "context", "rewrite"]


@dataclass(frozen=True, slots=True)
class Document:
    """One page of a source, cleaned to plain Markdown.

    `source` names the folder or site, `path` is relative to it, `sha256` is the hash of the bytes read, and
    `breadcrumb` holds the titles above the page. `chapter` is that of a book that is one file. `page_lines` are the
    lines at which printed pages begin. `kind` marks what answers few questions: "release notes" or "links".
    """

    source: str
    path: str
    url: str
    title: str
    text: str
    sha256: str
    breadcrumb: tuple[str, ...] = ()
    chapter: str | None = None
    page_lines: tuple[int, ...] = ()
    kind: str = ""


def without_addresses(text: str) -> str:
    """The text with the words of its links alone: addresses say little, and fill what an embedding model sees."""
    return _ADDRESS.sub("]", text)


def titles_above(title: str, heading: str) -> str:
    """The breadcrumb of a chunk of which only these two are known.

    >>> titles_above("Robots", "Atlas"), titles_above("Robots", ""), titles_above("Atlas", "Atlas")
    ('Robots > Atlas', 'Robots', 'Atlas')
    """
    return " > ".join(dict.fromkeys(filter(None, (title, heading))))


def page_and_anchor(address: str) -> tuple[str, str]:
    """The address of a page, and the anchor behind it. In the path of a file, "#" is a sign like any other.

    >>> page_and_anchor("https://x.example/w#teeth"), page_and_anchor("https://x.example/#/w")
    (('https://x.example/w', 'teeth'), ('https://x.example/#/w', ''))
    """
    page, _, anchor = address.partition("#")
    is_file = "://" not in page and re.search(r"[./\s]", anchor)
    return (address, "") if not page or is_file or anchor.startswith(("/", "!")) else (page, anchor)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: the unit that is embedded, retrieved, shown to the model and cited.

    `text` is cut from `Document.text` unchanged; citations give offsets in it, in code points. `sha256` is the hash of
    `text`. `url` has no anchor; `anchor` is the heading's, empty when the page is not on a site. `chunk_index` counts
    from 0 within the page, which has `page_chunks` chunks (0: not recorded), so that a missing one is noticed. `kind`
    is the page's.
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
    page_chunks: int = 0
    kind: str = ""

    @property
    def embedded_text(self) -> str:
        """The input of the embedding model: a heading, since breadcrumbs would make vectors alike, and the text."""
        nearest = self.heading if self.breadcrumb.endswith(self.heading) else ""
        nearest = nearest or self.breadcrumb.rpartition(" > ")[2]
        text = without_addresses(self.text)
        return f"{nearest}\n\n{text}" if nearest else text

    @property
    def worded_text(self) -> str:
        """The input of the sparse (BM25) encoder: the breadcrumb, then the text."""
        text = without_addresses(self.text)
        return f"{self.breadcrumb}\n\n{text}" if self.breadcrumb else text

    def as_data(self) -> dict[str, str]:
        """The chunk as `run.py passages --json` prints it."""
        names = ("text", "title", "heading", "url", "sha256")
        return {name: getattr(self, name) for name in names} | {"chunk_id": self.id}

    @property
    def link(self) -> str:
        """The URL of the chunk's heading, or of its page when headings have no anchors."""
        return f"{self.url}#{self.anchor}" if self.anchor else self.url

    def passage(self, number: int, score: float) -> Passage:
        """The chunk as the model sees it."""
        same = {name: getattr(self, name) for name in _IN_PASSAGE}
        return Passage(number=number, score=score, chunk_id=self.id, chunk_sha256=self.sha256, **same)


@dataclass(frozen=True, slots=True)
class SparseVector:
    """A sparse vector as two parallel lists; indices are unique."""

    indices: Sequence[int]
    values: Sequence[float]


Vector = Sequence[float] | SparseVector  # what is searched for: a dense or a sparse vector


@dataclass(frozen=True, slots=True)
class Point:
    """A chunk with its vectors, ready for the index. `dense` has unit length."""

    chunk: Chunk
    dense: Sequence[float]
    sparse: SparseVector


@dataclass(frozen=True, slots=True)
class Matches:
    """The chunks that a search found. Each has a row; rows are in the order of the chunks' ids.

    `scores` has a row for each chunk and a column for each vector that was searched for: the cosine for a dense vector,
    the BM25 score for a sparse one, where 0 means that no term matches. `rankings` holds the rows of each vector's best
    hits, best first. `prose` has the words of prose of each chunk (see `rag.index.payload`). `read` returns the chunks
    of some rows, in their order.
    """

    vectors: Sequence[Vector]
    scores: NDArray[float64]
    rankings: Sequence[NDArray[intp]]
    prose: NDArray[float64]
    read: Callable[[Sequence[int] | NDArray[intp]], list[Chunk]]


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """A filter on a search: the prefixes that a chunk's fields must have. Empty fields do not restrict."""

    url_prefix: str = ""
    title: str = ""
    heading: str = ""
    file: str = ""
    chapter: str = ""

    def __str__(self) -> str:
        """The filter as a user types it."""
        fields = {"title": self.title, "heading": self.heading, "file": self.file, "chapter": self.chapter}
        named = (f"{name}:{value}" for name, value in fields.items() if value)
        return " ".join(filter(None, (self.url_prefix, *named)))


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """The metadata of a collection: the models and the recipe that encoded it, and how many chunks it holds.

    `foreign` marks a collection that askbook did not create. Then `embedding_model` comes from the profile and
    `sparse_model` is the name of the sparse vector; either may be empty. `generators` says for each source by whose
    rules it was read, and why. `title` is the book's, `pages` are those with chunks, and `updated_at` is the time of
    the last change (ISO 8601, UTC).
    """

    collection: str
    embedding_model: str
    dimension: int
    sparse_model: str
    chunks: int
    foreign: bool = False
    recipe: str = ""
    generators: Mapping[str, str] = field(default_factory=dict, hash=False)
    title: str = ""
    pages: int = 0
    updated_at: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The fields of a stored chunk that the ingestion plan and the overview of a book need."""

    id: str
    source: str
    source_file_path: str
    document_sha256: str
    sha256: str
    chunk_index: int = field(default=0, compare=False)
    page_chunks: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A text that is searched for, and the weight of its cosine; the raw question has a weight of 1."""

    kind: QueryKind
    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Trace:
    """How a search went: its queries, its legs, and its candidates, best first.

    `legs` are "dense" and "sparse" for the raw question, then "dense" for each other query; a candidate's `scores` are
    in the same order.
    """

    queries: tuple[SearchQuery, ...]
    legs: tuple[str, ...]
    threshold: float
    candidates: tuple[Candidate, ...]

    def as_data(self, most: int = SHOWN) -> dict[str, Any]:
        """The trace as JSON data, with the best `most` candidates."""
        return {
            "queries": [
                {"kind": query.kind, "text": query.text, "weight": round(query.weight, 6)} for query in self.queries
            ],
            "legs": list(self.legs),
            "threshold": self.threshold,
            "candidates": [candidate.as_data() for candidate in self.candidates[:most]],
        }


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The passages found for a question, with the record and the trace of the search."""

    passages: list[Passage]
    retrieval: Retrieval
    trace: Trace

    def as_data(self, prefix: str | None) -> dict[str, Any]:
        """The object that `search --json` prints; `prefix` is the filter as it was given."""
        names = (
            "chunk_id", "chunk_index", "text", "title", "heading", "breadcrumb", "url", "source_file_path", "score",
        )  # fmt: skip
        results = [
            {"rank": passage.number} | {name: getattr(passage, name) for name in names} for passage in self.passages
        ]
        return nothing_found(self.retrieval.query, prefix) | {
            "total_results": len(results),
            "retrieval_time_ms": self.retrieval.retrieval_time_ms,
            "results": results,
            "trace": self.trace.as_data(),
        }


def nothing_found(query: str, prefix: str | None) -> dict[str, Any]:
    """The object that `search --json` prints when there is no result."""
    return {
        "query": query,
        "filter_applied": prefix,
        "total_results": 0,
        "error": None,
        "retrieval_time_ms": 0.0,
        "results": [],
        "trace": None,
    }


class Candidate(NamedTuple):
    """One chunk found by a leg, and its outcome.

    `cosine` is compared with the threshold. `scores` has one score per leg: a cosine, or BM25 for the sparse leg, where
    0 means that no term matches. Candidates are ordered by `fused`.
    """

    chunk_id: str
    title: str
    heading: str
    cosine: float
    scores: tuple[float, ...]
    fused: float
    outcome: Outcome

    def as_data(self) -> dict[str, Any]:
        """The candidate as JSON data."""
        return self._asdict()
