"""From a question to numbered passages: hybrid search, fusion, threshold, reranking."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from rag.book import Chunk, SparseVector, Where
from rag.errors import AskbookError, RetrievalError, UsageError
from rag.index.catalog import require_matching_models
from rag.ports import ChunkIndex, Embedder, Reranker, SparseEncoder
from rag.search.followups import contexts
from rag.search.overview import overview
from rag.search.ranking import Fingerprint, Query, joined, ordered, weighed
from rag.search.rerank import reranked
from rag.text.english.requests import about_book
from rag.text.spelling import vocabulary
from rag.types import AnsweredQuestion, Candidate, Found, Kind, Outcome, Passage, Retrieval, Trace

FIELDS: Final = ("title", "heading", "file", "chapter")
LONGEST_FILTER: Final = 2_000  # most characters of a filter
VOCABULARY_CHUNKS: Final = 20_000  # about a second
DEPTH: Final = 100  # hits fetched per leg; anything ranked lower cannot win
_FIELD: Final = re.compile(r"(?P<name>[A-Za-z_][A-Za-z_0-9]*):(?!//)\s*(?P<value>.*)", re.DOTALL)


def parse_filter(text: str | None) -> Where | None:
    """A filter on a field (`title:ROS`) or, without a field, on the beginning of the address; None for an empty text.

    Raises `UsageError` for a field that is not in `FIELDS`, for a field without a value, and for a text that is too
    long or not Unicode.
    """
    written = (text or "").strip()
    if len(written) > LONGEST_FILTER or any("\ud800" <= c <= "\udfff" for c in written):
        raise UsageError("The filter must be text of at most 2,000 characters.", code="filter")
    if not written:
        return None
    named = _FIELD.fullmatch(written)
    if named is None:
        return Where(url_prefix=written)
    name, value = named["name"].lower(), named["value"].strip()
    if name not in FIELDS or not value:
        what = f'The filter on "{name}" is empty' if name in FIELDS else f'"{name}" is not a field that can be filtered'
        hint = f"Give the beginning of an address, or of a field ({', '.join(FIELDS)}), such as title:ROS."
        raise UsageError(f"{what}.", code="filter", hint=hint)
    return Where(**{name: value})


class Retriever:
    """Hybrid search on one collection: a weighted sum of cosines and BM25 scores, plus a bonus for prose.

    A leg is one ranking of the index: by cosine for the question and for each other query, by BM25 for the question.
    A passage's score is the cosine of its stored dense vector and the question's vector, clipped to 0..1. The threshold
    applies to this score; fusion only ranks. A question inside a conversation is also searched with its contexts (see
    `rag.search.followups`); its vector is then the weighted sum of all queries' vectors. A reranker, if there is one,
    ranks the passages that reach the threshold in place of fusion.
    """

    def __init__(
        self,
        embedder: Embedder,
        sparse: SparseEncoder,
        index: ChunkIndex,
        tool_name: str = "search_book",
        reranker: Reranker | None = None,
        profile: str = "",
    ) -> None:
        self._embedder = embedder
        self._sparse = sparse
        self._index = index
        self._tool_name = tool_name
        self._reranker = reranker
        self._words: tuple[int, Collection[str]] | None = None  # the number of chunks, and their words
        self._profile = profile  # the one that the collection belongs to, for the hints of errors

    async def retrieve(
        self,
        question: str,
        *,
        k: int,
        threshold: float,
        where: Where | None = None,
        history: Sequence[AnsweredQuestion] = (),
        rewrite: str = "",
        neighbours: int = 0,
    ) -> Found:
        """At most `k` passages whose score reaches `threshold`, best first, numbered from 1; there may be none.

        At most `neighbours` passages that stand beside them follow (see `rag.search.ranking`). `history` and `rewrite`
        give more queries (see `rag.search.followups`). Raises `RetrievalError` if there is no collection ("no_index"),
        if other models encoded it ("embedding_mismatch"), or if the search fails.
        """
        started = time.perf_counter()
        await require_matching_models(
            self._index, self._embedder, self._sparse, self._profile
        )  # before embedding, which may be billed
        if about_book(question) and where is None and (chunks_of_book := await overview(self._index)):
            return self._whole_book(question, chunks_of_book, started)
        texts = _texts(question, history, rewrite)
        vectors = await asyncio.to_thread(self._embed, [text for _, text in texts])
        queries, found = await self._search(texts, vectors, max(DEPTH, k), where)
        chunks = {chunk.id: chunk for chunk, _ in found}
        candidates = gated(found, k=k, threshold=threshold)
        if self._reranker is not None:
            candidates = await reranked(self._reranker, _rerank_query(queries), candidates, chunks, k=k)
        candidates = joined(candidates, chunks, neighbours)
        kept = [c for outcome in ("kept", "neighbour") for c in candidates if c.outcome == outcome]
        passages = [Passage.of(chunks[c.chunk_id], number, c.cosine) for number, c in enumerate(kept, start=1)]
        retrieval = Retrieval(
            tool_name=self._tool_name,
            query=question,
            filter_applied=str(where) if where else None,
            results_count=len(passages),
            total_chunks_found=len(candidates),
            avg_similarity=round(sum(p.score for p in passages) / len(passages), 6) if passages else 0.0,
            retrieval_time_ms=round((time.perf_counter() - started) * 1000, 3),
        )
        return Found(passages, retrieval, _trace(queries, threshold, candidates))

    async def words(self) -> Collection[str]:
        """The words of the book in lower case, read at the first call and again when the book has grown or shrunk.

        Of a very large book they are the words of `VOCABULARY_CHUNKS` chunks from all over it.
        """
        entries = await self._index.entries()
        if self._words is None or self._words[0] != len(entries):
            ids = sorted(entry.id for entry in entries)[:VOCABULARY_CHUNKS]
            chunks = await self._index.fetch(ids)
            texts = (f"{chunk.breadcrumb} {chunk.text}" for chunk in chunks)
            self._words = (len(entries), await asyncio.to_thread(vocabulary, texts))
        return self._words[1]

    def _whole_book(self, question: str, chunks: Sequence[Chunk], started: float) -> Found:
        """The passages for a question about the book as a whole, which no search could find. Their score is 1."""
        retrieval = Retrieval(
            tool_name=self._tool_name,
            query=question,
            filter_applied=None,
            results_count=len(chunks),
            total_chunks_found=len(chunks),
            avg_similarity=1.0,
            retrieval_time_ms=round((time.perf_counter() - started) * 1000, 3),
        )
        passages = [Passage.of(chunk, number, 1.0) for number, chunk in enumerate(chunks, start=1)]
        return Found(passages, retrieval, _trace([Query("question", question, ())], 0.0, []))

    async def _search(
        self, texts: Sequence[tuple[Kind, str]], vectors: Sequence[Sequence[float]], limit: int, where: Where | None
    ) -> tuple[list[Query], list[tuple[Chunk, Candidate]]]:
        """The queries with their weights, and everything found, ranked by fused score. One request to the index."""
        raw, *others = vectors
        legs: list[Sequence[float] | SparseVector] = [raw, self._sparse.encode_query(texts[0][1]), *others]
        dense, sparse, *more = await self._index.search(legs, limit=limit, where=where, complete=True)
        queries = weighed(texts, vectors, [dense, *more])
        bm25 = {hit.chunk.id: hit.score for hit in sparse}
        searched = [dense, sparse, *(hits for query, hits in zip(queries[1:], more, strict=True) if query.weight)]
        return queries, ordered(queries, searched, bm25)

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            return self._embedder.embed_queries(texts)
        except AskbookError:
            raise
        except Exception as error:  # the model's library may raise anything
            raise RetrievalError(
                "embedding_failed", f"The question could not be embedded ({type(error).__name__})."
            ) from error


def _texts(question: str, history: Sequence[AnsweredQuestion], rewrite: str) -> list[tuple[Kind, str]]:
    """The texts to search for, the raw question first. A rewrite that repeats the question is left out."""
    texts: list[tuple[Kind, str]] = [("question", question)]
    texts += [("context", text) for text in contexts(question, history)]
    new = rewrite.strip() and rewrite.split() != question.split()
    return [*texts, ("rewrite", rewrite)] if new else texts


def _rerank_query(queries: Sequence[Query]) -> str:
    """The query for the reranker: the raw question with the query of the largest weight beside it."""
    question, *others = queries
    most = max(others, key=lambda query: query.weight, default=question)
    if not most.weight:
        return question.text
    return f"{question.text} {most.text}" if most.kind == "rewrite" else most.text


def gated(found: Iterable[tuple[Chunk, Candidate]], *, k: int, threshold: float) -> list[Candidate]:
    """The candidates in the same order with outcomes: the first `k` that reach the threshold and are no duplicates."""
    prints: list[Fingerprint] = []
    candidates: list[Candidate] = []
    for chunk, candidate in found:
        outcome: Outcome
        if candidate.cosine < threshold:
            outcome = "below_threshold"
        elif len(prints) == k:
            outcome = "beyond_k"
        else:
            fingerprint = Fingerprint.of(chunk.text)
            outcome = "duplicate" if any(fingerprint.same(other) for other in prints) else "kept"
            prints += [fingerprint] if outcome == "kept" else []
        candidates.append(replace(candidate, outcome=outcome))
    return candidates


def _trace(queries: Sequence[Query], threshold: float, candidates: Sequence[Candidate]) -> Trace:
    return Trace(
        queries=tuple(query.text for query in queries),
        kinds=tuple(query.kind for query in queries),
        weights=tuple(round(query.weight, 6) for query in queries),
        legs=("dense", "sparse", *("dense" for _ in queries[1:])),
        threshold=threshold,
        candidates=tuple(candidates),
    )
