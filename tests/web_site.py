"""A web site on 127.0.0.1, for tests of what is read over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass(frozen=True)
class Answer:
    """What the server sends for a path."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/html; charset=utf-8"})


def moved(target: str) -> Answer:
    return Answer(status=302, headers={"Location": target})


def page(title: str, body: str, head: str = "") -> Answer:
    html = f"<html><head><title>{title}</title>{head}</head><body><nav><a href='/'>Home</a></nav>"
    return Answer(f"{html}<main><h1>{title}</h1>{body}</main></body></html>".encode())


def plain(text: str) -> Answer:
    return Answer(text.encode(), headers={"Content-Type": "text/plain"})


@dataclass
class WebSite:
    """The address of the server, and what was asked of it, in order. `answers` may be changed while it runs."""

    origin: str
    answers: dict[str, Answer | Callable[[], Answer]]
    asked: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    agents: set[str] = field(default_factory=set)


@contextmanager
def web_site(answers: Mapping[str, Answer | Callable[[], Answer]]) -> Iterator[WebSite]:
    """Serve these answers; every other path is 404."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.asked.append(self.path)
            site.hosts.add(self.headers["Host"])
            site.agents.add(self.headers["User-Agent"])
            found = site.answers.get(self.path, Answer(b"gone", 404))
            answer = found() if callable(found) else found
            self.send_response(answer.status)
            for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a crawl that ends early hangs up
    site = WebSite(f"http://127.0.0.1:{server.server_port}", dict(answers))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
