"""An embedder, a sparse encoder and an index for searches whose scores can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.embeddings import Embeddings

from rag.book import IndexInfo, Leg, Matches, Point, SearchFilter, SparseVector
from rag.index.edge import EdgeIndex
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


class CountingIndex(EdgeIndex):
    """An index that remembers what it was asked."""

    asked: list[tuple[int, int, SearchFilter | None]]

    async def search(
        self,
        encode: Callable[[IndexInfo], Sequence[Leg]],
        rank: Callable[[Matches], Ranked],
        *,
        limit: int,
        where: SearchFilter | None = None,
    ) -> Ranked:
        def counted(info: IndexInfo) -> Sequence[Leg]:
            legs = encode(info)
            self.asked = [*getattr(self, "asked", []), (len(legs), limit, where)]
            return legs

        return await super().search(counted, rank, limit=limit, where=where)


async def fill(index: ChunkIndex, *points: Point) -> None:
    await index.replace(INFO, add=points, remove=[])


def toy_retriever(index: ChunkIndex, reranker: Reranker | None = None) -> HybridRetriever:
    """A retriever with these over the index."""
    return HybridRetriever(ToyEmbedder(), ToySparse(), index, reranker=reranker)
