"""The engine of the embedded index: shards of qdrant-edge, created, opened once for all readers, and queried.

qdrant-edge raises bare `Exception`s, and panics over damaged files. Both become `RetrievalError`s here.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID
from weakref import WeakValueDictionary

from rag.book import IndexInfo, Leg, Point, SearchFilter, SparseVector
from rag.errors import RetrievalError
from rag.index.edge_files import Generations, Version, broken
from rag.index.points import (
    CHUNK_ID,
    CONTENT,
    DENSE,
    METADATA,
    SPARSE,
    TIE_SLACK,
    Hits,
    PointTable,
    Scores,
    StoredText,
    chunk_id,
    is_empty,
    to_payload,
)
from rag.index.server_requests import FILTERS

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard, Query

PAGE: Final = 512  # points of one `page`
OPENING_ROOM: Final = 100_000  # bytes of disk
FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EMFILE})


def load(folder: Path, collection: str, chunks: int | None) -> EdgeShard:
    """The shard in `folder`, opened for reading.

    Raises `RetrievalError` if it is damaged or does not hold `chunks` points, unless that is None, and `OSError` if the
    folder is read-only: the engine rewrites its configuration.
    """
    from qdrant_edge import CountRequest, EdgeShard

    if not (folder / "edge_config.json").is_file():  # the engine's own message would hold the whole path
        raise broken(collection, "its files are missing")
    if shutil.disk_usage(folder).free < OPENING_ROOM:  # the engine maps its files, and a full disk may kill the process
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with engine_faults(collection):
        shard = EdgeShard.load(str(folder))
        found = shard.count(CountRequest(exact=True))
    if chunks is not None and found != chunks:
        shard.close()
        raise broken(collection, f"it holds {found} chunks instead of {chunks}")
    return shard


@contextmanager
def created(folder: Path, collection: str, dimension: int) -> Iterator[EdgeShard]:
    """A new shard in `folder`. Its points are on the disk once the block ends without an exception.

    It has no write-ahead log, whose lock would let only one opener in: nobody adds to a finished shard. One thread
    searches its one segment, since a pool costs more. With `Memory.Cached`, opening would read 32 MB.
    """
    from qdrant_edge import Distance, EdgeConfig, EdgeShard, EdgeSparseVectorParams, EdgeVectorParams, Memory, Modifier

    config = EdgeConfig(
        vectors={DENSE: EdgeVectorParams(size=dimension, distance=Distance.Cosine, memory=Memory.Cold)},
        sparse_vectors={SPARSE: EdgeSparseVectorParams(modifier=Modifier.Idf)},
        max_search_threads=1,
        wal_enabled=False,
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
    """Turn the engine's exceptions into `RetrievalError`s, and into `OSError`s where the folder is read-only."""
    try:
        yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        if "WouldBlock" in str(error):  # open in a program that does not take our lock
            message = f'The index of "{collection}" is open in another program.'
            hint = "Close it. A book that several programs change needs a Qdrant server: set QDRANT_URL."
            raise RetrievalError("index_locked", message, hint=hint, retryable=True) from error
        if writing:
            message = f'The index of "{collection}" could not be written: {" ".join(str(error).split())[:200]}.'
            hint = "Free disk space. The index is unchanged."
            raise RetrievalError("index_write", message, hint=hint) from error
        cause = re.search(r"\(os error (\d+)\)", str(error))
        if cause and int(cause[1]) in FORBIDDEN:
            raise OSError(int(cause[1]), os.strerror(int(cause[1]))) from error
        raise broken(collection, str(error)) from error


def insert(shard: EdgeShard, points: Sequence[Point], numbers: dict[str, int]) -> None:
    """Add points, numbered from 0 on in the order of their chunks' first ids, which `numbers` collects."""
    from qdrant_edge import Point as EdgePoint
    from qdrant_edge import SparseVector as EdgeSparse
    from qdrant_edge import UpdateOperation

    rows = []
    for point in points:
        id = str(UUID(point.chunk.id))
        number = numbers.setdefault(id, len(numbers))
        sparse = EdgeSparse(list(point.sparse.indices), list(point.sparse.values))
        payload = to_payload(point.chunk) | {CHUNK_ID: id}
        rows.append(EdgePoint(number, {DENSE: list(point.dense), SPARSE: sparse}, payload))
    shard.update(UpdateOperation.upsert_points(rows))


def page(shard: EdgeShard, offset: Any, *, payload: bool | list[str], vectors: bool) -> tuple[list[Any], Any]:
    """The points from `offset` on, at most `PAGE`, and the offset of the next page, None after the last."""
    from qdrant_edge import ScrollRequest

    return shard.scroll(ScrollRequest(offset=offset, limit=PAGE, with_payload=payload, with_vector=vectors))


def texts(shard: EdgeShard) -> Iterator[StoredText]:
    """What the table of points needs of every point."""
    offset, more = None, True
    while more:
        records, offset = page(shard, offset, payload=[CHUNK_ID, CONTENT, f"{METADATA}.heading"], vectors=False)
        for record in records:
            payload = record.payload or {}
            heading = str((payload.get(METADATA) or {}).get("heading", ""))
            yield StoredText(record.id, UUID(chunk_id(payload)), str(payload.get(CONTENT, "")), heading)
        more = offset is not None


def search(
    opened: OpenGeneration, collection: str, legs: Sequence[Leg], limit: int, where: SearchFilter | None
) -> Scores:
    """The best `limit` points of each leg, and the scores of all of them in every leg, by row.

    One batch finds the points, a second one asks each leg for its scores of what the other legs found.
    """
    from qdrant_edge import Filter, HasIdCondition, QueryBatchRequest, QueryRequest

    queries = {leg: _nearest(vector) for leg, vector in enumerate(legs) if not is_empty(vector)}
    scores = Scores(_rankings(opened, collection, legs, queries, limit, where))
    lacking = {leg: points for leg in queries if (points := opened.table.points(scores.lacking(leg)))}
    requests = [
        QueryRequest(limit=len(points), query=queries[leg], filter=Filter(must=[HasIdCondition(set(points))]))
        for leg, points in lacking.items()
    ]
    answers: Any = opened.shard.query_batch(QueryBatchRequest(requests)) if requests else ()
    for leg, answer in zip(lacking, answers, strict=True):
        scores.add(leg, _scored(opened, answer))
    return scores


def _rankings(
    opened: OpenGeneration,
    collection: str,
    legs: Sequence[Leg],
    queries: Mapping[int, Query],
    limit: int,
    where: SearchFilter | None,
) -> list[Hits]:
    """The scored rows of each leg. A leg with a tie at its end is queried again with a larger limit."""
    from qdrant_edge import QueryBatchRequest, QueryRequest

    found = [_scored(opened, ())] * len(legs)
    asked = {leg: limit + TIE_SLACK for leg in queries if limit > 0}
    restriction = _restriction(where)
    while asked:
        requests = [QueryRequest(limit=size, query=queries[leg], filter=restriction) for leg, size in asked.items()]
        answers = opened.shard.query_batch(QueryBatchRequest(requests))
        open_legs = {}
        for (leg, size), points in zip(asked.items(), answers, strict=True):
            is_whole = restriction is None and not isinstance(legs[leg], SparseVector)  # then every chunk has a cosine
            if is_whole and len(points) < min(size, opened.info.chunks):
                raise broken(collection, "vectors are missing")
            ranking = _scored(opened, points).best(limit=limit, asked=size)
            if ranking is None:
                open_legs[leg] = size * 4
            else:
                found[leg] = ranking
        asked = open_legs
    return found


def _scored(opened: OpenGeneration, points: Sequence[Any]) -> Hits:
    """The row and the score of each point."""
    import numpy as np

    rows = opened.table.rows([point.id for point in points])
    return Hits(rows, np.array([point.score for point in points], dtype=float))


def _nearest(leg: Leg) -> Any:
    from qdrant_edge import Query
    from qdrant_edge import SparseVector as EdgeSparse

    if isinstance(leg, SparseVector):
        return Query.Nearest(EdgeSparse(list(leg.indices), list(leg.values)), using=SPARSE)
    return Query.Nearest(list(leg), using=DENSE)


def _restriction(where: SearchFilter | None) -> Any:
    from qdrant_edge import FieldCondition, Filter, MatchPrefix

    conditions: list[Any] = [
        FieldCondition(key=f"{METADATA}.{field}", match=MatchPrefix(value))
        for name, field in FILTERS.items()
        if (value := getattr(where, name, ""))
    ]
    return Filter(must=conditions) if conditions else None


class OpenGeneration:
    """A generation whose shard is open. It is closed when nobody refers to this object any more."""

    def __init__(self, version: Version, shard: EdgeShard, info: IndexInfo, table: PointTable) -> None:
        self.version = version
        self.shard = shard
        self.info = info
        self.table = table
        weakref.finalize(self, shard.close)


_open: Final[WeakValueDictionary[Version, OpenGeneration]] = WeakValueDictionary()
_opening: Final = threading.Lock()


def current_generation(generations: Generations) -> OpenGeneration | None:
    """The current generation of a collection, open and shared in this process; None where there is no collection.

    A writer may replace and delete one while it is opened, so it counts only if the pointer still names it afterwards.
    Raises `RetrievalError` if it cannot be opened.
    """
    version = generations.version()
    if version is None or (opened := _open.get(version)):
        return opened if version else None
    with _opening:
        while version := generations.version():
            try:
                opened = _open.get(version) or _load(generations, version)
            except RetrievalError:
                if generations.version() == version:
                    raise
            else:
                if generations.version() == version:
                    _open[version] = opened
                    return opened
    return None


def _load(generations: Generations, version: Version) -> OpenGeneration:
    info = generations.info(version.folder)
    shard = load(version.folder / "shard", generations.collection, info.chunks)
    try:
        with engine_faults(generations.collection):
            table = PointTable.of(version.folder, info.chunks, lambda: texts(shard))
    except ValueError as error:  # a point has no id of a chunk
        shard.close()
        raise broken(generations.collection, str(error)) from error
    except BaseException:
        shard.close()
        raise
    return OpenGeneration(version, shard, info, table)
