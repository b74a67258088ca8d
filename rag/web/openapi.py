"""The description of the HTTP interface in OpenAPI 3.1, as `/openapi.json` serves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel

from rag.web.book_choice import ANY

Schema = dict[str, Any]


def _object(*required: str, **properties: Any) -> Schema:
    """The schema of an object with these properties, among others."""
    return {"type": "object", "required": [*required], "properties": properties}


_TEXT: Final[Schema] = {"type": "string"}
_OBJECT: Final[Schema] = {"type": "object"}
_LIST: Final[Schema] = {"type": "array"}
_MAYBE_TEXT: Final[Schema] = {"type": ["string", "null"]}
_MAYBE_OBJECT: Final[Schema] = {"type": ["object", "null"]}
_PROBLEM: Final = _object(
    "message", "type", "code", message=_TEXT, type=_TEXT, param=_MAYBE_TEXT, code=_TEXT, hint=_TEXT
)
_ERROR: Final = _object("error", error=_PROBLEM, askbook=_OBJECT)
_CONTENT: Final[Schema] = {"anyOf": [_TEXT, {"type": "array", "items": _OBJECT}, {"type": "null"}]}
_ID: Final = "An id of your choice: 1 to 255 printable characters, percent-encoded (`/` as `%2F`), and not `.` or `..`."
_HEALTH: Final = _object("status", "failing", status=_TEXT)
# Each operation may fail like this, besides its own failures.
_FAILURES: Final = (400, 401, 403, 404, 409, 413, 429, 502, 503)


def description(context_type: type[BaseModel], profiles: Sequence[str]) -> Schema:
    """The whole document. `context_type` has the options of a turn, and `profiles` are those on offer."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "askbook", "version": "1", "description": "Ask a book and see the proof of each answer."},
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}, "schemas": {"Error": _ERROR}},
        "security": [{"key": []}, {}],
        "paths": _paths(_options(context_type, profiles), profiles),
    }


def _options(context_type: type[BaseModel], profiles: Sequence[str]) -> Schema:
    """The options of a turn by name, without what only LangGraph Studio reads."""
    found: Schema = context_type.model_json_schema()["properties"]
    options = {
        name: {key: value for key, value in schema.items() if not key.startswith("langgraph_")}
        for name, schema in found.items()
    }
    options["profile"] = options["profile"] | {"anyOf": [{"enum": list(profiles)}, {"type": "null"}]}
    return options


def _paths(options: Schema, profiles: Sequence[str]) -> Schema:
    model = {"anyOf": [{"enum": [*profiles, ANY]}, _TEXT | {"description": _MODEL}, {"type": "null"}]}
    messages = {"type": "array", "items": _object("role", role=_TEXT, content=_CONTENT), "minItems": 1}
    completion = _object("messages", model=model, messages=messages, stream={"type": "boolean"}, metadata=_MAYBE_OBJECT)
    names = {"type": "array", "items": _TEXT}
    in_book = _parameter("book", "query")
    return {
        "/healthz": {"get": _operation("whether the index and the memory answer", answer=_HEALTH) | _UNHEALTHY},
        "/api/book": {"get": _operation("a book", in_book)},
        "/api/books": {"get": _operation("the books of this key", answer=_object("books", books=_LIST))},
        "/api/profiles": {
            "get": _operation(
                "the profiles on offer", answer=_object("profiles", "default", profiles=names, default=_TEXT)
            )
        },
        "/api/passages/{chunk_id}": {"get": _operation("a stored passage", _parameter("chunk_id"), in_book)},
        **_thread_paths(options),
        "/v1/models": {"get": _operation("the profiles and books as models", answer=_object("data", data=_LIST))},
        "/v1/models/{model}": {"get": _operation("one model", _parameter("model"), answer=_object("id", id=_TEXT))},
        "/v1/chat/completions": {"post": _completion(completion)},
    }


def _thread_paths(options: Schema) -> Schema:
    """The paths of stored conversations."""
    closed = {"additionalProperties": False}
    context = {"type": "object", "properties": options} | closed
    book = _MAYBE_TEXT | {"description": "One of /api/books; a conversation stays with its book."}
    asked = {"question": _TEXT | {"minLength": 1}, "book": book, "metadata": _MAYBE_OBJECT}
    turn = _object("question", **asked, **options, context=context) | closed
    last = _MAYBE_TEXT | {"description": "The request_id or the question of the turn that is meant."}
    again = _object(book=book, last=last, **options, context=context) | closed
    thread = _parameter("thread_id", minLength=1, maxLength=255, pattern=r"^(?!\.{1,2}$)") | {"description": _ID}
    listed, of_thread = _object("threads", "more", threads=_LIST), "/api/threads/{thread_id}"
    return {
        "/api/threads": {"get": _operation("the newest conversations", _parameter("before", "query"), answer=listed)},
        of_thread: {
            "get": _operation(
                "a conversation", thread, answer=_object("thread_id", "turns", thread_id=_TEXT, turns=_LIST)
            ),
            "delete": _operation("delete a conversation", thread, answer=None),
        },
        f"{of_thread}/turns": {"post": _operation("ask; server-sent events", thread, body=turn, answer=_TEXT)},
        f"{of_thread}/retry": {"post": _operation("ask the last question again", thread, body=again, answer=_TEXT)},
        f"{of_thread}/undo": {
            "post": _operation(
                "remove the last turn", thread, body=_object(last=last), answer=_object("question", question=_TEXT)
            )
        },
        f"{of_thread}/clear": {"post": _operation("delete a conversation", thread)},
    }


_MODEL: Final = f"A profile, {ANY}/BOOK, or PROFILE/BOOK."


def _content(schema: Schema) -> Schema:
    """A body. A schema that is a string is a stream of events."""
    return {"content": {"text/event-stream" if schema == _TEXT else "application/json": {"schema": schema}}}


# The failure of the health check has the form of its success.
_UNHEALTHY: Final = {
    "responses": {
        "200": {"description": "everything answers"} | _content(_HEALTH),
        "503": {"description": "something fails"} | _content(_HEALTH),
    }
}


def _completion(body: Schema) -> Schema:
    operation = _operation("a chat completion; server-sent events if stream is true", body=body)
    operation["responses"]["200"]["content"] |= _content(_TEXT)["content"]
    return operation


def _parameter(name: str, place: str = "path", **rules: Any) -> Schema:
    return {"name": name, "in": place, "required": place == "path", "schema": _TEXT | rules}


def _operation(
    summary: str, *parameters: Schema, body: Schema | None = None, answer: Schema | None = _OBJECT
) -> Schema:
    """One operation. Without an `answer` it has no content."""
    good = {"description": summary} | (_content(answer) if answer is not None else {})
    failed = {"description": "failed"} | _content(_ERROR)
    responses = {"204" if answer is None else "200": good} | {str(status): failed for status in _FAILURES}
    operation: Schema = {"summary": summary, "responses": responses}
    if parameters:
        operation["parameters"] = [*parameters]
    if body:
        operation["requestBody"] = {"required": bool(body["required"])} | _content(body)
    return operation
