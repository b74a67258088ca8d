"""The records of a turn: passages, citations, the response and its events.

They are pydantic models. The graph's state holds them as JSON (`model_dump(mode="json")`), and `ask --json` prints a
`Response`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict  # pydantic rejects typing.TypedDict before Python 3.12

Phase = Literal["IDLE", "RETRIEVING", "GENERATING", "ERROR"]
Status = Literal["success", "fallback", "error"]
# Progress of one request.
ProcessingState = Literal["processing", "tool_call_needed", "tool_executed", "response_generated", "failed"]
FallbackReason = Literal["no_passage", "unconfirmed", "model_refused", "smalltalk"]
GroundingMode = Literal["strict", "exact", "flag", "off"]

# The result of checking a sentence: certainly unsupported, supported by a passage, or undecided.
Standing = Literal["contradicted", "supported", "unconfirmed"]

# What the assistant says when the book does not answer, unless a profile has its own sentence.
REFUSAL: Final = "I don't have information about that in the book content"
SMALLTALK: Final = "Hello! Ask me anything about the book."  # to a greeting or thanks
# Shown behind a sentence that could not be confirmed.
UNCONFIRMED_MARK: Final = "[?]"
CLOSEST: Final = 3  # passages or pages that are named in place of an answer
CUT_OFF: Final = "The answer reached its maximum number of tokens and was cut off."  # notice of a turn
OMISSION: Final = "[…]"  # stands where a quotation leaves something out
CitationStyle = Literal["numbered", "source", "title", "chapter"]
Footer = Literal["list", "files", "scores", "none"]
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
    """Base of the records. Unknown fields are an error, so a misspelt key is never dropped silently."""

    model_config = ConfigDict(extra="forbid")


class Passage(Record):
    """A chunk as the model sees it, numbered from 1 within the turn. `score` is its cosine, clipped to 0..1."""

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


class Quote(Record):
    """A span of a chunk of at most 200 code points: `chunk.text[start:end] == quote`."""

    quote: str
    start: int
    end: int

    @classmethod
    def of(cls, citation: Citation) -> Quote:
        """A citation's first quote."""
        return cls(quote=citation.quote, start=citation.start, end=citation.end)


class Citation(Record):
    """A resolved citation. `marker` is the passage's number; `formatted` is the citation in the profile's style."""

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


class JudgeTotals(Record):
    """What a judge said of an answer: asked about `sentences` in `calls`, it confirmed some and rejected others.

    `removed` counts the rejected ones. A sentence without a verdict is in neither count. `milliseconds` adds up the
    calls, some of which may have run at the same time.
    """

    model: str
    sentences: int = 0
    confirmed: int = 0
    removed: int = 0
    calls: int = 0
    milliseconds: float = 0.0


class CheckedSentence(Record):
    """A sentence of the answer as it was checked, removed ones included. `citations` are numbers of passages.

    The standing "frame" is that of a heading, a lead-in or a remark, which states nothing.
    """

    text: str
    standing: Standing | Literal["frame"]
    reasons: list[str] = []
    citations: list[int] = []


class Grounding(Record):
    """The result of checking an answer's sentences. `removed` counts those that the mode did not show.

    `unknown_markers` counts citations of passages that do not exist; every mode deletes these. `repaired` counts the
    sentences that cite another passage than the model wrote. `judge` is None when no model judged.
    """

    mode: GroundingMode = "strict"
    sentences: int = 0
    supported: int = 0
    unconfirmed: int = 0
    removed: int = 0
    unknown_markers: int = 0
    repaired: int = 0
    judge: JudgeTotals | None = None
    checked: list[CheckedSentence] = []


class Retrieval(Record):
    """One search, started by the program or by a tool call. `tool_name` is the profile's tool in both cases."""

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


class ClosestSection(Record):
    """A section that comes near to a question without an answer; `quote` is what of it comes nearest."""

    title: str
    heading: str
    breadcrumb: str
    url: str
    source_file_path: str
    chunk_id: str
    score: float
    quote: str


class ToolCall(Record):
    name: str
    args: Mapping[str, Any]


class Tokens(Record):
    """Tokens of a turn's model calls. `estimated` is true when the provider sent no counts."""

    input: int = 0
    output: int = 0
    total: int = 0
    estimated: bool = False

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            input=self.input + other.input,
            output=self.output + other.output,
            total=self.total + other.total,
            estimated=self.estimated or other.estimated,
        )


class Timings(Record):
    """Milliseconds. `first_token` counts from the start of the turn and is None when nothing was shown."""

    total: float = 0.0
    retrieval: float = 0.0
    first_token: float | None = None
    generation: float = 0.0


class ErrorInfo(Record):
    """A failure as the user sees it; `user_message` is the fixed sentence of its type."""

    error_type: ErrorType
    code: str
    message: str
    user_message: str
    hint: str
    retry_after: int | None = None
    recoverable: bool = True


class Response(Record):
    """The answer to one question, as printed by `ask --json`."""

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
    closest: list[ClosestSection] = Field(default_factory=list)
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

    @property
    def closest_pages(self) -> list[tuple[str, str]]:
        """Title and address of up to three pages that come near to a question that the book does not answer."""
        if self.fallback_reason != "model_refused":
            return []
        found = {chunk.url: chunk for chunk in reversed(self.retrieved_chunks)}
        pages = [found[url] for url in dict.fromkeys(chunk.url for chunk in self.retrieved_chunks)][:CLOSEST]
        return [(" > ".join(dict.fromkeys(filter(None, (one.title, one.heading)))), one.url) for one in pages]


class ArchiveSummary(TypedDict):
    """A summary of the turns that moved from the state to the archive, stored there as `blocks` items."""

    blocks: int
    turns: int
    messages: int
    first_question: str


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a turn's stream. `data` depends on `type`:

    - `phase`: `phase` and `processing_state`.
    - `retrieval`: the fields of a `Retrieval`, and `links`, the addresses of the turn's passages by number as text; the
      first one of a turn also has its `trace`.
    - `waiting`: `seconds` and `reason`, when a service asked to wait before the next attempt.
    - `checking`: `sentences`, how many a judge is asked about.
    - `sentence`: `text`. Concatenated, they equal the response's `content`.
    - `retract`: empty. Withdraws every sentence so far.
    - `response`: the fields of `response`. Always the last event.
    """

    type: Literal["phase", "retrieval", "waiting", "checking", "sentence", "retract", "response"]
    data: Mapping[str, Any] = field(default_factory=dict)
    response: Response | None = None


class AnsweredQuestion(NamedTuple):
    """An earlier question and its answer, without citation markers: these number the passages of that turn."""

    question: str
    answer: str
