"""Stored checkpoints: whether they have the form that a run relies on.

A damaged database can give back any value. LangGraph does not check what it loads and then fails in many places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import CheckpointTuple
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

# Nodes and channels that tell the machine's checkpoints from those of another graph, which has other channels.
_MACHINE: Final = frozenset({"IDLE", "llm_calls", "retrievals"})

_Id = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")]
# Of one kind in a checkpoint, since LangGraph compares and counts them.
_Versions = dict[str, Annotated[str, Field(pattern=r"^[0-9]+(\.|$)")]] | dict[str, int | float]
_Records = list[dict[str, Any]]


def _checked(message: BaseMessage) -> BaseMessage:
    """LangGraph builds a message without validation when its fields are invalid."""
    texts = isinstance(message.content, str | list) and isinstance(message.id, str | None)
    if not (texts and isinstance(message.response_metadata, dict) and isinstance(message.additional_kwargs, dict)):
        raise ValueError("a field of the message has another type")
    return message


_Messages = list[Annotated[BaseMessage, AfterValidator(_checked)]]


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", arbitrary_types_allowed=True)


class _Checkpoint(_Form):
    """The parts of LangGraph's `Checkpoint` that a run reads."""

    v: Annotated[int, Field(ge=1)]
    id: _Id
    ts: str
    channel_values: dict[str, Any]
    channel_versions: _Versions
    versions_seen: dict[str, _Versions]
    updated_channels: list[str] | None = None

    def is_consistent(self) -> bool:
        """Whether every channel with a value has a version, and versions are of one kind."""
        versions = [
            *self.channel_versions.values(),
            *(v for seen in self.versions_seen.values() for v in seen.values()),
        ]
        kinds = {isinstance(version, str) for version in versions}
        return len(kinds) <= 1 and self.channel_values.keys() <= self.channel_versions.keys()


class _Past(_Form):
    blocks: int
    turns: int
    messages: int
    first_question: str


class _State(_Form):
    """The channels of `state.AgentState` that outlast a turn. The next turn resets all others."""

    messages: _Messages = []
    past: _Past | None = None


def is_whole(stored: CheckpointTuple) -> bool:
    """Whether the checkpoint can be read and continued."""
    try:
        checkpoint = _Checkpoint.model_validate(stored.checkpoint)
        if checkpoint.id != stored.config["configurable"]["checkpoint_id"] or "step" not in stored.metadata:
            return False
        if not checkpoint.is_consistent():
            return False
        # The messages are lost without a trace when PostgreSQL no longer has the row that holds them.
        if "messages" in checkpoint.channel_versions and "messages" not in checkpoint.channel_values:
            return False
        if _MACHINE & (checkpoint.versions_seen.keys() | checkpoint.channel_versions.keys()):
            _State.model_validate(checkpoint.channel_values)
    except (ValidationError, TypeError, KeyError, AttributeError):  # a message may lack any attribute
        return False
    return True


class _Turn(_Form):
    """The record of a finished turn, as `rag.conversation.turns.turns` gives it."""

    question: str
    content: str
    request_id: str
    turn_number: int | None
    created_at: str
    citations: _Records | None
    retrievals: _Records | None
    retrieved_chunks: _Records | None
    tokens_used: dict[str, Any] | None


def check_turns(finished: Sequence[Mapping[str, Any]]) -> None:
    """Raise `ValueError` for a record of a turn that has another form."""
    for turn in finished:
        _Turn.model_validate(turn)
