"""Requests that a chat page makes by itself: for a title, tags or follow-up questions of a conversation.

Open WebUI and LibreChat send them as a message that quotes the conversation. The first question is the title; tags and
follow-up questions stay empty. LibreChat may ask for the title as an object, by a tool or by a JSON schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from langchain_core.messages import AnyMessage, HumanMessage

_OPEN_WEBUI: Final = re.compile(r"\s*### Task:\s*\n(?P<task>[^\n]{0,400})")
_LIBRECHAT: Final = re.compile(
    r"(?:please )?(?:provide|generate|write) a concise,? 5-word-or-less title for (?:the|this) conversation"
    r"|please generate a concise title \(max 40 characters\) for a conversation that starts with"
    r"|analyze this conversation and provide:\s*\n1\. the detected language",
    re.IGNORECASE,
)
_FIRST_QUESTION: Final = re.compile(r"^\s*(?:USER|User): *(?P<text>[^\n]+)", re.MULTILINE)
# What Open WebUI gets for its other tasks, by words of the task.
_EMPTY: Final = {
    ("tags",): '{"tags": []}',
    ("follow-up",): '{"follow_ups": []}',
    ("autocompletion",): '{"text": ""}',
    ("prompt for am image", "prompt for an image"): '{"prompt": ""}',  # the first as Open WebUI spells it
    ("search quer", "queries"): '{"queries": []}',
}
_WORDS: Final = 8  # of a title


class TaskAnswer(NamedTuple):
    """What such a request gets: a text, or the arguments of the tool that it wants to be called."""

    text: str
    tool: str = ""


def task_answer(
    question: str, history: Sequence[AnyMessage], request: Mapping[str, Any] | None = None
) -> TaskAnswer | None:
    """What such a request gets, or None for a question of a reader. `request` is the body of the request.

    >>> task_answer("### Task:\\nGenerate 1-3 broad tags\\n<chat_history>\\nUSER: Hi\\n</chat_history>", [])
    TaskAnswer(text='{"tags": []}', tool='')
    >>> task_answer("What is a title?", []) is None
    True
    """
    if _LIBRECHAT.match(question.lstrip()):
        return _structured(_title(question, history), request or {})
    text = _for_open_webui(question, history)
    return None if text is None else TaskAnswer(text)


def _structured(title: str, request: Mapping[str, Any]) -> TaskAnswer:
    """The title in the form that the request wants: an object that a tool takes, an object of a schema, or a text."""
    tools, form = request.get("tools"), request.get("response_format")
    functions = [tool.get("function") for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    called = next((one for one in functions if isinstance(one, Mapping) and isinstance(one.get("name"), str)), None)
    if called is not None and request.get("tool_choice") not in (None, "none"):
        return TaskAnswer(_object(title, called.get("parameters")), called["name"])
    if isinstance(form, Mapping) and form.get("type") in ("json_schema", "json_object"):
        described = form.get("json_schema")
        return TaskAnswer(_object(title, described.get("schema") if isinstance(described, Mapping) else None))
    return TaskAnswer(title)


def _object(title: str, schema: Any) -> str:
    wanted = schema.get("properties") if isinstance(schema, Mapping) else None
    # A few words do not tell a language, and LibreChat does not use it.
    language = {"language": "unknown"} if isinstance(wanted, Mapping) and "language" in wanted else {}
    return json.dumps(language | {"title": title}, ensure_ascii=False)


def _for_open_webui(question: str, history: Sequence[AnyMessage]) -> str | None:
    found = _OPEN_WEBUI.match(question)
    if found is None:
        return None
    task = found["task"].lower()
    if "title" in task:
        return json.dumps({"title": _title(question, history)}, ensure_ascii=False)
    return next((answer for words, answer in _EMPTY.items() if any(word in task for word in words)), None)


def _title(request: str, history: Sequence[AnyMessage]) -> str:
    """The first question that the request quotes, or that the history has, in a few words."""
    quoted = _FIRST_QUESTION.search(request)
    asked = quoted["text"] if quoted else next((one.text for one in history if isinstance(one, HumanMessage)), "")
    words = asked.split()
    return " ".join(words[:_WORDS]) + ("…" if len(words) > _WORDS else "") if words else "New conversation"
