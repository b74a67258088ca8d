"""What a collection holds: who made it, its vectors, its models, and where the fields of foreign points stand.

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
from rag.index.index_errors import broken
from rag.index.payload import CONTENT, DENSE, METADATA, SPARSE
from rag.profiles.schema import BookSection, PayloadSection

OURS: Final = "askbook"  # the key of our record in the collection's metadata
LONGEST: Final = 2_000  # characters of a title, an address and the like
HIGHEST: Final = 2**31 - 1  # of numbers, which a state must be able to store


@dataclass(frozen=True, slots=True)
class CollectionSchema:
    """How a collection is searched.

    `name` is the collection that the book's name stands for, where its own record says so; else the book's name.
    `fields` is None if askbook made the collection. `sparse` is None if it has no sparse vector to search. Where
    `cosine` is false, the engine's scores are of another kind.
    """

    info: IndexInfo
    name: str
    vector: str = DENSE
    sparse: str | None = SPARSE
    fields: FieldMap | None = None
    cosine: bool = True
    quantized: bool = False


def record_of(info: IndexInfo, version: str) -> dict[str, Any]:
    """The metadata of a collection of ours: the models that encoded it, and its own name behind the book's."""
    values = asdict(info)
    return {OURS: {name: values[name] for name in values if name not in ("collection", "foreign")} | {"name": version}}


def is_ours(described: Any) -> bool:
    """Whether askbook made the described collection."""
    return isinstance((described.config.metadata or {}).get(OURS), Mapping)


def schema_of(book: str, described: Any, layout: BookSection) -> CollectionSchema:
    """The schema of a collection from qdrant-client's description of it and a profile's.

    Raises `RetrievalError`: "index_broken" if our record cannot be read, "index_vectors" if a foreign collection lacks
    the vectors that the profile names, has none, or has several of which the profile names none.
    """
    config = described.config
    quantized = getattr(config, "quantization_config", None) is not None
    if is_ours(described):
        record = dict(config.metadata[OURS])
        name = str(record.pop("name", ""))
        try:
            info = IndexInfo(collection=book, **record)
        except TypeError as error:
            raise broken(book, "another version of askbook wrote it") from error
        return CollectionSchema(info, name if name.startswith(f"{book}.") else book, quantized=quantized)
    vector, params = _dense(book, config.params.vectors, layout)
    sparse = layout.sparse_vector
    if sparse is not None and sparse not in (known := config.params.sparse_vectors or {}):
        what = f'The collection "{book}" has no sparse vector "{sparse}"; it has {_listed(known) or "none"}.'
        hint = "Correct sparse_vector in the section [book] of the profile, or leave it out."
        raise RetrievalError("index_vectors", what, hint=hint)
    info = IndexInfo(
        collection=book,
        embedding_model=layout.embedding_model or "",
        dimension=params.size,
        sparse_model=sparse or "",
        chunks=described.points_count or 0,
        foreign=True,
    )
    cosine = str(getattr(params.distance, "value", params.distance)) == "Cosine"
    quantized = quantized or params.quantization_config is not None
    return CollectionSchema(info, book, vector, sparse, fields_of(layout), cosine, quantized)


def _dense(collection: str, vectors: Any, layout: BookSection) -> tuple[str, Any]:
    """The name and the parameters of the vector that questions are compared with. The only one may have no name."""
    named = vectors if isinstance(vectors, Mapping) else {} if vectors is None else {"": vectors}
    named = {name: params for name, params in named.items() if params.multivector_config is None}
    if layout.vector is None and len(named) == 1:
        return next(iter(named.items()))
    if layout.vector is not None and layout.vector in named:
        return layout.vector, named[layout.vector]
    if not named:
        hint = "A book needs one dense vector a point: ingest its sources into another --collection."
        raise RetrievalError("index_vectors", f'The collection "{collection}" has no dense vector.', hint=hint)
    what = f'The collection "{collection}" has several vectors: {_listed(named)}.'
    if layout.vector is not None:
        what = f'The collection "{collection}" has no vector "{layout.vector}"; it has {_listed(named)}.'
    raise RetrievalError("index_vectors", what, hint='Name the one to use in the profile: [book] vector = "..."')


def _listed(named: Mapping[str, Any]) -> str:
    return ", ".join(f'"{name}"' if name else "one without a name" for name in named)


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
            raise ValueError(f"the point {id} has no text")
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

    def filter_paths(self, field: str) -> tuple[str, ...]:
        """The paths that a filter on a field of a chunk looks at; the url may be the file's path, as in `chunk`."""
        found: tuple[str, ...] = getattr(self, field)
        return (*found, *self.source_file_path) if field == "url" else found


# langchain-qdrant's default layout, with our names for the fields of the metadata.
LANGCHAIN: Final = FieldMap(
    text=(CONTENT,),
    **{
        name: (f"{METADATA}.{name}", *((f"{METADATA}.source",) if name == "url" else ()))
        for name in FieldMap.model_fields
        if name != "text"
    },
)


def fields_of(layout: BookSection) -> FieldMap:
    """How the points of a foreign collection are read that a profile's section `[book]` describes."""
    return FieldMap(**dict(layout.payload)) if layout.payload else LANGCHAIN


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
    if isinstance(value, str):
        return " ".join(value.split())[:LONGEST]
    if isinstance(value, list):
        return " > ".join(_text(item) for item in value if item not in (None, ""))[:LONGEST]
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
