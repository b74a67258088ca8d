"""What a turn is held to whose search fails, whichever service of it does, and the turn after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from graph.agent import Agent
from rag.errors import USER_MESSAGES
from rag.types import ErrorType, Response
from tests.wire import Reply

QUESTION: Final = "How many teeth does a widget have?"
ATTEMPTS: Final = 2
_LASTING: Final = ("no_index", "_mismatch", "_not_found", "_redirected", "_request")


@dataclass(frozen=True)
class Fault:
    """A reply, and what is made of it. `tries` is how often the failed step is made."""

    reply: Reply
    code: str
    tries: int = 1
    error_type: ErrorType = "retrieval_error"
    retry_after: int | None = None


async def goes_wrong(agent: Agent, thread: str, fault: Fault) -> Response:
    """A turn that fails as it should."""
    response = await agent.ask(QUESTION, thread_id=thread)
    assert response.error is not None
    assert (response.status, response.phase, response.processing_state) == ("error", "IDLE", "failed")
    assert (response.error.error_type, response.error.code) == (fault.error_type, fault.code), response.error
    assert response.error.retry_after == fault.retry_after
    assert response.error is not None
    assert response.error.user_message == USER_MESSAGES[fault.error_type].format(retry_after=fault.retry_after)
    assert response.content == response.error.user_message
    lasts = fault.error_type == "auth_error" or fault.code.endswith(_LASTING)
    assert response.error.recoverable is not lasts
    assert response.error.hint
    return response


async def goes_on(agent: Agent, thread: str, turn: int) -> None:
    """A normal turn on that thread."""
    response = await agent.ask(QUESTION, thread_id=thread)
    assert (response.status, response.turn_number) == ("success", turn), response.error
    assert "exactly four teeth" in response.content
