"""The records of a turn: what was found, cited and answered.

They are pydantic models: stored in the graph's state in their JSON form (`model_dump(mode="json")`), and `Response` is
the public answer of `ask --json`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer
from typing_extensions import TypedDict  # pydantic refuses that of typing before Python 3.12

from rag.book import Chunk

Phase = Literal["IDLE", "RETRIEVING", "GENERATING", "ERROR"]
Status = Literal["success", "fallback", "error"]
# The same machine seen from the request: what has become of it. Before the first phase it is "received".
ProcessingState = Literal["processing", "tool_call_needed", "tool_executed", "response_generated", "failed"]
FallbackReason = Literal["no_passage", "unsupported", "model_refused", "smalltalk"]
GroundingMode = Literal["strict", "flag", "off"]
CitationStyle = Literal["numbered", "source", "title", "chapter"]
Footer = Literal["list", "scores", "none"]
ErrorType = Literal[
    "rate_limit", "api_error", "retrieval_error", "auth_error", "invalid_input", "context_overflow", "memory_error"
]


def new_id() -> str:
    """A random UUID as text."""
    return str(uuid4())


def now() -> str:
    """The time now, ISO 8601 in UTC, to the millisecond."""
    return iso_time(time.time())


def iso_time(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


class Record(BaseModel):
    """A record of a turn: closed (no unknown fields), so that a misspelt key is an error and not a silent loss."""

    model_config = ConfigDict(extra="forbid")


class Passage(Record):
    """A chunk as it is shown to the model, numbered from 1 within the turn. `score` is the cosine, clipped to 0..1."""

    number: int
    score: float
    chunk_id: str
    text: str
    title: str
    heading: str = ""
    breadcrumb: str = ""
    url: str
    link: str
    source_file_path: str = ""
    chunk_index: int = 0
    chunk_sha256: str = ""
    chapter: str | None = None
    page_number: int | None = None

    @classmethod
    def of(cls, chunk: Chunk, number: int, score: float) -> Passage:
        return cls(
            number=number,
            score=score,
            chunk_id=chunk.id,
            text=chunk.text,
            title=chunk.title,
            heading=chunk.heading,
            breadcrumb=chunk.breadcrumb,
            url=chunk.url,
            link=chunk.link,
            source_file_path=chunk.source_file_path,
            chunk_index=chunk.chunk_index,
            chunk_sha256=chunk.sha256,
            chapter=chunk.chapter,
            page_number=chunk.page_number,
        )


class Quote(Record):
    """A stretch of a chunk: `chunk.text[start:end] == quote`, in code points, at most 200 of them."""

    quote: str
    start: int
    end: int

    @classmethod
    def of(cls, citation: Citation) -> Quote:
        """A citation's first quote."""
        return cls(quote=citation.quote, start=citation.start, end=citation.end)


class Citation(Record):
    """A resolved citation. `marker` is the passage's number, `formatted` the citation in the profile's style."""

    id: str = Field(default_factory=new_id)
    marker: int
    title: str
    heading: str
    breadcrumb: str
    chapter: str | None
    page_number: int | None
    url: str
    source_file_path: str
    chunk_id: str
    chunk_index: int
    score: float
    confidence_score: float
    quote: str
    start: int
    end: int
    text_preview: str
    chunk_sha256: str
    formatted: str
    occurrences: list[Quote] = Field(default_factory=list)


class Opinion(Record):
    """What a model that judges said: of how many `sentences` it was asked, in how many calls, and how many it did not
    find supported (`removed`).
    """

    model: str
    sentences: int = 0
    removed: int = 0
    calls: int = 0


class Grounding(Record):
    """What the check of the answer's sentences found. `removed` counts what the mode "strict" took out.

    `unknown_markers` counts citations that name no passage of the turn; these are taken out in every mode. `judge` is
    left out of the record where no model judged.
    """

    mode: GroundingMode = "strict"
    sentences: int = 0
    supported: int = 0
    removed: int = 0
    unknown_markers: int = 0
    judge: Opinion | None = None

    @model_serializer(mode="wrap")
    def _without_a_judge(self, usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = usual(self)
        return fields if self.judge is not None else {name: fields[name] for name in fields if name != "judge"}


class Retrieval(Record):
    """One search: by the program (`tool_name` is the profile's tool all the same) or asked for by the model."""

    tool_name: str
    query: str
    filter_applied: str | None
    results_count: int
    total_chunks_found: int
    avg_similarity: float
    retrieval_time_ms: float
    timestamp: str = Field(default_factory=now)


class RetrievedChunk(Record):
    rank: int
    score: float
    chunk_id: str
    url: str
    title: str
    heading: str


class ToolCall(Record):
    name: str
    args: Mapping[str, Any]


class Tokens(Record):
    """Tokens of a turn's model calls. `estimated` says that the provider did not count them."""

    input: int = 0
    output: int = 0
    total: int = 0
    estimated: bool = False


class Timings(Record):
    """Milliseconds since the question was accepted; `first_token` is None when nothing was shown."""

    total: float = 0.0
    retrieval: float = 0.0
    first_token: float | None = None
    generation: float = 0.0


class ErrorInfo(Record):
    """A failure as it is told to the user; `user_message` is the fixed sentence of its type."""

    error_type: ErrorType
    code: str
    message: str
    user_message: str
    hint: str
    retry_after: int | None = None
    recoverable: bool = True


class Response(Record):
    """The answer to one question; the object that `ask --json` prints."""

    id: str = Field(default_factory=new_id)
    request_id: str
    thread_id: str
    turn_number: int
    status: Status
    fallback_reason: FallbackReason | None = None
    phase: Phase = "IDLE"
    processing_state: Literal["response_generated", "failed"] = "response_generated"
    metadata: Mapping[str, Any] = Field(default_factory=dict)
    profile: str
    model: str
    content: str
    plain_content: str
    citations: list[Citation] = Field(default_factory=list)
    retrievals: list[Retrieval] = Field(default_factory=list)
    retrieved_chunks: list[RetrievedChunk] = Field(default_factory=list)
    retrieval_count: int = 0
    tool_calls: list[ToolCall] = Field(default_factory=list)
    grounding: Grounding = Field(default_factory=Grounding)
    tokens_used: Tokens = Field(default_factory=Tokens)
    llm_calls: int = 0
    timings_ms: Timings = Field(default_factory=Timings)
    created_at: str = Field(default_factory=now)
    notices: list[str] = Field(default_factory=list)
    error: ErrorInfo | None = None


class Past(TypedDict):
    """What a conversation still knows of the turns that have left its state for the archive, without looking there.

    `blocks` is how many items they are in the archive.
    """

    blocks: int
    turns: int
    messages: int
    first_question: str


# --- what a stream of a turn consists of ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a turn as it happens: `data` holds the fields of `type`.

    `phase` {phase, processing_state} · `retrieval` the `Retrieval`, the first of a turn with its `trace` · `waiting`
    {seconds, reason} before a step is tried again, because a service asked for it · `sentence` {text} · `retract` {}
    withdraws every sentence so far · `response` the `Response`, last. The `text` of all sentences, concatenated, equals
    the response's `content`.
    """

    type: Literal["phase", "retrieval", "waiting", "sentence", "retract", "response"]
    data: Mapping[str, Any] = field(default_factory=dict)
    response: Response | None = None


SHOWN: Final = 20  # candidates of a trace that is printed


@dataclass(frozen=True, slots=True)
class Trace:
    """How a search went: its queries, what each counted, its legs, and its candidates, best first.

    `kinds` says what each query is: the question, a context of it, its rewrite. `legs` are "dense" and "sparse" for the
    raw question, then "dense" for each other query; a candidate's `scores` are in the same order.
    """

    queries: tuple[str, ...]
    kinds: tuple[Kind, ...]
    weights: tuple[float, ...]
    legs: tuple[str, ...]
    threshold: float
    candidates: tuple[Candidate, ...]

    def as_data(self, most: int = SHOWN) -> dict[str, Any]:
        """The trace as JSON data, with its best `most` candidates."""
        return {
            "queries": [
                {"kind": kind, "text": text, "weight": weight}
                for kind, text, weight in zip(self.kinds, self.queries, self.weights, strict=True)
            ],
            "legs": list(self.legs),
            "threshold": self.threshold,
            "candidates": [asdict(candidate) for candidate in self.candidates[:most]],
        }


@dataclass(frozen=True, slots=True)
class Found:
    """The passages of a question, the record of the search, and how it came about."""

    passages: list[Passage]
    retrieval: Retrieval
    trace: Trace


Outcome = Literal["kept", "neighbour", "below_threshold", "duplicate", "beyond_k"]
Kind = Literal["question", "context", "rewrite"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One chunk that a leg found, and what became of it.

    `cosine` is the score that the gate saw. `scores` are those in the legs: cosines, and BM25 for the sparse one, where
    0 says that no word is shared. `fused` is what it was ordered by.
    """

    chunk_id: str
    title: str
    heading: str
    cosine: float
    scores: tuple[float, ...]
    fused: float
    outcome: Outcome


class Exchange(NamedTuple):
    """One answered question of the past. `answer` has no citation markers: they counted another turn's passages."""

    question: str
    answer: str
