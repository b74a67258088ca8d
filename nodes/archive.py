"""The archive: finished turns that have left the state, in blocks of a few turns in LangGraph's store.

A message that stays in the state is loaded and stored again in every step, so a conversation kept there whole costs
more each turn. The state is the truth about the turns that it holds; what an earlier turn said is asked of the archive.
Blocks are numbered from 1, so writing one again after a crash changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage, messages_from_dict, messages_to_dict
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from nodes.turn import AsyncNode, Node, Update, run_of
from rag.conversation.turns import NOTHING, cut, history, with_blocks
from rag.ports import PartsOf
from rag.prompt.budget import history_cost, history_room
from state import AgentState, Context

log: Final = logging.getLogger("askbook")

NAMESPACE: Final = ("askbook", "turns")
_AT_ONCE: Final = 200  # items of one request; SQLite has a limit on the parameters of a statement


def namespace_of(thread_id: str) -> tuple[str, ...]:
    """Where the turns of a conversation are. A full stop would end a part of the name."""
    return (*NAMESPACE, str(thread_id).replace("%", "%25").replace(".", "%2E"))


def archiving(idle: Node) -> AsyncNode:
    """The node `idle`, which moves the turns beyond the window into the archive when it closes a turn.

    Without a store or a thread all turns stay in the state, and so they do while the store fails: they go later then.
    """

    async def node(state: AgentState, runtime: Runtime[Context]) -> Update:
        update = await asyncio.to_thread(idle, state, runtime)  # it may read a profile's file, or build the services
        info, store = runtime.execution_info, runtime.store
        if update.get("response") is None or store is None or info is None or info.thread_id is None:
            return update
        leaving, _ = cut(_after(state.get("messages", []), update.get("messages", [])))
        if not leaving:
            return update
        past = state.get("past") or NOTHING
        try:
            await put_blocks(store, info.thread_id, leaving, after=past["blocks"])
        except Exception as failure:  # the answer is worth more than a small state, and nothing is lost
            log.warning("old turns stay in the state: %s", type(failure).__name__)
            return update
        gone = [RemoveMessage(id=message.id or "") for block in leaving for message in block]
        return update | {"messages": [*gone, *update.get("messages", [])], "past": with_blocks(past, leaving)}

    return node


def _after(messages: Sequence[AnyMessage], update: Sequence[BaseMessage]) -> list[AnyMessage]:
    """The messages once the update of `idle` is in: an answer more, or a question that was turned away less."""
    removed = {one.id for one in update if isinstance(one, RemoveMessage)}
    added = [one for one in update if not isinstance(one, RemoveMessage)]
    return [*(one for one in messages if one.id not in removed), *added]  # type: ignore[list-item]  # an AIMessage


async def put_blocks(store: BaseStore, thread_id: str, blocks: Sequence[Sequence[AnyMessage]], *, after: int) -> None:
    """Archive blocks of messages under the numbers that follow `after`."""
    space = namespace_of(thread_id)
    items = [
        PutOp(space, str(number), {"messages": messages_to_dict(block)}, index=False)
        for number, block in enumerate(blocks, after + 1)
    ]
    for begin in range(0, len(items), _AT_ONCE):
        await store.abatch(items[begin : begin + _AT_ONCE])


async def get_blocks(store: BaseStore, thread_id: str, numbers: range) -> list[list[BaseMessage]]:
    """The messages of archived blocks, one list each; a block that is missing is left out."""
    space, wanted = namespace_of(thread_id), [str(number) for number in numbers]
    found: list[list[BaseMessage]] = []
    for begin in range(0, len(wanted), _AT_ONCE):
        results = await store.abatch([GetOp(space, key) for key in wanted[begin : begin + _AT_ONCE]])
        found += [messages_from_dict(one.value["messages"]) for one in results if isinstance(one, Item)]
    return found


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
