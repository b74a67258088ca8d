"""The interfaces between the parts of askbook, as protocols: nodes and pipelines use only these.

`tests/test_contract_index.py` checks every implementation of `ChunkIndex`; the fakes are in `tests/fakes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar, runtime_checkable

from rag.book import Chunk, IndexEntry, IndexInfo, Matches, Point, SearchFilter, SparseVector, Vector

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from numpy import float32
    from numpy.typing import NDArray

    from rag.book import SearchResult
    from rag.profiles.profile import Profile
    from rag.types import AnsweredQuestion, Passage

Ranked = TypeVar("Ranked")


class Embedder(Protocol):
    """Turns texts into unit vectors. `model_id` changes whenever the same text would get another vector.

    `dimension` is 0 if it is unknown before the first vector. `batch_size` is how many texts to send per call. An
    embedder may have a number `parallel` of calls at once, and a method `unload`, which frees memory until the next
    text is embedded. The embedding methods block, and raise `AskbookError` when a service fails.
    """

    model_id: str
    dimension: int
    max_tokens: int
    batch_size: int

    def count_tokens(self, text: str) -> int:
        """The tokens of the text, without special tokens; compare with `max_tokens`."""
        ...

    def embed_documents(self, texts: list[str]) -> list[list[float]]: ...

    def embed_query(self, text: str) -> list[float]: ...

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text, as from `embed_query`; a hosted model gets all texts in one request."""
        ...


class TokenVectors(NamedTuple):
    """The vectors of a text's tokens, without those that frame it, and of the whole text.

    `tokens` has a row of length 1 for each token, `spans` its first and last character (exclusive) in the text.
    """

    vector: list[float]
    tokens: NDArray[float32]
    spans: list[tuple[int, int]]


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that also gives the vectors of a text's tokens."""

    def embed_tokens(self, texts: list[str]) -> list[TokenVectors]:
        """The vectors of each text; `vector` is that of `embed_documents`."""
        ...


class Reranker(Protocol):
    """Orders texts by how well they answer a question."""

    model_id: str

    def rerank(self, question: str, texts: Sequence[str]) -> list[int]:
        """The positions of all texts, best first. Blocks; raises `AskbookError`."""
        ...


class Judge(Protocol):
    """Tells whether passages state what a sentence states."""

    model_id: str

    def judge(self, claims: Sequence[tuple[str, Sequence[str]]]) -> list[bool | None]:
        """One verdict for each sentence with the texts of the passages that it cites: True if together they state it,
        False if they do not, None if the judge cannot tell. Blocks; raises `AskbookError`.
        """
        ...


class SparseEncoder(Protocol):
    """Turns texts into BM25 term weights; the collection multiplies them by the inverse document frequencies."""

    model_id: str

    def encode_document(self, text: str) -> SparseVector: ...

    def encode_query(self, text: str) -> SparseVector: ...


class ChunkIndex(Protocol):
    """A collection of chunks with dense and sparse vectors. Methods raise `RetrievalError` if it cannot be used."""

    collection: str

    async def info(self) -> IndexInfo | None:
        """The metadata of the collection; None if it does not exist."""
        ...

    async def search(
        self,
        vectors: Sequence[Vector],
        rank: Callable[[Matches], Ranked],
        *,
        limit: int,
        where: SearchFilter | None = None,
    ) -> Ranked:
        """Rank the best `limit` chunks for each vector by `rank`, which gets the scores of all for every vector.

        `rank` is called in a worker thread and may block; its exceptions pass through. It is called again if the
        collection is replaced meanwhile, so that scores and chunks are of one state.
        """
        ...

    async def fetch(self, ids: Sequence[str]) -> list[Chunk]:
        """The chunks with these ids, in the given order; unknown ids are left out."""
        ...

    async def entries(self) -> list[IndexEntry]:
        """An entry for every chunk of the collection, in no particular order; empty if there is no collection."""
        ...

    def writing(self) -> AbstractAsyncContextManager[None]:
        """Keep others from changing the collection. Raises `RetrievalError` "index_locked" while another changes it."""
        ...

    async def replace(self, info: IndexInfo, *, add: Iterable[Point], remove: Collection[str]) -> None:
        """Add (or overwrite by id) and remove chunks in one change, creating the collection if needed.

        `remove` may name chunks that `add` has too: their old points go. Readers see all or nothing, if the engine can
        do it.
        """
        ...

    async def drop(self) -> None:
        """Delete the collection, even a broken one. Does nothing if there is none."""
        ...

    async def aclose(self) -> None: ...


class VectorCache(Protocol):
    """Vectors by model and text, so that no ingestion embeds a text twice. Called from one worker thread at a time."""

    def get(self, model_id: str, texts: Sequence[str]) -> dict[str, list[float]]:
        """The stored vectors, by text; unknown texts are left out."""
        ...

    def put(self, model_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        """Store the vectors; they are durable when this returns."""
        ...


class Retriever(Protocol):
    """Finds the passages that may answer a question."""

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
        """At most `k` passages with a score of at least `threshold`, numbered from 1, best first.

        At most `neighbours` passages that stand next to them follow. A `rewrite` is searched in addition to the
        question. Raises `AskbookError` if the search fails; the result is empty if nothing is found.
        """
        ...

    async def words(self) -> Collection[str]:
        """The words of the book in lower case, by which misspelt words are corrected; a mapping gives their counts."""
        ...


class Quoter(Protocol):
    """Answers without a model, in the book's own sentences."""

    def quote(self, question: str, passages: Sequence[Passage], history: Sequence[AnsweredQuestion] = ()) -> list[str]:
        """The pieces of the answer, each sentence with its marker; else the refusal. Blocks; raises `AskbookError`."""
        ...


# The limit on the answer's length. Many endpoints know only the first name, OpenAI's newer models only the second.
_LENGTH: Final = "max_tokens"
_NEWER_LENGTH: Final = "max_completion_tokens"
_COUNTING: Final = "stream_options"  # asks the endpoint to count tokens


class RejectedOptions:
    """The request options that each model of one endpoint has rejected.

    >>> rejected = RejectedOptions()
    >>> rejected.add("gpt-5", "max_tokens")
    True
    >>> rejected.accepted("gpt-5", {"max_tokens": 100, "temperature": 0.0})
    {'temperature': 0.0, 'max_completion_tokens': 100}
    """

    def __init__(self) -> None:
        self._rejected: dict[str, set[str]] = {}

    def add(self, model: str, option: str) -> bool:
        """Remember that the model rejected the option. False if that was known, so that a retry would be useless."""
        known = self._rejected.setdefault(model, set())
        if option in known:
            return False
        known.add(option)
        return True

    def rejects(self, model: str, option: str) -> bool:
        """Whether the model has rejected the option."""
        return option in self._rejected.get(model, set())

    def accepted(self, model: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options without those that the model rejected; a limit on the length is renamed instead."""
        rejected = self._rejected.get(model, set())
        found = {name: value for name, value in options.items() if name not in rejected}
        if _LENGTH in options and _LENGTH in rejected and _NEWER_LENGTH not in rejected:
            found[_NEWER_LENGTH] = options[_LENGTH]
        if _NEWER_LENGTH in rejected:  # OpenAI's client renames max_tokens to it, so neither name can be sent
            found.pop(_LENGTH, None)
        if _COUNTING in rejected:
            found["stream_usage"] = False
        return found


@dataclass(frozen=True, slots=True)
class Parts:
    """What a turn works with: a profile and the live objects that it names.

    `quoter` answers in place of a model if the variable `key_variable` is not set; `model` is then None and
    `model_name` names the quoter. `key_variable` is empty for a model that the caller brought. `searched_with` names
    the embedding model and the reranker, and where they run. `collection` is the book. `judge` judges answers instead
    of a model. `models` are those that a run may choose, and `chosen` is the one that it has chosen. With
    `english_only`, passages in other languages are quoted whatever their score: the embedding model knows only English,
    and the operator has set no threshold.
    """

    profile: Profile
    model: BaseChatModel | None
    model_name: str
    quoter: Quoter | None
    retriever: Retriever
    key_variable: str = "OPENAI_API_KEY"
    rejected_options: RejectedOptions = field(default_factory=RejectedOptions)
    searched_with: str = ""
    collection: str = ""
    judge: Judge | None = None
    models: tuple[str, ...] = ()
    chosen: str = ""
    english_only: bool = False

    @property
    def quotes(self) -> bool:
        """Whether the answer is made of the book's own sentences, without a model."""
        return self.quoter is not None

    @property
    def has_caller_model(self) -> bool:
        """Whether the caller brought the model."""
        return not self.key_variable

    @property
    def judged(self) -> bool:
        """Whether a judge is asked about the sentences of an answer that are neither quotations nor contradicted."""
        answer = self.profile.answer
        return answer.judge == "auto" and answer.grounding != "off" and not self.quotes


PartsOf = Callable[[str | None], Parts]


class Services(Protocol):
    """The live objects of a process, built once."""

    @property
    def index(self) -> ChunkIndex:
        """The index of the book."""
        ...

    def parts(self, profile: str | None) -> Parts:
        """The parts of the named profile, or of the default one. Raises `UsageError` for an unknown name."""
        ...
