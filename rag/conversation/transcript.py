"""A stored conversation as people and programs read it: `threads show`, and `Agent.conversation`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag.conversation.turns import retrieval_history
from rag.prompt.budget import estimate_tokens

Turns = Sequence[Mapping[str, Any]]


def transcript(thread_id: str, finished: Turns, updated_at: str) -> dict[str, Any]:
    """The record of a conversation, from its `rag.conversation.turns`, oldest first.

    `started_at` is when its first question was asked, `model` who answered last, `turn_count` how many questions were
    answered; all of them None or 0 before. `total_tokens` counts the texts of `messages`, `total_tokens_used` what the
    calls of the models took and gave.
    """
    said = messages(finished)
    return {
        "thread_id": thread_id,
        "started_at": said[0]["timestamp"] if said else None,
        "updated_at": updated_at,
        "model": finished[-1]["model"] if finished else None,
        "total_tokens": sum(message["token_count"] for message in said),
        "total_tokens_used": sum((turn.get("tokens_used") or {}).get("total", 0) for turn in finished),
        "turn_count": len(finished),
        "turns": [dict(turn) for turn in finished],
        "messages": said,
        "retrieval_history": retrieval_history(finished),
        "last_retrieval": last_retrieval(finished),
    }


def messages(finished: Turns) -> list[dict[str, Any]]:
    """Question and answer of each turn as messages, each with its id, time, citations and tokens (an estimate).

    The system's message is not stored: it is the profile's, and stands first in every request.
    """
    found: list[dict[str, Any]] = []
    for turn in finished:
        asked_at = turn.get("asked_at") or turn["created_at"]  # turns of an earlier version know the answer's time only
        asked = {"id": turn["request_id"], "role": "user", "content": turn["question"], "timestamp": asked_at}
        answered = {"id": turn["id"], "role": "assistant", "content": turn["content"], "timestamp": turn["created_at"]}
        found.append(_counted(asked) | {"citations": [], "metadata": turn.get("metadata") or {}})
        found.append(_counted(answered) | {"citations": turn.get("citations") or [], "metadata": {}})
    return found


def last_retrieval(finished: Turns) -> dict[str, Any] | None:
    """The newest search of the conversation, with the chunks that its turn was answered from; None before any."""
    for turn in reversed(finished):
        if searches := turn.get("retrievals"):
            return dict(searches[-1]) | {"results": turn.get("retrieved_chunks") or []}
    return None


def _counted(message: dict[str, Any]) -> dict[str, Any]:
    return message | {"token_count": estimate_tokens(message["content"])}
