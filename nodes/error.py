"""ERROR: a failure is told to the user, and the thread goes on.

Nodes raise; LangGraph retries what may pass, then calls `to_error`, which turns the exception into a record and sends
the machine to the node `error`. That mends what the failed turn left half done and hands over to `idle`.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable
from typing import Final

from langchain_core.messages import HumanMessage
from langgraph.errors import GraphBubbleUp, NodeError, NodeTimeoutError
from langgraph.graph import END
from langgraph.runtime import Runtime
from langgraph.types import Command

from nodes.turn import AsyncNode, Update, has_new_question, last_message, noticed, tell_phase
from rag.errors import AskbookError
from rag.ports import PartsOf
from rag.retry import Patience
from rag.types import ErrorInfo, ErrorType, new_id
from state import EMPTY_BOARD, AgentState, Context, Draft, Turn

log: Final = logging.getLogger("askbook")


def to_error(state: AgentState, error: NodeError) -> Command[str]:
    """LangGraph's error handler for every node but `error`: from an exception to the state ERROR.

    A second failure while the first is being reported ends the run: reporting it again could fail for ever.
    """
    failure = as_failure(error.error, error.node)
    log.warning("%s failed: %s (%s)", error.node, failure.message, failure.code)
    draft = state.get("draft")
    at_the_door = error.node == "idle" and has_new_question(state)
    if draft is not None and draft.get("status") == "error" and not at_the_door:
        return Command(goto=END, update={"phase": "IDLE", "turn": None, "draft": None})
    update: Update = {"phase": "ERROR", "draft": error_draft(failure.info())}
    if error.node == "idle":  # it failed at the door: a turn still in the state is one that was broken off earlier
        update["turn"] = None
    return Command(goto="error", update=update)


def as_failure(failure: BaseException, node: str) -> AskbookError:
    """What a node raised, as an `AskbookError`. What is none yet is a timeout of ours or a bug, and named as such."""
    if isinstance(failure, AskbookError):
        return failure
    searching = node in ("retrieve", "tools")
    error_type: ErrorType = "retrieval_error" if searching else "api_error"
    if isinstance(failure, NodeTimeoutError | TimeoutError):
        what = "The search" if searching else "The model"
        return AskbookError(error_type, "timeout", f"{what} did not answer in time.")
    # A bug, and the log says where. Not what the exception says: a foreign text may hold a key.
    frames = "".join(traceback.format_tb(failure.__traceback__))
    log.error("%s raised %s:\n%s", node, type(failure).__name__, frames)
    return AskbookError(error_type, "internal", f"{node} raised {type(failure).__name__}.")


def guarded(node: AsyncNode, name: str, patience: Patience | None = None) -> AsyncNode:
    """The node, raising nothing but `AskbookError`. With `patience` it is retried, and says when that takes a while.

    LangGraph keeps the `repr` of what a node raises in the checkpoint, and a foreign exception's text may hold a key.
    """

    async def guard(state: AgentState, runtime: Runtime[Context]) -> Update:
        try:
            return await node(state, runtime)
        except GraphBubbleUp:  # how LangGraph interrupts a node
            raise
        except Exception as failure:
            error = as_failure(failure, name)
            if patience is not None:
                _tell_wait(error, runtime, patience)
            raise error from None  # whoever logs it would log what it came from as well

    return guard


def _tell_wait(failure: AskbookError, runtime: Runtime[Context], patience: Patience) -> None:
    """Tell the stream that the service asked for some seconds of rest, which LangGraph's retry policy now waits."""
    info = runtime.execution_info  # absent where a node is called outside a graph, where nothing retries
    seconds = patience.wait_told(failure, info.node_attempt) if info is not None else None
    if seconds:
        runtime.stream_writer({"type": "waiting", "seconds": seconds, "reason": failure.code})


def error_draft(info: ErrorInfo) -> Draft:
    """The draft of a failed turn: its content is the fixed sentence of the error's type."""
    return Draft(
        status="error",
        content=info.user_message,
        plain_content=info.user_message,
        error=info.model_dump(mode="json"),
    )


def error(state: AgentState, runtime: Runtime[Context]) -> Update:
    """The node `error`: a turn that never opened gets a record, an unanswered tool call is dropped."""
    tell_phase(runtime, "ERROR", "failed")
    if state.get("turn") is not None:
        return {"exchange": []}
    # What lies on the board belongs to a turn that was broken off earlier.
    return EMPTY_BOARD | {"draft": state.get("draft"), "turn": _unopened(state, runtime)}


def _unopened(state: AgentState, runtime: Runtime[Context]) -> Turn:
    """The turn of a question that was turned away at the door: one beyond `turn_number`, which did not move."""
    last = last_message(state)
    asked = last if isinstance(last, HumanMessage) else None
    return Turn(
        request_id=(asked.id if asked else None) or new_id(),
        question=asked.text if asked else "",
        metadata=state.get("metadata") or {},
        number=state.get("turn_number", 0) + 1,
        began=time.time(),
        profile=(runtime.context and runtime.context.profile) or "default",
        model="",
    )


def last_resort(_state: AgentState, error: NodeError) -> Command[str]:
    """The handler of the node `error` itself: the run ends, and the thread is as usable as before."""
    log.error("the failure could not be reported", exc_info=error.error)
    return Command(goto=END, update={"phase": "IDLE", "turn": None, "draft": None})


Handler = Callable[[AgentState, NodeError], Command[str]]

# Failures of the endpoint or the model. Another model would be refused the same key, and reads no longer prompt.
_MAY_HELP: Final = frozenset({"api_error", "rate_limit"})


def make_to_fallback(parts_of: PartsOf) -> Handler:
    """LangGraph's error handler for `generate`: once a turn to the profile's fallback model, otherwise to ERROR.

    Only while nothing of an answer has been shown. The turn's `model` says which one answers from here on; the next
    turn begins with the profile's own again.
    """

    def to_fallback(state: AgentState, error: NodeError) -> Command[str]:
        turn, failure = state.get("turn"), error.error
        if turn is None or not isinstance(failure, AskbookError):
            return to_error(state, error)
        parts = parts_of(turn["profile"])
        name = parts.profile.model.fallback
        helps = failure.error_type in _MAY_HELP and failure.code != "internal" and not failure.shown
        if name is None or parts.quotes or turn["model"] == name or not helps:
            return to_error(state, error)
        notice = f"{turn['model']} failed ({failure.code}), so {name} was asked."
        log.warning("%s", notice)
        return Command(goto="generate", update={"turn": {**noticed(turn, notice), "model": name}})

    return to_fallback
