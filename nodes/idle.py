"""IDLE: a turn opens here and closes here.

The machine rests in IDLE between questions. With a new question, the node opens a turn: it checks the question, resets
what belongs to one turn, and chooses the next state. With a draft, the node closes the turn: it makes the response,
adds the answer to the conversation, and moves the oldest turns to the archive.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.messages.ai import UsageMetadata
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from nodes.archive import EMPTY_ARCHIVE, archive_old_turns
from nodes.turn import Update, checked_metadata, context_of, emit_phase, has_new_question, last_message, parts_of_run
from rag.conversation.turns import (
    check_question,
    history,
    next_number,
    notices,
    response_metadata,
    turn_limit,
    with_aside,
)
from rag.errors import InvalidQuestionError
from rag.ports import Parts, PartsOf
from rag.text.talk import is_small_talk
from rag.types import AnsweredQuestion, Phase, Response, iso_time, new_id
from state import EMPTY_TURN, AgentState, Context, Draft, Turn


async def idle(state: AgentState, runtime: Runtime[Context], *, parts_of: PartsOf) -> Update:
    """The node `IDLE`. Raises `AskbookError` for an invalid question."""
    turn, draft = state.get("turn"), state.get("draft")
    if turn is None or draft is None or has_new_question(state):
        # In a thread: it may read a profile's file or build the services.
        return await asyncio.to_thread(begin_turn, state, runtime, parts_of)
    response = make_response(state, turn, draft, runtime)
    emit_phase(runtime, "IDLE", response.processing_state)
    return await archive_old_turns(state, runtime, close_turn(state, turn, response))


def begin_turn(state: AgentState, runtime: Runtime[Context], parts_of: PartsOf) -> Update:
    """Check the question, reset the state of the turn, and choose what follows. Raises `AskbookError`."""
    parts = parts_of_run(runtime, parts_of)
    profile = parts.profile
    last = last_message(state)
    if not isinstance(last, HumanMessage):
        raise InvalidQuestionError("The last message is not a question.", code="no_question")
    question = check_question(last.text, profile.limits.max_question_characters)
    messages, is_left = _with_restored_answer(state, last)
    number = next_number(messages, state.get("turn_number"))
    if profile.limits.max_turns is not None and number > profile.limits.max_turns:
        raise turn_limit(profile.limits.max_turns)
    turn = Turn(
        request_id=last.id or new_id(),
        question=question,
        metadata=checked_metadata(state.get("metadata")),
        number=number,
        began=time.time(),
        profile=profile.name,
        model=parts.chosen or parts.model_name,
        collection=parts.collection,
        answer_id=new_id(),
        notices=notices(
            number,
            # Archived messages, those in the state, plus two: the answer to come and the system message.
            (state.get("past") or EMPTY_ARCHIVE)["messages"] + len(messages) + 2,
            max_turns=profile.limits.max_turns,
            max_messages=profile.limits.max_messages,
        ),
        context=context_of(runtime).model_dump(exclude_none=True),
    )
    phase: Phase = "GENERATING" if is_small_talk(question) else "RETRIEVING"
    if phase == "RETRIEVING" and wants_rewrite(parts, history(messages[:-1])):
        turn["rewrite"] = ""
    update = EMPTY_TURN | {"phase": phase, "turn": turn, "metadata": None}
    if is_left:
        update |= {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *messages], "aside": None}
    return update


def wants_rewrite(parts: Parts, answered: Sequence[AnsweredQuestion]) -> bool:
    """Whether to ask the model for a rewrite: the profile wants it, there is a model, and a turn was answered."""
    return parts.profile.retrieval.followup == "rewrite" and not parts.quotes and bool(answered)


def _with_restored_answer(state: AgentState, asked: HumanMessage) -> tuple[Sequence[AnyMessage], bool]:
    """The messages, and whether the answer that a failed `retry` set aside was restored, since `asked` is new."""
    restored = with_aside(state["messages"], state.get("aside"))
    if len(restored) > len(state["messages"]) and restored[-1].id == asked.id:
        return restored, True
    return state["messages"], False


def make_response(state: AgentState, turn: Turn, draft: Draft, runtime: Runtime[Context]) -> Response:
    """The public record of the turn, from its draft and from what the state holds of the turn."""
    passages, retrievals = state.get("passages") or [], state.get("retrievals") or []
    timings = draft.get("timings_ms", {}) | {
        "total": round((time.time() - turn["began"]) * 1000, 1),
        "retrieval": round(sum(retrieval["retrieval_time_ms"] for retrieval in retrievals), 1),
    }
    info = runtime.execution_info
    record = draft | {
        "id": turn.get("answer_id") or new_id(),
        "request_id": turn["request_id"],
        "thread_id": new_id() if info is None or info.thread_id is None else str(info.thread_id),  # may be a number
        "turn_number": turn["number"],
        "processing_state": "failed" if draft["status"] == "error" else "response_generated",
        "metadata": turn["metadata"],
        "profile": turn["profile"],
        "model": turn["model"],
        "retrievals": retrievals,
        "retrieved_chunks": [retrieved_chunk(passage) for passage in passages],
        "retrieval_count": len(passages),
        "tool_calls": state.get("tool_calls") or [],
        "llm_calls": state.get("llm_calls", 0),
        "timings_ms": timings,
        "notices": [*turn.get("notices", []), *draft.get("notices", [])],
    }
    return Response.model_validate(record)


def retrieved_chunk(passage: dict[str, Any]) -> dict[str, Any]:
    """A passage as `retrieved_chunks` keeps it: its place and score, without its text."""
    return {"rank": passage["number"]} | {
        name: passage[name] for name in ("score", "chunk_id", "url", "title", "heading")
    }


def close_turn(state: AgentState, turn: Turn, response: Response) -> Update:
    """Add the answer with its citations to the conversation; drop the passages.

    A question that was rejected before its turn opened leaves no trace.
    """
    message: BaseMessage | None
    update = EMPTY_TURN | {"turn": None, "metadata": None, "turn_number": turn["number"]}
    update |= {"phase": "IDLE", "response": response.model_dump(mode="json"), "contexts": state.get("passages") or []}
    if turn.get("rejected"):
        last = last_message(state)
        message = RemoveMessage(id=turn["request_id"]) if last is not None and last.id == turn["request_id"] else None
        update["turn_number"] = turn["number"] - 1
    else:
        record = response_metadata(response, turn["question"], iso_time(turn["began"]), turn.get("collection", ""))
        message = AIMessage(
            id=response.id, content=response.content, response_metadata=record, usage_metadata=_usage(response)
        )
        update["aside"] = None  # the new answer replaces the one that was set aside
    return update | ({"messages": [message]} if message else {})


def _usage(response: Response) -> UsageMetadata | None:
    """The tokens of the turn, where LangChain's tools look for them; None when no model was called."""
    used = response.tokens_used
    if not used.total:
        return None
    return UsageMetadata(input_tokens=used.input, output_tokens=used.output, total_tokens=used.total)
