"""What the nodes share: the events they stream, access to the state, the options of a run, retry settings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from langchain_core.messages import AIMessageChunk, AnyMessage, HumanMessage, messages_from_dict
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph.message import push_message
from langgraph.runtime import Runtime
from pydantic import JsonValue, TypeAdapter, ValidationError

from rag.book import SearchFilter
from rag.errors import AskbookError, UsageError
from rag.ports import Parts, PartsOf
from rag.search.retriever import parse_filter
from rag.types import Passage, Phase, ProcessingState
from state import AgentState, Context, Turn

# LangGraph's `checkpoint_ns` names the running node, and of a subgraph first the node that runs it: "ask:1|IDLE:2".
_SUBGRAPH_SEPARATOR: Final = "|"
Update = dict[str, Any]


def emit_phase(runtime: Runtime[Context], phase: Phase, processing: ProcessingState) -> None:
    """Write a `phase` event: the state of the machine and the processing state of the request."""
    runtime.stream_writer({"type": "phase", "phase": phase, "processing_state": processing})


def emit_sentence(runtime: Runtime[Context], turn: Turn, text: str, links: Mapping[str, str] | None = None) -> None:
    """Show a checked piece of the answer: as an event, and as a chunk of the message that the conversation will get.

    Chat clients that stream messages put the chunks of one id together. `links` are the addresses of the citations so
    far, by number.
    """
    runtime.stream_writer({"type": "sentence", "text": text, "links": dict(links or {})})
    if "answer_id" in turn:
        with suppress(RuntimeError):  # raised outside a run of a graph, where no client streams messages
            push_message(AIMessageChunk(id=turn["answer_id"], content=text), state_key=None)


def links_of(passages: Iterable[Passage]) -> dict[str, str]:
    """The address of each passage by its number, so that a reader of the stream can link the citations."""
    return {str(passage.number): passage.link for passage in passages}


def exchange_of(state: AgentState) -> list[AnyMessage]:
    """The tool calls of the turn and their results as messages."""
    messages: Any = messages_from_dict(state.get("exchange", []))
    return list(messages)


def with_notice(turn: Turn, notice: str) -> Turn:
    """The turn with one more notice for its user."""
    return {**turn, "notices": [*turn.get("notices", []), notice]}


def last_message(state: AgentState) -> AnyMessage | None:
    messages = state.get("messages")
    return messages[-1] if messages else None


def require_turn(state: AgentState, purpose: str) -> Turn:
    """The open turn. Raises `AskbookError` "no_turn" when the graph was entered in the middle of a turn."""
    turn = state.get("turn")
    if turn is None:
        raise AskbookError("invalid_input", "no_turn", f"No turn is in progress, so there is nothing to {purpose}.")
    return turn


def has_new_question(state: AgentState) -> bool:
    """Whether the last message is a newer question than that of `turn`, which then belongs to an interrupted run."""
    turn, last = state.get("turn"), last_message(state)
    return turn is not None and isinstance(last, HumanMessage) and last.id not in (None, turn["request_id"])


def context_of(runtime: Runtime[Context]) -> Context:
    """The options of the run; all are unset when the caller sent none.

    LangGraph converts a mapping into a `Context` and passes any other object through. Raises `UsageError` for such an
    object, unless it is the context of a graph around this one, which is not meant for this one.
    """
    context: object = runtime.context
    info = runtime.execution_info
    is_subgraph = info is not None and _SUBGRAPH_SEPARATOR in info.checkpoint_ns
    if context is None or (not isinstance(context, Context) and is_subgraph):
        return Context()
    if not isinstance(context, Context):
        hint = "Give a Context, or a mapping of its fields."
        raise UsageError(
            f"The context of the run is of the type {type(context).__name__}.", code="invalid_option", hint=hint
        )
    return context


def filter_of_run(runtime: Runtime[Context]) -> SearchFilter | None:
    """The filter that the caller set for this run. The model cannot change it."""
    return parse_filter(context_of(runtime).filter)


def checked_metadata(metadata: object) -> dict[str, Any]:
    """The metadata of a request, if they can be stored and given back as JSON. Raises `UsageError`."""
    if not metadata:
        return {}
    try:
        found = TypeAdapter(dict[str, JsonValue]).validate_python(metadata, strict=True)
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
        JsonPlusSerializer().dumps_typed(found)
    except (ValidationError, ValueError, TypeError):  # what JSON or UTF-8 lacks; an integer that cannot be stored
        message = "The metadata are not a mapping from text to JSON values with integers of at most 64 bits."
        raise UsageError(message) from None
    return found


def parts_of_run(runtime: Runtime[Context], parts_of: PartsOf) -> Parts:
    """The parts of the run's profile, with the run's options applied.

    Raises `UsageError` for a context of another kind, an unknown profile, and a model that is not on offer.
    """
    context = context_of(runtime)
    parts = parts_of(context.profile)
    overrides = context.model_dump(exclude={"profile", "filter", "model"}, exclude_none=True)
    return replace(parts, profile=parts.profile.overridden(**overrides), chosen=chosen_model(parts, context))


def chosen_model(parts: Parts, context: Context) -> str:
    """The model that the run asks for, if the operator offers it; empty for the profile's own, and without a model.

    Raises `UsageError` for one that is not on offer.
    """
    own = {parts.model_name, parts.profile.model.name} if parts.quotes else {parts.model_name}
    if context.model is None or context.model in own:
        return ""
    if context.model not in parts.models:
        hint = f"Models: {', '.join((parts.model_name, *parts.models))}."
        raise UsageError(f'There is no model "{context.model}" to choose.', code="unknown_model", hint=hint)
    return "" if parts.quotes else context.model


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """Limits on retries, in seconds.

    If a service requests a wait, the step waits exactly that long, or is not retried if the wait exceeds
    `max_requested_wait` (a user at a terminal does not wait longer). Otherwise the interval doubles from
    `initial_interval` to `max_interval`, plus a random jitter of up to `JITTER` seconds. `time_scale` scales every
    wait; tests use 0.
    """

    max_attempts: int = 3
    initial_interval: float = 0.5
    max_interval: float = 8.0
    max_requested_wait: int = 30
    time_scale: float = 1.0

    def may_retry(self, failure: BaseException) -> bool:
        """Whether the failure is marked retryable and names no wait beyond `max_requested_wait`."""
        if not isinstance(failure, AskbookError) or not failure.retryable:
            return False
        return failure.requested_wait is None or failure.requested_wait <= self.max_requested_wait

    def tries_again(self, failure: BaseException, attempt: int) -> bool:
        """Whether a step is retried that failed in attempt number `attempt`, which counts from 1."""
        return attempt < self.max_attempts and self.may_retry(failure)

    def wait_before_retry(self, failure: BaseException, attempt: int) -> int | None:
        """The wait after attempt number `attempt`, which counts from 1, in whole seconds.

        Exactly the wait that the service requested, else the interval with the largest jitter. None if no attempt is
        left.
        """
        if not isinstance(failure, AskbookError) or not self.tries_again(failure, attempt):
            return None
        if failure.requested_wait is not None:
            return failure.requested_wait
        interval = min(self.max_interval, self.initial_interval * 2.0 ** (attempt - 1))
        return math.ceil(interval * self.time_scale + (JITTER if self.time_scale > 0 else 0))


JITTER: Final = 1.0  # seconds; LangGraph adds a random number from 0 to 1 to an interval with jitter
DEFAULT_RETRIES: Final = RetrySettings()
