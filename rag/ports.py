"""The seams of the product: what a part needs from another, as protocols.

Nodes and pipelines are written against these; the real adapters live in `rag.index` and `rag.model`, the fakes in
`tests/fakes.py`, and one contract test for each port runs on both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from rag.book import Chunk, Hit, IndexEntry, IndexInfo, Point, SparseVector, Where

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rag.profiles.profile import Profile
    from rag.types import Exchange, Found


class Embedder(Protocol):
    """Texts to unit vectors. `model_id` changes whenever the same text would get another vector.

    `dimension` is 0 where it is not known before the first vector. `batch_size` is how many texts are worth a call.
    The methods that embed are blocking, and raise `AskbookError` where a service fails.
    """

    model_id: str
    dimension: int
    max_tokens: int
    batch_size: int

    def count_tokens(self, text: str) -> int:
        """How many of `max_tokens` the text takes, special tokens not counted."""
        ...

    def embed_documents(self, texts: list[str]) -> list[list[float]]: ...

    def embed_query(self, text: str) -> list[float]: ...

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """What `embed_query` gives for each; a service is asked for all of them in one request."""
        ...


class Reranker(Protocol):
    """The order of texts by how well they answer a question."""

    model_id: str

    def rerank(self, question: str, texts: Sequence[str]) -> list[int]:
        """The positions of all texts, best first. Blocking; raises `AskbookError`."""
        ...


class SparseEncoder(Protocol):
    """Texts to BM25 term weights; the collection multiplies in the inverse document frequencies."""

    model_id: str

    def encode_document(self, text: str) -> SparseVector: ...

    def encode_query(self, text: str) -> SparseVector: ...


class ChunkIndex(Protocol):
    """A collection of chunks with dense and sparse vectors.

    Every method raises `RetrievalError` when the index cannot be reached, opened or read.
    """

    collection: str

    async def info(self) -> IndexInfo | None:
        """What the collection says of itself; None where there is no such collection."""
        ...

    async def search(
        self,
        legs: Sequence[Sequence[float] | SparseVector],
        *,
        limit: int,
        where: Where | None = None,
        complete: bool = False,
    ) -> list[list[Hit]]:
        """One ranking for each leg, best first, at most `limit` long, all in one request.

        `complete`: a sparse ranking goes on with the hits of the other legs that share a term with it, so that its
        score is known for every hit of any leg.
        """
        ...

    async def fetch(self, ids: Sequence[str]) -> list[Chunk]:
        """The chunks that exist, in the order asked for; unknown ids are left out."""
        ...

    async def entries(self) -> list[IndexEntry]:
        """Every chunk of the collection, in no particular order; empty where there is no collection."""
        ...

    async def replace(self, info: IndexInfo, *, add: Iterable[Point], remove: Collection[str]) -> None:
        """Add (or overwrite by id) and remove chunks as one change, creating the collection if need be.

        Readers see all of the change or none of it where the engine can promise that.
        """
        ...

    async def drop(self) -> None:
        """Forget the collection, in whatever state it is: the way out of a broken one. No error where there is none."""
        ...

    async def aclose(self) -> None: ...


class VectorCache(Protocol):
    """Vectors by model and text, so that an interrupted or repeated ingestion embeds nothing twice.

    Called from worker threads, one call at a time. Both methods are blocking.
    """

    def get(self, model_id: str, texts: Sequence[str]) -> dict[str, list[float]]:
        """The vectors that are known, by text; unknown texts are left out."""
        ...

    def put(self, model_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        """Keeps the vectors; what is kept when this returns survives the process."""
        ...


class Searcher(Protocol):
    """A question to the passages that may answer it."""

    async def retrieve(
        self,
        question: str,
        *,
        k: int,
        threshold: float,
        where: Where | None = None,
        history: Sequence[Exchange] = (),
        rewrite: str = "",
        neighbours: int = 0,
    ) -> Found:
        """At most `k` passages with a score of at least `threshold`, numbered from 1, best first.

        At most so many `neighbours` of theirs follow. `rewrite` is one more query, and never the only one. Raises
        `AskbookError` when the search failed; finding nothing is an empty result.
        """
        ...


# Ways to say how long the answer may be. An endpoint may know one of them; OpenAI's newer models know only the second.
_LENGTH: Final = "max_tokens"
_NEWER_LENGTH: Final = "max_completion_tokens"
_COUNTING: Final = "stream_options"  # the client's way to ask for the count of tokens


class Dialect:
    """The options that each model has refused. One of an endpoint: two endpoints may know a model in two ways."""

    def __init__(self) -> None:
        self._refused: dict[str, set[str]] = {}

    def note(self, model: str, option: str) -> bool:
        """Remember that the model refused the option; False where that was known, and asking again is in vain."""
        known = self._refused.setdefault(model, set())
        if option in known:
            return False
        known.add(option)
        return True

    def spoken(self, model: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options as the model understands them: without what it refused, or in another word for it."""
        refused = self._refused.get(model, set())
        found = {name: value for name, value in options.items() if name not in refused}
        if _LENGTH in options and _LENGTH in refused and _NEWER_LENGTH not in refused:
            found[_NEWER_LENGTH] = options[_LENGTH]
        if _NEWER_LENGTH in refused:  # of OpenAI's own client, which writes it for the older one
            found.pop(_LENGTH, None)
        if _COUNTING in refused:
            found["stream_usage"] = False
        return found


@dataclass(frozen=True, slots=True)
class Parts:
    """What a turn works with: its profile and the live objects that the profile names.

    `quotes` says that the model only quotes, so that its calls are no model calls: the key that `key_variable` names is
    not set. `dialect` is what has been learnt about the model since the process began. `searched_with` names the models
    that find passages, and where they run; `collection` is the book.
    """

    profile: Profile
    model: BaseChatModel
    model_name: str
    quotes: bool
    retriever: Searcher
    key_variable: str = "OPENAI_API_KEY"
    dialect: Dialect = field(default_factory=Dialect)
    searched_with: str = ""
    collection: str = ""


PartsOf = Callable[[str | None], Parts]


class Services(Protocol):
    """The live objects of a process, built once."""

    @property
    def index(self) -> ChunkIndex:
        """The book that is asked."""
        ...

    def parts(self, profile: str | None) -> Parts:
        """The parts of the named profile, or of the usual one. Raises `UsageError` for an unknown name."""
        ...
