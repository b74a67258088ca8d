"""The HTTP application: routes, errors, headers and who is let in, around an agent that comes in as a port."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.errors import AskbookError
from rag.web import openai_api, threads_api
from rag.web.book_choice import own_book, own_books
from rag.web.hosting import Hosting
from rag.web.http_requests import RequestRefusedError, check_size, error_response, hosting_of, person_of
from rag.web.mcp_server import build_mcp
from rag.web.metrics import Measured, metrics
from rag.web.openapi import description
from rag.web.running_turns import Turns

STATIC: Final = Path(__file__).parent / "static"
# The page loads only its own files and talks only to its own server.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_CHECKED: Final = TransportSecuritySettings(enable_dns_rebinding_protection=False)
log: Final = logging.getLogger("askbook")


def build_app(hosting: Hosting) -> Starlette:
    """The application for the agents of some books. The caller opens and closes them."""
    # `AccessControl` checks host and key. Nothing is kept between two requests, so any process can answer the next.
    assistants = build_mcp(hosting)
    tools = assistants.streamable_http_app(stateless_http=True, json_response=True, transport_security=_CHECKED)
    cors = Middleware(
        CORSMiddleware,
        allow_origins=list(hosting.origins),
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["Authorization", "Content-Type"],
        expose_headers=["Retry-After"],
    )
    app = Starlette(
        routes=[
            Route("/", page),
            Route("/healthz", health),
            Route("/openapi.json", openapi),
            Route("/metrics", metrics),
            Route("/api/book", book),
            Route("/api/books", books),
            Route("/api/profiles", profiles),
            Route("/api/passages/{chunk_id}", passage),
            *threads_api.ROUTES,
            *openai_api.ROUTES,
            Mount("/static", StaticFiles(directory=STATIC)),
            *tools.routes,
        ],
        middleware=[
            Middleware(Measured),
            *([cors] if hosting.origins else []),
            Middleware(AccessControl, hosting=hosting),
        ],
        lifespan=lambda _app: assistants.session_manager.run(),
        exception_handlers={AskbookError: _refused, HTTPException: _no_such_route, Exception: _unexpected},
    )
    app.router.redirect_slashes = False  # an address with a slash too many is unknown, like any other
    app.state.hosting = hosting
    app.state.turns = Turns(hosting.limits)
    return app


async def page(_request: Request) -> Response:
    return FileResponse(STATIC / "index.html", headers={"Content-Security-Policy": _POLICY})


async def health(request: Request) -> Response:
    """200 when the index and the memory answer, else 503 with what fails."""
    failing = await hosting_of(request).agent.check_health()
    status = 503 if failing else 200
    return JSONResponse({"status": "failing" if failing else "ok", "failing": failing}, status)


async def openapi(request: Request) -> Response:
    hosting = hosting_of(request)
    return JSONResponse(description(hosting.context_type, hosting.offer.names))


async def book(request: Request) -> Response:
    """A book, by default the one that answers when none is named, and questions that it answers."""
    hosting = hosting_of(request)
    name = _book_of(request)
    async with hosting.books.agent(name) as agent:
        found = await agent.book()
    return JSONResponse(found | {"questions": await hosting.books.questions(name)})


async def books(request: Request) -> Response:
    """The books that this key may ask; `current` marks the one that answers when none is named."""
    return JSONResponse({"books": await own_books(hosting_of(request), person_of(request))})


def _book_of(request: Request) -> str:
    """The book in the query of the address, or this person's usual one."""
    return own_book(hosting_of(request), person_of(request), request.query_params.get("book"))


async def profiles(request: Request) -> Response:
    offer = hosting_of(request).offer
    return JSONResponse({"profiles": list(offer.names), "default": offer.usual})


async def passage(request: Request) -> Response:
    """A stored passage, whole, as `run.py passages` prints it."""
    async with hosting_of(request).books.agent(_book_of(request)) as agent:
        found = await agent.passages([request.path_params["chunk_id"]])
    if not found:
        raise RequestRefusedError(404, "unknown_chunk", "There is no such passage in the book.")
    return JSONResponse(found[0])


async def _refused(_request: Request, error: Any) -> Response:  # an `AskbookError`
    return error_response(error)


async def _no_such_route(request: Request, error: Any) -> Response:  # an `HTTPException`
    if error.status_code == 405:
        message = f"{request.url.path} does not take {request.method}."
        answer: Response = error_response(RequestRefusedError(405, "method_not_allowed", message))
        answer.headers["Allow"] = ", ".join(_methods_at(request))
        return answer
    return error_response(RequestRefusedError(404, "not_found", f"There is nothing at {request.url.path[:100]}."))


def _methods_at(request: Request) -> list[str]:
    """The methods of all routes for the address; Starlette names those of the first one only."""
    at_path = (route for route in request.app.routes if isinstance(route, Route))
    found = (route.methods or () for route in at_path if route.matches(request.scope)[0] is not Match.NONE)
    return sorted({method for methods in found for method in methods})


async def _unexpected(_request: Request, error: Exception) -> Response:
    log.error("a request failed", exc_info=error)
    failure = AskbookError("api_error", "internal", f"Something went wrong inside askbook ({type(error).__name__}).")
    response = error_response(failure)
    response.status_code = 500
    return response


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
