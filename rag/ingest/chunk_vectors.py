"""The vectors of new chunks: which are missing, how they are computed, and the points that they make."""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rag.book import Chunk, Point
from rag.ingest.text_batches import TextBatches, embed_batches
from rag.ports import Embedder, SparseEncoder, VectorCache
from rag.system.process import give_back_memory

BATCH: Final = 256  # passages whose vectors are in memory at the same time
FREED: Final = 16  # batches after whose writing unused memory is given back


class ChunkVectors:
    """Vectors of the chunks of one ingestion, kept in a cache.

    After `look_up`, `missing` has the places of the chunks whose texts are still to be embedded, of equal texts the
    first one's, and `tokens` is the sum of their tokens.
    """

    def __init__(self, embedder: Embedder, sparse: SparseEncoder, cache: VectorCache) -> None:
        self._embedder = embedder
        self._sparse = sparse
        self._cache = cache
        self.missing: list[int] = []
        self.tokens = 0

    def look_up(self, chunks: Sequence[Chunk]) -> None:
        """Find the chunks whose texts have no vector in the cache. Blocks."""
        self.tokens = 0
        self.missing = []
        seen: set[bytes] = set()
        for begin in range(0, len(chunks), BATCH):
            texts = {begin + i: one.embedded_text for i, one in enumerate(chunks[begin : begin + BATCH])}
            known = self._cache.get(self._embedder.model_id, list(dict.fromkeys(texts.values()))).keys()
            for place, text in texts.items():
                key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
                if text not in known and key not in seen:
                    self.missing.append(place)
                    seen.add(key)
                    self.tokens += self._embedder.count_tokens(text)

    async def compute(
        self, chunks: Sequence[Chunk], progress: Callable[[int, int], None], waiting: Callable[[int], None]
    ) -> None:
        """Embed the texts that are missing. `progress` is told (done, total), and `waiting` the seconds of a wait.

        A model in this process is unloaded afterwards: writing the index needs the memory.
        """
        batches = TextBatches(
            lambda number: chunks[self.missing[number]].embedded_text,
            [len(chunks[place].text) for place in self.missing],
            self._embedder.batch_size,
        )
        await embed_batches(batches, self._embedder, self._cache, progress, waiting)
        if self.missing and (unload := getattr(self._embedder, "unload", None)):
            await asyncio.to_thread(unload)

    def points(self, chunks: Sequence[Chunk]) -> Iterator[Point]:
        """The chunks with their vectors, read in batches. What the cache could not keep is embedded once more."""
        model, embedder = self._embedder.model_id, self._embedder
        for begin in range(0, len(chunks), BATCH):
            batch = chunks[begin : begin + BATCH]
            texts = list(dict.fromkeys(one.embedded_text for one in batch))
            vectors = dict(self._cache.get(model, texts))
            lost = [text for text in texts if text not in vectors]
            for place in range(0, len(lost), embedder.batch_size):
                some = lost[place : place + embedder.batch_size]
                vectors |= zip(some, embedder.embed_documents(some), strict=True)
            for one in batch:
                yield Point(one, vectors[one.embedded_text], self._sparse.encode_document(one.worded_text))

    def consumed(self, chunks: deque[Chunk]) -> Iterator[Point]:
        """The points of the chunks, which are taken away meanwhile."""
        batches = 0
        while chunks:
            yield from self.points([chunks.popleft() for _ in range(min(BATCH, len(chunks)))])
            batches += 1
            if batches % FREED == 0:
                give_back_memory()
