"""The index inside the process: qdrant-edge on a folder, without a server."""

from __future__ import annotations

import asyncio
import errno
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import replace
from functools import wraps
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from rag.book import Chunk, IndexEntry, IndexInfo, Leg, Matches, Point, SearchFilter
from rag.errors import RetrievalError
from rag.index import edge_shard as engine
from rag.index.edge_files import Generations, NamedLock, broken
from rag.index.edge_shard import OpenGeneration, current_generation, engine_faults
from rag.index.index_errors import encoders, mismatch, name_taken, no_collection
from rag.index.points import CHUNK_ID, ENTRY_KEYS, chunk_id, from_payload, point_ids, table_rows, to_entry, write_table
from rag.system.files import check_room, private_folder

if TYPE_CHECKING:
    from numpy import integer
    from numpy.typing import NDArray
    from qdrant_edge import EdgeShard

    from rag.ports import Ranked

P = ParamSpec("P")
T = TypeVar("T")

WAIT: Final = 2.0  # seconds that a change waits for another change
LOCK: Final = "ingest.lock"
BATCH: Final = 256  # points of one write
CHUNK_ROOM: Final = 8_000  # bytes of disk per chunk during a build, plus twice its vector; 7 KB in all were measured
EMPTY_ROOM: Final = 2_000_000  # bytes of disk of an empty generation


def _in_thread(
    method: Callable[Concatenate[EdgeIndex, P], T],
) -> Callable[Concatenate[EdgeIndex, P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def call(index: EdgeIndex, /, *arguments: P.args, **options: P.kwargs) -> T:
        return await asyncio.to_thread(method, index, *arguments, **options)

    return call


class EdgeIndex:
    """A `rag.ports.ChunkIndex` on one folder.

    Threads and processes search the current generation at the same time, without a lock; it stays open until `aclose`.
    A change is built as a new generation and becomes visible in one step, since every search reads the pointer.
    """

    def __init__(self, folder: Path, collection: str, *, wait: float = WAIT) -> None:
        self.collection = collection
        self._generations = Generations(folder, collection)
        self._kept: OpenGeneration | None = None  # keeps it open between searches
        self._builders = NamedLock(self._generations.root / LOCK)
        self._wait = wait
        self._writing = False

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
        with _files(self.collection):
            private_folder(self._generations.root)
            lock.enter_context(self._builders.held("ingest", seconds=self._wait))

    def _alone(self) -> AbstractContextManager[None]:
        """The lock for one change, unless `writing` holds it already."""
        return nullcontext() if self._writing else self._builders.held("ingest", seconds=self._wait)

    async def replace(self, info: IndexInfo, *, add: Iterable[Point], remove: Collection[str]) -> None:
        cancelled = threading.Event()
        try:
            await asyncio.to_thread(self._replace, info, iter(add), set(point_ids(remove)), cancelled)
        except asyncio.CancelledError:
            cancelled.set()  # the thread cannot be stopped from outside
            raise

    async def aclose(self) -> None:
        """Close the shard, as soon as no search uses it. A later search opens it again."""
        self._kept = None

    def read_info(self) -> IndexInfo | None:
        """The collection's record, None where there is no collection. Opens no shard."""
        kept = self._kept
        if kept is not None and self._generations.is_current(kept.version):
            return kept.info
        while version := self._generations.version():
            try:
                return self._generations.info(version.folder)
            except RetrievalError:
                if self._generations.version() == version:
                    raise  # otherwise the generation was replaced just now
        return None

    info = _in_thread(read_info)

    @contextmanager
    def reading(self) -> Iterator[OpenGeneration]:
        """The current generation, open for the block. Raises `RetrievalError` "no_index" if there is none."""
        with _files(self.collection):
            opened = self._opened()
            try:
                with self._faults():
                    yield opened
            finally:
                del opened  # a traceback that is kept must not keep the shard open

    @contextmanager
    def _points(self) -> Iterator[tuple[IndexInfo, EdgeShard]]:
        """The record and the points for a writer, who has to see what is left where points are missing."""
        with _files(self.collection):
            try:
                opened = self._opened()
            except RetrievalError as error:
                version = self._generations.version() if error.code == "index_broken" else None
                if version is None:
                    raise
                info = self._generations.info(version.folder)
                shard = engine.load(version.folder / "shard", self.collection, None)
                try:
                    with self._faults():
                        yield info, shard
                finally:
                    shard.close()
                return
            with self._faults():
                yield opened.info, opened.shard

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            with engine_faults(self.collection):
                yield
        except ValueError as error:  # from_payload: a point without a text
            raise broken(self.collection, str(error)) from error

    def _opened(self) -> OpenGeneration:
        kept = self._kept
        try:
            if kept is None or not self._generations.is_current(kept.version):
                self._kept = kept = current_generation(self._generations)
        except BaseException:
            self._kept = kept = None  # it is broken now; a traceback that is kept must not keep it open
            raise
        if kept is None:
            raise no_collection(self.collection)
        return kept

    @_in_thread
    def search(
        self,
        encode: Callable[[IndexInfo], Sequence[Leg]],
        rank: Callable[[Matches], Ranked],
        *,
        limit: int,
        where: SearchFilter | None = None,
    ) -> Ranked:
        with _files(self.collection):
            opened = self._opened()
        legs = encode(opened.info)
        with _files(self.collection), self._faults():
            scores = engine.search(opened, self.collection, legs, limit, where)
            prose = opened.table.words(scores.ids)

        def read(rows: Sequence[int] | NDArray[integer[Any]]) -> list[Chunk]:
            return self._chunks(opened, scores.ids.take(rows))

        return rank(Matches(legs, scores.matrix, scores.rankings, prose, read))

    def _chunks(self, opened: OpenGeneration, rows: Sequence[int] | NDArray[integer[Any]]) -> list[Chunk]:
        """The chunks in these rows of the table, in their order."""
        with _files(self.collection), self._faults():
            points = opened.table.points(rows)
            records: list[Any] = opened.shard.retrieve(list(dict.fromkeys(points)), True, False)
            payloads = {r.id: r.payload for r in records}  # the engine makes a new object each time it is asked for one
            chunks = {point: from_payload(chunk_id(each), each) for point, each in payloads.items()}
        return [chunks[point] for point in points if point in chunks]

    @_in_thread
    def fetch(self, ids: Sequence[str]) -> list[Chunk]:
        wanted = point_ids(ids)
        if not wanted or not self._generations.exists():
            return []
        with self.reading() as opened:
            return self._chunks(opened, opened.table.find(wanted))

    @_in_thread
    def entries(self) -> list[IndexEntry]:
        if not self._generations.exists():
            return []
        found: list[IndexEntry] = []
        with self._points() as (_, shard):
            offset, more = None, True
            while more:
                records, offset = engine.page(shard, offset, payload=[CHUNK_ID, *ENTRY_KEYS], vectors=False)
                found += [to_entry(chunk_id(record.payload), record.payload) for record in records]
                more = offset is not None
        return sorted(found, key=lambda entry: entry.id)  # as on a server

    @_in_thread
    def drop(self) -> None:
        if not self._generations.root.is_dir():
            return
        with _files(self.collection), self._alone():
            self._generations.forget()
            self._kept = None

    def _replace(self, info: IndexInfo, add: Iterator[Point], remove: set[str], cancelled: threading.Event) -> None:
        with _files(self.collection):
            private_folder(self._generations.root)
            with self._alone():
                first = next(add, None)
                if first is None and not remove and self._unchanged(info):
                    return
                points = add if first is None else chain([first], add)
                self._build(info, points, remove, cancelled)

    def _unchanged(self, info: IndexInfo) -> bool:
        old = self.read_info()
        return old is not None and replace(old, chunks=info.chunks) == info and info.chunks in (0, old.chunks)

    def _build(self, info: IndexInfo, add: Iterator[Point], remove: set[str], cancelled: threading.Event) -> None:
        self._generations.sweep(keep=self._generations.current())
        check_room(self._generations.root, EMPTY_ROOM + info.chunks * (CHUNK_ROOM + 8 * info.dimension))
        fresh = self._generations.new()
        try:
            with engine.created(fresh / "shard", self.collection, info.dimension) as shard:
                added = self._add(shard, add, cancelled)
                kept = self._copy(shard, info, added, remove, cancelled)
                write_table(fresh, table_rows(engine.texts(shard)))
            self._generations.finish(fresh, replace(info, collection=self.collection, chunks=len(added) + kept))
            self._generations.switch(fresh)
            self._generations.sweep(keep=fresh)
            self._kept = None
        except BaseException:
            if self._generations.current() != fresh:
                shutil.rmtree(fresh, ignore_errors=True)
            raise

    def _add(self, shard: EdgeShard, points: Iterator[Point], cancelled: threading.Event) -> dict[str, int]:
        """The number of each chunk's point, by the chunk's id."""
        numbers: dict[str, int] = {}
        while batch := list(islice(points, BATCH)):
            _check_cancelled(cancelled)
            engine.insert(shard, batch, numbers)
        return numbers

    def _copy(
        self, shard: EdgeShard, info: IndexInfo, added: Collection[str], remove: set[str], cancelled: threading.Event
    ) -> int:
        """Copy the old generation's points with their vectors. Their numbers follow those of the added ones."""
        from qdrant_edge import Point as EdgePoint
        from qdrant_edge import UpdateOperation

        if not self._generations.exists():
            return 0
        copied, offset, more = 0, None, True
        with self._points() as (old, source):
            while more:
                _check_cancelled(cancelled)
                records, offset = engine.page(source, offset, payload=True, vectors=True)
                kept: list[Any] = [
                    (r.vector, payload | {CHUNK_ID: id})
                    for r in records
                    if (id := chunk_id(payload := r.payload or {})) not in added and id not in remove
                ]
                if kept and encoders(old) != encoders(info):
                    raise mismatch(old, *encoders(info))
                points = [EdgePoint(number, *each) for number, each in enumerate(kept, len(added) + copied)]
                with engine_faults(self.collection, writing=True):
                    shard.update(UpdateOperation.upsert_points(points))
                copied += len(kept)
                more = offset is not None
        return copied


def rename(folder: Path, collection: str, new: str) -> None:
    """Rename the collection in `folder / collection`. Raises as `rag.index.catalog.rename_collection`."""
    old_place, new_place = Generations(folder, collection), Generations(folder, new)
    if not old_place.exists():
        raise no_collection(collection)
    with _files(collection):
        private_folder(new_place.root)
        first, second = sorted((old_place, new_place), key=lambda place: place.collection)  # never one against another
        with _locked(first), _locked(second):
            if new_place.exists():
                raise name_taken(new)
            if not old_place.exists():
                raise no_collection(collection)
            old_place.rename(new_place)


def _locked(place: Generations) -> AbstractContextManager[None]:
    return NamedLock(place.root / LOCK).held("rename", seconds=WAIT)


def _check_cancelled(cancelled: threading.Event) -> None:
    if cancelled.is_set():
        raise RetrievalError("index_cancelled", "The ingestion was interrupted; the index is unchanged.")


@contextmanager
def _files(collection: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        message = f'The folder of the index "{collection}" cannot be used: {error.strerror or error}.'
        hint = "Free disk space." if is_full else "Make the folder in ASKBOOK_HOME readable and writable."
        raise RetrievalError("index_files", message, hint=hint) from error
