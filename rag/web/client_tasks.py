"""Requests that a chat page sends on its own account: a title, tags or follow-up questions for a conversation.

Open WebUI and LibreChat send them to the model of the conversation, as a message that quotes it. They are no questions
about the book, so a search and a refusal would be the wrong answer. The conversation's first question is its title;
tags and follow-up questions stay empty, since the book says nothing about them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from langchain_core.messages import AnyMessage, HumanMessage

_OPEN_WEBUI: Final = re.compile(r"\s*### Task:\s*\n(?P<task>[^\n]{0,400})")
_LIBRECHAT: Final = re.compile(
    r"(?:please )?(?:provide|generate|write) a concise,? 5-word-or-less title for (?:the|this) conversation"
    r"|please generate a concise title \(max 40 characters\) for a conversation that starts with"
    r"|analyze this conversation and provide:\s*\n1\. the detected language",
    re.IGNORECASE,
)
_FIRST_QUESTION: Final = re.compile(r"^\s*(?:USER|User): *(?P<text>[^\n]+)", re.MULTILINE)
_WORDS: Final = 8  # of a title


def task_answer(question: str, history: Sequence[AnyMessage]) -> str | None:
    """What such a request gets, or None for a question of a reader.

    >>> task_answer("### Task:\\nGenerate 1-3 broad tags\\n<chat_history>\\nUSER: Hi\\n</chat_history>", [])
    '{"tags": []}'
    >>> task_answer("What is a title?", []) is None
    True
    """
    if _LIBRECHAT.match(question.lstrip()):
        return _title(question, history)
    found = _OPEN_WEBUI.match(question)
    if found is None:
        return None
    task = found["task"].lower()
    if "title" in task:
        return json.dumps({"title": _title(question, history)}, ensure_ascii=False)
    if "tags" in task:
        return '{"tags": []}'
    if "follow-up" in task:
        return '{"follow_ups": []}'
    if "autocompletion" in task:
        return '{"text": ""}'
    if "prompt for am image" in task or "prompt for an image" in task:  # the first as Open WebUI spells it
        return '{"prompt": ""}'
    return '{"queries": []}' if "search quer" in task or "queries" in task else None


def _title(request: str, history: Sequence[AnyMessage]) -> str:
    """The first question that the request quotes, or that the history has, in a few words."""
    quoted = _FIRST_QUESTION.search(request)
    asked = quoted["text"] if quoted else next((one.text for one in history if isinstance(one, HumanMessage)), "")
    words = asked.split()
    return " ".join(words[:_WORDS]) + ("…" if len(words) > _WORDS else "") if words else "New conversation"
