"""Counts and times of requests and turns, in the text format of Prometheus."""

from __future__ import annotations

import time
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
        began = time.perf_counter()

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "path", "none")
                _REQUESTS.labels(route, message["status"]).inc()
                _SECONDS.labels(route).observe(time.perf_counter() - began)
            await send(message)

        await self._app(scope, receive, counting)


async def metrics(request: Request) -> Response:
    _RUNNING.set(request.app.state.turns.running)
    return Response(generate_latest(_REGISTRY), media_type=CONTENT_TYPE_LATEST)
