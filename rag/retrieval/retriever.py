"""From a question to numbered passages: search twice, fuse, gate by cosine, keep the best."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rag.book import Chunk, Hit, SparseVector, Where
from rag.conversation import Exchange
from rag.errors import AskbookError, RetrievalError
from rag.ports import ChunkIndex, Embedder, Reranker, SparseEncoder
from rag.retrieval.followup import queries
from rag.retrieval.fusion import ranks, reciprocal_rank_fusion
from rag.retrieval.index import checked
from rag.retrieval.rerank import reranked
from rag.types import Passage, Retrieval

PREFETCH: Final = 40  # hits of each leg that are fused: beyond them recall hardly grows and the gate drops them anyway
CONTEXT_WEIGHT: Final = 0.75  # of the legs of a follow-up's second query; the raw question's have 1

Outcome = Literal["kept", "below_threshold", "duplicate", "beyond_k"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One chunk that a leg found, and what became of it.

    `cosine` is the score that the gate saw; `ranks` are its places in the legs, counted from 1, None where absent.
    """

    chunk_id: str
    title: str
    heading: str
    cosine: float
    ranks: tuple[int | None, ...]
    fused: float
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Trace:
    """How a search went: its queries, its legs ("dense" and "sparse" for each query), its candidates, best first."""

    queries: tuple[str, ...]
    legs: tuple[str, ...]
    threshold: float
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The passages of a question, the record of the search, and how it came about."""

    passages: list[Passage]
    retrieval: Retrieval
    trace: Trace


class Retriever:
    """Hybrid search on one collection: a dense and a sparse ranking, fused by reciprocal rank.

    A passage's score is the cosine of its stored dense vector and the question's, clipped to 0..1; the threshold is
    compared with it, and fusion only orders. A follow-up is also searched in its context, and its score is the larger
    of the two cosines. A reranker, if there is one, orders what passed the threshold in place of fusion.
    """

    def __init__(
        self,
        embedder: Embedder,
        sparse: SparseEncoder,
        index: ChunkIndex,
        tool_name: str = "search_book",
        reranker: Reranker | None = None,
    ) -> None:
        self._embedder = embedder
        self._sparse = sparse
        self._index = index
        self._tool_name = tool_name
        self._reranker = reranker

    async def retrieve(
        self,
        question: str,
        *,
        k: int,
        threshold: float,
        where: Where | None = None,
        history: Sequence[Exchange] = (),
    ) -> Found:
        """At most `k` passages whose score reaches `threshold`, numbered from 1, best first; none is not an error.

        `history`: see `rag.retrieval.followup.queries`. Raises `RetrievalError` where there is no collection
        ("no_index"), it was made by other models ("embedding_mismatch"), or it cannot be searched.
        """
        started = time.perf_counter()
        asked = queries(question, history)
        await checked(self._index, self._embedder, self._sparse)  # before anything is embedded, which may be billed
        vectors = await asyncio.to_thread(self._embed, asked)
        legs: list[Sequence[float] | SparseVector] = []
        for text, vector in zip(asked, vectors, strict=True):
            legs += [vector, self._sparse.encode_query(text)]
        rankings = await self._index.search(legs, limit=max(PREFETCH, k), where=where)
        chunks, candidates = _candidates(rankings, vectors, k=k, threshold=threshold)
        candidates = await reranked(self._reranker, asked[-1], candidates, chunks, k=k)
        kept = [candidate for candidate in candidates if candidate.outcome == "kept"]
        passages = [Passage.of(chunks[c.chunk_id], number, c.cosine) for number, c in enumerate(kept, start=1)]
        retrieval = Retrieval(
            tool_name=self._tool_name,
            query=question,
            filter_applied=(where.url_prefix or None) if where else None,
            results_count=len(passages),
            total_chunks_found=len(candidates),
            avg_similarity=round(sum(p.score for p in passages) / len(passages), 6) if passages else 0.0,
            retrieval_time_ms=round((time.perf_counter() - started) * 1000, 3),
        )
        trace = Trace(tuple(asked), ("dense", "sparse") * len(asked), threshold, tuple(candidates))
        return Found(passages, retrieval, trace)

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            return [self._embedder.embed_query(text) for text in texts]
        except AskbookError:
            raise
        except Exception as error:  # whatever the model's library raises: the search has failed before it began
            raise RetrievalError(
                "embedding_failed", f"The question could not be embedded ({type(error).__name__})."
            ) from error


def _candidates(
    rankings: Sequence[Sequence[Hit]], vectors: Sequence[Sequence[float]], *, k: int, threshold: float
) -> tuple[dict[str, Chunk], list[Candidate]]:
    """Every chunk found, and its candidate, in fused order. Legs come in pairs, a pair for each query."""
    hits = {hit.chunk.id: hit for ranking in rankings for hit in ranking}
    names = [[hit.chunk.id for hit in ranking] for ranking in rankings]
    places = [ranks(ranking) for ranking in names]
    weights = [1.0 if leg < 2 else CONTEXT_WEIGHT for leg in range(len(rankings))]
    cosines = _cosines(list(hits.values()), vectors)
    texts: set[str] = set()
    kept = 0
    candidates = []
    for name, fused in reciprocal_rank_fusion(names, weights=weights):
        chunk = hits[name].chunk
        outcome: Outcome = "kept"
        if cosines[name] < threshold:
            outcome = "below_threshold"
        elif chunk.text in texts:
            outcome = "duplicate"
        elif kept == k:
            outcome = "beyond_k"
        if outcome == "kept":
            kept += 1
            texts.add(chunk.text)
        where = tuple(place.get(name) for place in places)
        candidates.append(Candidate(name, chunk.title, chunk.heading, cosines[name], where, fused, outcome))
    return {name: hit.chunk for name, hit in hits.items()}, candidates


def _cosines(hits: Sequence[Hit], vectors: Sequence[Sequence[float]]) -> dict[str, float]:
    """The largest cosine of each hit's stored vector and a query's, clipped to 0..1, to six places."""
    import numpy as np

    if not hits:
        return {}
    stored = np.asarray([hit.dense for hit in hits], dtype=np.float64)
    asked = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(stored, axis=1)[:, None] * np.linalg.norm(asked, axis=1)[None, :]
    products = stored @ asked.T
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    best = np.clip(cosines.max(axis=1), 0.0, 1.0)
    return {hit.chunk.id: round(float(cosine), 6) for hit, cosine in zip(hits, best, strict=True)}
