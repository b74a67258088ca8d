"""An embedder, a sparse encoder and an index for searches whose scores can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from langchain_core.embeddings import Embeddings

from rag.book import Matches, Point, SearchFilter, SparseVector, Vector
from rag.index.edge_client import EdgeClient
from rag.index.locks import WAIT, folder_lock
from rag.index.qdrant_index import QdrantIndex
from rag.ports import ChunkIndex, Ranked, Reranker
from rag.search.retriever import HybridRetriever
from tests.index_cases import INFO, terms

AXES = {"north": [1.0, 0.0, 0.0, 0.0], "east": [0.0, 1.0, 0.0, 0.0], "up": [0.0, 0.0, 1.0, 0.0]}


class ToyEmbedder:
    """Texts are embedded by the directions that they name."""

    model_id = INFO.embedding_model
    dimension = INFO.dimension
    max_tokens = 100
    batch_size = 32

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        named = [axis for name, axis in AXES.items() if name in text.lower()] or [[0.0, 0.0, 0.0, 1.0]]
        summed = [sum(values) for values in zip(*named, strict=True)]
        length = sum(value * value for value in summed) ** 0.5
        return [value / length for value in summed]

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class LangChainEmbedder(ToyEmbedder, Embeddings):
    """The same for LangChain."""


class ToySparse:
    """A term for each word that starts with a `#`: its number."""

    model_id = INFO.sparse_model

    def encode_document(self, text: str) -> SparseVector:
        return terms(*sorted({int(word[1:]) for word in text.split() if word.startswith("#")}))

    encode_query = encode_document


def edge_index(folder: Path, collection: str = "book", *, wait: float = WAIT) -> QdrantIndex:
    """The embedded index of a collection in a folder."""
    return QdrantIndex(EdgeClient(folder), collection, lock=partial(folder_lock, folder, seconds=wait))


class CountingIndex(QdrantIndex):
    """An embedded index that remembers what it was asked."""

    def __init__(self, folder: Path, collection: str) -> None:
        super().__init__(EdgeClient(folder), collection, lock=partial(folder_lock, folder, seconds=WAIT))
        self.asked: list[tuple[int, int, SearchFilter | None]] = []

    async def search(
        self,
        vectors: Sequence[Vector],
        rank: Callable[[Matches], Ranked],
        *,
        limit: int,
        where: SearchFilter | None = None,
    ) -> Ranked:
        self.asked.append((len(vectors), limit, where))
        return await super().search(vectors, rank, limit=limit, where=where)


async def fill(index: ChunkIndex, *points: Point) -> None:
    await index.replace(INFO, add=points, remove=[])


def toy_retriever(index: ChunkIndex, reranker: Reranker | None = None) -> HybridRetriever:
    """A retriever with these over the index."""
    return HybridRetriever(ToyEmbedder(), ToySparse(), index, reranker=reranker)
