"""An endpoint that speaks OpenAI's wire format on 127.0.0.1 and answers with its script, one reply a request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from tests import wire
from tests.wire import EVENTS, JSON, Data, Request, WireServer, listening

__all__ = ["OPENAI_KEY", "Endpoint", "Reply", "Request", "answer", "calls_tool", "events", "openai_server", "refuses"]

OPENAI_KEY: Final = "sk-canary-0123456789-0123456789-0123456789"


@dataclass(frozen=True)
class Reply(wire.Reply):
    """What one request gets: a status, headers and, with 200, the events of the stream.

    `finish` is the reason that ends the stream, None cuts it. `raw` replaces the body.
    """

    content_type: str = ""
    texts: tuple[str, ...] = ()
    tool: Data | None = None
    finish: str | None = "stop"
    usage: Data | None = None
    raw: str | None = None
    error: Data | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "content_type", self.content_type or (EVENTS if self.status == 200 else JSON))

    def parts(self) -> Iterator[str]:
        if self.raw is not None:
            yield self.raw
        elif self.status == 200:
            yield from events(self)
        else:
            yield json.dumps({"error": self.error})


@dataclass
class Endpoint(WireServer):
    """The endpoint as a test sees it."""

    prefix: str = "/v1"


def openai_server() -> AbstractContextManager[Endpoint]:
    """The endpoint, listening until the block ends."""
    return listening(Endpoint())


def answer(*texts: str, **fields: Any) -> Reply:
    """A streamed answer of those texts, counted as 11 tokens in and 7 out."""
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return Reply(texts=texts, **({"usage": usage} | fields))


def calls_tool(query: str, call_id: str = "call-1") -> Reply:
    """A streamed call of the search tool."""
    call = {"id": call_id, "name": "search_book", "arguments": json.dumps({"query": query})}
    return Reply(tool=call, finish="tool_calls")


def refuses(status: int, message: str = "no", code: str | None = None, **headers: str) -> Reply:
    """An answer with that status and an error object as OpenAI sends it."""
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    error = {"message": message, "type": "error", "code": code}
    return Reply(status=status, headers=named, error=error)


_OF_ALL: Final[Data] = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}


def events(reply: Reply) -> Iterator[str]:
    """The stream of a reply, event by event, as OpenAI sends it."""
    for text in reply.texts:
        yield _chunk({"role": "assistant", "content": text})
    if reply.tool:
        call = {"index": 0, "id": reply.tool["id"], "type": "function"}
        yield _chunk({"tool_calls": [call | {"function": {"name": reply.tool["name"], "arguments": ""}}]})
        yield _chunk({"tool_calls": [{"index": 0, "function": {"arguments": reply.tool["arguments"]}}]})
    if reply.finish:
        yield _chunk({}, reply.finish)
    if reply.usage:
        yield _line(_OF_ALL | {"choices": [], "usage": reply.usage})
    if reply.finish:
        yield "data: [DONE]\n\n"


def _chunk(delta: Data, finish: str | None = None) -> str:
    return _line(_OF_ALL | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _line(data: Data) -> str:
    return f"data: {json.dumps(data)}\n\n"
