"""Stored conversations: read one whole, summarise one for a list, undo its last turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from graph.database import Database
from graph.memory_errors import broken_conversation
from graph.storage import border, thread_config
from graph.stored_form import check_turns
from nodes.archive import EMPTY_ARCHIVE, WINDOW, get_blocks, without_block
from rag.conversation.turns import is_recorded, next_number, set_aside, transcript, turns, unknown_thread, with_aside
from rag.errors import AskbookError, UsageError
from rag.types import ArchiveSummary, new_id
from state import EMPTY_TURN

if TYPE_CHECKING:
    from graph.build import AgentGraph


class RemovedQuestion(NamedTuple):
    """A question with the id and the metadata of its request."""

    question: str
    request_id: str
    metadata: Mapping[str, Any]


def unanswered(messages: Sequence[AnyMessage]) -> str | None:
    """The last question, if it has no answer yet; else None."""
    for message in reversed(messages):
        if is_recorded(message):
            return None
        if isinstance(message, HumanMessage):
            return message.text
    return None


async def conversation(database: Database, thread_id: str) -> dict[str, Any] | None:
    """A stored conversation in the format of `rag.conversation.turns`; None when there is none.

    `unanswered` is the question of an interrupted turn, or None. `missing_turns` counts archived turns that are no
    longer in the database; only another program can have deleted them. Raises `MemoryFailureError`.
    """
    with _damage_told(thread_id, database.place):
        newest = await _newest(database, thread_id)
        if newest is None:
            return None
        values, updated_at = newest
        messages, past = _messages(values), _past(values)
        archived = await get_blocks(database.store, thread_id, range(1, past["blocks"] + 1)) if database.store else []
        earlier: list[BaseMessage] = [message for block in archived for message in block]
        finished = turns([*earlier, *messages])
        check_turns(finished)
        rest = {"unanswered": unanswered(messages), "missing_turns": past["turns"] - len(turns(earlier))}
        return transcript(thread_id, finished, updated_at) | rest


async def summary(database: Database, thread_id: str) -> dict[str, Any] | None:
    """A conversation's entry in a list; None when there is none. Reads no archived turns, so its cost is constant.

    `collections` are the books of the turns that are not archived, the newest last. `profile` is the one that answered
    last, None before any answer.

    Raises `MemoryFailureError`.
    """
    with _damage_told(thread_id, database.place):
        newest = await _newest(database, thread_id)
        if newest is None:
            return None
        values, updated_at = newest
        messages, past = _messages(values), _past(values)
        finished = turns(messages)
        check_turns(finished)
        first = past["first_question"] if past["turns"] else next((turn["question"] for turn in finished), None)
        return {
            "thread_id": thread_id,
            "updated_at": updated_at,
            "turns": past["turns"] + len(finished),
            "first_question": first or unanswered(messages),
            "unanswered": unanswered(messages),
            "collections": _books(finished, values.get("turn")),
            "profile": finished[-1]["profile"] if finished else None,
        }


def _books(finished: Sequence[Mapping[str, Any]], turn: object) -> list[str]:
    """The books of the turns and of the one under way, the newest last. A turn of an earlier version names none."""
    named = [turn.get("collection")] if isinstance(turn, dict) else []
    found = [name for name in (*(one.get("collection") for one in finished), *named) if isinstance(name, str) and name]
    return list(dict.fromkeys(reversed(found)))[::-1]


@contextmanager
def _damage_told(thread_id: str, place: str) -> Iterator[None]:
    """Turn every exception that damaged data cause in the block into `MemoryFailureError`."""
    try:
        with border(place):
            yield
    except AskbookError:
        raise
    except Exception as error:
        raise broken_conversation(thread_id, place) from error


async def _newest(database: Database, thread_id: str) -> tuple[Mapping[str, Any], str] | None:
    stored = await database.saver.aget_tuple(thread_config(thread_id))
    return (stored.checkpoint["channel_values"], stored.checkpoint["ts"]) if stored else None


def _messages(values: Mapping[str, Any]) -> list[AnyMessage]:
    """The messages, with an answer that was set aside and not replaced."""
    return with_aside(values.get("messages", []), values.get("aside"))


def _past(values: Mapping[str, Any]) -> ArchiveSummary:
    return values.get("past") or EMPTY_ARCHIVE


async def remove_last_turn(
    graph: AgentGraph,
    database: Database,
    thread_id: str,
    *,
    check: Callable[[str], object] = str,
    meant: str | None = None,
    keep: bool = False,
) -> RemovedQuestion | None:
    """Remove the last question and its answer, if it has one. Returns what was asked, or None when there is none.

    `check` gets the question first; when it raises, nothing is removed. With `keep` the turn is set aside in the state,
    and is there again if asking again never comes to an answer. Raises `UsageError` for an unknown conversation, and
    "other_turn" if `meant` is neither the id nor the question of the last request.
    """
    snapshot = await graph.aget_state(thread_config(thread_id))
    if not snapshot.values:
        raise unknown_thread(thread_id)
    messages = _messages(snapshot.values)
    last = max((i for i, message in enumerate(messages) if isinstance(message, HumanMessage)), default=None)
    if last is None:
        return None
    check(messages[last].text)
    asked = _asked(messages[last], messages[last + 1 :], snapshot.values)
    if meant is not None and meant.strip() not in (asked.request_id, asked.question.strip()):
        raise UsageError("The last turn of this conversation is another one.", code="other_turn")
    earlier, past = await _with_older_turns(database, thread_id, snapshot.values, messages[:last])
    update = EMPTY_TURN | {
        "messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *earlier],
        "aside": set_aside(messages[last:], asked.request_id) if keep else None,
        "past": past,
        "turn_number": next_number(earlier) - 1,
        "turn": None,
        "phase": "IDLE",
    }
    await graph.aupdate_state(thread_config(thread_id), update, as_node="IDLE")
    return asked


def _asked(question: AnyMessage, later: Sequence[AnyMessage], values: Mapping[str, Any]) -> RemovedQuestion:
    """The request of a question: from the record of its answer, from its open turn, or as the run was given it."""
    records: list[Any] = [message.response_metadata for message in later if is_recorded(message)]
    turn = values.get("turn")
    if isinstance(turn, dict) and turn.get("request_id") == question.id:
        records.append(turn)
    record = next(iter(records), {"metadata": values.get("metadata")})
    metadata, request_id = record.get("metadata"), record.get("request_id")
    return RemovedQuestion(
        question.text,
        request_id if isinstance(request_id, str) else question.id or new_id(),
        metadata if isinstance(metadata, dict) else {},
    )


async def _with_older_turns(
    database: Database, thread_id: str, values: Mapping[str, Any], messages: Sequence[AnyMessage]
) -> tuple[list[BaseMessage], ArchiveSummary]:
    """The messages, preceded by the newest archived block when they are fewer turns than a prompt sees.

    The block stays in the archive, where its number is above the count in `past`, so the next block overwrites it.
    """
    past = _past(values)
    number = past["blocks"]
    if not number or len(turns(messages)) >= WINDOW:
        return list(messages), past
    blocks = await get_blocks(database.store, thread_id, range(number, number + 1)) if database.store else []
    if not any(blocks):
        raise broken_conversation(thread_id, database.place)
    return [*blocks[0], *messages], without_block(past, blocks[0])
