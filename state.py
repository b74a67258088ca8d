"""The state of the graph, and the options of one run.

The state holds only JSON data and LangChain messages, so a checkpoint can be read without these classes. `messages`
has the latest turns, one question and one answer each; older turns are in the archive (`nodes.archive`), and `past`
summarizes them. LangGraph keeps every key between turns, so IDLE sets the keys of a turn at its start and resets them
at its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.channels import UntrackedValue
from langgraph.graph.message import add_messages
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict  # pydantic rejects typing.TypedDict before Python 3.12

from rag.types import ArchiveSummary, CitationStyle, GroundingMode, Phase

__all__ = ["EMPTY_TURN", "AgentState", "Context", "Draft", "InputState", "Phase", "Turn"]

# The nodes that an option belongs to, for LangGraph Studio
_OPEN: Final[dict[str, Any]] = {"langgraph_nodes": ["IDLE"]}
_SEARCH: Final[dict[str, Any]] = {"langgraph_nodes": ["RETRIEVING", "tools"]}
_ANSWER: Final[dict[str, Any]] = {"langgraph_nodes": ["GENERATING"]}


class Context(BaseModel):
    """The options of one run. None keeps the profile's value.

    Any client of the graph can set them, so no key, address, path or prompt may be among them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: str | None = Field(
        default=None, max_length=64, description="Profile that answers", json_schema_extra=_OPEN
    )
    model: str | None = Field(
        default=None, max_length=200, description="Model that answers, among those on offer", json_schema_extra=_ANSWER
    )
    top_k: int | None = Field(
        default=None, ge=1, le=20, description="Number of passages for the model", json_schema_extra=_SEARCH
    )
    score_threshold: float | None = Field(
        default=None, ge=0, le=1, description="Minimum score of a passage", json_schema_extra=_SEARCH
    )
    filter: str | None = Field(
        default=None,
        max_length=2000,
        description="URL prefix of the pages to search, or title:PREFIX",
        json_schema_extra=_SEARCH,
    )
    temperature: float | None = Field(
        default=None, ge=0, le=1, description="Sampling temperature of the model", json_schema_extra=_ANSWER
    )
    max_tokens: int | None = Field(
        default=None, ge=1, le=100_000, description="Maximum length of the answer in tokens", json_schema_extra=_ANSWER
    )
    citation_style: CitationStyle | None = Field(
        default=None, description="Style of the citations", json_schema_extra=_ANSWER
    )
    grounding: GroundingMode | None = Field(
        default=None, description="Treatment of sentences that the passages do not support", json_schema_extra=_ANSWER
    )


class Turn(TypedDict):
    """The current question, and the profile and model that answer it.

    `began` is in seconds since the epoch, `context` holds the options of the run, and `collection` is the book.
    `answer_id` is the id of the message with the answer, whose pieces are streamed before it is in the conversation.
    `rejected` says that the question was rejected before the turn opened, and leaves no trace. It is no refusal, which
    is an answer.
    `rewrite` is the model's rewrite of the question for the search: absent if none is wanted, empty until there is a
    usable one.
    """

    request_id: str
    question: str
    metadata: Mapping[str, Any]
    number: int
    began: float
    profile: str
    model: str
    notices: NotRequired[list[str]]
    context: NotRequired[dict[str, Any]]
    rewrite: NotRequired[str]
    collection: NotRequired[str]
    answer_id: NotRequired[str]
    rejected: NotRequired[bool]


class Draft(TypedDict, total=False):
    """Fields of `rag.types.Response` that GENERATING or ERROR sets; IDLE makes the response from them.

    Before there is an answer, `tokens_used` alone is the running count of the tokens of this turn's model calls.
    """

    status: str
    fallback_reason: str | None
    content: str
    plain_content: str
    citations: list[dict[str, Any]]
    closest: list[dict[str, Any]]
    grounding: dict[str, Any]
    notices: list[str]
    tokens_used: dict[str, Any]
    timings_ms: dict[str, Any]
    error: dict[str, Any] | None


class InputState(TypedDict, total=False):
    """The input of a run: the question as the last message, and `metadata` to return with the response."""

    messages: Annotated[list[AnyMessage], add_messages]
    metadata: Mapping[str, Any] | None


class AgentState(InputState, total=False):
    """The whole state. `phase` is the current or next phase for display; `snapshot.next` is authoritative.

    `turn_number` is the number of the last turn that was answered, with an error too.
    `passages`, `retrievals` and `tool_calls` hold records of `rag.types` as JSON. `exchange` holds the tool calls of
    this turn with their results, as LangChain's `message_to_dict` makes them. They are not in `messages`, so an
    unanswered call cannot break the conversation; as messages, LangGraph would stream them to chat clients.
    `aside` holds the last question and its answer while it is asked again, as `message_to_dict` makes them.
    `unreadable` counts the replies of the judge in this conversation that could not be read.
    `contexts` holds the passages of the turn that has ended, with their texts, for evaluators; it is never stored.
    """

    phase: Phase
    turn_number: int
    past: ArchiveSummary | None
    aside: list[dict[str, Any]] | None
    turn: Turn | None
    passages: list[dict[str, Any]]
    retrievals: list[dict[str, Any]]
    exchange: list[dict[str, Any]]
    tool_calls: list[dict[str, Any]]
    llm_calls: int
    draft: Draft | None
    response: dict[str, Any] | None
    unreadable: int
    contexts: Annotated[list[dict[str, Any]], UntrackedValue]


# The turn's keys at its start and at its end.
EMPTY_TURN: Final[dict[str, Any]] = {
    "passages": [],
    "retrievals": [],
    "exchange": [],
    "tool_calls": [],
    "llm_calls": 0,
    "draft": None,
    "response": None,
}
