"""Scripted HTTP servers on 127.0.0.1, and every way in which a server can fail that has nothing to do with what it is.

Everything between the product and the socket is real: the client library, its parsing, its exceptions. A stand-in for a
service is a `WireServer` with its own `answer`; a test puts what it wants in front of that:

    with listening(WireServer()) as server:
        server.script.append(refusal(429, retry_after="7"))    # the next request, once
        server.faults["/rerank"] = hangs()                     # every request for such a path, until it is taken away
"""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

Data = dict[str, Any]

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"
HTML: Final = "text/html"
UNFORESEEN: Final[list[str]] = []  # requests that no script foresaw; `conftest.py` fails the test that sent one
_LONGEST: Final = 30  # seconds that a hanging request waits at most, should a test forget to stop its server
_DRIP: Final = 0.02  # seconds between two pieces of what drips: no wait for one is long


@dataclass(frozen=True)
class Reply:
    """What one request gets.

    `hang` keeps the client waiting after the body until the server stops, `drop` resets the connection after it, `cut`
    promises more of a body than it sends. With `silent` not even a status is sent before that. An `endless` body is
    sent again and again, `pause` seconds apart; with `endless_headers` the headers are what does not end.
    """

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: str | bytes = ""
    content_type: str = JSON
    hang: bool = False
    drop: bool = False
    cut: bool = False
    silent: bool = False
    endless: bool = False
    endless_headers: bool = False
    pause: float = 0.0

    def parts(self) -> Iterator[str | bytes]:
        """The body, as it is sent piece by piece; it may be endless."""
        return repeat(self.body) if self.endless else iter([self.body])


@dataclass(frozen=True)
class Request:
    """What a client sent: header names in lower case, `body` the JSON (or None), `query` what follows the `?`."""

    path: str
    headers: dict[str, str]
    body: Any
    method: str = "POST"
    query: str = ""


@dataclass
class WireServer:
    """The server as a test sees it: its address, its script, and what it was asked.

    A request gets the fault of the first key that its path contains, else the next reply of the script, which may be a
    function of the request, else what `answer` says. With `keeps_alive` a connection serves further requests.
    """

    address: str = ""
    script: list[Reply | Callable[[Request], Reply]] = field(default_factory=list)
    faults: dict[str, Reply] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    prefix: str = ""  # of the path, part of the address: "/v1"
    keeps_alive: bool = False
    _http: _Http = field(init=False, repr=False)
    _thread: threading.Thread = field(init=False, repr=False)

    def start(self) -> None:
        """Listen on a free port, and after a `stop` on the same one again."""
        self.stopping.clear()
        self._http = _Http(("127.0.0.1", urlsplit(self.address).port or 0), _Handler)
        self._http.wire = self
        self.address = f"http://127.0.0.1:{self._http.server_address[1]}{self.prefix}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def stop(self) -> None:
        """Listen no more, and let go of every request that hangs."""
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, request: Request) -> Reply:
        """What a stand-in says to a request that no script foresees, and that the test fails for."""
        UNFORESEEN.append(f"{request.method} {request.path}")
        return refusal(418, f"the script is over: {request.method} {request.path}")

    def reply_to(self, request: Request) -> Reply:
        self.requests.append(request)
        fault = next((reply for part, reply in self.faults.items() if re.search(part, request.path)), None)
        if fault is not None:
            return fault
        reply = self.script.pop(0) if self.script else self.answer(request)
        return reply(request) if callable(reply) else reply


Server = TypeVar("Server", bound=WireServer)


@contextmanager
def listening(server: Server) -> Iterator[Server]:
    """The server on a free port of 127.0.0.1, until the block ends."""
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def away(server: WireServer) -> Iterator[None]:
    """The server stopped until the block ends: connections to its address are refused.

    The port stays taken. A server of another test would get it otherwise, and requests that its script does not know.
    """
    server.stop()
    try:
        with _taken(urlsplit(server.address).port or 0):
            yield
    finally:
        server.start()


@contextmanager
def nobody() -> Iterator[str]:
    """An address on which nothing listens: a connection is refused."""
    with _taken(0) as port:
        yield f"http://127.0.0.1:{port}"


def free_port() -> int:
    """A port for a server that is given one, and that nothing listens on."""
    with _taken(0) as port:
        return port


@contextmanager
def _taken(port: int) -> Iterator[int]:
    """A port that belongs to this process, and on which nothing listens; a free one for 0."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that have ended may still know it
        probe.bind(("127.0.0.1", port))
        yield probe.getsockname()[1]


# --- replies that any service may send ------------------------------------------------------------------------------


def data(value: Any, status: int = 200, **headers: str) -> Reply:
    """JSON, with headers as keywords: `retry_after="7"`."""
    return Reply(status=status, headers=_named(headers), body=json.dumps(value))


def refusal(status: int, message: str = "no", **headers: str) -> Reply:
    """A status with an error object that only says `message`; services have forms of their own."""
    return data({"error": {"message": message}}, status, **headers)


def hangs() -> Reply:
    """Takes the request and never answers."""
    return Reply(hang=True, silent=True)


def dripping() -> Reply:
    """A 200 whose body comes byte by byte and does not end."""
    return flooding(" ", pause=_DRIP)


def dripping_headers() -> Reply:
    """A 200 whose headers come byte by byte and do not end."""
    return Reply(endless_headers=True, pause=_DRIP)


def flooding(piece: str, content_type: str = JSON, *, pause: float = 0.0) -> Reply:
    """A 200 whose body is that piece again and again, without an end."""
    return Reply(body=piece, content_type=content_type, endless=True, pause=pause)


def drops() -> Reply:
    """Takes the request and resets the connection."""
    return Reply(drop=True, silent=True)


def cut_off(body: str, content_type: str = JSON) -> Reply:
    """A 200 that ends in the middle of its body."""
    return Reply(body=body, content_type=content_type, cut=True)


def malformed(status: int = 200) -> Reply:
    """JSON that is none."""
    return Reply(status=status, body='{"choices": [')


def empty(status: int = 200) -> Reply:
    """No body at all."""
    return Reply(status=status)


def html(status: int = 200) -> Reply:
    """The page of a proxy or a login, where an interface is expected."""
    return Reply(status=status, body="<html><body>Welcome</body></html>", content_type=HTML)


def _named(headers: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name.replace("_", "-"), value) for name, value in headers.items())


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    wire: WireServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that has hung up, which is right when a body is endless."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    disable_nagle_algorithm = True  # on a connection that is kept, each body would wait for an acknowledgement

    def setup(self) -> None:
        super().setup()
        self.protocol_version = "HTTP/1.1" if self.server.wire.keeps_alive else "HTTP/1.0"

    def _serve(self) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length") or 0))
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.wire.reply_to(Request(path, headers, _parsed(sent), self.command, query))
        if not reply.silent:
            self._send(reply)
        if reply.hang:
            self.server.wire.stopping.wait(_LONGEST)
        if reply.drop:  # closing with a linger of zero seconds resets the connection
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815  # the names that http.server asks for

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("content-type", reply.content_type)
        parts: Iterator[str | bytes] = reply.parts()
        if reply.cut:
            self.send_header("content-length", "1000000")
        elif self.server.wire.keeps_alive and not reply.endless:
            whole = b"".join(map(_encoded, parts))
            self.send_header("content-length", str(len(whole)))
            parts = iter([whole])
        for name, value in reply.headers:
            self.send_header(name, value)
        if reply.endless_headers:
            self.flush_headers()
            self._write(chain(["x-drip: "], repeat("x")), reply.pause)
            return
        self.end_headers()
        self._write(parts, reply.pause)

    def _write(self, parts: Iterator[str | bytes], pause: float) -> None:
        """Write the parts, until the client has hung up or the server stops."""
        for part in parts:
            self.wfile.write(_encoded(part))
            self.wfile.flush()
            if pause and self.server.wire.stopping.wait(pause):
                self.close_connection = True
                return

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _encoded(part: str | bytes) -> bytes:
    return part.encode() if isinstance(part, str) else part


def _parsed(sent: bytes) -> Any:
    try:
        return json.loads(sent) if sent else None
    except ValueError:
        return None
