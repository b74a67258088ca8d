"""The schema of a collection on a server, read from its description: who made it, its vectors, its models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from rag.book import IndexInfo
from rag.errors import RetrievalError
from rag.index.field_mapping import FieldMap, Layout
from rag.index.points import DENSE, SPARSE

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


def schema_of(collection: str, described: Any, layout: Layout, chunks: int) -> CollectionSchema:
    """The schema of a collection from qdrant-client's description of it. `chunks` is its number of points.

    Raises `RetrievalError` "index_vectors" if a foreign collection lacks the vectors that the profile names, or has no
    dense vector, or has several and the profile names none.
    """
    config = described.config
    quantized = config.quantization_config is not None
    if is_ours(described):
        record = config.metadata[OURS]
        complete = bool(record.get(COMPLETE, True))
        info = _recorded(collection, record, chunks)
        return CollectionSchema(info, quantized=quantized, complete=complete, state=str(record.get(STATE) or ""))
    name, params = _dense(collection, config.params.vectors, layout)
    sparse = _sparse(collection, config.params.sparse_vectors or {}, layout)
    info = IndexInfo(
        collection=collection,
        embedding_model=layout.embedding_model,
        dimension=params.size,
        sparse_model=sparse or "",
        chunks=chunks,
        foreign=True,
    )
    return CollectionSchema(
        info,
        name,
        sparse,
        layout.fields,
        rows=params.multivector_config is not None,
        negated=str(getattr(params.distance, "value", params.distance)) in _SMALLER_IS_NEARER,
        quantized=quantized or params.quantization_config is not None,
    )


def is_ours(described: Any) -> bool:
    """Whether askbook made the described collection."""
    return isinstance((described.config.metadata or {}).get(OURS), Mapping)


def record_of(info: IndexInfo, *, complete: bool, state: str = "") -> dict[str, Any]:
    """The metadata of our collections: the models that encoded it, and whether the last change is complete.

    A change is several requests. An interrupted one may have stored half of a page under the hash of the whole page;
    `complete=False` tells the next ingestion not to trust the hashes. `state` is the collection's own name, if the book
    has another.
    """
    values = asdict(info)
    record = {name: value for name, value in values.items() if name not in ("collection", "chunks", "foreign")}
    return {OURS: record | {COMPLETE: complete} | ({STATE: state} if state else {})}


def _recorded(collection: str, record: Mapping[str, Any], chunks: int) -> IndexInfo:
    embedding, sparse, recipe = (str(record.get(key, "")) for key in ("embedding_model", "sparse_model", "recipe"))
    size, listed = int(record.get("dimension", 0)), record.get("generators")
    generators = {str(k): str(v) for k, v in listed.items()} if isinstance(listed, Mapping) else {}
    title, updated_at, pages = str(record.get("title", "")), str(record.get("updated_at", "")), record.get("pages")
    return IndexInfo(
        collection,
        embedding,
        size,
        sparse,
        chunks,
        recipe=recipe,
        generators=generators,
        title=title,
        pages=int(pages) if isinstance(pages, int | float) else 0,
        updated_at=updated_at,
    )


def _dense(collection: str, vectors: Any, layout: Layout) -> tuple[str, Any]:
    """The name and the parameters of the vector that questions are compared with."""
    named = vectors if isinstance(vectors, Mapping) else {} if vectors is None else {UNNAMED: vectors}
    if layout.vector is None and len(named) == 1:
        return next(iter(named.items()))
    if layout.vector is not None and layout.vector in named:
        return layout.vector, named[layout.vector]
    if not named:
        hint = "A book needs dense vectors: ingest its sources into another --collection."
        raise RetrievalError("index_vectors", f'The collection "{collection}" has no dense vector.', hint=hint)
    known = _listed(named)
    if layout.vector is None:
        what = f'The collection "{collection}" has several vectors: {known}.'
    else:
        what = f'The collection "{collection}" has no vector "{layout.vector}"; it has {known}.'
    raise RetrievalError("index_vectors", what, hint='Name the one to use in the profile: [book] vector = "..."')


def _sparse(collection: str, vectors: Mapping[str, Any], layout: Layout) -> str | None:
    if layout.sparse is None or layout.sparse in vectors:
        return layout.sparse
    known = f"it has {_listed(vectors)}" if vectors else "it has none"
    message = f'The collection "{collection}" has no sparse vector "{layout.sparse}"; {known}.'
    hint = "Correct sparse_vector in the section [book] of the profile, or leave it out."
    raise RetrievalError("index_vectors", message, hint=hint)


def _listed(named: Mapping[str, Any]) -> str:
    return ", ".join(f'"{name}"' if name else "one without a name" for name in named)
