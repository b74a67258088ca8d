"""The stored conversations over HTTP: list, read, delete, and take turns as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from pydantic import BaseModel
from sse_starlette import ServerSentEvent
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from rag.conversation.turns import unknown_thread
from rag.errors import MemoryFailureError, UsageError
from rag.types import Event
from rag.web.api_keys import Person
from rag.web.book_choice import choose, events_of
from rag.web.hosting import Hosting
from rag.web.http_requests import hosting_of, json_object, metadata_of, options_of, person_of, thread_of
from rag.web.running_turns import streamed, turns_of

PAGE: Final = 50  # conversations of one list
_DAMAGED: Final = ("conversation_broken", "memory_key")


async def list_threads(request: Request) -> Response:
    """The newest conversations of this person. `before` is the id of the last one of the page before."""
    hosting, person = hosting_of(request), person_of(request)
    own = [thread for thread in await hosting.agent.threads() if person.own(thread) is not None]
    before = request.query_params.get("before")
    if before is not None:
        if person.stored(before) not in own:
            raise _unknown(before)
        own = own[own.index(person.stored(before)) + 1 :]
    rows = [await _row(hosting, person, thread) for thread in own[:PAGE]]
    return JSONResponse({"threads": [row for row in rows if row], "more": len(own) > PAGE})


async def _row(hosting: Hosting, person: Person, thread: str) -> dict[str, Any] | None:
    """The entry of a conversation; one that cannot be read is named with the code of its error."""
    try:
        summary = await hosting.agent.summary(thread)
    except MemoryFailureError as error:
        if error.code not in _DAMAGED:
            raise
        return {"thread_id": person.own(thread), "error": error.code}
    if summary is None or not summary["first_question"]:
        return None
    book = summary["collections"][-1] if summary["collections"] else None
    return summary | {"thread_id": person.own(thread), "book": book}


async def _existing(request: Request) -> str:
    """The stored id of the conversation in the path. Raises `UsageError` "unknown_thread" if there is none."""
    stored = thread_of(request)
    if stored not in await hosting_of(request).agent.threads():
        raise _unknown(person_of(request).own(stored) or "")
    return stored


def _unknown(thread_id: str) -> UsageError:
    """The error for an unknown conversation, without the hint at a command."""
    error = unknown_thread(thread_id)
    return UsageError(error.message, code=error.code)


async def read_thread(request: Request) -> Response:
    stored = await _existing(request)
    conversation = await hosting_of(request).agent.conversation(stored)
    return JSONResponse(conversation | {"thread_id": person_of(request).own(stored)})


async def delete_thread(request: Request) -> Response:
    await clear_thread(request)
    return Response(status_code=204)


async def clear_thread(request: Request) -> Response:
    stored = await _existing(request)
    await turns_of(request).ended(stored)
    await hosting_of(request).agent.clear(stored)
    return JSONResponse({"cleared": True})


async def undo_turn(request: Request) -> Response:
    """Remove the last turn; `last` of the body names the one that is meant."""
    stored = await _existing(request)
    data = await json_object(request, required=False)
    last = _last(data)
    for name in data:  # a misspelt `last` must not take back another turn than the one that is meant
        raise UsageError(f"{name[:40]}: this is not allowed; there is no such key.", code="invalid_option")
    await turns_of(request).ended(stored)
    return JSONResponse({"question": await hosting_of(request).agent.undo(stored, last=last)})


async def take_turn(request: Request) -> Response:
    """One turn: `question`, optional `book` and `metadata`, and the options of a turn, there or in `context`."""
    hosting, stored = hosting_of(request), thread_of(request)
    data = await json_object(request)
    question = data.pop("question", None)
    if not isinstance(question, str):
        raise UsageError("question is not a string.", code="invalid_option")
    metadata = metadata_of(data)
    data.pop("metadata", None)
    book, context = await _book_and_options(request, stored, data)
    events = events_of(
        hosting, book, lambda agent: agent.stream(question, thread_id=stored, context=context, metadata=metadata)
    )
    return await stream_events(request, stored, events)


async def _book_and_options(request: Request, stored: str, data: dict[str, Any]) -> tuple[str, BaseModel]:
    """The book and the options of a turn, of the body's remaining fields and of the conversation."""
    hosting, named = hosting_of(request), data.pop("book", None)
    context = options_of(hosting, _overrides(data))
    chosen = await choose(hosting, person_of(request), stored, book=named, profile=_overrides(data).get("profile"))
    return chosen.book, context.model_copy(update={"profile": hosting.offer.choose(chosen.profile)})


async def retry_turn(request: Request) -> Response:
    """Ask the last question again, as the same request; the body may hold options, and `last` as of `undo_turn`."""
    hosting, stored = hosting_of(request), await _existing(request)
    data = await json_object(request, required=False)
    last = _last(data)
    book, context = await _book_and_options(request, stored, data)
    events = events_of(hosting, book, lambda agent: agent.stream_retry(stored, context=context, last=last))
    return await stream_events(request, stored, events)


def _last(data: dict[str, Any]) -> str | None:
    """The `request_id` or the question of the turn that the body means, taken out of it; None where it names none."""
    last = data.pop("last", None)
    if not isinstance(last, str | None):
        raise UsageError("last is not a string.", code="invalid_option")
    return last


def _overrides(data: Mapping[str, Any]) -> dict[str, Any]:
    nested = data.get("context") or {}
    if not isinstance(nested, dict):
        raise UsageError("context is not a JSON object.", code="invalid_option")
    return {name: value for name, value in data.items() if name != "context"} | nested


async def stream_events(request: Request, stored: str, events: AsyncGenerator[Event, None]) -> Response:
    """The events of a turn as server-sent events, or a plain error if the turn fails before it has done anything."""
    person = person_of(request)

    def sent(event: Event) -> list[ServerSentEvent]:
        data = dict(event.data)
        if event.response is not None:
            data["thread_id"] = person.seen(event.response).thread_id
        return [ServerSentEvent(json.dumps(data, ensure_ascii=False), event=event.type)]

    return await streamed(request, stored, events, lambda event: event.data.get("processing_state") != "failed", sent)


class ThreadRoute(Route):
    """A route whose path is compared as it was sent, so that the slash of an id, `%2F`, does not part it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        sent = scope.get("raw_path") or quote(scope["path"]).encode("ascii")
        match, child = super().matches({**scope, "path": sent.decode("latin-1")})
        if found := child.get("path_params"):
            found["thread_id"] = unquote(found["thread_id"])
        return match, child


ROUTES: Final = [
    Route("/api/threads", list_threads),
    ThreadRoute("/api/threads/{thread_id}", read_thread),
    ThreadRoute("/api/threads/{thread_id}", delete_thread, methods=["DELETE"]),
    ThreadRoute("/api/threads/{thread_id}/turns", take_turn, methods=["POST"]),
    ThreadRoute("/api/threads/{thread_id}/retry", retry_turn, methods=["POST"]),
    ThreadRoute("/api/threads/{thread_id}/undo", undo_turn, methods=["POST"]),
    ThreadRoute("/api/threads/{thread_id}/clear", clear_thread, methods=["POST"]),
]
