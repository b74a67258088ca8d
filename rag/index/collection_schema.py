"""The schema of a collection on a server: who made it, its vectors, its models, and the fields of foreign points.

A field of a payload is named by a path, with dots between the keys; several paths are tried in turn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from rag.book import Chunk, IndexInfo, page_and_anchor, titles_above
from rag.errors import RetrievalError
from rag.index.points import CONTENT, DENSE, METADATA, SPARSE
from rag.profiles.schema import BookSection, PayloadSection

OURS: Final = "askbook"  # the key of our record in the collection's metadata
COMPLETE: Final = "complete"
STATE: Final = "state"
UNNAMED: Final = ""  # Qdrant's name for the only vector of points whose vector has no name
_SMALLER_IS_NEARER: Final = frozenset({"Euclid", "Manhattan"})


@dataclass(frozen=True, slots=True)
class CollectionSchema:
    """How a collection is searched.

    `fields` is None if askbook made the collection, `sparse` is None if it has no sparse leg. `rows`: each point has a
    list of dense vectors. `negated`: the score is a distance, smaller is better. `complete`: our last change was
    finished. `state`: the collection's own name, where the book's name is an alias of it and its record says so.
    """

    info: IndexInfo
    vector: str = DENSE
    sparse: str | None = SPARSE
    fields: FieldMap | None = None
    rows: bool = False
    negated: bool = False
    quantized: bool = False
    complete: bool = True
    state: str = ""


def schema_of(collection: str, described: Any, book: BookSection, chunks: int) -> CollectionSchema:
    """The schema of a collection with `chunks` points from qdrant-client's description of it and the profile's.

    Raises `RetrievalError` "index_vectors" if a foreign collection lacks the vectors that the profile names, or has no
    dense vector, or several of which the profile names none.
    """
    config = described.config
    quantized = config.quantization_config is not None
    if is_ours(described):
        record = config.metadata[OURS]
        complete = bool(record.get(COMPLETE, True))
        info = _recorded(collection, record, chunks)
        return CollectionSchema(info, quantized=quantized, complete=complete, state=str(record.get(STATE) or ""))
    name, params = _dense(collection, config.params.vectors, book)
    sparse = _sparse(collection, config.params.sparse_vectors or {}, book)
    info = IndexInfo(
        collection=collection,
        embedding_model=book.embedding_model or "",
        dimension=params.size,
        sparse_model=sparse or "",
        chunks=chunks,
        foreign=True,
    )
    return CollectionSchema(
        info,
        name,
        sparse,
        fields_of(book),
        rows=params.multivector_config is not None,
        negated=str(getattr(params.distance, "value", params.distance)) in _SMALLER_IS_NEARER,
        quantized=quantized or params.quantization_config is not None,
    )


def is_ours(described: Any) -> bool:
    """Whether askbook made the described collection."""
    return isinstance((described.config.metadata or {}).get(OURS), Mapping)


def record_of(info: IndexInfo, *, complete: bool, state: str = "") -> dict[str, Any]:
    """The metadata of our collections: the models that encoded it, and whether the last change is complete.

    An interrupted change may have stored half of a page under the hash of the whole page: the next ingestion does not
    trust the hashes unless the collection is `complete`. `state` is its own name, if the book has another.
    """
    values = asdict(info)
    record = {name: value for name, value in values.items() if name not in ("collection", "chunks", "foreign")}
    return {OURS: record | {COMPLETE: complete} | ({STATE: state} if state else {})}


def _recorded(collection: str, record: Mapping[str, Any], chunks: int) -> IndexInfo:
    texts = ("embedding_model", "sparse_model", "recipe", "title", "updated_at")
    listed, pages = record.get("generators"), record.get("pages")
    return IndexInfo(
        collection=collection,
        chunks=chunks,
        dimension=int(record.get("dimension", 0)),
        generators={str(k): str(v) for k, v in listed.items()} if isinstance(listed, Mapping) else {},
        pages=int(pages) if isinstance(pages, int | float) else 0,
        **{name: str(record.get(name, "")) for name in texts},  # type: ignore[arg-type]
    )


def _dense(collection: str, vectors: Any, book: BookSection) -> tuple[str, Any]:
    """The name and the parameters of the vector that questions are compared with."""
    named = vectors if isinstance(vectors, Mapping) else {} if vectors is None else {UNNAMED: vectors}
    if book.vector is None and len(named) == 1:
        return next(iter(named.items()))
    if book.vector is not None and book.vector in named:
        return book.vector, named[book.vector]
    if not named:
        hint = "A book needs dense vectors: ingest its sources into another --collection."
        raise RetrievalError("index_vectors", f'The collection "{collection}" has no dense vector.', hint=hint)
    known = _listed(named)
    if book.vector is None:
        what = f'The collection "{collection}" has several vectors: {known}.'
    else:
        what = f'The collection "{collection}" has no vector "{book.vector}"; it has {known}.'
    raise RetrievalError("index_vectors", what, hint='Name the one to use in the profile: [book] vector = "..."')


def _sparse(collection: str, vectors: Mapping[str, Any], book: BookSection) -> str | None:
    if book.sparse_vector is None or book.sparse_vector in vectors:
        return book.sparse_vector
    known = f"it has {_listed(vectors)}" if vectors else "it has none"
    message = f'The collection "{collection}" has no sparse vector "{book.sparse_vector}"; {known}.'
    hint = "Correct sparse_vector in the section [book] of the profile, or leave it out."
    raise RetrievalError("index_vectors", message, hint=hint)


def _listed(named: Mapping[str, Any]) -> str:
    return ", ".join(f'"{name}"' if name else "one without a name" for name in named)


LONGEST: Final = 2_000  # characters of a title, an address and the like
HIGHEST: Final = 2**31 - 1  # of numbers, which a state must be able to store


class FieldMap(PayloadSection):
    """The paths of each field of a chunk, in the order in which they are tried."""

    def text_of(self, payload: Mapping[str, Any] | None) -> str:
        """The text of a point; empty if it has none."""
        found = _first(payload or {}, self.text)
        return found if isinstance(found, str) and found.strip() else ""

    def chunk(self, id: object, payload: Mapping[str, Any] | None) -> Chunk:
        """The chunk of a point, with the hash of its text. Raises `ValueError` without a text."""
        values = payload or {}
        text = self.text_of(values)
        if not text:
            raise ValueError(f"The point {id} has no text.")
        file = _text(_first(values, self.source_file_path))
        url, anchor = page_and_anchor(_text(_first(values, self.url)) or file)
        heading = _text(_first(values, self.heading))
        title = _text(_first(values, self.title)) or _last_part(url) or heading or "Untitled"
        return Chunk(
            id=str(id),
            text=text,
            title=title,
            heading=heading,
            breadcrumb=_text(_first(values, self.breadcrumb)) or (titles_above(title, heading) if heading else ""),
            url=url,
            anchor=anchor,
            source="",
            source_file_path=file,
            chunk_index=_number(_first(values, self.chunk_index)) or 0,
            sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
            chapter=_text(_first(values, self.chapter)) or None,
            page_number=_number(_first(values, self.page_number)),
        )

    def paths(self) -> dict[str, tuple[str, ...]]:
        """The paths of every field that has at least one."""
        return {name: paths for name, paths in self if paths}


# langchain-qdrant's default layout, with our names for the fields of the metadata.
LANGCHAIN: Final = FieldMap(
    text=(CONTENT,),
    **{
        name: (f"{METADATA}.{name}", *((f"{METADATA}.source",) if name == "url" else ()))
        for name in FieldMap.model_fields
        if name != "text"
    },
)


def fields_of(book: BookSection) -> FieldMap:
    """How the points of a foreign collection are read that a profile's section `[book]` describes."""
    return FieldMap(**dict(book.payload)) if book.payload else LANGCHAIN


def value_at(payload: Mapping[str, Any], path: str) -> Any:
    """The value at a path, None if there is none. A key may itself contain dots.

    >>> value_at({"meta": {"page.no": 7}}, "meta.page.no")
    7
    """
    if path in payload:
        return payload[path]
    key, _, rest = path.partition(".")
    inner = payload.get(key)
    return value_at(inner, rest) if rest and isinstance(inner, Mapping) else None


def _first(payload: Mapping[str, Any], paths: Sequence[str]) -> Any:
    """The first value that is not empty or blank."""
    values = (value_at(payload, path) for path in paths)
    stated = (value for value in values if (value.strip() if isinstance(value, str) else value not in (None, [], {})))
    return next(stated, None)


def _text(value: Any) -> str:
    """A value on one line, cut to `LONGEST` characters; a list, such as a breadcrumb, is joined with " > "."""
    return _whole_text(value)[:LONGEST]


def _whole_text(value: Any) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list):
        return " > ".join(_whole_text(item) for item in value if item not in (None, ""))
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= HIGHEST:
        return ""
    return str(value) if isinstance(value, int) else f"{value:g}"


def _number(value: Any) -> int | None:
    """A whole number from 0 to `HIGHEST`, also if it is stored as text; None for anything else."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) <= len(str(HIGHEST)):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= HIGHEST:
        return None
    return int(value) if value == value // 1 else None


def _last_part(url: str) -> str:
    """The last part of an address or path, without its suffix."""
    try:
        path = urlsplit(url).path
    except ValueError:
        path = url
    name = unquote(path.rstrip("/").rpartition("/")[2])
    return name.rpartition(".")[0] or name
