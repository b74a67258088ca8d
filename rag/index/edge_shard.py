"""The engine's side of the embedded index: one shard of qdrant-edge, opened, asked and closed.

The engine says what went wrong in bare `Exception`s, and damaged files make it panic; here both become ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rag.book import Hit, Point, SparseVector, Where
from rag.errors import RetrievalError
from rag.index.edge_files import broken
from rag.index.payload import DENSE, METADATA, SPARSE, TIE_SLACK, best, is_empty, missing, rescored, to_hit, to_payload
from rag.index.server_requests import FILTERS

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard


PAGE: Final = 512


@contextmanager
def opened(folder: Path, collection: str, chunks: int) -> Iterator[EdgeShard]:
    """The shard in `folder`, which must hold `chunks` points; raises `RetrievalError` where it is damaged."""
    from qdrant_edge import CountRequest, EdgeShard

    if not (folder / "edge_config.json").is_file():  # the engine would say so with the whole path
        raise broken(collection, "its files are missing")
    with engine_faults(collection):
        shard = EdgeShard.load(str(folder))
        try:
            found = shard.count(CountRequest(exact=True))
            if found != chunks:
                raise broken(collection, f"it holds {found} chunks instead of {chunks}")
            yield shard
        finally:
            shard.close()


@contextmanager
def created(folder: Path, collection: str, dimension: int) -> Iterator[EdgeShard]:
    """A new shard in `folder`; its points are on the disk when the block has ended without an exception."""
    from qdrant_edge import (
        Distance,
        EdgeConfig,
        EdgeShard,
        EdgeSparseVectorParams,
        EdgeVectorParams,
        Modifier,
    )

    config = EdgeConfig(
        vectors={DENSE: EdgeVectorParams(size=dimension, distance=Distance.Cosine)},
        sparse_vectors={SPARSE: EdgeSparseVectorParams(modifier=Modifier.Idf)},
    )
    with engine_faults(collection, writing=True):
        shard = EdgeShard.create(str(folder), config)
        try:
            yield shard
            shard.flush()
        finally:
            shard.close()


@contextmanager
def engine_faults(collection: str, *, writing: bool = False) -> Iterator[None]:
    """Turn what the engine raises into `RetrievalError`s, and nothing else."""
    try:
        yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        if "WouldBlock" in str(error):  # a program that does not take our lock has it open
            raise RetrievalError(
                "index_locked",
                f'The index of "{collection}" is open in another program.',
                hint="Close it. A book that several programs share needs a Qdrant server: set QDRANT_URL.",
                retryable=True,
            ) from error
        if writing:
            raise RetrievalError(
                "index_write",
                f'The index of "{collection}" could not be written: {" ".join(str(error).split())[:200]}.',
                hint="Look for space on the disk. The index is as it was before.",
            ) from error
        raise broken(collection, str(error)) from error


def insert(shard: EdgeShard, points: Sequence[Point]) -> None:
    from qdrant_edge import Point as EdgePoint
    from qdrant_edge import SparseVector as EdgeSparse
    from qdrant_edge import UpdateOperation

    rows = [
        EdgePoint(
            point.chunk.id,
            {
                DENSE: list(point.dense),
                SPARSE: EdgeSparse(list(point.sparse.indices), list(point.sparse.values)),
            },
            to_payload(point.chunk),
        )
        for point in points
    ]
    shard.update(UpdateOperation.upsert_points(rows))


def page(shard: EdgeShard, offset: Any, *, payload: bool | list[str], vectors: bool) -> tuple[list[Any], Any]:
    """The next points of the shard and where to go on, None at the end."""
    from qdrant_edge import ScrollRequest

    return shard.scroll(ScrollRequest(offset=offset, limit=PAGE, with_payload=payload, with_vector=vectors))


def rankings(
    shard: EdgeShard, collection: str, legs: Sequence[Sequence[float] | SparseVector], limit: int, where: Where | None
) -> list[list[Hit]]:
    """One ranking for each leg, in one batch; a leg with a long tie at its end is asked once more, deeper."""
    from qdrant_edge import QueryBatchRequest, QueryRequest

    found: list[list[Hit]] = [[] for _ in legs]
    asked = {i: limit + TIE_SLACK for i, leg in enumerate(legs) if limit > 0 and not is_empty(leg)}
    total = shard.info().points_count
    restriction = _restriction(where)
    while asked:
        batch = [
            QueryRequest(
                limit=size, query=_nearest(legs[i]), filter=restriction, with_payload=True, with_vector=[DENSE]
            )
            for i, size in asked.items()
        ]
        open_legs = {}
        for (i, size), points in zip(asked.items(), shard.query_batch(QueryBatchRequest(batch)), strict=True):
            if restriction is None and not isinstance(legs[i], SparseVector) and len(points) < min(size, total):
                raise broken(collection, "vectors are missing")  # every chunk has a cosine
            ranking = best([to_hit(p.id, p.score, p.payload, p.vector) for p in points], limit=limit, asked=size)
            if ranking is None:
                open_legs[i] = size * 4
            else:
                found[i] = ranking
        asked = open_legs
    return found


def complete(
    shard: EdgeShard, legs: Sequence[Sequence[float] | SparseVector], found: list[list[Hit]]
) -> list[list[Hit]]:
    """The rankings of `rankings`, each sparse one going on with the hits of the others that share a term with it."""
    from qdrant_edge import Filter, HasIdCondition, QueryBatchRequest, QueryRequest

    lacking = missing(legs, found)
    batch = [
        QueryRequest(limit=len(hits), query=_nearest(legs[i]), filter=Filter(must=[HasIdCondition(set(hits))]))
        for i, hits in lacking.items()
    ]
    if batch:
        for (i, hits), points in zip(lacking.items(), shard.query_batch(QueryBatchRequest(batch)), strict=True):
            found[i] = found[i] + rescored(hits, [(str(point.id), float(point.score)) for point in points])
    return found


def _nearest(leg: Sequence[float] | SparseVector) -> Any:
    from qdrant_edge import Query
    from qdrant_edge import SparseVector as EdgeSparse

    if isinstance(leg, SparseVector):
        return Query.Nearest(EdgeSparse(list(leg.indices), list(leg.values)), using=SPARSE)
    return Query.Nearest(list(leg), using=DENSE)


def _restriction(where: Where | None) -> Any:
    from qdrant_edge import FieldCondition, Filter, MatchPrefix

    conditions: list[Any] = [
        FieldCondition(key=f"{METADATA}.{field}", match=MatchPrefix(value))
        for name, (field, _) in FILTERS.items()
        if (value := getattr(where, name, ""))
    ]
    return Filter(must=conditions) if conditions else None
