"""Fakes at the ports: a model that says what it is told, a search that finds what it is given, and the ports of
ingestion without their engines, everything in memory and counted.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessageChunk, BaseMessage

from askbook import testing
from nodes.turn import RetrySettings
from rag.book import SearchFilter, SearchQuery, SearchResult, SparseVector, Trace
from rag.errors import AskbookError, OptionRefusedError, UsageError
from rag.ports import ChunkIndex, Judge, Parts
from rag.profiles.profile import Profile, load_profile
from rag.quoting.vocabulary import vocabulary
from rag.types import AnsweredQuestion, Passage, Retrieval

AT_ONCE = RetrySettings(time_scale=0)  # what fails is tried again without waiting
UNFORESEEN: list[str] = []  # calls of models beyond their scripts; `conftest.py` fails the test that made one
Reply = str | Exception | Sequence[AIMessageChunk | str | Exception]


class ScriptedModel(testing.ScriptedModel):
    """As builders have it, with two more kinds of replies: a function from the prompt to a text, and among the chunks
    of a stream an event, which holds up the stream until it is set.

    A call beyond the script also fails the test: to the product it is a failure of the turn.
    """

    def unforeseen(self, prompt: Sequence[BaseMessage]) -> None:
        UNFORESEEN.append(prompt[-1].text)
        super().unforeseen(prompt)

    def _parts_of(self, reply: Any, prompt: list[BaseMessage]) -> list[Any]:
        return super()._parts_of(reply(prompt) if callable(reply) else reply, prompt)

    def _chunk_of(self, part: Any) -> Any:
        return part if isinstance(part, asyncio.Event) else super()._chunk_of(part)

    async def _astream(self, messages: list[BaseMessage], *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        for part in self._chunks(messages, options):
            if isinstance(part, asyncio.Event):
                await part.wait()
            else:
                yield part


def passing() -> AskbookError:
    """A failure of a model that is tried again."""
    return AskbookError("api_error", "server_error", "It answered 500.", retryable=True)


def final() -> AskbookError:
    """A failure of a model that ends a turn."""
    return AskbookError("auth_error", "wrong_key", "It answered 401.")


def refuses_tools() -> OptionRefusedError:
    """A failure after which the same call is made without tools."""
    refusal = OptionRefusedError("api_error", "bad_request", "It supports no tools.")
    refusal.option = "tools"
    return refusal


def tool_call(query: str = "other words", call_id: str = "call-1", **fields: Any) -> AIMessageChunk:
    """The chunk of a stream in which the model asks for a search; `fields` replace those of the call."""
    call = {"name": "search_book", "args": json.dumps({"query": query}), "id": call_id, "index": 0}
    chunk = {"type": "tool_call_chunk", **call, **fields}
    return AIMessageChunk(content="", tool_call_chunks=[chunk])  # type: ignore[list-item]  # a TypedDict built of parts


def passage(number: int = 1, text: str = "A node is a process.", **fields: Any) -> Passage:
    """A passage of a page of that number."""
    values: dict[str, Any] = {
        "score": round(1 - number / 10, 2),
        "chunk_id": f"00000000-0000-0000-0000-{number:012d}",
        "title": f"Page {number}",
        "heading": "Nodes",
        "breadcrumb": f"Page {number} > Nodes",
        "url": f"https://book.example/page-{number}",
        "link": f"https://book.example/page-{number}#nodes",
        "source_file_path": f"page-{number}.md",
        "chunk_sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    return Passage(number=number, text=text, **(values | fields))


def retrieval(query: str = "q", **fields: Any) -> Retrieval:
    """The record of a search."""
    values: dict[str, Any] = {
        "tool_name": "search_book",
        "filter_applied": None,
        "results_count": 1,
        "total_chunks_found": 1,
        "avg_similarity": 0.5,
        "retrieval_time_ms": 1.0,
    }
    return Retrieval(query=query, **(values | fields))


class FakeSearcher:
    """Finds `passages` for every question, or raises `failures` in turn first. Remembers what it was asked.

    `later` holds what the second search finds, the third and so on; after the last of them it is found again.
    """

    def __init__(
        self,
        passages: Sequence[Passage] = (),
        failures: Sequence[Exception] = (),
        later: Sequence[Sequence[Passage]] = (),
    ) -> None:
        self.passages = list(passages)
        self.failures = list(failures)
        self.later = [list(found) for found in later]
        self.asked: list[tuple[str, int, float, SearchFilter | None, list[AnsweredQuestion]]] = []
        self.rewrites: list[str] = []
        self.neighbours: list[int] = []

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
        self.asked.append((question, k, threshold, where, list(history)))
        self.rewrites.append(rewrite)
        self.neighbours.append(neighbours)
        if self.failures:
            raise self.failures.pop(0)
        kept = [one for one in self.passages if one.score >= threshold][:k]
        prefix = where.url_prefix if where else None
        record = retrieval(
            question, filter_applied=prefix, results_count=len(kept), total_chunks_found=len(self.passages)
        )
        self.passages = self.later.pop(0) if self.later else self.passages
        return SearchResult(
            kept, record, Trace((SearchQuery("question", question),), ("dense", "sparse"), threshold, ())
        )

    async def words(self) -> Collection[str]:
        return vocabulary(one.text for one in self.passages)


class FakeReranker:
    """Puts texts into the order of `favourites`, words of which a text holds one; remembers what it was asked."""

    model_id = "fake-reranker"

    def __init__(self, *favourites: str, failure: Exception | None = None) -> None:
        self.favourites = favourites
        self.failure = failure
        self.asked: list[tuple[str, list[str]]] = []

    def rerank(self, question: str, texts: Sequence[str]) -> list[int]:
        self.asked.append((question, list(texts)))
        if self.failure:
            raise self.failure
        places = [next((i for i, word in enumerate(self.favourites) if word in text), 99) for text in texts]
        return sorted(range(len(texts)), key=lambda i: places[i])


def unjudged(profile: Profile) -> Profile:
    """The profile without a judge, for scripts in which only the answers are written."""
    return profile.model_copy(update={"answer": profile.answer.model_copy(update={"judge": "none"})})


class FakeQuoter:
    """A quoter whose answer is always the same; `asked` is what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[Passage], list[AnsweredQuestion]]] = []

    def quote(self, question: str, passages: Sequence[Passage], history: Sequence[AnsweredQuestion] = ()) -> list[str]:
        self.asked.append((question, list(passages), list(history)))
        return ["A node is ", "a process. [1]"]


class FakeServices:
    """Services over a scripted model and a fake search. With `judged`, the profile decides whether a judge is asked;
    `judge` is one at the port.
    """

    def __init__(
        self,
        model: ScriptedModel,
        searcher: FakeSearcher,
        profile: Profile | None = None,
        *,
        quotes: bool = False,
        judged: bool = False,
        judge: Judge | None = None,
    ) -> None:
        self.model = model
        self.searcher = searcher
        self.profile = profile or load_profile("default")
        self.profile = self.profile if judged else unjudged(self.profile)
        self.quotes = quotes
        self.quoter = FakeQuoter()
        self.judge = judge
        self.models: tuple[str, ...] = ()
        self.collection = ""

    @property
    def index(self) -> ChunkIndex:
        raise AssertionError("the machine searches through its searcher only")

    def parts(self, profile: str | None) -> Parts:
        if profile not in (None, self.profile.name):
            raise UsageError(f'There is no profile "{profile}".', code="unknown_profile")
        return Parts(
            self.profile,
            None if self.quotes else self.model,
            "scripted",
            self.quoter if self.quotes else None,
            self.searcher,
            judge=self.judge,
            models=self.models,
            collection=self.collection,
        )


# --- ingestion -------------------------------------------------------------------------------------------------------


def count_words(text: str) -> int:
    """Words and marks: close to a tokenizer, and easy to reason about in a test."""
    return len(re.findall(r"\w{1,8}|[^\w\s]", text))


class FakeEmbedder:
    """A `rag.ports.Embedder` that remembers what it embedded."""

    model_id = "fake-embedder"
    dimension = 2
    max_tokens = 254
    batch_size = 32
    parallel = 1

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def count_tokens(self, text: str) -> int:
        return count_words(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += texts
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class FakeSparse:
    """A `rag.ports.SparseEncoder` that counts characters."""

    model_id = "fake-sparse"

    def encode_document(self, text: str) -> SparseVector:
        return SparseVector([0], [float(len(text))])

    def encode_query(self, text: str) -> SparseVector:
        return SparseVector([0], [1.0])


class FakeVectors:
    """A `rag.ports.VectorCache` in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], list[float]] = {}

    def get(self, model_id: str, texts: Sequence[str]) -> dict[str, list[float]]:
        return {text: self.kept[model_id, text] for text in texts if (model_id, text) in self.kept}

    def put(self, model_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        self.kept.update(((model_id, text), list(vector)) for text, vector in vectors.items())
