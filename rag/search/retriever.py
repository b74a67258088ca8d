"""From a question to numbered passages: hybrid search, fusion, threshold, reranking, as a LangChain retriever."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, NoReturn

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

from rag.book import (
    SHOWN,
    Candidate,
    Chunk,
    Matches,
    Outcome,
    SearchFilter,
    SearchQuery,
    SearchResult,
    Trace,
    Vector,
)
from rag.errors import AskbookError, RetrievalError, UsageError
from rag.index.catalog import require_matching_models
from rag.index.index_errors import wrong_size
from rag.ports import ChunkIndex, Embedder, Parts, Reranker, Retriever, SparseEncoder
from rag.quoting.english.speech_acts import about_book
from rag.search.overview import overview
from rag.search.ranking import Fingerprint, joined, queries_of, ranked, weighed
from rag.search.reranker import reranked
from rag.text.spelling import vocabulary
from rag.types import AnsweredQuestion, Passage, Retrieval

FIELDS: Final = ("title", "heading", "file", "chapter")
LONGEST_FILTER: Final = 2_000  # most characters of a filter
VOCABULARY_CHUNKS: Final = 20_000  # about a second
DEPTH: Final = 100  # hits fetched per ranking; anything ranked lower cannot win
_FIELD: Final = re.compile(r"(?P<name>[A-Za-z_][A-Za-z_0-9]*):(?!//)\s*(?P<value>.*)", re.DOTALL)


def parse_filter(text: str | None) -> SearchFilter | None:
    """A filter on a field (`title:ROS`) or, without a field, on the beginning of the address; None for an empty text.

    Raises `UsageError` for an unknown field, for one without a value, and for a text that is too long or not Unicode.
    """
    if not isinstance(text, str | None):
        raise UsageError(f"The filter must be text, unlike {text!r:.40}.", code="filter")
    written = (text or "").strip()
    if len(written) > LONGEST_FILTER or any("\ud800" <= c <= "\udfff" for c in written):
        raise UsageError("The filter must be text of at most 2,000 characters.", code="filter")
    if not written:
        return None
    named = _FIELD.fullmatch(written)
    if named is None:
        return SearchFilter(url_prefix=written)
    name, value = named["name"].lower(), named["value"].strip()
    if name not in FIELDS or not value:
        what = f'The filter on "{name}" is empty' if name in FIELDS else f'"{name}" is not a field that can be filtered'
        hint = f"Give the beginning of an address, or of a field ({', '.join(FIELDS)}), such as title:ROS."
        raise UsageError(f"{what}.", code="filter", hint=hint)
    return SearchFilter(**{name: value})


class HybridHits(NamedTuple):
    """The result of a hybrid search: its queries, the number of chunks found, the best candidates with their outcomes,
    and their chunks by id.
    """

    queries: list[SearchQuery]
    total: int
    candidates: list[Candidate]
    chunks: dict[str, Chunk]


@dataclass(eq=False, repr=False, slots=True)
class HybridRetriever:
    """Hybrid search on one collection: a weighted sum of cosines and BM25 scores, plus a bonus for prose.

    The index is ranked by cosine for the question and for each other query, and by BM25 for the question.
    A passage's score is the cosine of its vector and the question's, clipped to 0..1; in a conversation the question's
    vector is the weighted sum of all queries' vectors (see `rag.search.ranking`). The threshold applies to this score;
    fusion, or a reranker in its place, only ranks.
    """

    embedder: Embedder
    sparse: SparseEncoder
    index: ChunkIndex
    tool_name: str = "search_book"
    reranker: Reranker | None = None
    profile: str = ""  # the profile that owns the collection, named in error hints
    # The state of the book whose words were counted, and how often each word occurs.
    _words: tuple[tuple[int, str], Mapping[str, int]] | None = field(default=None, init=False)

    async def retrieve(
        self,
        question: str,
        *,
        k: int,
        threshold: float,
        where: SearchFilter | None = None,
        history: Sequence[AnsweredQuestion] = (),
        rewrite: str = "",
        neighbours: int = 0,
    ) -> SearchResult:
        """At most `k` passages whose score reaches `threshold`, best first, numbered from 1; then the `neighbours`.

        `history` and `rewrite` give more queries (see `rag.search.ranking`). Raises `RetrievalError` if there is no
        collection ("no_index"), if other models encoded it ("embedding_mismatch"), or if the search fails.
        """
        started = time.perf_counter()
        if where is None and about_book(question) and (whole := await overview(self.index)):
            return self._whole_book(question, whole, started)
        asked = queries_of(question, history, rewrite)
        queries, total, candidates, chunks = await self._search(asked, where, k=k, threshold=threshold)
        if self.reranker is not None:
            candidates = await reranked(self.reranker, _rerank_query(queries), candidates, chunks, k=k)
        candidates = joined(candidates, chunks, neighbours)
        kept = [c for outcome in ("kept", "neighbour") for c in candidates if c.outcome == outcome]
        passages = [chunks[c.chunk_id].passage(number, c.cosine) for number, c in enumerate(kept, start=1)]
        retrieval = retrieval_of(self.tool_name, question, where, passages, total, started)
        legs = ("dense", "sparse", *("dense" for _ in queries[1:]))
        trace = Trace(tuple(queries), legs, threshold, tuple(candidates))
        return SearchResult(passages, retrieval, trace)

    async def words(self) -> Mapping[str, int]:
        """How often each word occurs in the book, or in `VOCABULARY_CHUNKS` chunks of it; counted again when the book
        changes.
        """
        info = await self.index.info()
        state = (info.chunks, info.updated_at) if info else (0, "")
        if self._words is None or self._words[0] != state:
            ids = sorted(entry.id for entry in await self.index.entries())[:VOCABULARY_CHUNKS]
            chunks = await self.index.fetch(ids)
            texts = (f"{chunk.breadcrumb} {chunk.text}" for chunk in chunks)
            self._words = (state, await asyncio.to_thread(vocabulary, texts))
        return self._words[1]

    def _whole_book(self, question: str, chunks: Sequence[Chunk], started: float) -> SearchResult:
        """The passages for a question about the book as a whole, which no search could find. Their score is 1."""
        passages = [chunk.passage(number, 1.0) for number, chunk in enumerate(chunks, start=1)]
        retrieval = retrieval_of(self.tool_name, question, None, passages, len(chunks), started)
        trace = Trace((SearchQuery("question", question),), ("dense", "sparse"), 0.0, ())
        return SearchResult(passages, retrieval, trace)

    async def _search(
        self, queries: Sequence[SearchQuery], where: SearchFilter | None, *, k: int, threshold: float
    ) -> HybridHits:
        """Search the index for the meaning and the words of the raw question, and for the meaning of other queries."""
        # The models are compared before embedding, which may be billed.
        info = await require_matching_models(self.index, self.embedder, self.sparse, self.profile)
        raw, *others = await asyncio.to_thread(self._embed, [query.text for query in queries])
        if info.dimension not in (0, len(raw)):
            raise wrong_size(info, self.embedder.model_id, len(raw))
        vectors: list[Vector] = [raw, self.sparse.encode_query(queries[0].text), *others]

        def rank(matches: Matches) -> HybridHits:
            return self._read_hits(weighed(queries, matches), matches, k=k, threshold=threshold)

        return await self.index.search(vectors, rank, limit=max(DEPTH, k), where=where)

    def _read_hits(self, queries: list[SearchQuery], matches: Matches, *, k: int, threshold: float) -> HybridHits:
        """Read the ranked chunks in blocks, until `k` of them are kept. For a reranker, read all of them."""
        ranking = ranked(matches, queries)
        total = len(ranking.rows)
        block = total if self.reranker is not None else max(SHOWN, k)
        chunks: list[Chunk] = []
        outcomes: list[Outcome] = []
        while len(chunks) < total:
            chunks += matches.read(ranking.rows[len(chunks) : len(chunks) + block])
            outcomes = chunk_outcomes(chunks, ranking.cosines, k=k, threshold=threshold)
            if outcomes.count("kept") == k or max(ranking.cosines[len(chunks) :], default=-1.0) < threshold:
                break
        return HybridHits(queries, total, ranking.candidates(chunks, outcomes), {chunk.id: chunk for chunk in chunks})

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            return self.embedder.embed_queries(texts)
        except AskbookError:
            raise
        except Exception as error:  # the model's library may raise anything
            raise RetrievalError(
                "embedding_failed", f"The question could not be embedded ({type(error).__name__})."
            ) from error


def retrieval_of(
    tool_name: str, query: str, where: SearchFilter | None, passages: Sequence[Passage], total: int, started: float
) -> Retrieval:
    """The record of a search that found `total` chunks and began at `started`, by the clock `perf_counter`."""
    return Retrieval(
        tool_name=tool_name,
        query=query,
        filter_applied=str(where) if where else None,
        results_count=len(passages),
        total_chunks_found=total,
        avg_similarity=round(sum(p.score for p in passages) / len(passages), 6) if passages else 0.0,
        retrieval_time_ms=round((time.perf_counter() - started) * 1000, 3),
    )


def _rerank_query(queries: Sequence[SearchQuery]) -> str:
    """The query for the reranker: the raw question with the query of the largest weight beside it."""
    question, *others = queries
    most = max(others, key=lambda query: query.weight, default=question)
    if not most.weight:
        return question.text
    return f"{question.text} {most.text}" if most.kind == "rewrite" else most.text


def chunk_outcomes(chunks: Sequence[Chunk], cosines: Sequence[float], *, k: int, threshold: float) -> list[Outcome]:
    """The outcome of each chunk: the first `k` that reach the threshold and are no duplicates are kept."""
    prints: list[Fingerprint] = []
    outcomes: list[Outcome] = []
    for chunk, cosine in zip(chunks, cosines, strict=False):
        if cosine < threshold:
            outcomes.append("below_threshold")
        elif len(prints) == k:
            outcomes.append("beyond_k")
        else:
            fingerprint = Fingerprint(chunk.text)
            is_duplicate = any(fingerprint.same(other) for other in prints)
            outcomes.append("duplicate" if is_duplicate else "kept")
            prints += [] if is_duplicate else [fingerprint]
    return outcomes


class BookRetriever(BaseRetriever):
    """A `rag.ports.Retriever` as an asynchronous `BaseRetriever`. `options` are the arguments of its `retrieve`."""

    searcher: Any
    options: dict[str, Any]
    _found: list[SearchResult] = PrivateAttr(default_factory=list)

    async def found(self, question: str) -> SearchResult:
        """Search as a run of a LangChain retriever, and return everything that was found. Raises `AskbookError`."""
        await self.ainvoke(question)
        return self._found[-1]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        found = await self.searcher.retrieve(query, **self.options)
        self._found.append(found)
        return [document_of(passage) for passage in found.passages]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> NoReturn:
        raise NotImplementedError("The search is asynchronous: use ainvoke.")


def document_of(passage: Passage) -> Document:
    """The passage as a LangChain document."""
    data = passage.model_dump(mode="json", exclude={"text", "chunk_id"}, exclude_none=True)
    return Document(id=passage.chunk_id, page_content=passage.text, metadata=data)


async def search(searcher: Retriever, question: str, **options: Any) -> SearchResult:
    """`Retriever.retrieve` as a run of a LangChain retriever, which callbacks and traces see."""
    return await BookRetriever(name="search", searcher=searcher, options=options).found(question)


def as_retriever(
    parts: Parts, *, top_k: int | None = None, score_threshold: float | None = None, filter: str | None = None
) -> BookRetriever:
    """The search of a profile as a LangChain retriever; None means the profile's value.

    `parts` come from `agent.services.parts(profile)`. Raises `UsageError` for an invalid filter.
    """
    retrieval = parts.profile.overridden(top_k=top_k, score_threshold=score_threshold).retrieval
    options = {
        "k": retrieval.top_k,
        "threshold": retrieval.score_threshold,
        "where": parse_filter(filter),
        "neighbours": retrieval.neighbours,
    }
    return BookRetriever(name="search", searcher=parts.retriever, options=options)
