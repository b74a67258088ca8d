"""Undo: the last turn leaves a conversation, and where few are left in the state, older ones come back into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from graph.conversations import thread_config
from graph.memory import Graph, Memory
from graph.memory_faults import broken_conversation
from nodes.archive import get_blocks
from rag.conversation import turns, unknown_thread
from rag.past import NOTHING, WINDOW, without_block
from rag.types import Past
from state import EMPTY_BOARD


async def take_back(graph: Graph, memory: Memory, thread_id: str) -> str | None:
    """Take the last question back, with its answer if it has one. Returns it, or None where there is none.

    Raises `UsageError` for an unknown conversation.
    """
    snapshot = await graph.aget_state(thread_config(thread_id))
    if not snapshot.values:
        raise unknown_thread(thread_id)
    messages: Sequence[AnyMessage] = snapshot.values.get("messages", [])
    last = max((i for i, message in enumerate(messages) if isinstance(message, HumanMessage)), default=None)
    if last is None:
        return None
    earlier, past = await _with_older_turns(memory, thread_id, snapshot.values, messages[:last])
    update = EMPTY_BOARD | {
        "messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *earlier],
        "past": past,
        # Counted anew, since a question that was broken off may or may not have been counted.
        "turn_number": max((turn["turn_number"] for turn in turns(earlier)), default=0),
        "turn": None,
        "phase": "IDLE",
    }
    await graph.aupdate_state(thread_config(thread_id), update, as_node="idle")
    return messages[last].text


async def _with_older_turns(
    memory: Memory, thread_id: str, values: Mapping[str, Any], messages: Sequence[AnyMessage]
) -> tuple[list[BaseMessage], Past]:
    """The messages with the newest archived block before them where they are few, so that a prompt sees enough turns.

    The archive is not touched: what has come back is numbered beyond what the state says is there.
    """
    past: Past = values.get("past") or NOTHING
    number = past["blocks"]
    if not number or len(turns(messages)) >= WINDOW:
        return list(messages), past
    found = await get_blocks(memory.database.store, thread_id, range(number, number + 1))
    if not found:
        raise broken_conversation(thread_id, memory.database.place)
    return [*found[0], *messages], without_block(past, found[0])
