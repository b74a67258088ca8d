"""Older turns for the prompt: those of the archive stand before those of the state, as far as their budget goes."""

from __future__ import annotations

import logging
from typing import Final

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from nodes.archive import get_blocks
from nodes.run import AsyncNode, Update, run_of
from rag.budget import history_cost, history_room
from rag.conversation import history
from rag.past import NOTHING
from rag.ports import PartsOf
from state import AgentState, Context

log: Final = logging.getLogger("askbook")

_MOST: Final = 64  # blocks: a conversation of refusals alone, which cost nothing, is not read to its beginning


def remembering(generate: AsyncNode, parts_of: PartsOf) -> AsyncNode:
    """The node `generate`, which is shown the older turns that its prompt has room for, whole blocks of them.

    Without a store, or while it fails, the turns in the state are all that the prompt knows.
    """

    async def node(state: AgentState, runtime: Runtime[Context]) -> Update:
        older = await _older(state, runtime, parts_of)
        known: AgentState = {**state, "messages": [*older, *state.get("messages", [])]}  # type: ignore[list-item]  # messages
        return await generate(known, runtime)

    return node


async def _older(state: AgentState, runtime: Runtime[Context], parts_of: PartsOf) -> list[BaseMessage]:
    past, info, store = state.get("past") or NOTHING, runtime.execution_info, runtime.store
    if not past["blocks"] or not state.get("passages") or store is None or info is None or info.thread_id is None:
        return []
    parts = run_of(runtime, parts_of)
    if parts.quotes:  # it quotes the passages and reads no history
        return []
    room = history_room(parts.profile.model.context_window, parts.profile.budget)
    room -= history_cost(history(state.get("messages", [])[:-1]))
    found: list[BaseMessage] = []
    for number in range(past["blocks"], max(0, past["blocks"] - _MOST), -1):
        if room <= 0 or not (block := await _block(store, info.thread_id, number)):
            break  # what is older than a gap would be taken for what was said just before
        found, room = [*block, *found], room - history_cost(history(block))
    return found


async def _block(store: BaseStore, thread_id: str, number: int) -> list[BaseMessage]:
    """A block of the archive; empty where it is missing or cannot be read."""
    try:
        blocks = await get_blocks(store, thread_id, range(number, number + 1))
    except Exception as failure:  # of whatever database: an answer that knows less is worth more than none
        log.warning("the prompt lacks older turns: %s", type(failure).__name__)
        return []
    return blocks[0] if blocks else []
