"""A web site on 127.0.0.1, for tests of what is read over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from tests.wire import HTML, Reply, Request, WireServer, listening

Answers = Mapping[str, Reply | Callable[[], Reply]]


def moved(target: str) -> Reply:
    return Reply(status=302, headers=(("location", target),))


def page(title: str, body: str, head: str = "") -> Reply:
    html = f"<html><head><title>{title}</title>{head}</head><body><nav><a href='/'>Home</a></nav>"
    return Reply(body=f"{html}<main><h1>{title}</h1>{body}</main></body></html>", content_type=f"{HTML}; charset=utf-8")


def plain(text: str) -> Reply:
    return Reply(body=text, content_type="text/plain")


@dataclass
class WebSite(WireServer):
    """The site as a test sees it. `answers` are those of its paths, and may be changed; every other path is 404."""

    answers: dict[str, Reply | Callable[[], Reply]] = field(default_factory=dict)
    keeps_alive: bool = True

    @property
    def asked(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [request.path for request in self.requests]

    def sent(self, header: str) -> set[str]:
        """The values of a header of the requests."""
        return {request.headers[header] for request in self.requests}

    def answer(self, request: Request) -> Reply:
        found = self.answers.get(request.path, Reply(status=404, body="gone"))
        return found() if callable(found) else found


def web_site(answers: Answers) -> AbstractContextManager[WebSite]:
    """The site with these answers, listening until the block ends."""
    return listening(WebSite(answers=dict(answers)))
