"""The index of a book in Qdrant: on a server, or on its engine in this process, through the same vector store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from functools import wraps
from itertools import chain, islice
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from rag.book import Chunk, IndexEntry, IndexInfo, Matches, Point, SearchFilter, Vector
from rag.errors import RetrievalError
from rag.index import collections
from rag.index.collection_schema import CollectionSchema, schema_of
from rag.index.edge_client import EdgeClient, edge_faults
from rag.index.index_errors import encoders, mismatch, name_taken, no_collection, not_ours
from rag.index.server import is_missing, server_faults
from rag.ports import Ranked
from rag.profiles.schema import BookSection

P = ParamSpec("P")
T = TypeVar("T")

BATCH: Final = 64  # points of one upsert: 64 vectors of 1,024 numbers are about a megabyte of JSON
ATTEMPTS: Final = 3  # to read one state of a book that is being replaced
_ENDED: Final = frozenset({"no_index", "index_broken"})  # what reading a state says that has been deleted


def _in_thread(
    method: Callable[Concatenate[QdrantIndex, P], T],
) -> Callable[Concatenate[QdrantIndex, P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def call(index: QdrantIndex, /, *arguments: P.args, **options: P.kwargs) -> T:
        return await asyncio.to_thread(method, index, *arguments, **options)

    return call


class QdrantIndex:
    """A `rag.ports.ChunkIndex` on a `QdrantClient`, or on an `EdgeClient`, which has the same methods.

    A collection's metadata record the models that encoded it. A collection without our record is foreign: it is read
    as `layout` says and never written. `lock` is taken for a change. `address` is for messages.
    """

    def __init__(
        self,
        client: Any,
        collection: str,
        *,
        lock: Callable[[str], AbstractContextManager[None]],
        address: str = "in this process",
        layout: BookSection | None = None,
        owned: bool = True,
    ) -> None:
        self.collection = collection
        self.client = client
        self._lock = lock
        self._address = address
        self._layout = layout or BookSection()
        self._owned = owned  # whether `aclose` closes the client
        self._writing = False

    def _faults(self) -> AbstractContextManager[None]:
        if isinstance(self.client, EdgeClient):
            return edge_faults(self.collection)
        return server_faults(self.collection, self._address)

    # Reading

    @_in_thread
    def info(self) -> IndexInfo | None:
        schema = self.look()
        return schema.info if schema else None

    def look(self) -> CollectionSchema | None:
        """The collection as it is now, None where there is none. Blocks."""
        with self._faults():
            try:
                described = self.client.get_collection(self.collection)
            except Exception as error:
                if is_missing(error):
                    return None
                raise
            return schema_of(self.collection, described, self._layout)

    @_in_thread
    def search(
        self,
        vectors: Sequence[Vector],
        rank: Callable[[Matches], Ranked],
        *,
        limit: int,
        where: SearchFilter | None = None,
    ) -> Ranked:
        from rag.index.store import Search

        parallel = not isinstance(self.client, EdgeClient)

        def found(schema: CollectionSchema) -> tuple[Ranked]:
            return (rank(Search(self.client, schema, vectors, parallel=parallel).matches(limit, where)),)

        ranked = self._reading(found)
        if ranked is None:
            raise no_collection(self.collection)
        return ranked[0]

    @_in_thread
    def fetch(self, ids: Sequence[str]) -> list[Chunk]:
        from rag.index import store

        return self._reading(lambda schema: store.fetch(self.client, schema, ids)) or []

    @_in_thread
    def entries(self) -> list[IndexEntry]:
        return self._reading(lambda schema: collections.entries(self.client, schema.name)) or []

    def _reading(self, read: Callable[[CollectionSchema], T]) -> T | None:
        """What is read of one state of the collection, None where there is none. If that state ends, of the next."""
        for attempt in range(ATTEMPTS):
            schema = self.look()
            if schema is None:
                return None
            try:
                with self._faults():
                    return read(schema)
            except RetrievalError as error:
                if error.code not in _ENDED or attempt == ATTEMPTS - 1 or self.look() == schema:
                    raise
        return None

    @_in_thread
    def look_inside(self, count: int) -> tuple[Any, list[Any]]:
        """The description of the collection and the payloads of `count` points, to propose a mapping from."""
        with self._faults():
            described = self.client.get_collection(self.collection)
            points, _ = self.client.scroll(
                self.collection, limit=count, offset=None, with_payload=True, with_vectors=False
            )
            return described, [point.payload for point in points]

    # Writing

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        lock = ExitStack()
        taking = asyncio.ensure_future(asyncio.to_thread(self._take, lock))
        try:
            await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(lambda _: lock.close())  # the thread cannot be stopped, and takes the lock
            raise
        self._writing = True
        try:
            yield
        finally:
            self._writing = False
            await asyncio.shield(asyncio.to_thread(lock.close))

    def _take(self, lock: ExitStack) -> None:
        self._require_ours()
        with self._faults():
            lock.enter_context(self._lock(self.collection))

    def _alone(self) -> AbstractContextManager[None]:
        """The lock for one change, unless `writing` holds it already."""
        return nullcontext() if self._writing else self._lock(self.collection)

    async def replace(self, info: IndexInfo, *, add: Iterable[Point], remove: Collection[str]) -> None:
        cancelled = threading.Event()
        try:
            await asyncio.to_thread(self._replace, info, iter(add), set(remove), cancelled)
        except asyncio.CancelledError:
            cancelled.set()  # the thread cannot be stopped from outside
            raise

    def _replace(self, info: IndexInfo, add: Iterator[Point], remove: set[str], cancelled: threading.Event) -> None:
        def check() -> None:
            if cancelled.is_set():
                raise RetrievalError("index_cancelled", "The ingestion was interrupted; the index is unchanged.")

        self._require_ours()
        with self._faults(), self._alone():
            old = self.look()
            first = next(add, None)
            if first is None and not remove and old and replace(old.info, chunks=info.chunks) == info:
                return
            points = add if first is None else chain([first], add)
            collections.sweep(self.client, self.collection)
            info = replace(info, collection=self.collection)
            version = collections.create(self.client, info, self._layout.quantization)
            try:
                added = self._add(CollectionSchema(info, version), points, check)
                kept = self._keep(old, info, version, remove | added, check)
                collections.show(self.client, replace(info, chunks=len(added) + kept), version)
            except BaseException:  # also a Ctrl-C
                with suppress(Exception):  # the next writer removes it
                    if collections.aliases(self.client).get(self.collection) != version:
                        self.client.delete_collection(version)
                raise

    def _add(self, target: CollectionSchema, points: Iterator[Point], check: Callable[[], None]) -> set[str]:
        from rag.index import store

        added: set[str] = set()
        while batch := list(islice(points, BATCH)):
            check()
            store.add(self.client, target, list({point.chunk.id: point for point in batch}.values()))
            added.update(point.chunk.id for point in batch)
        return added

    def _keep(
        self,
        old: CollectionSchema | None,
        info: IndexInfo,
        version: str,
        without: Collection[str],
        check: Callable[[], None],
    ) -> int:
        """Copy what stays. Raises `RetrievalError` "embedding_mismatch" if another model encoded it."""
        if old is None:
            return 0
        if encoders(old.info) != encoders(info):
            if {entry.id for entry in collections.entries(self.client, old.name)} - set(without):
                raise mismatch(old.info, *encoders(info))
            return 0
        return collections.copy(self.client, old.name, version, without, check)

    @_in_thread
    def drop(self) -> None:
        self._require_ours()
        with self._faults():
            if collections.exists(self.client, self.collection):
                with self._alone():
                    collections.remove(self.client, self.collection)

    @_in_thread
    def rename(self, new: str) -> None:
        """Give the book another name in one step.

        Raises `UsageError` "name_taken" and "foreign_collection", and `RetrievalError` "no_index" and "index_locked".
        """
        self._require_ours()
        with self._faults(), ExitStack() as locks:
            if not collections.exists(self.client, self.collection):
                raise no_collection(self.collection)
            for name in sorted({self.collection, new}):  # never one against another
                locks.enter_context(self._lock(name))
            if new in collections.book_names(self.client):
                raise name_taken(new)
            collections.rename(self.client, self.collection, new)

    def _require_ours(self) -> None:
        """Raise `UsageError` for a foreign collection."""
        try:
            foreign = (schema := self.look()) is not None and schema.info.foreign
        except RetrievalError as error:
            if error.code not in ("index_broken", "index_vectors"):
                raise
            foreign = error.code == "index_vectors"
        if foreign:
            raise not_ours(self.collection)

    async def aclose(self) -> None:
        """Close the client, unless the caller brought it. A later search in this process opens its shard again."""
        if self._owned:
            self.client.close()  # not in a thread: none can be started when the interpreter ends
