"""The state of the machine, and the knobs of one run.

Everything in the state is plain JSON data or LangChain messages, so that a checkpoint can be read by a process that
has never seen these classes. `messages` is the end of the conversation and nothing else: one question, one answer, in
turns, as many as a prompt may see. Older turns are in the archive (`nodes.archive`); `past` says what is known of them.
What a turn needs for itself lives in keys of its own, which `idle` sets when the turn opens and empties when it
closes, since every key of a LangGraph state survives into the next turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict  # pydantic refuses that of typing before Python 3.12

from rag.types import CitationStyle, GroundingMode, Past, Phase

__all__ = ["EMPTY_BOARD", "AgentState", "Context", "Draft", "InputState", "Phase", "Turn"]


class Context(BaseModel):
    """The safe knobs of one run; a client may send them as JSON. None leaves the profile's value.

    There is no key, address, path or prompt here, and there never may be: whoever can call the graph can set these.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: Annotated[str | None, Field(description="Which profile answers", max_length=64)] = None
    top_k: Annotated[int | None, Field(ge=1, le=20, description="How many passages the model is shown")] = None
    score_threshold: Annotated[float | None, Field(ge=0, le=1, description="Least score of a passage")] = None
    filter: Annotated[str | None, Field(max_length=2000, description="Pages whose url begins so, or title:ROS")] = None
    temperature: Annotated[float | None, Field(ge=0, le=1, description="Sampling temperature of the model")] = None
    max_tokens: Annotated[int | None, Field(ge=1, le=100_000, description="Longest answer, in tokens")] = None
    citation_style: Annotated[CitationStyle | None, Field(description="How citations are written")] = None
    grounding: Annotated[
        GroundingMode | None, Field(description="What becomes of sentences that the passages do not support")
    ] = None

    def knobs(self) -> dict[str, Any]:
        """The values set here that a profile can be overridden with."""
        return self.model_dump(exclude={"profile", "filter"}, exclude_none=True)


class Turn(TypedDict):
    """The question being answered, and by whom. `began` is in seconds since the epoch, `context` the run's knobs.

    `collection` is the book that is asked. `rewrite` is what the model makes of the question for the search: absent
    where it is not asked, and empty until it has said something of use.
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


class Draft(TypedDict, total=False):
    """What `generate` or `error` leaves for `idle` to make the response of: fields of `rag.types.Response`."""

    status: str
    fallback_reason: str | None
    content: str
    plain_content: str
    citations: list[dict[str, Any]]
    grounding: dict[str, Any]
    notices: list[str]
    tokens_used: dict[str, Any]
    timings_ms: dict[str, Any]
    error: dict[str, Any] | None


class InputState(TypedDict, total=False):
    """What a caller sends: the new question as the last message, and what should be echoed in the response."""

    messages: Annotated[list[AnyMessage], add_messages]
    metadata: Mapping[str, Any] | None


class AgentState(InputState, total=False):
    """The whole state. `phase` names the state that the machine is in or about to enter; `snapshot.next` is the truth.

    `passages`, `retrievals`, `tool_calls` hold records of `rag.types` in their JSON form. `exchange` holds the model's
    tool calls of this turn with their results: apart from `messages`, a call that was never answered cannot break the
    conversation.
    """

    phase: Phase
    turn_number: int
    past: Past | None
    turn: Turn | None
    passages: list[dict[str, Any]]
    retrievals: list[dict[str, Any]]
    exchange: list[AnyMessage]
    tool_calls: list[dict[str, Any]]
    llm_calls: int
    draft: Draft | None
    response: dict[str, Any] | None


# What a turn finds when it opens and leaves when it closes.
EMPTY_BOARD: Final[dict[str, Any]] = {
    "passages": [],
    "retrievals": [],
    "exchange": [],
    "tool_calls": [],
    "llm_calls": 0,
    "draft": None,
    "response": None,
}
