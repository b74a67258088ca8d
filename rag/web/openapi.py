"""The description of the HTTP interface in OpenAPI 3.1, as `/openapi.json` serves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel

from rag.web.model_names import ANY

_TEXT: Final = {"type": "string"}
_OBJECT: Final = {"type": "object"}
_NAMES: Final = {"type": "array", "items": _TEXT}
_ERROR: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "code"],
            "properties": {
                "message": _TEXT,
                "type": _TEXT,
                "param": {"type": ["string", "null"]},
                "code": _TEXT,
                "hint": _TEXT,
            },
        },
        "askbook": _OBJECT,
    },
}
_MESSAGE: Final = {
    "type": "object",
    "required": ["role"],
    "properties": {
        "role": _TEXT,
        "content": {"anyOf": [_TEXT, {"type": "array", "items": _OBJECT}, {"type": "null"}]},
    },
}
_THREAD: Final = {
    "name": "thread_id",
    "in": "path",
    "required": True,
    "description": "An id of your choice: 1 to 255 printable characters, none of them a slash, and not only dots.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^(?!\.+$)[^/]*$"},
}
_MODEL: Final = f"A profile, {ANY}/BOOK, or PROFILE/BOOK."
_LISTED: Final = {"type": "object", "required": ["threads", "more"], "properties": {"threads": {"type": "array"}}}
_HEALTH: Final = {"type": "object", "required": ["status", "failing"], "properties": {"status": _TEXT}}
# Each operation may fail like this, besides its own failures.
_FAILURES: Final = (400, 401, 403, 404, 409, 413, 429, 502, 503)


def description(context_type: type[BaseModel], profiles: Sequence[str]) -> dict[str, Any]:
    """The whole document. `context_type` has the options of a turn, and `profiles` are those on offer."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "askbook", "version": "1", "description": "Ask a book and see the proof of each answer."},
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": _ERROR},
        },
        "security": [{"key": []}, {}],
        "paths": _paths(_options(context_type, profiles), profiles),
    }


def _options(context_type: type[BaseModel], profiles: Sequence[str]) -> dict[str, Any]:
    """The options of a turn by name, without what only LangGraph Studio reads."""
    found: dict[str, Any] = context_type.model_json_schema()["properties"]
    options = {
        name: {key: value for key, value in schema.items() if not key.startswith("langgraph_")}
        for name, schema in found.items()
    }
    options["profile"] = options["profile"] | {"anyOf": [{"enum": list(profiles)}, {"type": "null"}]}
    return options


def _paths(options: dict[str, Any], profiles: Sequence[str]) -> dict[str, Any]:
    context = {"type": "object", "properties": options, "additionalProperties": False}
    book = {"type": ["string", "null"], "description": "One of /api/books; a conversation stays with its book."}
    asked = {"question": _TEXT | {"minLength": 1}, "book": book, "metadata": {"type": ["object", "null"]}}
    turn = _body({**asked, **options, "context": context}, ["question"])
    again = _body({"book": book, **options, "context": context})
    completion = {
        "type": "object",
        "required": ["messages"],
        "properties": {
            "model": {"anyOf": [{"enum": [*profiles, ANY]}, _TEXT | {"description": _MODEL}, {"type": "null"}]},
            "messages": {"type": "array", "items": _MESSAGE, "minItems": 1},
            "stream": {"type": "boolean"},
            "metadata": {"type": ["object", "null"]},
        },
    }
    thread = "/api/threads/{thread_id}"
    chunk = {"name": "chunk_id", "in": "path", "required": True, "schema": _TEXT}
    model = {"name": "model", "in": "path", "required": True, "schema": _TEXT}
    of_book = {"name": "book", "in": "query", "required": False, "schema": _TEXT}
    before = {"name": "before", "in": "query", "required": False, "schema": _TEXT}
    return {
        "/healthz": {"get": _operation("whether the index and the memory answer", answer=_HEALTH) | _unhealthy()},
        "/api/book": {"get": _operation("a book", [of_book])},
        "/api/books": {"get": _operation("the books of this key", answer=_has(books={"type": "array"}))},
        "/api/profiles": {"get": _operation("the profiles on offer", answer=_has(profiles=_NAMES, default=_TEXT))},
        "/api/passages/{chunk_id}": {"get": _operation("a stored passage", [chunk, of_book])},
        "/api/threads": {"get": _operation("the newest conversations", [before], answer=_LISTED)},
        thread: {
            "get": _operation("a conversation", [_THREAD], answer=_has(thread_id=_TEXT, turns={"type": "array"})),
            "delete": _operation("delete a conversation", [_THREAD], answer=None),
        },
        f"{thread}/turns": {"post": _operation("ask; server-sent events", [_THREAD], turn, answer=_TEXT)},
        f"{thread}/retry": {"post": _operation("ask the last question again", [_THREAD], again, answer=_TEXT)},
        f"{thread}/undo": {"post": _operation("remove the last turn", [_THREAD])},
        f"{thread}/clear": {"post": _operation("delete a conversation", [_THREAD])},
        "/v1/models": {"get": _operation("the profiles and books as models", answer=_has(data={"type": "array"}))},
        "/v1/models/{model}": {"get": _operation("one model", [model], answer=_has(id=_TEXT))},
        "/v1/chat/completions": {"post": _completion(completion)},
    }


def _body(properties: dict[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    return {"type": "object", "required": [*required], "properties": properties, "additionalProperties": False}


def _has(**properties: Any) -> dict[str, Any]:
    """The schema of an answer with these properties, among others."""
    return {"type": "object", "required": [*properties], "properties": properties}


def _completion(body: dict[str, Any]) -> dict[str, Any]:
    operation = _operation("a chat completion; server-sent events if stream is true", None, body)
    operation["responses"]["200"]["content"]["text/event-stream"] = {"schema": _TEXT}
    return operation


def _unhealthy() -> dict[str, Any]:
    """The responses of the health check: its failure has the form of its success."""
    bodies = {"application/json": {"schema": _HEALTH}}
    return {
        "responses": {
            "200": {"description": "everything answers", "content": bodies},
            "503": {"description": "something fails", "content": bodies},
        }
    }


def _operation(
    summary: str,
    parameters: list[dict[str, Any]] | None = None,
    body: dict[str, Any] | None = None,
    *,
    answer: dict[str, Any] | None = _OBJECT,
) -> dict[str, Any]:
    """One operation. An `answer` that is a string is a stream of events; without an `answer` it has no content."""
    kind = "text/event-stream" if answer == _TEXT else "application/json"
    good: dict[str, Any] = {"description": summary}
    if answer is not None:
        good["content"] = {kind: {"schema": answer}}
    failed = {"description": "failed", "content": {"application/json": {"schema": _ERROR}}}
    answers: dict[str, Any] = {"204" if answer is None else "200": good}
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": answers | {str(status): failed for status in _FAILURES},
    }
    if parameters:
        operation["parameters"] = parameters
    if body:
        needed = bool(body["required"])
        operation["requestBody"] = {"required": needed, "content": {"application/json": {"schema": body}}}
    return operation
