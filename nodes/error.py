"""ERROR: tell the user what failed, and leave the thread usable.

Nodes raise `AskbookError`. LangGraph retries temporary failures, then calls `route_to_error`, which turns the exception
into a record and goes to the node `ERROR`. That node removes the unfinished work of the turn, and IDLE closes the turn.
For GENERATING, `try_fallback` tries the profile's fallback model first.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, Final, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, NodeError, NodeTimeoutError
from langgraph.graph import END
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import ValidationError

from nodes.turn import RetrySettings, Update, checked_metadata, emit_phase, has_new_question, last_message, with_notice
from rag.conversation.turns import failed_response, next_number, response_metadata
from rag.errors import AskbookError, UsageError
from rag.ports import PartsOf
from rag.types import ErrorInfo, ErrorType, Response, Tokens, iso_time, new_id
from state import EMPTY_TURN, AgentState, Context, Draft, Turn

log: Final = logging.getLogger("askbook")

T = TypeVar("T")
Handler = Callable[..., Command[str]]  # of the state and LangGraph's `NodeError`

# The other types would fail again: a second model meets the same key and the same prompt.
_ANOTHER_MODEL_MAY_HELP: Final = frozenset({"api_error", "rate_limit"})
_FINAL: Final = frozenset({"internal"})  # a bug


@contextmanager
def translate_errors(node: str, runtime: Runtime[Context], retries: RetrySettings | None = None) -> Iterator[None]:
    """Turn every exception of the block into an `AskbookError`.

    LangGraph keeps the `repr` of what a node raises in the checkpoint, and the text of a foreign exception may hold a
    key. With `retries`, LangGraph retries the node; a `waiting` event then says how long the wait will be.
    """
    try:
        yield
    except GraphBubbleUp:  # LangGraph's way to interrupt a node
        raise
    except Exception as failure:
        error = to_askbook_error(failure, node)
        if retries is not None:
            _emit_waiting(error, runtime, retries)
        raise error from None  # a log of the error would print its cause as well


def to_askbook_error(failure: BaseException, node: str) -> AskbookError:
    """What a node raised, as an `AskbookError`. An exception of another class is one of our timeouts or a bug."""
    if isinstance(failure, AskbookError):
        return failure
    searching = node in ("RETRIEVING", "tools")
    error_type: ErrorType = "retrieval_error" if searching else "api_error"
    if isinstance(failure, NodeTimeoutError | TimeoutError):
        what = "The search" if searching else "The model"
        return AskbookError(error_type, "timeout", f"{what} did not answer in time.")
    # A bug. Log where it happened, but not the exception's text: it may hold a key.
    frames = "".join(traceback.format_tb(failure.__traceback__))
    log.error("%s raised %s:\n%s", node, type(failure).__name__, frames)
    return AskbookError(error_type, "internal", f"{node} raised {type(failure).__name__}.")


def never_raises(handler: Handler) -> Handler:
    """Decorator of an error handler: if the handler raises, the turn ends with a minimal error response.

    LangGraph catches nothing that a handler raises. State and profile can make one fail: a client of the graph may
    write any value into the state, and a profile's file may vanish during a turn.
    """

    @wraps(handler)
    def ending(state: AgentState, error: NodeError, **bound: Any) -> Command[str]:
        try:
            return handler(state, error, **bound)
        except Exception as failure:
            log.error("the failure of %s could not be handled: %s", error.node, type(failure).__name__)
            return Command(goto=END, update=end_with_error(state, to_askbook_error(error.error, error.node)))

    return ending


@never_raises
def route_to_error(state: AgentState, error: NodeError) -> Command[str]:
    """LangGraph's default error handler: go from a node's exception to the state ERROR.

    A failure of ERROR, or while an earlier one is reported, ends the turn at once: to report it could fail endlessly.
    """
    failure = to_askbook_error(error.error, error.node)
    # No message: it may quote the reply of a service, and with it the user's text.
    log.warning("%s failed: %s", error.node, failure.code)
    draft = state.get("draft")
    opening = error.node == "IDLE" and has_new_question(state)
    if error.node == "ERROR" or (draft is not None and draft.get("status") == "error" and not opening):
        return Command(goto=END, update=end_with_error(state, failure))
    update: Update = {"phase": "ERROR", "draft": error_draft(failure.info())}
    if error.node == "IDLE":  # the turn did not open; a turn in the state is an earlier, interrupted one
        update["turn"] = None
    elif draft is not None and (used := draft.get("tokens_used")):  # by the calls before the one that failed
        update["draft"]["tokens_used"] = used
    return Command(goto="ERROR", update=update)


@never_raises
def try_fallback(state: AgentState, error: NodeError, *, parts_of: PartsOf) -> Command[str]:
    """LangGraph's error handler for GENERATING: once a turn to the profile's fallback model, otherwise to ERROR.

    Only while no part of an answer has been shown. The turn's `model` names the model that answers from here on; the
    next turn begins with the profile's own model again.
    """
    turn, failure = state.get("turn"), error.error
    if turn is None or not isinstance(failure, AskbookError):
        return route_to_error(state, error)
    parts = parts_of(turn["profile"])
    name = parts.profile.model.fallback
    may_help = failure.error_type in _ANOTHER_MODEL_MAY_HELP and failure.code not in _FINAL and not failure.shown
    if name is None or parts.quotes or turn["model"] == name or not may_help:
        return route_to_error(state, error)
    notice = f"{turn['model']} failed ({failure.code}), so {name} was asked."
    log.warning("%s", notice)
    return Command(goto="GENERATING", update={"turn": {**with_notice(turn, notice), "model": name}})


def error_draft(info: ErrorInfo) -> Draft:
    """The draft of a failed turn: its content is the fixed sentence of its error."""
    return Draft(
        status="error", content=info.user_message, plain_content=info.user_message, error=info.model_dump(mode="json")
    )


def error(state: AgentState, runtime: Runtime[Context]) -> Update:
    """The node `ERROR`: drop unanswered tool calls, and make the record of a turn that failed before it opened."""
    emit_phase(runtime, "ERROR", "failed")
    if state.get("turn") is not None:
        return {"exchange": []}
    # All other keys of a turn belong to an earlier, interrupted one.
    return EMPTY_TURN | {"draft": state.get("draft"), "turn": _unopened(state, runtime)}


def _emit_waiting(failure: AskbookError, runtime: Runtime[Context], retries: RetrySettings) -> None:
    """Write a `waiting` event with the wait before the next attempt, at most, in seconds."""
    info = runtime.execution_info  # absent when a node is called outside a graph, where nothing retries
    seconds = retries.wait_before_retry(failure, info.node_attempt) if info is not None else None
    if seconds:
        runtime.stream_writer({"type": "waiting", "seconds": seconds, "reason": failure.code})


def _unopened(state: AgentState, runtime: Runtime[Context]) -> Turn:
    """The record of a turn that was rejected before it opened. It has the number that it would have had."""
    last = last_message(state)
    asked = last if isinstance(last, HumanMessage) else None
    metadata: Mapping[str, Any] = {}
    with suppress(UsageError):  # they may be what was rejected
        metadata = checked_metadata(state.get("metadata"))
    return Turn(
        request_id=(asked.id if asked else None) or new_id(),
        question=asked.text if asked else "",
        metadata=metadata,
        number=next_number(state.get("messages", []), state.get("turn_number")),
        rejected=True,
        began=time.time(),
        profile=getattr(runtime.context, "profile", None) or "default",  # the context may be of any kind
        model="",
    )


def end_with_error(state: AgentState, failure: AskbookError) -> Update:
    """The update that ends the turn with an error response: the error in the draft, if there is one, else `failure`.

    ERROR and IDLE need the records of the turn. Where those are unreadable, for instance because a client of the graph
    wrote them into the state, the turn still ends with an error response, and its question does not stay unanswered.
    """
    turn = _mapping(state.get("turn"))
    number = next_number(state.get("messages", []), state.get("turn_number"))
    response = _response(state, failure, turn, number)
    update = EMPTY_TURN | {"turn": None, "metadata": None, "phase": "IDLE"}
    update |= {"response": response.model_dump(mode="json")}
    asked = last_message(state)
    if not isinstance(asked, HumanMessage):
        return update
    if turn.get("rejected"):
        return update | {"messages": [RemoveMessage(id=asked.id or "")]}
    asked_at = iso_time(float(turn["began"])) if isinstance(turn.get("began"), int | float) else response.created_at
    record = response_metadata(response, asked.text, asked_at, _of(turn, "collection", str, ""))
    answer: list[BaseMessage] = [AIMessage(id=response.id, content=response.content, response_metadata=record)]
    return update | {"messages": answer, "turn_number": number}


def _response(state: AgentState, failure: AskbookError, turn: Mapping[str, Any], number: int) -> Response:
    asked = last_message(state)
    return failed_response(
        _reported(state) or failure.info(),
        profile=_of(turn, "profile", str, "default"),
        model=_of(turn, "model", str, ""),
        request_id=_of(turn, "request_id", str, "") or (asked.id if asked else None),
        thread_id=_thread_id(),
        turn_number=number,
        metadata=_mapping(turn.get("metadata")),
    ).model_copy(update={"llm_calls": _of(state, "llm_calls", int, 0), "tokens_used": _tokens(state)})


def _tokens(state: AgentState) -> Tokens:
    """The tokens of the turn's model calls."""
    with suppress(ValidationError):
        return Tokens.model_validate(_mapping(state.get("draft")).get("tokens_used") or {})
    return Tokens()


def _reported(state: AgentState) -> ErrorInfo | None:
    """The failure that ERROR was about to report."""
    try:
        return ErrorInfo.model_validate(_mapping(state.get("draft")).get("error"))
    except ValidationError:
        return None


def _thread_id() -> str | None:
    """The run's thread; None outside a run or without a thread."""
    try:
        thread_id = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:
        return None
    return None if thread_id is None else str(thread_id)


def _of(record: Mapping[str, Any], name: str, kind: type[T], otherwise: T) -> T:
    value = record.get(name)
    return value if isinstance(value, kind) else otherwise


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
