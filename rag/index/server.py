"""The index on a Qdrant server: for a book that several programs share, or a collection that others made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from rag.book import Chunk, IndexEntry, IndexInfo, Leg, Matches, Point, SearchFilter
from rag.errors import RetrievalError
from rag.index import server_versions, vector_store
from rag.index.collection_schema import CollectionSchema, record_of, schema_of
from rag.index.index_errors import encoders, mismatch, name_taken, no_collection, not_ours
from rag.index.points import DENSE, ENTRY_KEYS, SPARSE, server_ids, to_entry
from rag.index.server_errors import is_forbidden, is_missing, server_faults
from rag.index.server_lease import take_lease
from rag.index.server_requests import INDEXED, ServerSearch, quantization
from rag.index.server_versions import worth_copying
from rag.profiles.schema import BookSection

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, QdrantClient

    from rag.ports import Ranked

ATTEMPTS: Final = 2  # searches of one state; after these, the requests of a search name the book
BATCH: Final = 64  # points of one upsert: 64 vectors of 1,024 numbers are about a megabyte of JSON
COPIED: Final = 256  # points of one scroll that brings their vectors, and of the upsert of them
PAGE: Final = 512  # points of one scroll or delete


class ServerIndex:
    """A `rag.ports.ChunkIndex` on a Qdrant server (1.19 or later), or on a client in local mode, which `aclose` closes.

    The collection's metadata record the models that encoded it. A change that replaces something is written beside the
    old state and shown in one step (`rag.index.server_versions`); other changes, and small ones of a large book, add
    first and remove afterwards. A collection without our record is foreign: it is read as `layout` says and never
    written. `address` is for messages. `sync_client` makes a blocking client for LangChain code.
    """

    def __init__(
        self,
        client: AsyncQdrantClient,
        collection: str,
        *,
        address: str = "in this process",
        sync_client: Callable[[], QdrantClient] | None = None,
        layout: BookSection | None = None,
    ) -> None:
        self.collection = collection
        self.sync_client = sync_client
        self.address = address
        self.layout = layout or BookSection()
        self._client = client

    async def info(self) -> IndexInfo | None:
        with self._faults():
            schema = await self._look()
        return schema.info if schema else None

    async def search(
        self,
        encode: Callable[[IndexInfo], Sequence[Leg]],
        rank: Callable[[Matches], Ranked],
        *,
        limit: int,
        where: SearchFilter | None = None,
    ) -> Ranked:
        ended: set[str] = set()  # states of the book that ended during the search
        while True:
            async with self._present() as schema:
                if schema is None:
                    raise no_collection(self.collection)
            legs = await asyncio.to_thread(encode, schema.info)
            state = "" if len(ended) == ATTEMPTS else server_versions.own_state(schema, self.collection, ended)
            found = await self._found(schema, legs, limit, where, state)
            if found is not None:
                break
            ended.add(state)
        return await asyncio.to_thread(lambda: rank(found()))

    async def _found(
        self, schema: CollectionSchema, legs: Sequence[Leg], limit: int, where: SearchFilter | None, state: str
    ) -> Callable[[], Matches] | None:
        """What the legs find in the collection `state`, or in the one that the book's name stands for.

        None if the state is gone, or if only the book's name may be used.
        """
        with self._faults():
            try:
                search = ServerSearch(self._client, state or self.collection, schema, legs)
                return partial(search.matches, await search.scores(limit, where))
            except Exception as error:
                if state and (is_missing(error) or is_forbidden(error)):
                    return None
                raise

    async def look_inside(self, count: int) -> tuple[Any, list[Any]]:
        """The server's description of the collection and the payloads of `count` points, to propose a mapping from."""
        with self._faults():
            described = await self._client.get_collection(self.collection)
            points, _ = await self._client.scroll(self.collection, limit=count, with_payload=True, with_vectors=False)
        return described, [point.payload for point in points]

    async def fetch(self, ids: Sequence[str]) -> list[Chunk]:
        wanted = server_ids(ids)
        chunks: dict[str, Chunk] = {}
        async with self._present() as schema:
            if schema and wanted:
                unique = list(dict.fromkeys(wanted))
                chunks = await vector_store.chunks_by_id(self._client, self.collection, schema, unique)
        return [chunks[str(id)] for id in wanted if str(id) in chunks]

    async def entries(self) -> list[IndexEntry]:
        found: list[IndexEntry] = []
        async with self._present() as schema:
            offset, more = None, schema is not None
            while more:
                records, offset = await self._client.scroll(
                    self.collection, limit=PAGE, offset=offset, with_payload=ENTRY_KEYS, with_vectors=False
                )
                found += [to_entry(record.id, record.payload) for record in records]
                more = offset is not None
        if schema is not None and not schema.complete:  # a page may be stored in part: do not trust its hash
            found = [replace(entry, document_sha256="") for entry in found]
        return found

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        async with self._present() as schema:
            if schema is not None and schema.fields is not None:
                raise not_ours(self.collection)
            lease = await take_lease(self._client, self.collection)
        try:
            with self._faults():
                await server_versions.settle(self._client, self.collection)
            yield
        finally:
            await lease.aclose()

    async def replace(self, info: IndexInfo, *, add: Iterable[Point], remove: Collection[str]) -> None:
        unwanted = set(server_ids(remove))
        with self._faults():
            old = await self._look()
            if old is not None and old.fields is not None:
                raise not_ours(self.collection)
            fresh = old is None
            if old is not None and encoders(old.info) != encoders(info):
                add, fresh = list(add), True
                replaced = {str(id) for id in unwanted} | {point.chunk.id for point in add}
                if {entry.id for entry in await self.entries()} - replaced:
                    raise mismatch(old.info, *encoders(info))
            points = iter(add)
            first = next(points, None)
            if first is None and not fresh and not unwanted:
                return
            points = points if first is None else chain([first], points)
            place = await server_versions.version_of(self._client, self.collection) or self.collection
            ours = place == self.collection or server_versions.is_version(place)
            if fresh:
                await self._write_version(info, points)
            elif old and ours and first is not None and worth_copying(old.info.chunks, len(unwanted)):
                await self._write_version(info, points, source=place, without=unwanted)
            else:
                await self._write(self._at(place), info, points, unwanted)

    def _at(self, collection: str) -> ServerIndex:
        """The same index on one collection behind the book's name. Only a collection itself can be changed."""
        return ServerIndex(self._client, collection, address=self.address, layout=self.layout)

    async def _write(self, target: ServerIndex, info: IndexInfo, points: Iterator[Point], unwanted: set[Any]) -> None:
        """Add points and then remove others; meanwhile the collection says that it is not complete."""
        await target._remember(info, complete=False)
        while batch := await asyncio.to_thread(lambda: list(islice(points, BATCH))):
            await vector_store.add_points(self._client, target.collection, CollectionSchema(info), batch)
            unwanted -= {point.chunk.id for point in batch}
        ids: list[Any] = sorted(unwanted, key=str)
        for begin in range(0, len(ids), PAGE):
            some = ids[begin : begin + PAGE]
            await vector_store.delete_points(self._client, target.collection, CollectionSchema(info), some)
        await target._remember(info, complete=True)

    async def _write_version(
        self, info: IndexInfo, points: Iterator[Point], *, source: str = "", without: Collection[Any] = ()
    ) -> None:
        """Write the new state beside the old one, of its points and new ones, and let the name stand for it."""
        target = self._at(server_versions.new_version(self.collection))
        try:
            await target._create(info)
            if source:
                await self._copy(source, target.collection, without)
            await self._write(target, info, points, set())
        except BaseException:  # also a Ctrl-C
            with suppress(Exception):  # the next writer removes it
                await asyncio.shield(self._client.delete_collection(target.collection))
            raise
        await server_versions.show(self._client, self.collection, target.collection)

    async def drop(self) -> None:
        async with self._present() as schema:
            if schema is not None and schema.fields is not None:
                raise not_ours(self.collection)
            await server_versions.remove(self._client, self.collection)

    async def rename(self, new: str) -> None:
        """Give the book another name in one step; one without an alias is copied and deleted.

        Raises `UsageError` "name_taken" and "foreign_collection", and `RetrievalError` "no_index" and "index_locked".
        """
        target = self._at(new)
        async with self._present() as schema, target._present() as taken:
            if schema is None:
                raise no_collection(self.collection)
            if schema.fields is not None:
                raise not_ours(self.collection)
            if taken is not None:
                raise name_taken(new)
        async with self.writing(), target.writing():
            with self._faults():
                if await server_versions.version_of(self._client, self.collection) is not None:
                    await server_versions.rename(self._client, self.collection, new)
                    return
                info = replace(schema.info, collection=new)
                await target._write_version(info, iter(()), source=self.collection)
                await self._client.delete_collection(self.collection)

    async def _copy(self, source: str, target: str, without: Collection[Any]) -> None:
        """Add the points of a collection to another, with their vectors, but for some ids."""
        from qdrant_client import models

        left_out, offset, more = {str(id) for id in without}, None, True
        while more:
            records, offset = await self._client.scroll(
                source, limit=COPIED, offset=offset, with_payload=True, with_vectors=True
            )
            points = [
                models.PointStruct(id=r.id, vector=r.vector or {}, payload=r.payload)  # type: ignore[arg-type]
                for r in records
                if str(r.id) not in left_out
            ]
            if points:
                await self._client.upsert(target, points, wait=True)
            more = offset is not None

    async def aclose(self) -> None:
        await self._client.close()

    def _faults(self) -> AbstractContextManager[None]:
        return server_faults(self.collection, self.address)

    @asynccontextmanager
    async def _present(self) -> AsyncIterator[CollectionSchema | None]:
        with self._faults():
            yield await self._look()

    async def _look(self) -> CollectionSchema | None:
        """The collection's schema as it is now, None where there is no collection."""
        calls = (self._client.get_collection(self.collection), self._client.count(self.collection, exact=True))
        described, counted = await asyncio.gather(*calls, return_exceptions=True)  # waits for both, even if one fails
        for answer in (described, counted):
            if isinstance(answer, Exception) and is_missing(answer):
                return None
            if isinstance(answer, BaseException):
                raise answer
        chunks: Any = counted
        return schema_of(self.collection, described, self.layout, chunks.count)

    async def _remember(self, info: IndexInfo, *, complete: bool) -> None:
        await self._client.update_collection(self.collection, metadata=self._record(info, complete=complete))

    def _record(self, info: IndexInfo, *, complete: bool) -> dict[str, Any]:
        state = self.collection if server_versions.is_version(self.collection) else ""
        return record_of(info, complete=complete, state=state)

    async def _create(self, info: IndexInfo) -> None:
        from qdrant_client import models

        await self._client.create_collection(
            self.collection,
            vectors_config={DENSE: models.VectorParams(size=info.dimension, distance=models.Distance.COSINE)},
            sparse_vectors_config={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
            quantization_config=quantization(self.layout.quantization),
            metadata=self._record(info, complete=False),
        )
        made = await self._look()
        if made is None or made.fields is not None:
            await self._client.delete_collection(self.collection)
            # An older server drops fields that it does not know.
            message = f"The Qdrant server {self.address} does not store a collection's metadata."
            raise RetrievalError("index_request", message, hint="Qdrant 1.19 or later is needed.")
        for field, prefix in INDEXED.items():
            schema = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, prefix=prefix)
            await self._client.create_payload_index(self.collection, field, field_schema=schema, wait=True)


def looked_at(client: QdrantClient, index: ServerIndex) -> CollectionSchema | None:
    """The schema of an index's collection, read with a blocking client; None where there is no collection."""
    with server_faults(index.collection, index.address):
        try:
            described = client.get_collection(index.collection)
        except Exception as error:
            if is_missing(error):
                return None
            raise
        return schema_of(index.collection, described, index.layout, described.points_count or 0)
