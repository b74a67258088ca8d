"""The ports of ingestion without their engines: everything in memory, everything counted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from rag.book import Chunk, Hit, IndexEntry, IndexInfo, Point, SparseVector, Where


def count_words(text: str) -> int:
    """Words and marks: close to a tokenizer, and easy to reason about in a test."""
    return len(re.findall(r"\w{1,8}|[^\w\s]", text))


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
        self, legs: Sequence[Sequence[float] | SparseVector], *, limit: int, where: Where | None = None
    ) -> list[list[Hit]]:
        return [[] for _ in legs]

    async def fetch(self, ids: Sequence[str]) -> list[Chunk]:
        return [self.points[i].chunk for i in ids if i in self.points]

    async def entries(self) -> list[IndexEntry]:
        chunks = [point.chunk for point in self.points.values()]
        return [IndexEntry(c.id, c.source, c.source_file_path, c.document_sha256, c.sha256) for c in chunks]

    async def replace(self, info: IndexInfo, *, add: Iterable[Point], remove: Collection[str]) -> None:
        self.replaced += 1
        self._info = info
        for chunk_id in remove:
            del self.points[chunk_id]
        self.points.update((point.chunk.id, point) for point in add)

    async def drop(self) -> None:
        self.points.clear()
        self._info = None

    async def aclose(self) -> None:
        return None

    @property
    def chunks(self) -> list[Chunk]:
        return [point.chunk for point in self.points.values()]


class FakeEmbedder:
    """A `rag.ports.Embedder` that remembers what it embedded."""

    model_id = "fake-embedder"
    dimension = 2
    max_tokens = 254
    batch_size = 32

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def count_tokens(self, text: str) -> int:
        return count_words(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += texts
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]


class FakeSparse:
    """A `rag.ports.SparseEncoder` that counts characters."""

    model_id = "fake-sparse"

    def encode_document(self, text: str) -> SparseVector:
        return SparseVector([0], [float(len(text))])

    def encode_query(self, text: str) -> SparseVector:
        return SparseVector([0], [1.0])


class FakeVectors:
    """A `rag.ports.VectorCache` in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], list[float]] = {}

    def get(self, model_id: str, texts: Sequence[str]) -> dict[str, list[float]]:
        return {text: self.kept[model_id, text] for text in texts if (model_id, text) in self.kept}

    def put(self, model_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        self.kept.update(((model_id, text), list(vector)) for text, vector in vectors.items())
