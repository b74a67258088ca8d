"""The description of the HTTP interface in OpenAPI 3.1, as `/openapi.json` serves it."""

from __future__ import annotations

from typing import Any, Final

_TEXT: Final = {"type": "string"}
_OBJECT: Final = {"type": "object"}
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
_OPTIONS: Final[dict[str, Any]] = {
    "profile": _TEXT,
    "top_k": {"type": "integer", "minimum": 1, "maximum": 20},
    "score_threshold": {"type": "number", "minimum": 0, "maximum": 1},
    "filter": {"type": "string", "maxLength": 2000},
    "temperature": {"type": "number", "minimum": 0, "maximum": 1},
    "max_tokens": {"type": "integer", "minimum": 1, "maximum": 100_000},
    "citation_style": {"enum": ["numbered", "source", "title", "chapter"]},
    "grounding": {"enum": ["strict", "exact", "flag", "off"]},
}
_MESSAGE: Final = {
    "type": "object",
    "required": ["role"],
    "properties": {"role": _TEXT, "content": {"type": ["string", "array", "null"]}},
}
_THREAD: Final = {
    "name": "thread_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "minLength": 1, "maxLength": 128},
}


def description() -> dict[str, Any]:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "askbook", "version": "1", "description": "Ask a book and see the proof of each answer."},
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": _ERROR},
        },
        "security": [{"key": []}, {}],
        "paths": _paths(),
    }


def _paths() -> dict[str, Any]:
    options = {"type": "object", "properties": _OPTIONS}
    turn = {"type": "object", "required": ["question"], "properties": {"question": _TEXT, "metadata": _OBJECT}}
    turn["properties"] = {**turn["properties"], **_OPTIONS, "context": options}  # type: ignore[dict-item]
    completion = {
        "type": "object",
        "required": ["messages"],
        "properties": {
            "model": _TEXT,
            "messages": {"type": "array", "items": _MESSAGE, "minItems": 1},
            "stream": {"type": "boolean"},
            "metadata": _OBJECT,
        },
    }
    thread = "/api/threads/{thread_id}"
    chunk = {"name": "chunk_id", "in": "path", "required": True, "schema": _TEXT}
    model = {"name": "model", "in": "path", "required": True, "schema": _TEXT}
    before = {"name": "before", "in": "query", "required": False, "schema": _TEXT}
    return {
        "/healthz": {"get": _operation("whether the index and the memory answer", failures=(503,))},
        "/api/book": {"get": _operation("the book")},
        "/api/books": {"get": _operation("the books of this installation")},
        "/api/profiles": {"get": _operation("the profiles on offer")},
        "/api/passages/{chunk_id}": {"get": _operation("a stored passage", [chunk], failures=(404,))},
        "/api/threads": {"get": _operation("the newest conversations", [before])},
        thread: {
            "get": _operation("a conversation", [_THREAD], failures=(404,)),
            "delete": _operation("delete a conversation", [_THREAD], failures=(404,), empty=True),
        },
        f"{thread}/turns": {"post": _operation("ask; server-sent events", [_THREAD], turn, streams=True)},
        f"{thread}/retry": {
            "post": _operation("ask the last question again", [_THREAD], options, (404, 409), streams=True)
        },
        f"{thread}/undo": {"post": _operation("remove the last turn", [_THREAD], failures=(404,))},
        f"{thread}/clear": {"post": _operation("delete a conversation", [_THREAD], failures=(404,))},
        "/v1/models": {"get": _operation("the profiles as models")},
        "/v1/models/{model}": {"get": _operation("one model", [model], failures=(404,))},
        "/v1/chat/completions": {"post": _operation("a chat completion", None, completion, (404,))},
    }


def _operation(
    summary: str,
    parameters: list[dict[str, Any]] | None = None,
    body: dict[str, Any] | None = None,
    failures: tuple[int, ...] = (),
    *,
    streams: bool = False,
    empty: bool = False,
) -> dict[str, Any]:
    """One operation. Every one may fail with 400, 401, 403, 409, 413, 429, 502 and 503 in OpenAI's form."""
    kind = "text/event-stream" if streams else "application/json"
    good: dict[str, Any] = {"description": summary}
    if not empty:
        good["content"] = {kind: {"schema": _TEXT if streams else _OBJECT}}
    answers: dict[str, Any] = {"204" if empty else "200": good}
    failed = {"description": "failed", "content": {"application/json": {"schema": _ERROR}}}
    for status in sorted({400, 401, 403, 409, 413, 429, 502, 503, *failures}):
        answers[str(status)] = failed
    operation: dict[str, Any] = {"summary": summary, "responses": answers}
    if parameters:
        operation["parameters"] = parameters
    if body:
        operation["requestBody"] = {
            "required": "question" in body.get("required", ()),
            "content": {"application/json": {"schema": body}},
        }
    return operation
