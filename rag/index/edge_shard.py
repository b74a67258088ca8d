"""The engine of the embedded index: shards of qdrant-edge, created, opened once for all readers, and queried.

qdrant-edge raises bare `Exception`s, and panics over damaged files. Both are turned into `RetrievalError`s here.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from rag.book import Hit, IndexInfo, Point, SparseVector, Where
from rag.errors import RetrievalError
from rag.index.edge_files import Generations, broken
from rag.index.payload import DENSE, METADATA, SPARSE, TIE_SLACK, best, is_empty, missing, rescored, to_hit, to_payload
from rag.index.server_requests import FILTERS
from rag.private_apis import release_edge_lock

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard

PAGE: Final = 512  # points of one `page`
OPENING_ROOM: Final = 100_000  # bytes of disk
FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EMFILE})


def load(folder: Path, collection: str, chunks: int) -> EdgeShard:
    """The shard in `folder`, opened for reading.

    Raises `RetrievalError` if it is damaged or does not hold exactly `chunks` points, and `OSError` if the folder does
    not allow to open it: the engine writes its configuration anew.
    """
    from qdrant_edge import CountRequest, EdgeShard

    if not (folder / "edge_config.json").is_file():  # the engine's own message would hold the whole path
        raise broken(collection, "its files are missing")
    if shutil.disk_usage(folder).free < OPENING_ROOM:  # the engine maps its files, and a full disk may kill the process
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    release_edge_lock(folder)
    with engine_faults(collection):
        shard = EdgeShard.load(str(folder))
        found = shard.count(CountRequest(exact=True))
    if found != chunks:
        shard.close()
        raise broken(collection, f"it holds {found} chunks instead of {chunks}")
    return shard


@contextmanager
def created(folder: Path, collection: str, dimension: int) -> Iterator[EdgeShard]:
    """A new shard in `folder`. Its points are on the disk once the block ends without an exception.

    It has no write-ahead log: nobody adds to a finished shard, and the log has a lock that lets only one opener in. It
    is searched by one thread, since all points are in one segment; a pool of threads cost more than it gained.
    """
    from qdrant_edge import Distance, EdgeConfig, EdgeShard, EdgeSparseVectorParams, EdgeVectorParams, Modifier

    config = EdgeConfig(
        vectors={DENSE: EdgeVectorParams(size=dimension, distance=Distance.Cosine)},
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
    """Turn the engine's exceptions into `RetrievalError`s, and into `OSError`s where the folder forbids what it does.

    All others pass through.
    """
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


def insert(shard: EdgeShard, points: Sequence[Point]) -> None:
    from qdrant_edge import Point as EdgePoint
    from qdrant_edge import SparseVector as EdgeSparse
    from qdrant_edge import UpdateOperation

    rows = []
    for point in points:
        sparse = EdgeSparse(list(point.sparse.indices), list(point.sparse.values))
        rows.append(EdgePoint(point.chunk.id, {DENSE: list(point.dense), SPARSE: sparse}, to_payload(point.chunk)))
    shard.update(UpdateOperation.upsert_points(rows))


def page(shard: EdgeShard, offset: Any, *, payload: bool | list[str], vectors: bool) -> tuple[list[Any], Any]:
    """The points from `offset` on, at most `PAGE`, and the offset of the next page, None after the last."""
    from qdrant_edge import ScrollRequest

    return shard.scroll(ScrollRequest(offset=offset, limit=PAGE, with_payload=payload, with_vector=vectors))


def rankings(
    shard: EdgeShard, collection: str, legs: Sequence[Sequence[float] | SparseVector], limit: int, where: Where | None
) -> list[list[Hit]]:
    """One ranking for each leg, all in one batch. A leg with a tie at its end is queried again with a larger limit."""
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
                raise broken(collection, "vectors are missing")  # otherwise every chunk has a cosine
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
    """The rankings, each sparse one extended by the other legs' hits that share a term with it."""
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
        for name, field in FILTERS.items()
        if (value := getattr(where, name, ""))
    ]
    return Filter(must=conditions) if conditions else None


class OpenGeneration:
    """A generation whose shard is open. It is closed when nobody refers to this object any more."""

    def __init__(self, shard: EdgeShard, info: IndexInfo) -> None:
        self.shard = shard
        self.info = info
        weakref.finalize(self, shard.close)


_Key = tuple[Path, tuple[int, int] | None]

_open: Final[WeakValueDictionary[_Key, OpenGeneration]] = WeakValueDictionary()
_opening: Final = threading.Lock()


def current_generation(generations: Generations) -> OpenGeneration | None:
    """The current generation of a collection, open. None where there is no collection.

    Raises `RetrievalError` if it cannot be opened. While it is opened, a writer may switch to the next one and delete
    it; so it counts only if the pointer still names it afterwards.
    """
    with _opening:
        while path := generations.current():
            key = path.absolute(), generations.stamp(path)
            try:
                opened = _open.get(key) or _load(generations, path)
            except RetrievalError:
                if generations.current() == path:
                    raise
            else:
                if generations.current() == path:
                    _open[key] = opened
                    return opened
    return None


def _load(generations: Generations, path: Path) -> OpenGeneration:
    info = generations.info(path)
    return OpenGeneration(load(path / "shard", generations.collection, info.chunks), info)
