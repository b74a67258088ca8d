"""The end of a turn whose failure cannot be reported the usual way: a response with nothing but its error.

ERROR and IDLE need the records of the turn. When those are unreadable, for instance because a client of the graph wrote
them into the state, the turn still ends with an error response, and its question does not stay without an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.config import get_config
from pydantic import ValidationError

from nodes.turn import Update, last_message
from rag.conversation.turns import failed_response, next_number, response_metadata
from rag.errors import AskbookError
from rag.types import ErrorInfo, Response, iso_time
from state import EMPTY_TURN, AgentState

T = TypeVar("T")


def bare_end(state: AgentState, failure: AskbookError) -> Update:
    """The update that closes the turn with the error of its draft if it has one, else with `failure`."""
    turn = _mapping(state.get("turn"))
    number = next_number(state.get("messages", []), state.get("turn_number"))
    response = _response(state, failure, turn, number)
    board = EMPTY_TURN | {"turn": None, "metadata": None, "phase": "IDLE"}
    board |= {"response": response.model_dump(mode="json")}
    asked = last_message(state)
    if not isinstance(asked, HumanMessage):
        return board
    if turn.get("refused"):
        return board | {"messages": [RemoveMessage(id=asked.id or "")]}
    asked_at = iso_time(float(turn["began"])) if isinstance(turn.get("began"), int | float) else response.created_at
    record = response_metadata(response, asked.text, asked_at, _of(turn, "collection", str, ""))
    answer: list[BaseMessage] = [AIMessage(id=response.id, content=response.content, response_metadata=record)]
    return board | {"messages": answer, "turn_number": number}


def _response(state: AgentState, failure: AskbookError, turn: Mapping[str, Any], number: int) -> Response:
    asked = last_message(state)
    return failed_response(
        _reported(state) or failure.info(),
        profile=_of(turn, "profile", str, "default"),
        model=_of(turn, "model", str, ""),
        request_id=_of(turn, "request_id", str, "") or (asked.id if asked else None),
        thread_id=_thread_id(),
        turn_number=number,
        metadata=_mapping(turn.get("metadata")),
    )


def _reported(state: AgentState) -> ErrorInfo | None:
    """The failure that ERROR was about to report."""
    try:
        return ErrorInfo.model_validate(_mapping(state.get("draft")).get("error"))
    except ValidationError:
        return None


def _thread_id() -> str | None:
    """The run's thread; None outside a run or without a thread."""
    try:
        thread_id = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:
        return None
    return None if thread_id is None else str(thread_id)


def _of(record: Mapping[str, Any], name: str, kind: type[T], otherwise: T) -> T:
    value = record.get(name)
    return value if isinstance(value, kind) else otherwise


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
