"""An index in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace

from rag.book import Chunk, IndexEntry, IndexInfo, Matches, Point, SearchFilter, Vector
from rag.ports import Ranked


class FakeIndex:
    """A `rag.ports.ChunkIndex` that holds chunks and cannot search."""

    def __init__(self, collection: str = "book", info: IndexInfo | None = None) -> None:
        self.collection = collection
        self.points: dict[str, Point] = {}
        self.replaced = 0
        self._info = info

    async def info(self) -> IndexInfo | None:
        return self._info

    async def search(
        self,
        vectors: Sequence[Vector],
        rank: Callable[[Matches], Ranked],
        *,
        limit: int,
        where: SearchFilter | None = None,
    ) -> Ranked:
        raise NotImplementedError

    async def fetch(self, ids: Sequence[str]) -> list[Chunk]:
        return [self.points[i].chunk for i in ids if i in self.points]

    async def entries(self) -> list[IndexEntry]:
        chunks = [point.chunk for point in self.points.values()]
        return [
            IndexEntry(c.id, c.source, c.source_file_path, c.document_sha256, c.sha256, c.chunk_index, c.page_chunks)
            for c in chunks
        ]

    def writing(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def replace(self, info: IndexInfo, *, add: Iterable[Point], remove: Collection[str]) -> None:
        added = {point.chunk.id: point for point in add}
        self.replaced += 1
        for chunk_id in remove:
            del self.points[chunk_id]
        self.points |= added
        self._info = replace(info, chunks=len(self.points))

    async def drop(self) -> None:
        self.points.clear()
        self._info = None

    async def aclose(self) -> None:
        return None

    @property
    def chunks(self) -> list[Chunk]:
        return [point.chunk for point in self.points.values()]
