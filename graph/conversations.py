"""Stored conversations as data: whole, or the little that a list shows of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore

from graph.savers import Saver
from nodes.archive import get_blocks
from rag.conversation import retrieval_history, total_tokens, turns
from rag.past import NOTHING, is_recorded
from rag.types import Past


def thread_config(thread_id: str) -> RunnableConfig:
    return RunnableConfig(configurable={"thread_id": thread_id})


def unanswered(messages: Sequence[AnyMessage]) -> str | None:
    """The question at the end that was broken off; None where the last one has its answer."""
    for message in reversed(messages):
        if is_recorded(message):
            return None
        if isinstance(message, HumanMessage):
            return message.text
    return None


async def conversation(saver: Saver, store: BaseStore, thread_id: str) -> dict[str, Any] | None:
    """A stored conversation as `threads show` prints it; None where there is none.

    `started_at` is when its first turn was answered, None before; `turn_count` how many turns it has; `unanswered` the
    question that was broken off after them, if one was.
    """
    found = await _newest(saver, thread_id)
    if found is None:
        return None
    values, updated_at = found
    messages = values.get("messages", [])
    archived = await get_blocks(store, thread_id, range(1, _past(values)["blocks"] + 1))
    earlier: list[BaseMessage] = [message for block in archived for message in block]
    finished = turns([*earlier, *messages])
    return {
        "thread_id": thread_id,
        "started_at": finished[0]["created_at"] if finished else None,
        "updated_at": updated_at,
        "total_tokens": total_tokens(finished),
        "turn_count": len(finished),
        "turns": finished,
        "retrieval_history": retrieval_history(finished),
        "unanswered": unanswered(messages),
    }


async def summary(saver: Saver, thread_id: str) -> dict[str, Any] | None:
    """What a list shows of a conversation; costs the same for a long one as for a short one."""
    found = await _newest(saver, thread_id)
    if found is None:
        return None
    values, updated_at = found
    messages, past = values.get("messages", []), _past(values)
    finished = turns(messages)
    first = past["first_question"] if past["turns"] else next((turn["question"] for turn in finished), None)
    return {
        "thread_id": thread_id,
        "started_at": past["started_at"] or next((turn["created_at"] for turn in finished), None),
        "updated_at": updated_at,
        "total_tokens": past["tokens"] + total_tokens(finished),
        "turns": past["turns"] + len(finished),
        "first_question": first or unanswered(messages),
        "unanswered": unanswered(messages),
    }


async def _newest(saver: Saver, thread_id: str) -> tuple[Mapping[str, Any], str] | None:
    found = await saver.aget_tuple(thread_config(thread_id))
    return (found.checkpoint["channel_values"], found.checkpoint["ts"]) if found else None


def _past(values: Mapping[str, Any]) -> Past:
    return values.get("past") or NOTHING
