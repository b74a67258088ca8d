"""The way into a collection and out of it: langchain-qdrant's `QdrantVectorStore`.

The store embeds what it is given. Here it gets "embedding models" that hand out vectors that are computed already: a
hosted model embeds all queries of a search in one request, and an ingestion keeps its vectors in a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_qdrant.qdrant import QdrantVectorStore, RetrievalMode
from langchain_qdrant.sparse_embeddings import SparseEmbeddings
from langchain_qdrant.sparse_embeddings import SparseVector as StoredSparse
from qdrant_client import models

from rag.book import Chunk, Matches, Point, SearchFilter, SparseVector, Vector
from rag.errors import RetrievalError
from rag.index.collection_schema import CollectionSchema, FieldMap
from rag.index.edge_client import WORDS_KEY
from rag.index.index_errors import broken
from rag.index.payload import (
    CONTENT,
    FILTERS,
    METADATA,
    SPARSE,
    WORDS,
    chunk_of,
    metadata_of,
    point_ids,
    prose_words,
)  # fmt: skip
from rag.system.process import program

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from rag.ports import SparseEncoder

OVERSAMPLING: Final = 2.0  # of a quantized collection: this many times the limit are rescored with the full vectors


@dataclass(frozen=True, slots=True)
class _KnownDense(Embeddings):
    """Vectors by place: the text of query `i` is "i", and the documents are those of `documents`."""

    queries: Sequence[Vector] = ()
    documents: Sequence[Sequence[float]] = ()

    def embed_query(self, text: str) -> list[float]:
        vector: Any = self.queries[int(text)]
        return list(vector)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:  # noqa: ARG002
        return [list(vector) for vector in self.documents]


@dataclass(frozen=True, slots=True)
class _KnownSparse(SparseEmbeddings):
    """Sparse vectors by place, as `_KnownDense`."""

    queries: Sequence[Vector] = ()
    documents: Sequence[SparseVector] = ()

    def embed_query(self, text: str) -> StoredSparse:
        return _stored(self.queries[int(text)])

    def embed_documents(self, texts: list[str]) -> list[StoredSparse]:  # noqa: ARG002
        return [_stored(vector) for vector in self.documents]


class EncoderEmbeddings(SparseEmbeddings):
    """Our sparse encoder as langchain-qdrant's `SparseEmbeddings`."""

    def __init__(self, encoder: SparseEncoder) -> None:
        self._encoder = encoder

    def embed_documents(self, texts: list[str]) -> list[StoredSparse]:
        return [_stored(self._encoder.encode_document(text)) for text in texts]

    def embed_query(self, text: str) -> StoredSparse:
        return _stored(self._encoder.encode_query(text))


def _stored(vector: Any) -> StoredSparse:
    return StoredSparse(indices=list(vector.indices), values=list(vector.values))


def build_store(
    client: Any,
    schema: CollectionSchema,
    dense: Embeddings | None = None,
    sparse: SparseEmbeddings | None = None,
    mode: RetrievalMode | None = None,
) -> QdrantVectorStore:
    """The collection as a vector store: hybrid if it has sparse vectors and `sparse` encodes them, otherwise dense.

    The store's validation is off, since it embeds a text each time, which a hosted model bills.
    """
    both = sparse is not None and schema.sparse is not None
    fields = schema.fields.text[0] if schema.fields else CONTENT
    return QdrantVectorStore(
        client=client,
        collection_name=schema.name,
        embedding=dense,
        sparse_embedding=sparse,
        retrieval_mode=mode or (RetrievalMode.HYBRID if both else RetrievalMode.DENSE),
        vector_name=schema.vector,
        sparse_vector_name=schema.sparse or SPARSE,
        content_payload_key=fields,
        metadata_payload_key=METADATA,
        validate_embeddings=False,
        validate_collection_config=False,
    )


def add(client: Any, schema: CollectionSchema, points: Sequence[Point]) -> None:
    """Add points with their vectors. Returns once they are stored."""
    dense = _KnownDense(documents=[point.dense for point in points])
    sparse = _KnownSparse(documents=[point.sparse for point in points])
    build_store(client, schema, dense, sparse).add_texts(
        [point.chunk.text for point in points],
        [metadata_of(point.chunk) for point in points],
        ids=[point.chunk.id for point in points],
        batch_size=len(points),
        wait=True,
    )


def fetch(client: Any, schema: CollectionSchema, ids: Sequence[str]) -> list[Chunk]:
    """The chunks with these ids, in their order; unknown ones, and foreign points without a text, are left out."""
    wanted: list[Any] = point_ids(ids)
    if not wanted:
        return []
    if (fields := schema.fields) is not None:
        # The client: a document of the store has a text, and what stands under one key, but no flat payload.
        found = client.retrieve(schema.name, wanted, with_payload=True)
        chunks = [fields.chunk(one.id, one.payload) for one in found if fields.text_of(one.payload)]
    else:
        chunks = list(map(_chunk, build_store(client, schema).get_by_ids(wanted)))
    by_id = {chunk.id: chunk for chunk in chunks}
    return [by_id[key] for id in ids for key in map(str, point_ids([id])) if key in by_id]


def _chunk(document: Document) -> Chunk:
    try:
        return chunk_of(document.metadata["_id"], document.page_content, document.metadata)
    except ValueError as error:
        raise broken(document.metadata["_collection_name"].partition(".askbook-")[0], str(error)) from error


Hits = dict[str, float]  # scores by the id of a point, best first


class Search:
    """One search of a collection: the best points for each vector, and the scores of all of them for every vector."""

    def __init__(self, client: Any, schema: CollectionSchema, vectors: Sequence[Vector], *, parallel: bool) -> None:
        self._client = client
        self._schema = schema
        self._vectors = vectors
        self._parallel = parallel  # requests to a server wait for each other otherwise
        self._words: dict[str, int] = {}  # of prose, by id, of every point that was found
        self._foreign: dict[str, Chunk] = {}  # the chunks of foreign points
        self._cosines: dict[str, list[float]] = {}  # of foreign points whose scores are no cosines
        self._parameters: dict[str, Any] = {}
        if schema.quantized:
            exact = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
            self._parameters = {"search_params": models.SearchParams(quantization=exact)}
        self._stores = (
            build_store(client, schema, dense=_KnownDense(vectors), mode=RetrievalMode.DENSE),
            build_store(client, schema, sparse=_KnownSparse(vectors), mode=RetrievalMode.SPARSE),
        )

    def matches(self, limit: int, where: SearchFilter | None) -> Matches:
        """The best `limit` points for each vector. Raises what the client raises, and `RetrievalError`."""
        restriction = _restriction(self._schema, where)
        searched = [i for i, vector in enumerate(self._vectors) if limit > 0 and self._finds(vector)]
        hits: list[Hits] = [{} for _ in self._vectors]
        best = self._each(searched, lambda i: self._best(i, limit, restriction))
        for place, found in zip(searched, best, strict=True):
            hits[place] = found
        ids = sorted(self._words)
        lacking = {i: [id for id in ids if id not in hits[i]] for i in searched if self._is_scored(i)}
        asked = [i for i, missing in lacking.items() if missing]
        scores = [dict(each) for each in hits]
        for place, found in zip(asked, self._each(asked, lambda i: self._of(i, lacking[i])), strict=True):
            scores[place].update(found)
        return self._matrix(ids, hits, scores)

    def _matrix(self, ids: Sequence[str], hits: Sequence[Hits], scores: Sequence[Hits]) -> Matches:
        rows = {id: row for row, id in enumerate(ids)}
        matrix = np.array([[each.get(id, 0.0) for each in scores] for id in ids], dtype=float)
        for place, vector in enumerate(self._vectors):
            if self._cosines and not isinstance(vector, SparseVector):
                matrix[:, place] = _cosines([self._cosines[id] for id in ids], vector)
        rankings = [np.array([rows[id] for id in each], dtype=np.intp) for each in hits]
        prose = np.array([self._words[id] for id in ids], dtype=float)
        matrix = matrix.reshape(len(ids), len(hits))
        return Matches(self._vectors, matrix, rankings, prose, lambda wanted: self._read([ids[row] for row in wanted]))

    def _read(self, ids: Sequence[str]) -> list[Chunk]:
        if self._schema.fields is not None:
            return [self._foreign[id] for id in ids]
        chunks = fetch(self._client, self._schema, ids)
        if len(chunks) < len(ids):
            raise broken(self._schema.info.collection, "points that a search has found are missing")
        return chunks

    def _each(self, places: Sequence[int], ask: Callable[[int], Hits]) -> list[Hits]:
        if not self._parallel or len(places) < 2:
            return [ask(place) for place in places]
        with ThreadPoolExecutor(len(places)) as pool:
            return list(pool.map(ask, places))

    def _finds(self, vector: Vector) -> bool:
        """Whether a vector can find something: a text of stop words only has an empty sparse one."""
        return not isinstance(vector, SparseVector) or bool(vector.indices and self._schema.sparse)

    def _is_scored(self, place: int) -> bool:
        return self._schema.cosine or isinstance(self._vectors[place], SparseVector)

    def _best(self, place: int, limit: int, where: Any) -> Hits:
        if self._schema.fields is not None:
            return self._best_foreign(place, limit, where, self._schema.fields)
        store = self._stores[isinstance(self._vectors[place], SparseVector)]
        found = store.similarity_search_with_score(str(place), limit, where, with_payload=WORDS_KEY, **self._parameters)
        scores: Hits = {}
        for document, score in found:
            id = str(document.metadata["_id"])
            scores[id], self._words[id] = score, document.metadata.get(WORDS, 0)
        return scores

    def _of(self, place: int, ids: Sequence[str]) -> Hits:
        """The scores of these points, with the client: of the store each would be a document with its payload."""
        known: list[Any] = point_ids(ids) if self._schema.fields else list(ids)
        these = models.Filter(must=[models.HasIdCondition.model_construct(has_id=known)])
        return {str(point.id): point.score for point in self._query(place, len(ids), these, with_payload=False)}

    def _query(self, place: int, limit: int, where: Any, **options: Any) -> list[Any]:
        """The points that the client finds."""
        vector, schema = self._vectors[place], self._schema
        sparse = isinstance(vector, SparseVector)
        query: Any = models.SparseVector(**_stored(vector).model_dump()) if sparse else list(vector)  # type: ignore[arg-type]
        using = schema.sparse if sparse else schema.vector or None
        options |= self._parameters
        answer = self._client.query_points(
            schema.name, query=query, using=using, query_filter=where, limit=limit, **options
        )
        return list(answer.points)

    def _best_foreign(self, place: int, limit: int, where: Any, fields: FieldMap) -> Hits:
        """The best foreign points, with the client: a document of the store would lack the fields of a flat payload.

        Where scores are no cosines, the points come with their vectors. Raises `RetrievalError` "payload_mapping" if
        none of them has a text where the profile says, and "index_vectors" if vectors are missing.
        """
        schema = self._schema
        vectors: Any = False if schema.cosine else [schema.vector] if schema.vector else True
        points = self._query(place, limit, where, with_payload=True, with_vectors=vectors)
        read = {str(point.id): point for point in points if fields.text_of(point.payload)}
        if points and not read:
            raise unmapped(schema.info.collection, fields, points[0].payload)
        for id, point in read.items():
            chunk = fields.chunk(id, point.payload)
            self._foreign[id], self._words[id] = chunk, prose_words(chunk.text, chunk.heading)
        if not schema.cosine:
            for id, point in read.items():
                held = point.vector.get(schema.vector) if isinstance(point.vector, Mapping) else point.vector
                if held is None:
                    message = f'The points of the collection "{schema.info.collection}" came without vectors.'
                    hint = "The key, or a proxy before the server, must allow reading vectors, which the scores need."
                    raise RetrievalError("index_vectors", message, hint=hint)
                self._cosines[id] = held
        return {id: point.score for id, point in read.items()}


def _cosines(rows: Sequence[Sequence[float]], vector: Any) -> Any:
    left, right = np.asarray(rows, dtype=float).reshape(len(rows), len(vector)), np.asarray(vector, dtype=float)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right)
    return np.divide(left @ right, lengths, out=np.zeros(len(rows)), where=lengths > 0)


def unmapped(collection: str, fields: FieldMap, payload: Mapping[str, Any] | None) -> RetrievalError:
    """The error for points without text in the mapped fields. Of `payload`, one of theirs, only the names are shown."""
    sought = " or ".join(f'"{path}"' for path in fields.text)
    names = ", ".join(f'"{name}"' for name in sorted(map(str, payload or {}))[:20]) or "none"
    message = f'The points of the collection "{collection}" have no text in {sought}; their fields are {names[:300]}.'
    hint = f'Run "{program()} doctor --collection {collection}": it proposes a mapping for the profile.'
    return RetrievalError("payload_mapping", message, hint=hint)


def _restriction(schema: CollectionSchema, where: SearchFilter | None) -> Any:
    """The filter. Raises `RetrievalError` "index_filter" for one on a field that is not mapped."""
    conditions: list[Any] = []
    for name, field in FILTERS.items():
        if not (value := getattr(where, name, None)):
            continue
        paths = schema.fields.filter_paths(field) if schema.fields else (f"{METADATA}.{field}",)
        if not paths:
            message = f'The points of the collection "{schema.info.collection}" have no field {field} to filter on.'
            hint = f"Map {field} in the section [book.payload] of the profile, or leave the filter out."
            raise RetrievalError("index_filter", message, hint=hint)
        conditions.append(_first_of(paths, models.MatchPrefix(prefix=value)))
    return models.Filter(must=conditions) if conditions else None


def _first_of(paths: Sequence[str], match: Any) -> Any:
    """The first path that is not empty matches. For a and b: a matches, or a is missing or blank and b matches."""
    condition = models.FieldCondition(key=paths[0], match=match)
    if len(paths) == 1:
        return condition
    missing = models.IsEmptyCondition(is_empty=models.PayloadField(key=paths[0]))
    blank = models.FieldCondition(key=paths[0], match=models.MatchValue(value=""))
    empty = models.Filter(should=[missing, blank])
    return models.Filter(should=[condition, models.Filter(must=[empty, _first_of(paths[1:], match)])])
