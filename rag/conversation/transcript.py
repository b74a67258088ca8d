"""The transcript of a stored conversation, for `threads show --json` and `Agent.conversation`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag.conversation.turns import retrieval_history
from rag.prompt.prompts import estimate_tokens

Turns = Sequence[Mapping[str, Any]]


def transcript(thread_id: str, finished: Turns, updated_at: str) -> dict[str, Any]:
    """The transcript of the turns from `rag.conversation.turns`, oldest first.

    `started_at` is the time of the first question and `model` the last model that answered; both are None without
    turns. `total_tokens` estimates the texts of `messages`; `total_tokens_used` sums the input and output tokens of the
    model calls.
    """
    all_messages = messages(finished)
    return {
        "thread_id": thread_id,
        "started_at": all_messages[0]["timestamp"] if all_messages else None,
        "updated_at": updated_at,
        "model": finished[-1]["model"] if finished else None,
        "total_tokens": sum(message["token_count"] for message in all_messages),
        "total_tokens_used": sum((turn.get("tokens_used") or {}).get("total", 0) for turn in finished),
        "turn_count": len(finished),
        "turns": [dict(turn) for turn in finished],
        "messages": all_messages,
        "retrieval_history": retrieval_history(finished),
        "last_retrieval": last_retrieval(finished),
    }


def messages(finished: Turns) -> list[dict[str, Any]]:
    """The question and the answer of each turn as messages, with id, time, citations and an estimated token count.

    There is no system message: it is not stored, because it comes from the profile.
    """
    found: list[dict[str, Any]] = []
    for turn in finished:
        asked_at = turn.get("asked_at") or turn["created_at"]  # earlier versions stored only the answer's time
        asked = {"id": turn["request_id"], "role": "user", "content": turn["question"], "timestamp": asked_at}
        answered = {"id": turn["id"], "role": "assistant", "content": turn["content"], "timestamp": turn["created_at"]}
        found.append(_counted(asked) | {"citations": [], "metadata": turn.get("metadata") or {}})
        found.append(_counted(answered) | {"citations": turn.get("citations") or [], "metadata": {}})
    return found


def last_retrieval(finished: Turns) -> dict[str, Any] | None:
    """The newest search of the conversation with the chunks retrieved in its turn; None if there was no search."""
    for turn in reversed(finished):
        if searches := turn.get("retrievals"):
            return dict(searches[-1]) | {"results": turn.get("retrieved_chunks") or []}
    return None


def _counted(message: dict[str, Any]) -> dict[str, Any]:
    return message | {"token_count": estimate_tokens(message["content"])}
