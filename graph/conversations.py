"""Stored conversations as data: whole, or the little that a list shows of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore

from graph.savers import Saver
from nodes.archive import get_blocks
from rag.conversation import turns
from rag.past import NOTHING, is_recorded
from rag.transcript import transcript
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
    """A stored conversation as `rag.transcript` has it; None where there is none.

    `unanswered` is the question that was broken off after its turns, if one was; `missing_turns` how many of the
    earlier turns are no longer in the database, which only another program can have taken.
    """
    found = await _newest(saver, thread_id)
    if found is None:
        return None
    values, updated_at = found
    messages, past = values.get("messages", []), _past(values)
    archived = await get_blocks(store, thread_id, range(1, past["blocks"] + 1))
    earlier: list[BaseMessage] = [message for block in archived for message in block]
    finished = turns([*earlier, *messages])
    more = {"unanswered": unanswered(messages), "missing_turns": past["turns"] - len(turns(earlier))}
    return transcript(thread_id, finished, updated_at) | more


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
        "updated_at": updated_at,
        "turns": past["turns"] + len(finished),
        "first_question": first or unanswered(messages),
        "unanswered": unanswered(messages),
    }


async def _newest(saver: Saver, thread_id: str) -> tuple[Mapping[str, Any], str] | None:
    found = await saver.aget_tuple(thread_config(thread_id))
    return (found.checkpoint["channel_values"], found.checkpoint["ts"]) if found else None


def _past(values: Mapping[str, Any]) -> Past:
    return values.get("past") or NOTHING
