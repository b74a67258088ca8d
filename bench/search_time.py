"""Time of a search in the embedded index, alone and in a conversation.

    python -m bench.search_time --home /tmp/askbook-bench [--chunks 2000 20000 100000]

The chunks are synthetic: words drawn by Zipf's law, random unit vectors. The embedding of the question is real. Prints
the 50th and 95th percentile in milliseconds of the whole search, of its time in the index, of its time in the embedding
model, and of the same requests made to the bare engine: the same legs and limit, with payloads, on an open shard. The
last column is the whole search without the embedding, divided by that.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from qdrant_edge import EdgeShard, Query, QueryBatchRequest, QueryRequest
from qdrant_edge import SparseVector as EdgeSparse

from rag.book import RECIPE, Chunk, Hit, IndexInfo, Point, SparseVector, Where
from rag.embedding.local import OnnxEmbeddings
from rag.embedding.vectors import Bm25Encoder
from rag.index.edge import EdgeIndex
from rag.index.payload import DENSE, SPARSE
from rag.search.retriever import Retriever
from rag.types import AnsweredQuestion

WORDS: Final = 20_000  # of the synthetic vocabulary
LENGTH: Final = 120  # words of a chunk
TIMES: Final = 60  # searches; the first five are not counted
QUESTION: Final = "How does a w17 keep its w230 when the w4 is restarted?"
TALK: Final = [
    AnsweredQuestion("What is a w17 and where does it come from?", " ".join(f"w{i % 400}" for i in range(90))),
    AnsweredQuestion("Which w230 does it have?", " ".join(f"w{i * 7 % 900}" for i in range(90))),
]


class Timed:
    """A wrapper for an index or an embedder that adds up the time spent in it."""

    def __init__(self, inner: Any, shard: EdgeShard | None = None) -> None:
        self.inner = inner
        self.shard = shard
        self.collection = getattr(inner, "collection", "")
        self.model_id = getattr(inner, "model_id", "")
        self.dimension = getattr(inner, "dimension", 0)
        self.seconds = 0.0
        self.bare = 0.0

    async def info(self) -> IndexInfo | None:
        info: IndexInfo | None = await self._awaited(self.inner.info())
        return info

    async def search(
        self,
        legs: Sequence[Sequence[float] | SparseVector],
        *,
        limit: int,
        where: Where | None = None,
        complete: bool = False,
    ) -> list[list[Hit]]:
        found: list[list[Hit]] = await self._awaited(
            self.inner.search(legs, limit=limit, where=where, complete=complete)
        )
        self.bare += bare_time(self.shard, legs, limit) if self.shard else 0.0
        return found

    async def _awaited(self, work: Any) -> Any:
        began = time.perf_counter()
        result = await work
        self.seconds += time.perf_counter() - began
        return result

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        began = time.perf_counter()
        vectors: list[list[float]] = self.inner.embed_queries(texts)
        self.seconds += time.perf_counter() - began
        return vectors


def bare_time(shard: EdgeShard, legs: Sequence[Sequence[float] | SparseVector], limit: int) -> float:
    """Seconds of a search's requests in the engine alone."""
    batch = [
        QueryRequest(limit=limit, with_payload=True, query=nearest(leg))
        for leg in legs
        if not isinstance(leg, SparseVector) or leg.indices
    ]
    began = time.perf_counter()
    shard.query_batch(QueryBatchRequest(batch))
    return time.perf_counter() - began


def nearest(leg: Sequence[float] | SparseVector) -> Any:
    if isinstance(leg, SparseVector):
        return Query.Nearest(EdgeSparse(list(leg.indices), list(leg.values)), using=SPARSE)
    return Query.Nearest(list(leg), using=DENSE)


def points(count: int, dimension: int, sparse: Bm25Encoder) -> Iterator[Point]:
    drawn = np.random.default_rng(0)
    for number in range(count):
        vector = drawn.standard_normal(dimension).astype(np.float32)
        text = " ".join(f"w{word}" for word in np.minimum(drawn.zipf(1.3, LENGTH), WORDS))
        chunk = Chunk(
            id=f"00000000-0000-4000-8000-{number:012x}",
            text=text,
            title=f"Page {number // 10}",
            heading="",
            breadcrumb=f"Page {number // 10}",
            url=f"page-{number // 10}.md",
            anchor="",
            source="bench",
            source_file_path=f"page-{number // 10}.md",
            chunk_index=number % 10,
            sha256="",
        )
        yield Point(chunk, (vector / np.linalg.norm(vector)).tolist(), sparse.encode_document(text))


async def measure(
    index: EdgeIndex, shard: EdgeShard, embedder: OnnxEmbeddings, sparse: Bm25Encoder, past: list[AnsweredQuestion]
) -> None:
    rows = []
    for _ in range(TIMES):
        engine, model = Timed(index, shard), Timed(embedder)
        retriever = Retriever(model, sparse, engine)  # type: ignore[arg-type]  # only what a search needs
        began = time.perf_counter()
        await retriever.retrieve(QUESTION, k=5, threshold=0.0, history=past)
        whole = time.perf_counter() - began - engine.bare
        rows.append((whole, engine.seconds, model.seconds, engine.bare, whole - model.seconds))
    low, high = np.percentile(np.array(rows[5:]) * 1000, [50, 95], axis=0)
    name = "in a conversation" if past else "alone"
    cells = "  ".join(f"{a:7.1f} / {b:6.1f}" for a, b in zip(low[:4], high[:4], strict=True))
    print(f"  {name:18s} {cells}   {low[4] / low[3]:5.1f}")


async def run(home: Path, sizes: Sequence[int]) -> None:
    embedder, sparse = OnnxEmbeddings(), Bm25Encoder()
    print("milliseconds, p50 / p95     whole             index             embedding         bare engine      ratio")
    for size in sizes:
        index = EdgeIndex(home / "index", f"made-up-{size}")
        info = await index.info()
        if info is None or info.chunks != size:
            info = IndexInfo(
                index.collection, embedder.model_id, embedder.dimension, sparse.model_id, size, recipe=RECIPE
            )
            await index.replace(info, add=points(size, embedder.dimension, sparse), remove=[])
        print(f"{size:,} chunks")
        folder = home / "index" / index.collection
        shard = EdgeShard.load(str(folder / (folder / "current").read_text() / "shard"))
        for past in ([], TALK):
            await measure(index, shard, embedder, sparse, past)
        shard.close()
        await index.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--chunks", type=int, nargs="+", default=[2_000, 20_000, 100_000])
    options = parser.parse_args()
    asyncio.run(run(options.home, options.chunks))


if __name__ == "__main__":
    main()
