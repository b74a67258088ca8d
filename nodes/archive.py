"""The archive: finished turns that have left the state, stored in LangGraph's store in blocks of a few turns.

LangGraph loads and stores every message of the state in each step, so a conversation kept there whole costs more each
turn. IDLE moves old turns to the archive; GENERATING reads them back as far as the prompt has room. Blocks are numbered
from 1, so writing a block again after a crash changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage, messages_from_dict, messages_to_dict
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from nodes.turn import Update
from rag.conversation.turns import history, is_recorded, turns
from rag.ports import Parts
from rag.prompt.prompts import history_cost, history_room
from rag.types import AnsweredQuestion, ArchiveSummary
from state import AgentState, Context

log: Final = logging.getLogger("askbook")

WINDOW: Final = 10  # turns in the state; more than the history's share of an 8,192-token window can hold
BLOCK: Final = 4  # turns archived together; archived one by one they would take a third more space
EMPTY_ARCHIVE: Final = ArchiveSummary(blocks=0, turns=0, messages=0, first_question="")
NAMESPACE: Final = ("askbook", "turns")
_AT_ONCE: Final = 200  # items of one request; SQLite limits the parameters of a statement
_MOST: Final = 64  # blocks read for one prompt, also where very short turns leave room for more


def namespace_of(thread_id: str) -> tuple[str, ...]:
    """The store's namespace for the turns of a conversation. Full stops are escaped: they separate namespace parts."""
    return (*NAMESPACE, str(thread_id).replace("%", "%25").replace(".", "%2E"))


async def archive_old_turns(state: AgentState, runtime: Runtime[Context], update: Update) -> Update:
    """The update that closes a turn, with the turns beyond the window moved to the archive.

    Without a store or a thread id, all turns stay in the state. If the store fails, they stay until a later turn
    archives them.
    """
    info, store = runtime.execution_info, runtime.store
    if store is None or info is None or info.thread_id is None:
        return update
    to_archive = blocks_to_archive(_after(state.get("messages", []), update.get("messages", [])))
    if not to_archive:
        return update
    past = state.get("past") or EMPTY_ARCHIVE
    try:
        await put_blocks(store, info.thread_id, to_archive, after=past["blocks"])
    except Exception as failure:  # of any database: the answer matters more than a small state, and nothing is lost
        log.warning("older turns were not archived: %s", type(failure).__name__)
        return update
    gone = [RemoveMessage(id=message.id or "") for block in to_archive for message in block]
    return update | {"messages": [*gone, *update.get("messages", [])], "past": with_blocks(past, to_archive)}


async def older_turns(
    state: AgentState, runtime: Runtime[Context], parts: Parts, newer: Sequence[AnsweredQuestion]
) -> list[AnsweredQuestion]:
    """Archived turns for the prompt, in whole blocks, as far as the budget has room for them beside the `newer` ones.

    Empty without a store, while the store fails, and for the quoting answerer, which reads no history.
    """
    past, info, store = state.get("past") or EMPTY_ARCHIVE, runtime.execution_info, runtime.store
    if not past["blocks"] or parts.quotes or store is None or info is None or info.thread_id is None:
        return []
    room = history_room(parts.profile.model.context_window, parts.profile.budget) - history_cost(newer)
    turns, cost = len(newer), history_cost(newer)
    found: list[list[AnsweredQuestion]] = []
    while room > 0 and (left := min(past["blocks"], _MOST) - len(found)):
        number = past["blocks"] - len(found)
        # As many as will probably fit: blocks of one request take much less time than one by one.
        fit = 1 + room * turns // (cost * BLOCK) if cost else left
        for block in await _newest_first(store, info.thread_id, number, min(left, fit)):
            if room > 0 and block:
                found.append(answered := history(block))
                spent = history_cost(answered)
                room, turns, cost = room - spent, turns + len(answered), cost + spent
            else:
                room = 0  # stop at a missing block: the turns before it would look adjacent to those after it
    return [turn for block in reversed(found) for turn in block]


def blocks_to_archive(
    messages: Sequence[AnyMessage], window: int = WINDOW, block: int = BLOCK
) -> list[list[AnyMessage]]:
    """The oldest messages in blocks of `block` turns, oldest first; the others stay in the state.

    At least the newest `window` finished turns stay, with any unanswered question after them. A turn ends with a
    recorded answer and includes all messages since the one before, such as an interrupted question, so no message gets
    lost. For example, with the window 10 and blocks of 4, 17 turns give one block and 13 turns that stay; 18 turns
    give two blocks and 10 turns.
    """
    ends = [position + 1 for position, message in enumerate(messages) if is_recorded(message)]
    blocks = max(0, len(ends) - window) // block
    borders = [0, *(ends[number * block - 1] for number in range(1, blocks + 1))]
    return [list(messages[begin:end]) for begin, end in pairwise(borders)]


def with_blocks(past: ArchiveSummary, to_archive: Sequence[Sequence[BaseMessage]]) -> ArchiveSummary:
    """The summary of the archived turns after `to_archive` has been archived too."""
    records = turns([message for block in to_archive for message in block])
    first = records[0] if records and not past["turns"] else None
    return ArchiveSummary(
        blocks=past["blocks"] + len(to_archive),
        turns=past["turns"] + len(records),
        messages=past["messages"] + sum(len(block) for block in to_archive),
        first_question=first["question"] if first else past["first_question"],
    )


def without_block(past: ArchiveSummary, block: Sequence[BaseMessage]) -> ArchiveSummary:
    """The summary of the archived turns after the newest block has been taken back."""
    if past["blocks"] <= 1:
        return EMPTY_ARCHIVE
    removed = with_blocks(EMPTY_ARCHIVE, [block])
    return ArchiveSummary(
        blocks=past["blocks"] - 1,
        turns=past["turns"] - removed["turns"],
        messages=past["messages"] - removed["messages"],
        first_question=past["first_question"],
    )


async def put_blocks(store: BaseStore, thread_id: str, blocks: Sequence[Sequence[AnyMessage]], *, after: int) -> None:
    """Store blocks of messages under the numbers that follow `after`."""
    space = namespace_of(thread_id)
    items = [
        PutOp(space, str(number), {"messages": messages_to_dict(block)}, index=False)
        for number, block in enumerate(blocks, after + 1)
    ]
    for begin in range(0, len(items), _AT_ONCE):
        await store.abatch(items[begin : begin + _AT_ONCE])


async def get_blocks(store: BaseStore, thread_id: str, numbers: range) -> list[list[BaseMessage]]:
    """The messages of archived blocks, one list each; that of a missing block is empty."""
    space, wanted = namespace_of(thread_id), [str(number) for number in numbers]
    found: list[list[BaseMessage]] = []
    for begin in range(0, len(wanted), _AT_ONCE):
        results = await store.abatch([GetOp(space, key) for key in wanted[begin : begin + _AT_ONCE]])
        found += [messages_from_dict(item.value["messages"]) if isinstance(item, Item) else [] for item in results]
    return found


def _after(messages: Sequence[AnyMessage], update: Sequence[BaseMessage]) -> list[AnyMessage]:
    """The messages once the update is applied: with the answer, or without a question that was rejected."""
    removed = {message.id for message in update if isinstance(message, RemoveMessage)}
    added = [message for message in update if not isinstance(message, RemoveMessage)]
    kept = [message for message in messages if message.id not in removed]
    return [*kept, *added]  # type: ignore[list-item]  # an AIMessage


async def _newest_first(store: BaseStore, thread_id: str, newest: int, count: int) -> list[list[BaseMessage]]:
    """The blocks from the number `newest` downwards, at least one; an empty one is missing or cannot be read."""
    try:
        return (await get_blocks(store, thread_id, range(newest - count + 1, newest + 1)))[::-1]
    except Exception as failure:  # of any database: an answer without older turns is better than none
        if count > 1:  # one of them may be damaged
            return await _newest_first(store, thread_id, newest, 1)
        log.warning("older turns are missing from the prompt: %s", type(failure).__name__)
        return [[]]
