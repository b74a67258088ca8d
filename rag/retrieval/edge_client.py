"""The embedded index in the shape of a `QdrantClient`, as far as langchain-qdrant uses one to read.

langchain-qdrant asks its client for methods, not for a class. Whatever is written through it would not be in the next
generation's plan, so writing is refused: books come in by `ingest`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import qdrant_edge as edge
from qdrant_client import models
from qdrant_client.http.models import QueryResponse

from rag.errors import UsageError
from rag.retrieval.edge import EdgeIndex
from rag.retrieval.faults import no_collection
from rag.retrieval.payload import DENSE, SPARSE, point_ids


class EdgeClient:
    """A reading `QdrantClient` on one `EdgeIndex`. Its methods block and raise `RetrievalError`."""

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
        request = edge.QueryRequest(
            limit=options.get("limit", 10),
            offset=options.get("offset") or None,
            query=_query(query, options.get("using")),
            prefetches=[
                edge.Prefetch(limit=p.limit or 10, query=_query(p.query, p.using), filter=_filter(p.filter))
                for p in (prefetch if isinstance(prefetch, list) else [prefetch])
            ],
            filter=_filter(options.get("query_filter")),
            score_threshold=options.get("score_threshold"),
            with_payload=bool(options.get("with_payload", True)),
            with_vector=bool(options.get("with_vectors", False)),
        )
        with self._index.reading("search") as (shard, _info):
            found = [
                models.ScoredPoint(id=str(p.id), version=0, score=p.score, payload=p.payload)
                for p in shard.query(request)
            ]
        return QueryResponse(points=found)

    def retrieve(self, _name: str, ids: Sequence[Any], **_: Any) -> list[models.Record]:
        with self._index.reading("fetch") as (shard, _info):
            records = shard.retrieve(list(point_ids(map(str, ids))), True, False)
            return [models.Record(id=str(record.id), payload=record.payload) for record in records]

    def upsert(self, *_: Any, **__: Any) -> NoReturn:
        raise UsageError(
            "The embedded index is read-only for LangChain.", code="read_only", hint='Use "python run.py ingest PATH".'
        )

    delete = delete_collection = create_collection = upsert


def _query(query: Any, using: str | None) -> Any:
    if isinstance(query, models.SparseVector):
        return edge.Query.Nearest(edge.SparseVector(query.indices, query.values), using=using)
    if isinstance(query, models.FusionQuery):
        # 2 is the server's constant for a plain RRF, which makes both stores rank alike.
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
    raise UsageError(f"The embedded index does not know a {type(query).__name__}.", code="query")


def _filter(wanted: models.Filter | None) -> edge.Filter | None:
    if wanted is None:
        return None
    if wanted.min_should is not None:
        raise UsageError("The embedded index does not translate min_should.", code="filter")
    return edge.Filter(
        must=_conditions(wanted.must), should=_conditions(wanted.should), must_not=_conditions(wanted.must_not)
    )


def _conditions(wanted: Any) -> list[Any] | None:
    if wanted is None:
        return None
    return [_condition(condition) for condition in (wanted if isinstance(wanted, list) else [wanted])]


def _condition(wanted: Any) -> Any:
    if isinstance(wanted, models.Filter):
        return _filter(wanted)
    if isinstance(wanted, models.HasIdCondition):
        return edge.HasIdCondition(set(wanted.has_id))
    if isinstance(wanted, models.IsEmptyCondition):
        return edge.IsEmptyCondition(wanted.is_empty.key)
    if isinstance(wanted, models.IsNullCondition):
        return edge.IsNullCondition(wanted.is_null.key)
    if isinstance(wanted, models.FieldCondition):
        if wanted.match is not None:
            return edge.FieldCondition(key=wanted.key, match=_match(wanted.match))
        if isinstance(wanted.range, models.Range):
            return edge.FieldCondition(key=wanted.key, range=edge.RangeFloat(**wanted.range.model_dump()))
    raise UsageError(f"The embedded index does not translate the filter {wanted!r}.", code="filter")


def _match(wanted: Any) -> Any:
    """Edge has the server's matches under the server's names, each with the one value that the model holds."""
    kind = getattr(edge, type(wanted).__name__)
    (value,) = wanted.model_dump().values()
    return kind(value)
