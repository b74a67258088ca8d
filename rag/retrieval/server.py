"""The index on a Qdrant server, for a book that several programs share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from rag.book import Chunk, Hit, IndexEntry, IndexInfo, Point, SparseVector, Where
from rag.errors import RetrievalError
from rag.retrieval.faults import encoders, mismatch
from rag.retrieval.payload import (
    DENSE,
    ENTRY_KEYS,
    SOURCE,
    SPARSE,
    TIE_SLACK,
    URL,
    best,
    from_payload,
    is_empty,
    missing,
    point_ids,
    rescored,
    to_entry,
    to_hit,
    to_payload,
)
from rag.retrieval.server_faults import is_missing, server_faults

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, QdrantClient

BATCH: Final = 64  # points of one request: 64 vectors of 1,024 numbers are about a megabyte of JSON
PAGE: Final = 512
OURS: Final = "askbook"  # the key of our record in the collection's metadata


class ServerIndex:
    """A `rag.ports.ChunkIndex` on a Qdrant server (1.19 or later), or on a client in local mode.

    Who encoded the collection is recorded in its metadata. A change adds first and removes afterwards, in batches: a
    reader may meanwhile see new chunks beside old ones, but never a hole. `address` is for messages and holds no
    credentials; `sync_client` makes a blocking client to the same server for LangChain code. `aclose` closes `client`.
    """

    def __init__(
        self,
        client: AsyncQdrantClient,
        collection: str,
        *,
        address: str = "in this process",
        sync_client: Callable[[], QdrantClient] | None = None,
    ) -> None:
        self.collection = collection
        self.sync_client = sync_client
        self._client = client
        self.address = address

    async def info(self) -> IndexInfo | None:
        with server_faults(self.collection, self.address):
            try:
                described, counted = await asyncio.gather(
                    self._client.get_collection(self.collection), self._client.count(self.collection, exact=True)
                )
            except Exception as error:
                if is_missing(error):
                    return None
                raise
            return _info(self.collection, described.config.metadata, counted.count)

    async def search(
        self,
        legs: Sequence[Sequence[float] | SparseVector],
        *,
        limit: int,
        where: Where | None = None,
        complete: bool = False,
    ) -> list[list[Hit]]:
        found: list[list[Hit]] = [[] for _ in legs]
        asked = {i: limit + TIE_SLACK for i, leg in enumerate(legs) if limit > 0 and not is_empty(leg)}
        with server_faults(self.collection, self.address):
            while asked:
                requests = [_request(legs[i], size, where) for i, size in asked.items()]
                answers = await self._client.query_batch_points(self.collection, requests=requests)
                deeper = {}
                for (i, size), answer in zip(asked.items(), answers, strict=True):
                    hits = [to_hit(p.id, p.score, p.payload, p.vector) for p in answer.points]
                    ranking = best(hits, limit=limit, asked=size)
                    if ranking is None:
                        deeper[i] = size * 4
                    else:
                        found[i] = ranking
                asked = deeper
            return await self._completed(legs, found) if complete else found

    async def _completed(
        self, legs: Sequence[Sequence[float] | SparseVector], found: list[list[Hit]]
    ) -> list[list[Hit]]:
        lacking = missing(legs, found)
        if lacking:
            requests = [_rescoring(legs[i], list(hits)) for i, hits in lacking.items()]
            answers = await self._client.query_batch_points(self.collection, requests=requests)
            for (i, hits), answer in zip(lacking.items(), answers, strict=True):
                found[i] = found[i] + rescored(hits, [(str(p.id), p.score) for p in answer.points])
        return found

    async def fetch(self, ids: Sequence[str]) -> list[Chunk]:
        wanted = point_ids(ids)
        chunks: dict[str, Chunk] = {}
        async with self._present() as present:
            if present and wanted:
                records = await self._client.retrieve(self.collection, list(dict.fromkeys(wanted)), with_payload=True)
                chunks = {str(record.id): from_payload(record.id, record.payload) for record in records}
        return [chunks[id] for id in wanted if id in chunks]

    async def entries(self) -> list[IndexEntry]:
        found: list[IndexEntry] = []
        async with self._present() as present:
            offset, more = None, present
            while more:
                records, offset = await self._client.scroll(
                    self.collection, limit=PAGE, offset=offset, with_payload=ENTRY_KEYS, with_vectors=False
                )
                found += [to_entry(record.id, record.payload) for record in records]
                more = offset is not None
        return found

    async def replace(self, info: IndexInfo, *, add: Iterable[Point], remove: Collection[str]) -> None:
        from qdrant_client import models

        old, unwanted = await self.info(), set(point_ids(remove))
        with server_faults(self.collection, self.address):
            if old is not None and encoders(old) != encoders(info):
                add = list(add)
                await self._clear(old, info, unwanted | {point.chunk.id for point in add})
                old = None
            if old is None:
                await self._create(info)
            points = iter(add)
            while batch := list(islice(points, BATCH)):
                await self._client.upsert(self.collection, points=[_row(point) for point in batch], wait=True)
                unwanted -= {point.chunk.id for point in batch}
            for ids in _batches(sorted(unwanted)):
                selector = models.PointIdsList(points=ids)
                await self._client.delete(self.collection, points_selector=selector, wait=True)

    async def drop(self) -> None:
        async with self._present() as present:
            if present:
                await self._client.delete_collection(self.collection)

    async def aclose(self) -> None:
        await self._client.close()

    @asynccontextmanager
    async def _present(self) -> AsyncIterator[bool]:
        with server_faults(self.collection, self.address):
            yield await self._client.collection_exists(self.collection)

    async def _clear(self, old: IndexInfo, info: IndexInfo, replaced: set[str]) -> None:
        """Delete a collection of another model, if the change leaves none of its chunks."""
        if {entry.id for entry in await self.entries()} - replaced:
            raise mismatch(old, *encoders(info))
        await self._client.delete_collection(self.collection)

    async def _create(self, info: IndexInfo) -> None:
        from qdrant_client import models

        record = {name: value for name, value in asdict(info).items() if name not in ("collection", "chunks")}
        await self._client.create_collection(
            self.collection,
            vectors_config={DENSE: models.VectorParams(size=info.dimension, distance=models.Distance.COSINE)},
            sparse_vectors_config={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
            metadata={OURS: record},
        )
        for field in (URL, SOURCE):
            schema = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, prefix=field == URL)
            await self._client.create_payload_index(self.collection, field, field_schema=schema, wait=True)
        made = await self.info()
        if made is None or encoders(made) != encoders(info):  # an older server drops what it does not know
            await self._client.delete_collection(self.collection)
            raise RetrievalError(
                "index_request",
                f"The Qdrant server {self.address} does not keep a collection's metadata.",
                hint="Qdrant 1.19 or later is needed.",
            )


def recorded(client: QdrantClient, index: ServerIndex) -> IndexInfo | None:
    """`ServerIndex.info` by a blocking client."""
    with server_faults(index.collection, index.address):
        try:
            described = client.get_collection(index.collection)
        except Exception as error:
            if is_missing(error):
                return None
            raise
        return _info(index.collection, described.config.metadata, described.points_count or 0)


def _info(collection: str, metadata: Any, chunks: int) -> IndexInfo:
    """A collection that somebody else made says nothing of its models: they are empty."""
    record = (metadata or {}).get(OURS) or {}
    return IndexInfo(
        collection=collection,
        embedding_model=str(record.get("embedding_model", "")),
        dimension=int(record.get("dimension", 0)),
        sparse_model=str(record.get("sparse_model", "")),
        chunks=chunks,
        recipe=str(record.get("recipe", "")),
    )


def _request(leg: Sequence[float] | SparseVector, limit: int, where: Where | None) -> Any:
    from qdrant_client import models

    sparse = isinstance(leg, SparseVector)
    restriction = None
    if where is not None and where.url_prefix:
        prefix = models.MatchPrefix(prefix=where.url_prefix)
        restriction = models.Filter(must=[models.FieldCondition(key=URL, match=prefix)])
    return models.QueryRequest(
        query=_query(leg),
        using=SPARSE if sparse else DENSE,
        limit=limit,
        filter=restriction,
        with_payload=True,
        with_vector=[DENSE],
    )


def _rescoring(leg: Sequence[float] | SparseVector, ids: list[str]) -> Any:
    """The leg's scores of these points, without what is known of them already."""
    from qdrant_client import models

    among = models.Filter(must=[models.HasIdCondition(has_id=list(ids))])
    return models.QueryRequest(query=_query(leg), using=SPARSE, limit=len(ids), filter=among)


def _query(leg: Sequence[float] | SparseVector) -> Any:
    from qdrant_client import models

    if isinstance(leg, SparseVector):
        return models.SparseVector(indices=list(leg.indices), values=list(leg.values))
    return list(leg)


def _row(point: Point) -> Any:
    from qdrant_client import models

    sparse = models.SparseVector(indices=list(point.sparse.indices), values=list(point.sparse.values))
    return models.PointStruct(
        id=point.chunk.id, vector={DENSE: list(point.dense), SPARSE: sparse}, payload=to_payload(point.chunk)
    )


def _batches(ids: Sequence[Any]) -> Iterator[list[Any]]:
    for begin in range(0, len(ids), PAGE):
        yield list(ids[begin : begin + PAGE])
