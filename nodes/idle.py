"""IDLE: where a turn opens and where it closes.

The machine rests here between questions. Entered with an unanswered question, `idle` checks it, clears the board and
sends the machine on, past the search where it is small talk; entered with a draft, it makes the response of it and the
machine comes to rest.
"""

from __future__ import annotations

import time
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.runtime import Runtime

from nodes.turn import Node, Update, has_new_question, last_message, run_of, tell_phase
from rag.conversation.turns import NOTHING, check_question, history, notices, response_metadata, turn_limit
from rag.errors import InvalidQuestionError
from rag.ports import PartsOf
from rag.search.followups import wants_rewrite
from rag.text.english.talk import is_small_talk
from rag.types import Phase, Response, iso_time, new_id
from state import EMPTY_BOARD, AgentState, Context, Draft, Turn


def make_idle(parts_of: PartsOf) -> Node:
    """The node `idle`. Raises `AskbookError` for a question that cannot be asked."""

    def idle(state: AgentState, runtime: Runtime[Context]) -> Update:
        turn, draft = state.get("turn"), state.get("draft")
        if turn is not None and draft is not None and not has_new_question(state):
            response = _response(state, turn, draft, runtime)
            tell_phase(runtime, "IDLE", response.processing_state)
            return _close(state, turn, response)
        return _open(state, runtime)

    def _open(state: AgentState, runtime: Runtime[Context]) -> Update:
        parts = run_of(runtime, parts_of)
        profile = parts.profile
        last = last_message(state)
        if not isinstance(last, HumanMessage):
            raise InvalidQuestionError("The last message is not a question.", code="no_question")
        question = check_question(last.text, profile.limits.max_question_characters)
        number = state.get("turn_number", 0) + 1
        if profile.limits.max_turns is not None and number > profile.limits.max_turns:
            raise turn_limit(profile.limits.max_turns)
        turn = Turn(
            request_id=last.id or new_id(),
            question=question,
            metadata=state.get("metadata") or {},
            number=number,
            began=time.time(),
            profile=profile.name,
            model=parts.model_name,
            collection=parts.collection,
            notices=notices(
                number,
                # With those in the archive, the answer, and the system's message that no state holds.
                (state.get("past") or NOTHING)["messages"] + len(state["messages"]) + 2,
                max_turns=profile.limits.max_turns,
                max_messages=profile.limits.max_messages,
            ),
            context=runtime.context.model_dump(exclude_none=True) if runtime.context else {},
        )
        phase: Phase = "GENERATING" if is_small_talk(question) else "RETRIEVING"
        if phase == "RETRIEVING" and wants_rewrite(parts, history(state["messages"][:-1])):
            turn["rewrite"] = ""
        return EMPTY_BOARD | {"phase": phase, "turn": turn, "turn_number": number, "metadata": None}

    return idle


def _response(state: AgentState, turn: Turn, draft: Draft, runtime: Runtime[Context]) -> Response:
    passages, retrievals = state.get("passages") or [], state.get("retrievals") or []
    timings = draft.get("timings_ms", {}) | {
        "total": round((time.time() - turn["began"]) * 1000, 1),
        "retrieval": round(sum(retrieval["retrieval_time_ms"] for retrieval in retrievals), 1),
    }
    info = runtime.execution_info
    record = draft | {
        "request_id": turn["request_id"],
        "thread_id": new_id() if info is None or info.thread_id is None else str(info.thread_id),  # a number is one too
        "turn_number": turn["number"],
        "processing_state": "failed" if draft["status"] == "error" else "response_generated",
        "metadata": turn["metadata"],
        "profile": turn["profile"],
        "model": turn["model"],
        "retrievals": retrievals,
        "retrieved_chunks": [_shown(passage) for passage in passages],
        "retrieval_count": len(passages),
        "tool_calls": state.get("tool_calls") or [],
        "llm_calls": state.get("llm_calls", 0),
        "timings_ms": timings,
        "notices": [*turn.get("notices", []), *draft.get("notices", [])],
    }
    return Response.model_validate(record)


def _shown(passage: dict[str, Any]) -> dict[str, Any]:
    """A passage as the field `retrieved_chunks` keeps it: where it is, not what it says."""
    return {"rank": passage["number"]} | {
        name: passage[name] for name in ("score", "chunk_id", "url", "title", "heading")
    }


def _close(state: AgentState, turn: Turn, response: Response) -> Update:
    """The answer joins the conversation with its citations; the passages leave with the turn.

    A question that was turned away at the door leaves no trace: its turn is numbered beyond those that opened.
    """
    last = last_message(state)
    remembered = response_metadata(response, turn["question"], iso_time(turn["began"]), turn.get("collection", ""))
    message: BaseMessage | None = AIMessage(id=response.id, content=response.content, response_metadata=remembered)
    if turn["number"] > state.get("turn_number", 0):
        message = RemoveMessage(id=turn["request_id"]) if last is not None and last.id == turn["request_id"] else None
    board = EMPTY_BOARD | {"turn": None, "metadata": None}
    board |= {"phase": "IDLE", "response": response.model_dump(mode="json")}
    return board | ({"messages": [message]} if message else {})
