"""A caller's LangChain retriever as a `Retriever`: its documents become numbered passages that can be cited."""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, zip_longest
from numbers import Real
from operator import mul
from typing import TYPE_CHECKING, Any, Final, NoReturn
from uuid import NAMESPACE_URL, UUID, uuid5

from rag.book import (
    Candidate,
    Chunk,
    IndexEntry,
    IndexInfo,
    Matches,
    Point,
    SearchFilter,
    SearchResult,
    Trace,
    Vector,
    page_and_anchor,
    titles_above,
)
from rag.errors import AskbookError, RetrievalError, UsageError
from rag.index.payload import FILTERS
from rag.search.ranking import queries_of
from rag.search.retriever import chunk_outcomes, retrieval_of
from rag.types import AnsweredQuestion

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore

    from rag.ports import Embedder, Ranked

_LARGEST: Final = 2**31 - 1  # page or index
_SCORES: Final = ("score", "relevance_score", "similarity", "similarity_score", "_score")
_TITLES: Final = ("title", "name", "source", "file_name")
_URLS: Final = ("url", "link", "source", "file_path")
DEPTH: Final = 20  # documents that a vector store is asked for
_REMEMBERED: Final = 5_000  # passages; the last ones that were found


@dataclass(eq=False, repr=False, slots=True)
class LangChainRetriever:
    """A `rag.ports.Retriever` over a LangChain retriever or vector store.

    A document's score is the number from 0 to 1 in its metadata, if it has one, otherwise the cosine of the vectors
    that `embedder` makes of it and the question. The threshold compares with it. The retriever's order stays. In a
    conversation the contexts and the rewrite are searched as well, and each adds what the question did not find.
    """

    retriever: BaseRetriever | VectorStore
    embedder: Embedder
    seen: SeenChunkIndex
    tool_name: str

    async def retrieve(
        self,
        question: str,
        *,
        k: int,
        threshold: float,
        where: SearchFilter | None = None,
        history: Sequence[AnsweredQuestion] = (),
        rewrite: str = "",
        neighbours: int = 0,  # noqa: ARG002  # a retriever does not say what stands beside a document
    ) -> SearchResult:
        """As `rag.ports.Retriever.retrieve`. Raises `RetrievalError` when the retriever fails."""
        started = time.perf_counter()
        queries = queries_of(question, history, rewrite)
        lists = await asyncio.gather(*(self._ask(query.text) for query in queries))
        chunks = {chunk.id: (chunk, score) for chunk, score in interleaved(lists) if _matches(chunk, where)}
        scores = await self._scores(question, list(chunks.values()))
        outcomes = chunk_outcomes([chunk for chunk, _ in chunks.values()], scores, k=k, threshold=threshold)
        candidates = [
            Candidate(chunk.id, chunk.title, chunk.heading, score, (score,), 0.0, outcome)
            for (chunk, _), score, outcome in zip(chunks.values(), scores, outcomes, strict=True)
        ]
        kept = [candidate for candidate in candidates if candidate.outcome == "kept"]
        passages = [chunks[c.chunk_id][0].passage(number, c.cosine) for number, c in enumerate(kept, start=1)]
        self.seen.remember(chunk for chunk, _ in chunks.values())
        retrieval = retrieval_of(self.tool_name, question, where, passages, len(candidates), started)
        trace = Trace(tuple(queries), ("given",), threshold, tuple(candidates))
        return SearchResult(passages, retrieval, trace)

    async def words(self) -> Collection[str]:
        """Empty: a retriever does not tell the words of its book."""
        return ()

    async def _ask(self, query: str) -> list[tuple[Chunk, float | None]]:
        try:
            documents = await self._documents(query)
        except AskbookError:
            raise
        except Exception as failure:  # of any retriever; its text may hold a key
            name = type(self.retriever).__name__
            raise RetrievalError("retriever", f"{name} raised {type(failure).__name__}.", retryable=True) from None
        if not isinstance(documents, list) or not all(hasattr(document, "page_content") for document in documents):
            name = type(self.retriever).__name__
            raise RetrievalError("retriever", f"{name} returned something that is not a list of LangChain's Documents.")
        return [(chunk_of(document), score_of(document.metadata)) for document in documents if document.page_content]

    async def _documents(self, query: str) -> Any:
        from langchain_core.documents import Document
        from langchain_core.vectorstores import VectorStore

        if not isinstance(self.retriever, VectorStore):
            return await self.retriever.ainvoke(query)
        if not _gives_cosines(self.retriever):
            return await self.retriever.asimilarity_search(query, k=DEPTH)
        found = await self.retriever.asimilarity_search_with_score(query, k=DEPTH)
        scored = [one.metadata | {"score": min(1.0, max(0.0, score))} for one, score in found]
        pairs = zip(found, scored, strict=True)
        return [Document(id=one.id, page_content=one.page_content, metadata=data) for (one, _), data in pairs]

    async def _scores(self, question: str, found: Sequence[tuple[Chunk, float | None]]) -> list[float]:
        if not (unknown := [chunk.embedded_text for chunk, score in found if score is None]):
            return [score or 0.0 for _, score in found]
        asked = await asyncio.to_thread(self.embedder.embed_query, question)
        vectors = iter(await asyncio.to_thread(self.embedder.embed_documents, unknown))
        known = (score if score is not None else math.fsum(map(mul, asked, next(vectors))) for _, score in found)
        return [min(1.0, max(0.0, score)) for score in known]


def _gives_cosines(store: VectorStore) -> bool:
    """Whether the scores of a store are cosines: langchain-qdrant's, searched by meaning alone."""
    return (getattr(store, "retrieval_mode", None), getattr(store, "distance", None)) == ("dense", "Cosine")


def interleaved(lists: Sequence[Sequence[tuple[Chunk, float | None]]]) -> list[tuple[Chunk, float | None]]:
    """The first of each list, then the second of each, each chunk once."""
    found: dict[str, tuple[Chunk, float | None]] = {}
    for one in chain.from_iterable(zip_longest(*lists)):
        if one is not None:
            found.setdefault(one[0].id, one)
    return list(found.values())


def chunk_of(document: Document) -> Chunk:
    """The document as a chunk. Its metadata may use the names of LangChain's loaders and of langchain-qdrant."""
    data, text = document.metadata, unicode_of(document.page_content)
    title, heading, address = _first(data, _TITLES), _first(data, ("heading",)), _first(data, _URLS)
    url, anchor = page_and_anchor(address)
    digest = hashlib.sha256(text.encode()).hexdigest()
    linked, linked_anchor = page_and_anchor(_first(data, ("link",)))  # as the documents of `as_retriever` have it
    page, index = data.get("page_number", data.get("page")), data.get("chunk_index")
    return Chunk(
        id=str(document.id or data.get("_id") or data.get("chunk_id") or uuid5(NAMESPACE_URL, f"{address}\n{digest}")),
        text=text,
        title=title or "Untitled",
        heading=heading,
        breadcrumb=_first(data, ("breadcrumb",)) or titles_above(title, heading),
        url=url,
        anchor=_first(data, ("anchor",)) or anchor or (linked_anchor if linked == url else ""),
        source=_first(data, ("source",)),
        source_file_path=_first(data, ("source_file_path", "file_path", "source")),
        chunk_index=_whole(index) or 0,
        sha256=digest,
        chapter=_first(data, ("chapter",)) or None,
        page_number=_whole(page),
    )


def score_of(metadata: Mapping[str, Any]) -> float | None:
    """The document's score, if it names one from 0 to 1.

    >>> score_of({"relevance_score": 0.7}), score_of({"score": 17.2})
    (0.7, None)
    """
    values = (metadata.get(name) for name in _SCORES)
    numbers = (float(v) for v in values if isinstance(v, Real))  # also those of numpy
    return next((v for v in numbers if 0 <= v <= 1), None)


def unicode_of(text: str) -> str:
    """The text with � for halves of characters, which readers of PDFs leave and which nothing can store."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST else None


def _first(data: Mapping[str, Any], names: Iterable[str]) -> str:
    values = (data.get(name) for name in names)
    return next((unicode_of(str(value)) for value in values if isinstance(value, str | UUID) and str(value)), "")


def _matches(chunk: Chunk, where: SearchFilter | None) -> bool:
    """Whether the chunk passes the caller's filter, which the retriever does not know."""
    wanted = asdict(where) if where else {}
    values = {name: getattr(chunk, "link" if field == "url" else field) for name, field in FILTERS.items()}
    return all(str(value or "").startswith(wanted.get(name, "")) for name, value in values.items())


class SeenChunkIndex:
    """A `rag.ports.ChunkIndex` that knows only what a caller's retriever has found in this process."""

    def __init__(self, collection: str) -> None:
        self.collection = collection
        self._chunks: OrderedDict[str, Chunk] = OrderedDict()

    def remember(self, chunks: Iterable[Chunk]) -> None:
        """Keep the chunks; the oldest ones are forgotten beyond `_REMEMBERED`."""
        for chunk in chunks:
            self._chunks[chunk.id] = chunk
            self._chunks.move_to_end(chunk.id)
        while len(self._chunks) > _REMEMBERED:
            self._chunks.popitem(last=False)

    async def info(self) -> IndexInfo | None:
        return None

    async def fetch(self, ids: Sequence[str]) -> list[Chunk]:
        return [self._chunks[one] for one in ids if one in self._chunks]

    async def search(
        self,
        vectors: Sequence[Vector],  # noqa: ARG002
        rank: Callable[[Matches], Ranked],  # noqa: ARG002
        *,
        limit: int,  # noqa: ARG002
        where: SearchFilter | None = None,  # noqa: ARG002
    ) -> Ranked:
        raise _no_index()

    async def entries(self) -> list[IndexEntry]:
        return []

    def writing(self) -> NoReturn:
        raise _no_index()

    async def replace(self, _info: IndexInfo, *, add: Iterable[Point], remove: Collection[str]) -> NoReturn:  # noqa: ARG002
        raise _no_index()

    async def drop(self) -> None:
        self._chunks.clear()

    async def aclose(self) -> None:
        self._chunks.clear()


def _no_index() -> UsageError:
    return UsageError("The caller's retriever has an index of its own, which askbook neither searches nor fills.")
