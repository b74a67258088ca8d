"""A collection, our own or a foreign one, as a `QdrantVectorStore` for other LangChain code."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn, cast

import qdrant_edge as edge
from qdrant_client import models
from qdrant_client.http.models import QueryResponse

from rag.errors import UsageError
from rag.index.catalog import check_models
from rag.index.edge import EdgeIndex
from rag.index.index_errors import no_collection
from rag.index.points import DENSE, SPARSE, PointTable, chunk_id, point_ids
from rag.index.vector_store import build_store, sparse_bridge
from rag.ports import ChunkIndex, Embedder, SparseEncoder
from rag.system.process import program

if TYPE_CHECKING:
    from langchain_qdrant import QdrantVectorStore


class EdgeClient:
    """A read-only `QdrantClient` on one `EdgeIndex`. Its methods block and raise `RetrievalError`."""

    def __init__(self, index: EdgeIndex) -> None:
        self._index = index

    def collection_exists(self, collection_name: str) -> bool:
        return collection_name == self._index.collection and self._index.read_info() is not None

    def get_collection(self, collection_name: str) -> Any:
        info = self._index.read_info() if collection_name == self._index.collection else None
        if info is None:
            raise no_collection(collection_name)
        params = models.CollectionParams(
            vectors={DENSE: models.VectorParams(size=info.dimension, distance=models.Distance.COSINE)},
            sparse_vectors={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
        return SimpleNamespace(points_count=info.chunks, config=SimpleNamespace(params=params, metadata=None))

    def query_points(self, *_args: Any, query: Any = None, **options: Any) -> QueryResponse:
        prefetch = options.get("prefetch") or []
        with self._index.reading() as opened:
            table = opened.table
            request = edge.QueryRequest(
                limit=options.get("limit", 10),
                offset=options.get("offset") or None,
                query=_query(query, options.get("using")),
                prefetches=[
                    edge.Prefetch(limit=p.limit or 10, query=_query(p.query, p.using), filter=_filter(p.filter, table))
                    for p in (prefetch if isinstance(prefetch, list) else [prefetch])
                ],
                filter=_filter(options.get("query_filter"), table),
                score_threshold=options.get("score_threshold"),
                with_payload=bool(options.get("with_payload", True)),
                with_vector=bool(options.get("with_vectors", False)),
            )
            points: list[Any] = opened.shard.query(request)
            ids = table.chunk_ids(table.rows([point.id for point in points]))
        found = [
            models.ScoredPoint(id=id, version=0, score=point.score, payload=point.payload)
            for id, point in zip(ids, points, strict=True)
        ]
        return QueryResponse(points=found)

    def retrieve(self, _name: str, ids: Sequence[Any], **_: Any) -> list[models.Record]:
        with self._index.reading() as opened:
            points: list[Any] = opened.table.points(opened.table.find(point_ids(map(str, ids))))
            records: list[Any] = opened.shard.retrieve(points, True, False)
            return [models.Record(id=chunk_id(r.payload), payload=r.payload) for r in records]

    def upsert(self, *_: Any, **__: Any) -> NoReturn:
        raise UsageError(
            "The embedded index is read-only for LangChain.", code="read_only", hint=f'Use "{program()} ingest PATH".'
        )

    delete = delete_collection = create_collection = upsert


def _query(query: Any, using: str | None) -> Any:
    if isinstance(query, models.SparseVector):
        return edge.Query.Nearest(edge.SparseVector(query.indices, query.values), using=using)
    if isinstance(query, models.FusionQuery):
        # The server's constant for a plain RRF is 2; with it both stores rank alike.
        return edge.Fusion.Dbsf() if query.fusion == models.Fusion.DBSF else edge.Fusion.Rrf(k=2)
    if isinstance(query, models.RrfQuery):
        return edge.Fusion.Rrf(k=query.rrf.k or 2, weights=query.rrf.weights)
    if isinstance(query, models.NearestQuery) and query.mmr is not None:
        diversity = query.mmr.diversity if query.mmr.diversity is not None else 0.5
        return edge.Mmr(
            cast(list[float], query.nearest), 1.0 - diversity, query.mmr.candidates_limit or 100, using=using
        )
    if isinstance(query, list):
        return edge.Query.Nearest(query, using=using)
    raise UsageError(f"The embedded index does not support a {type(query).__name__}.", code="query")


def _filter(given: models.Filter | None, table: PointTable) -> edge.Filter | None:
    if given is None:
        return None
    if given.min_should is not None:
        raise UsageError("The embedded index does not support min_should.", code="filter")
    return edge.Filter(
        must=_conditions(given.must, table),
        should=_conditions(given.should, table),
        must_not=_conditions(given.must_not, table),
    )


def _conditions(given: Any, table: PointTable) -> list[Any] | None:
    if given is None:
        return None
    return [_condition(condition, table) for condition in (given if isinstance(given, list) else [given])]


def _condition(given: Any, table: PointTable) -> Any:
    if isinstance(given, models.Filter):
        return _filter(given, table)
    if isinstance(given, models.HasIdCondition):
        return edge.HasIdCondition(set(table.points(table.find(point_ids(map(str, given.has_id))))))
    if isinstance(given, models.IsEmptyCondition):
        return edge.IsEmptyCondition(given.is_empty.key)
    if isinstance(given, models.IsNullCondition):
        return edge.IsNullCondition(given.is_null.key)
    if isinstance(given, models.FieldCondition):
        if given.match is not None:
            kind = getattr(edge, type(given.match).__name__)  # of the same name, with the same single value
            return edge.FieldCondition(key=given.key, match=kind(*given.match.model_dump().values()))
        if isinstance(given.range, models.Range):
            return edge.FieldCondition(key=given.key, range=edge.RangeFloat(**given.range.model_dump()))
    raise UsageError(f"The embedded index does not support the filter {given!r}.", code="filter")


def as_vector_store(index: ChunkIndex, embedder: Embedder, sparse: SparseEncoder) -> QdrantVectorStore:
    """The collection as a LangChain vector store, read-only: hybrid if it has sparse vectors, otherwise dense.

    `embedder` must be a LangChain `Embeddings` too, as askbook's are. Documents of a foreign collection have its text
    and our metadata. Raises `RetrievalError` "no_index" and "embedding_mismatch", and `UsageError` for another kind of
    index.
    """
    from rag.index.collection_schema import CollectionSchema
    from rag.index.server import ServerIndex, looked_at

    client: Any
    if isinstance(index, EdgeIndex):
        info, client = index.read_info(), EdgeClient(index)
        schema = CollectionSchema(info) if info else None
    elif isinstance(index, ServerIndex) and index.sync_client is not None:
        client = index.sync_client()
        schema = looked_at(client, index)
    else:
        raise UsageError(f"{type(index).__name__} cannot be opened as a LangChain vector store.", code="vector_store")
    if schema is None:
        raise no_collection(index.collection)
    check_models(schema.info, index.collection, embedder, sparse)
    as_embeddings: Any = embedder
    return build_store(client, index.collection, schema, as_embeddings, sparse_bridge(sparse))
