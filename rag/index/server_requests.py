"""A search on a Qdrant server: from legs to requests, from points to hits, and the score in each leg of every hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rag.book import Chunk, Leg, Matches, SearchFilter, SparseVector
from rag.errors import RetrievalError
from rag.index.collection_schema import UNNAMED, CollectionSchema, FieldMap
from rag.index.points import METADATA, TIE_SLACK, Hits, Scores, cosines, from_payload, is_empty, prose_of, server_ids
from rag.system.process import program

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

OVERSAMPLING: Final = 2.0  # of a quantized collection: this many times the limit are rescored with the full vectors

# For each field of a `SearchFilter`: the field of a chunk whose prefix it is.
FILTERS: Final[dict[str, str]] = {
    "url_prefix": "url",
    "title": "title",
    "heading": "heading",
    "file": "source_file_path",
    "chapter": "chapter",
}
# The fields with a payload index in our collections, and whether the index is for prefixes.
INDEXED: Final = {f"{METADATA}.source": False} | {f"{METADATA}.{field}": True for field in FILTERS.values()}


def request(
    schema: CollectionSchema, leg: Sequence[float] | SparseVector, limit: int, where: SearchFilter | None
) -> Any:
    """The request for a leg. Raises `RetrievalError` "index_filter" for a filter on a field that is not mapped.

    Vectors of 400 hits are megabytes of JSON, so they are asked for only where `gives_cosines` is false.
    """
    from qdrant_client import models

    vectors: bool | list[str] = True if schema.vector == UNNAMED else [schema.vector]
    return models.QueryRequest(
        **_query(schema, leg),
        limit=limit,
        filter=_restriction(schema, where),
        with_payload=True,
        with_vector=False if gives_cosines(schema) else vectors,
    )


def rescoring(schema: CollectionSchema, leg: Sequence[float] | SparseVector, ids: Sequence[int | str]) -> Any:
    """The request for a leg's scores of these points, without their payloads and vectors."""
    from qdrant_client import models

    these = models.Filter(must=[models.HasIdCondition(has_id=list(ids))])
    return models.QueryRequest(**_query(schema, leg), limit=len(ids), filter=these)


def gives_cosines(schema: CollectionSchema) -> bool:
    """Whether the server's scores of a dense leg are cosines: those of our own collections are."""
    return schema.fields is None


def _query(schema: CollectionSchema, leg: Sequence[float] | SparseVector) -> dict[str, Any]:
    from qdrant_client import models

    if isinstance(leg, SparseVector):
        sparse = models.SparseVector(indices=list(leg.indices), values=list(leg.values))
        return {"query": sparse, "using": schema.sparse}
    query = {"query": [list(leg)] if schema.rows else list(leg), "using": schema.vector or None}
    if not schema.quantized:
        return query
    rescore = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
    return query | {"params": models.SearchParams(quantization=rescore)}


def _restriction(schema: CollectionSchema, where: SearchFilter | None) -> Any:
    from qdrant_client import models

    conditions: list[Any] = []
    for name, sought in FILTERS.items():
        value = getattr(where, name, None)
        if not value:
            continue
        paths = _paths(schema.fields, sought)
        if not paths:
            message = f'The points of the collection "{schema.info.collection}" have no field {sought} to filter on.'
            hint = f"Map {sought} in the section [book.payload] of the profile, or leave the filter out."
            raise RetrievalError("index_filter", message, hint=hint)
        conditions.append(_first_of(paths, models.MatchPrefix(prefix=value)))
    return models.Filter(must=conditions) if conditions else None


def _paths(fields: FieldMap | None, field: str) -> tuple[str, ...]:
    if fields is None:
        return (f"{METADATA}.{field}",)
    found: tuple[str, ...] = getattr(fields, field)
    return (*found, *fields.source_file_path) if field == "url" else found  # as `FieldMap.chunk` reads the url


def _first_of(paths: Sequence[str], match: Any) -> Any:
    """The first path that is not empty matches. For a and b: a matches, or a is missing or blank and b matches."""
    from qdrant_client import models

    condition = models.FieldCondition(key=paths[0], match=match)
    if len(paths) == 1:
        return condition
    missing = models.IsEmptyCondition(is_empty=models.PayloadField(key=paths[0]))
    blank = models.FieldCondition(key=paths[0], match=models.MatchValue(value=""))
    empty = models.Filter(should=[missing, blank])
    return models.Filter(should=[condition, models.Filter(must=[empty, _first_of(paths[1:], match)])])


class Hit(NamedTuple):
    """A point in the ranking of one leg. A larger `score` is better; `dense` is empty where scores are cosines."""

    chunk: Chunk
    score: float
    dense: Sequence[float]


def hits(
    schema: CollectionSchema, leg: Sequence[float] | SparseVector, points: Sequence[Any], legs: Sequence[Any]
) -> list[Hit]:
    """The hits of a leg, without points that have no text. `legs` are all, needed for points with several vectors.

    Raises `RetrievalError` "index_vectors" if a dense leg's points came without their vectors.
    """
    if gives_cosines(schema):
        return [Hit(chunk, float(point.score), ()) for point in points if (chunk := chunk_of(schema, point))]
    sign = -1.0 if schema.negated and not isinstance(leg, SparseVector) else 1.0
    found = []
    for point in points:
        dense = _dense(schema, point.vector, legs)
        if dense is None and not isinstance(leg, SparseVector):
            name = schema.info.collection
            message = f'The points of the collection "{name}" came without vectors, which the scores need.'
            hint = "The key, or a proxy before the server, must allow reading vectors."
            raise RetrievalError("index_vectors", message, hint=hint)
        if chunk := chunk_of(schema, point):
            found.append(Hit(chunk, sign * float(point.score), dense or [0.0] * schema.info.dimension))
    return found


def chunk_of(schema: CollectionSchema, point: Any) -> Chunk | None:
    """The chunk of a stored point; None for a point without text in a foreign collection."""
    if schema.fields is None:
        return from_payload(point.id, point.payload)
    return schema.fields.chunk(point.id, point.payload) if schema.fields.text_of(point.payload) else None


def unmapped(collection: str, fields: FieldMap, payload: Mapping[str, Any] | None) -> RetrievalError:
    """The error for points without text in the mapped fields. Of `payload`, one of theirs, only the names are shown."""
    sought = " or ".join(f'"{path}"' for path in fields.text)
    names = ", ".join(f'"{name}"' for name in sorted(map(str, payload or {}))[:20]) or "none"
    message = f'The points of the collection "{collection}" have no text in {sought}; their fields are {names[:300]}.'
    hint = f'Run "{program()} doctor --collection {collection}": it proposes a mapping for the profile.'
    return RetrievalError("payload_mapping", message, hint=hint)


def _dense(schema: CollectionSchema, vector: Any, legs: Sequence[Any]) -> list[float] | None:
    """The dense vector of a point as the server stores it; None if it has none."""
    kept = vector.get(schema.vector) if isinstance(vector, Mapping) else vector
    if not kept or not schema.rows:
        return list(kept) if kept else None
    # Of several vectors, the one with the largest cosine to any dense leg scores the point.
    queries = [leg for leg in legs if not isinstance(leg, SparseVector)]
    return list(kept[int(cosines(kept, queries).max(axis=1).argmax())] if queries else kept[0])


def quantization(kind: str) -> Any:
    """The quantization of a new collection: small vectors in memory, full ones on the disk. None for "off"."""
    from qdrant_client import models

    if kind == "scalar":
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
        return models.ScalarQuantization(scalar=scalar)
    if kind == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


DEEPEST: Final = 1000  # a query with this limit is not repeated with a higher one when it finds points without text


def scored_points(points: Sequence[tuple[str, float]]) -> Hits:
    """Scored ids as arrays. As text, UUIDs have the order that the embedded index gives them."""
    import numpy as np

    return Hits(np.array([id for id, _ in points], dtype=str), np.array([score for _, score in points], dtype=float))


@dataclass(frozen=True, slots=True)
class ServerSearch:
    """One search. All of its requests go to `collection`; its methods raise what the client raises.

    `known` are the hits so far, by id.
    """

    client: AsyncQdrantClient
    collection: str
    schema: CollectionSchema
    legs: Sequence[Leg]
    known: dict[str, Hit] = field(default_factory=dict)

    async def scores(self, limit: int, where: SearchFilter | None) -> Scores:
        """The scores of the best `limit` points of each leg, in every leg."""
        scores = Scores(await self._rankings(limit, where))
        await self._complete(scores)
        return scores

    def matches(self, scores: Scores) -> Matches:
        """The hits as `Matches`. A dense leg's scores become cosines, whatever its distance."""
        found = [self.known[id] for id in scores.ids.tolist()]
        dense = {column: leg for column, leg in enumerate(self.legs) if not isinstance(leg, SparseVector)}
        if not gives_cosines(self.schema):
            scores.matrix[:, list(dense)] = cosines([hit.dense for hit in found], list(dense.values()))
        prose = prose_of([hit.chunk for hit in found])
        return Matches(self.legs, scores.matrix, scores.rankings, prose, lambda rows: [found[r].chunk for r in rows])

    async def _rankings(self, limit: int, where: SearchFilter | None) -> list[Hits]:
        """The scored ids of each leg."""
        found = [scored_points(())] * len(self.legs)
        unread: Any = None  # a point of a foreign collection in which no text was found
        asked = {i: limit + TIE_SLACK for i, leg in enumerate(self.legs) if limit > 0 and self._finds(leg)}
        while asked:
            requests = [request(self.schema, self.legs[i], size, where) for i, size in asked.items()]
            answers = await self.client.query_batch_points(self.collection, requests=requests)
            deeper = {}
            for (i, size), answer in zip(asked.items(), answers, strict=True):
                points = answer.points
                read = hits(self.schema, self.legs[i], points, self.legs)
                unread = unread or (points[0] if points and not read else None)
                scored = scored_points([(hit.chunk.id, hit.score) for hit in read])
                ranking = scored.best(limit=limit, asked=size - len(points) + len(read))
                crowded = len(read) < min(limit, len(points)) and len(points) >= size < DEEPEST
                if ranking is None or crowded:
                    deeper[i] = size * 4
                else:
                    found[i] = ranking
                    self.known.update((hit.chunk.id, hit) for hit in read)
            asked = deeper
        if unread is not None and self.schema.fields is not None and not any(len(each.ids) for each in found):
            raise unmapped(self.collection, self.schema.fields, unread.payload)
        return found

    async def _complete(self, scores: Scores) -> None:
        """Ask for the scores of what other legs found; for those of dense legs only where they are cosines."""
        lacking = {
            leg: ids
            for leg, vector in enumerate(self.legs)
            if (gives_cosines(self.schema) or isinstance(vector, SparseVector))
            and self._finds(vector)
            and (ids := scores.lacking(leg).tolist())
        }
        if lacking:
            requests = [rescoring(self.schema, self.legs[leg], server_ids(ids)) for leg, ids in lacking.items()]
            answers = await self.client.query_batch_points(self.collection, requests=requests)
            for leg, answer in zip(lacking, answers, strict=True):
                scores.add(leg, scored_points([(str(point.id), point.score) for point in answer.points]))

    def _finds(self, leg: Leg) -> bool:
        """Whether a leg can find something: it is not empty, and the collection has vectors of its kind."""
        return not is_empty(leg) and not (isinstance(leg, SparseVector) and self.schema.sparse is None)
