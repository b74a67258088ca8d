"""Time of a search in the embedded index, alone and in a conversation, beside that of the bare engine.

    python -m bench.search_time --home /tmp/askbook-bench [--chunks 2000 20000 100000]

The chunks are synthetic: words drawn by Zipf's law, random unit vectors. The embedding of the question is real, and is
measured apart. Prints the 50th and 95th percentile in milliseconds of the embedding, of the rest of the search, and of
the bare engine, twice; then the rest of the search divided by both. Each is printed by the clock and as time of the
processor, whose ratios hold on a busy machine too.

The bare engine is one batch made directly on an open shard of qdrant-edge: the same vectors, dense and sparse, with the
same limit, and the payloads of the hits. Once the payloads are only requested, and stay in the engine's own memory; the
other time they are read, as any program must that shows a hit. The three are measured in turn, in all orders, each
after an embedding.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from qdrant_edge import EdgeShard, Query, QueryBatchRequest, QueryRequest
from qdrant_edge import SparseVector as EdgeSparse

from bench.table import Row
from rag.book import RECIPE, Chunk, IndexInfo, Point, SparseVector, Vector
from rag.embedding.local import Bm25Encoder, OnnxEmbeddings
from rag.index.catalog import build_index
from rag.index.payload import DENSE, SPARSE
from rag.ports import ChunkIndex
from rag.search.ranking import contexts
from rag.search.retriever import DEPTH, HybridRetriever
from rag.types import AnsweredQuestion

WORDS: Final = 20_000  # of the synthetic vocabulary
LENGTH: Final = 120  # words of a chunk
TIMES: Final = 60  # searches; the first five are not counted
QUESTION: Final = "How does a w17 keep its w230 when the w4 is restarted?"
TALK: Final = [
    AnsweredQuestion("What is a w17 and where does it come from?", " ".join(f"w{i % 400}" for i in range(90))),
    AnsweredQuestion("Which w230 does it have?", " ".join(f"w{i * 7 % 900}" for i in range(90))),
]


def now() -> NDArray[np.float64]:
    """Seconds by the clock, and of the processor in all threads."""
    return np.array([time.perf_counter(), time.process_time()])


class TimedEmbedder:
    """An embedder that adds up the seconds that it takes, by both clocks."""

    def __init__(self, inner: OnnxEmbeddings) -> None:
        self.inner = inner
        self.model_id = inner.model_id
        self.dimension = inner.dimension
        self.spent = np.zeros(2)

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        began = now()
        vectors = self.inner.embed_queries(texts)
        self.spent += now() - began
        return vectors


def bare_time(shard: EdgeShard, vectors: Sequence[Vector], *, read: bool) -> NDArray[np.float64]:
    """Seconds of a search's requests in the engine alone, with the payloads turned into Python objects or not."""
    batch = [QueryRequest(limit=DEPTH, with_payload=True, query=nearest(vector)) for vector in vectors]
    began = now()
    answers = shard.query_batch(QueryBatchRequest(batch))
    if read:
        [point.payload for points in answers for point in points]
    return now() - began


def nearest(vector: Vector) -> Any:
    if isinstance(vector, SparseVector):
        return Query.Nearest(EdgeSparse(list(vector.indices), list(vector.values)), using=SPARSE)
    return Query.Nearest(list(vector), using=DENSE)


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
            sha256=hashlib.sha256(text.encode()).hexdigest(),
        )
        yield Point(chunk, (vector / np.linalg.norm(vector)).tolist(), sparse.encode_document(text))


async def measure(
    index: ChunkIndex, shard: EdgeShard, embedder: OnnxEmbeddings, sparse: Bm25Encoder, past: list[AnsweredQuestion]
) -> NDArray[np.float64]:
    """Milliseconds of each search by both clocks: embedding, the rest, the engine with payloads requested, and read."""
    texts = [QUESTION, *contexts(QUESTION, past)]
    raw, *others = embedder.embed_queries(texts)
    vectors: list[Vector] = [raw, sparse.encode_query(QUESTION), *others]
    rows = np.zeros((TIMES, 2, 4))
    for number in range(TIMES):
        timed = TimedEmbedder(embedder)
        retriever = HybridRetriever(timed, sparse, index)  # type: ignore[arg-type]  # only what a search needs
        for turn in range(number, number + 3):
            if turn % 3 == 0:
                began = now()
                await retriever.retrieve(QUESTION, k=5, threshold=0.0, history=past)
                rows[number, :, 0], rows[number, :, 1] = timed.spent, now() - began - timed.spent
            else:
                embedder.embed_queries(texts)  # the model takes the processor's caches, as it does before a search
                rows[number, :, 1 + turn % 3] = bare_time(shard, vectors, read=turn % 3 == 2)
    return rows[5:] * 1000


async def measured(home: Path, sizes: Sequence[int]) -> list[tuple[int, str, NDArray[np.float64]]]:
    """The size of the book, "alone" or "in a conversation", and the times of `measure`."""
    embedder, sparse = OnnxEmbeddings(), Bm25Encoder()
    found = []
    for size in sizes:
        index = build_index(home=home, collection=f"made-up-{size}")
        info = await index.info()
        if info is None or info.chunks != size:
            info = IndexInfo(
                index.collection, embedder.model_id, embedder.dimension, sparse.model_id, size, recipe=RECIPE
            )
            await index.replace(info, add=points(size, embedder.dimension, sparse), remove=[])
        folder = home / "index" / index.collection
        shard = EdgeShard.load(str(folder / (folder / "current").read_text() / "shard"))
        for kind, past in (("alone", []), ("in a conversation", TALK)):
            found.append((size, kind, await measure(index, shard, embedder, sparse, past)))
        shard.close()
        await index.aclose()
    return found


def rows(home: Path, sizes: Sequence[int]) -> Iterator[Row]:
    """The processor's time of a search without the embedding of its question, as a ratio to the bare engine's."""
    for size, kind, times in asyncio.run(measured(home, sizes)):
        engine = float(np.median(times[:, 1, 2]))
        yield Row(f"search of {size:,} passages, {kind}, processor", "ms", times[:, 1, 1].tolist()).against(engine)


def show(found: Sequence[tuple[int, str, NDArray[np.float64]]]) -> None:
    print(
        "milliseconds, p50 / p95               embedding          the rest   payloads requested          and read",
        end="",
    )
    print("   ratios")
    for size, kind, times in found:
        for clock, name in enumerate(("elapsed", "processor")):
            low, high = np.percentile(times[:, clock], [50, 95], axis=0)
            cells = "  ".join(f"{a:7.2f} / {b:7.2f}" for a, b in zip(low, high, strict=True))
            print(f"{size:>8,} {kind:18s}{name:10s}{cells}   {low[1] / low[2]:5.2f}  {low[1] / low[3]:5.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--chunks", type=int, nargs="+", default=[2_000, 20_000, 100_000])
    options = parser.parse_args()
    show(asyncio.run(measured(options.home, options.chunks)))


if __name__ == "__main__":
    main()
