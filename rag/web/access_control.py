"""Access control: checks the key; without keys, checks that no page of another site is calling."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.web.hosting import Hosting
from rag.web.http_requests import RequestRefusedError, check_size, error_response

_OPEN: Final = ("/healthz", "/static/", "/favicon")  # hold nothing of a person, and no book

_HEADERS: Final = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


class AccessControl:
    """ASGI middleware. Puts the person into `request.state.person`, or answers with an error."""

    def __init__(self, app: ASGIApp, hosting: Hosting) -> None:
        self._app = app
        self._hosting = hosting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._admit(scope)
        except RequestRefusedError as refusal:
            await error_response(refusal)(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app(scope, receive, with_headers)

    def _admit(self, scope: Scope) -> None:
        request, headers = Request(scope), Headers(scope=scope)
        length = headers.get("content-length", "")
        if length.isdigit():
            check_size(int(length[:18]), self._hosting.limits.body_bytes)
        people = self._hosting.people
        if not people.have_keys:
            self._check_place(headers)
        scheme, _, key = headers.get("authorization", "").partition(" ")
        key = key.strip() if scheme.lower() == "bearer" else ""
        person = people.of(key)
        if person is None and request.url.path != "/" and not request.url.path.startswith(_OPEN):
            problem = "The key is wrong." if key else "A key is needed."
            raise RequestRefusedError(401, "unknown_key", problem, hint="Send it as Authorization: Bearer KEY.")
        request.state.person = person

    def _check_place(self, headers: Headers) -> None:
        """Raise unless the request names this machine. A page elsewhere may know our port, and may rename our host."""
        if _name(headers.get("host", "")) not in self._hosting.hosts:
            raise RequestRefusedError(
                403, "wrong_host", "This server answers only requests to 127.0.0.1 and localhost."
            )
        origin, host = headers.get("origin"), headers.get("host", "").lower()
        allowed = origin is None or origin in self._hosting.origins
        if not allowed and (origin or "").lower() not in (f"http://{host}", f"https://{host}"):
            raise RequestRefusedError(403, "wrong_origin", "Pages of other sites may not use this server.")


def _name(host: str) -> str:
    """The host without its port; empty for an unreadable one."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
