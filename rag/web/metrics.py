"""Counts and times of requests and turns, in the text format of Prometheus; a line of the log for each request."""

from __future__ import annotations

import time
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.observing.run_log import write

_REGISTRY: Final = CollectorRegistry()
_REQUESTS: Final = Counter("askbook_requests", "HTTP requests", ["route", "status"], registry=_REGISTRY)
_SECONDS: Final = Histogram(
    "askbook_first_byte_seconds", "Time until the status of a response was sent", ["route"], registry=_REGISTRY
)
_RUNNING: Final = Gauge("askbook_turns_running", "Turns in progress", registry=_REGISTRY)


class Measured:
    """ASGI middleware that counts each request under its route, never under its path, which holds ids."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), None

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                nonlocal status
                route = _route_of(scope)
                _REQUESTS.labels(route, message["status"]).inc()
                _SECONDS.labels(route).observe(time.perf_counter() - began)
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, counting)
        finally:
            person = scope.get("state", {}).get("person")
            facts = {"method": scope["method"], "route": _route_of(scope), "status": status}
            facts |= {"key": person.name} if person is not None and person.name else {}
            milliseconds = round((time.perf_counter() - began) * 1000, 1)
            write("request", facts | {"ms": milliseconds}, failed=status is None or status >= 500)


def _route_of(scope: Scope) -> str:
    return str(getattr(scope.get("route"), "path", "none"))


async def metrics(request: Request) -> Response:
    _RUNNING.set(request.app.state.turns.running)
    return Response(generate_latest(_REGISTRY), media_type=CONTENT_TYPE_LATEST)
