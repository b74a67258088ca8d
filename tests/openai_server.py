"""An endpoint that speaks OpenAI's wire format on 127.0.0.1 and answers with its script, one reply a request.

Everything between the product and the socket is real: the client library, its parsing of the stream, its exceptions.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

Data = dict[str, Any]
OPENAI_KEY: Final = "sk-canary-0123456789-0123456789-0123456789"


@dataclass(frozen=True)
class Reply:
    """What one request gets: a status, headers and, with 200, the events of the stream.

    `finish` is the reason that ends the stream, None cuts it. `hang` keeps the client waiting after the events until
    the server stops. `raw` replaces the body.
    """

    texts: tuple[str, ...] = ()
    tool: Data | None = None
    finish: str | None = "stop"
    usage: Data | None = None
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    hang: bool = False
    raw: str | None = None
    error: Data | None = None


@dataclass(frozen=True)
class Request:
    path: str
    headers: Data
    body: Data


@dataclass
class Endpoint:
    """The server as a test sees it: its address, its script, and what it was asked."""

    address: str
    script: list[Reply] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)


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


@contextmanager
def openai_server() -> Iterator[Endpoint]:
    """The endpoint, listening until the block ends."""
    endpoint = Endpoint("")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(endpoint))
    server.daemon_threads = True
    endpoint.address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


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


def _handler(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            endpoint.requests.append(Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            if not endpoint.script:
                self._send(Reply(status=418, error={"message": "the script is over"}))
                return
            self._send(endpoint.script.pop(0))

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            is_stream = reply.status == 200
            self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
            for name, value in reply.headers:
                self.send_header(name, value)
            self.end_headers()
            body = [reply.raw] if reply.raw is not None else events(reply) if is_stream else [_error(reply)]
            for part in body:
                self.wfile.write(part.encode())
                self.wfile.flush()
            if reply.hang:
                endpoint.stopping.wait(30)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    return Handler


def _error(reply: Reply) -> str:
    return json.dumps({"error": reply.error})
