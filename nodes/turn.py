"""What every node is given and works with: its form, the run's parts, the last message."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from rag.ports import Parts, PartsOf
from rag.types import Phase, ProcessingState
from state import AgentState, Context, Turn

Update = dict[str, Any]


class Node(Protocol):
    """A node that computes: from the state to an update of it."""

    def __call__(self, state: AgentState, runtime: Runtime[Context]) -> Update: ...


class AsyncNode(Protocol):
    """A node that waits for others."""

    async def __call__(self, state: AgentState, runtime: Runtime[Context]) -> Update: ...


def tell_phase(runtime: Runtime[Context], phase: Phase, processing: ProcessingState) -> None:
    """Tell the stream which state the machine is in, and what that makes of the request."""
    runtime.stream_writer({"type": "phase", "phase": phase, "processing_state": processing})


def noticed(turn: Turn, notice: str) -> Turn:
    """The turn with one more thing that its user should know."""
    return {**turn, "notices": [*turn.get("notices", []), notice]}


def last_message(state: AgentState) -> AnyMessage | None:
    messages = state.get("messages")
    return messages[-1] if messages else None


def has_new_question(state: AgentState) -> bool:
    """Whether a question has come in since the turn was opened: then turn and draft are leftovers of a broken run."""
    turn, last = state.get("turn"), last_message(state)
    return turn is not None and isinstance(last, HumanMessage) and last.id not in (None, turn["request_id"])


def run_of(runtime: Runtime[Context], parts_of: PartsOf) -> Parts:
    """The parts for this run. The context is absent when the caller sent none.

    Raises `UsageError` for a profile that does not exist.
    """
    context = runtime.context or Context()
    parts = parts_of(context.profile)
    return replace(parts, profile=parts.profile.overridden(**context.knobs()))
