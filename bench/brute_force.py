"""Hybrid search over a whole book in memory, as a reference for measurements without an index."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from pathlib import Path

import numpy as np

from rag.book import Chunk
from rag.embedding.local import Bm25Encoder, OnnxEmbeddings
from rag.ingest import chunking, loaders
from rag.types import Passage

RRF = 60  # constant of reciprocal rank fusion, from Cormack, Clarke and Büttcher 2009
LEG_HITS = 50  # hits of each leg that are fused


class BruteForce:
    """A book's chunks with their dense vectors, which `cache` keeps between runs, and their BM25 vectors."""

    def __init__(self, source: Path, embedder: OnnxEmbeddings, cache: Path) -> None:
        documents = loaders.load_source(source).documents
        self.chunks: list[Chunk] = [c for d in documents for c in chunking.chunk(d, count_tokens=embedder.count_tokens)]
        self.embedder = embedder
        texts = [c.embedded_text for c in self.chunks]
        stored = cache / f"{hashlib.sha256(chr(0).join(texts).encode()).hexdigest()[:16]}.npy"
        if not stored.is_file():
            cache.mkdir(parents=True, exist_ok=True)
            np.save(stored, np.array(embedder.embed_documents(texts), dtype=np.float32))
        self.vectors = np.load(stored)
        self.encoder = Bm25Encoder()
        vectors = [self.encoder.encode_document(c.worded_text) for c in self.chunks]
        self.bags = [dict(zip(v.indices, v.values, strict=True)) for v in vectors]
        frequency = Counter(word for bag in self.bags for word in bag)
        self.idf = {w: math.log(1 + (len(self.bags) - n + 0.5) / (n + 0.5)) for w, n in frequency.items()}

    def search(self, question: str, limit: int = 5) -> tuple[list[Passage], float]:
        """The `limit` best chunks by reciprocal rank fusion, numbered from 1, and the best cosine of all chunks."""
        cosines = self.vectors @ np.array(self.embedder.embed_query(question), dtype=np.float32)
        words = [w for w in self.encoder.encode_query(question).indices if w in self.idf]
        sparse = np.array([sum(self.idf[w] * bag[w] for w in words if w in bag) for bag in self.bags])
        fused: dict[int, float] = {}
        for scores in (cosines, sparse):
            for rank, index in enumerate(np.argsort(-scores)[:LEG_HITS].tolist()):
                if scores[index] > 0:
                    fused[index] = fused.get(index, 0.0) + 1 / (RRF + rank + 1)
        best = sorted(fused, key=lambda i: -fused[i])[:limit]
        found = [self.chunks[i].passage(n, min(1.0, max(0.0, float(cosines[i])))) for n, i in enumerate(best, 1)]
        return found, float(cosines.max())
