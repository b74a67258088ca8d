"""`run.py serve` and `run.py mcp`: the agent over HTTP, and as an MCP server on standard input and output."""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from cli.terminal import number, opened, preload, say
from rag.errors import AskbookError, UsageError
from rag.ports import ChunkIndex, Services
from rag.settings import Settings
from rag.system.process import need

if TYPE_CHECKING:
    from rag.web.api_keys import People
    from rag.web.hosting import BookAccess

_LOCAL: Final = ("127.0.0.1", "localhost", "::1")
_SUGGESTED: Final = 3  # questions on the page of a first visitor


def serve(options: argparse.Namespace) -> int:
    """Serve until interrupted. Exit code 0, or 2 when it must not or cannot listen."""
    settings = Settings.from_env()
    port = int(number(options.port, "--port", 0, 65535, whole=True) or 0)
    for library in ("mcp", "starlette", "uvicorn", "sse_starlette", "limits", "prometheus_client"):
        need(library, "serve", "The command serve")
    people = people_of(settings)
    if not people.have_keys and options.host not in _LOCAL:
        raise UsageError(
            f"Without keys, serve listens on 127.0.0.1 only, not on {options.host}.",
            hint="Set ASKBOOK_API_KEYS=name:key.",
        )
    access = book_access(settings, people.names)
    preload()
    with listening_on(options.host, port) as listening:
        return asyncio.run(_serve(options, settings, listening, people, access))


def people_of(settings: Settings) -> People:
    """Those who may ask, by ASKBOOK_API_KEYS. Raises `UsageError` for an entry that is not allowed."""
    from rag.web.api_keys import People

    return People.parse(settings.api_keys.get_secret_value() if settings.api_keys else None)


def book_access(settings: Settings, names: Collection[str] = ()) -> BookAccess:
    """The books of ASKBOOK_BOOKS, whose keys have these names. Raises `UsageError` for what cannot be a book's name."""
    from rag.index.catalog import check_name
    from rag.web.hosting import BookAccess

    access = BookAccess.parse(settings.books, names)
    for _, book in access.entries or ():
        try:
            check_name(book, on_server=settings.qdrant_url is not None)
        except UsageError as error:
            raise UsageError(f"ASKBOOK_BOOKS: {error.message}", code=error.code, hint=error.hint) from None
    return access


def listening_on(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises `UsageError`, before anything slow is loaded.

    asyncio turns off Nagle's algorithm only for a socket that names its protocol. Otherwise the second piece of a
    response waits 40 milliseconds.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()  # a program that reads the address may connect at once
    except OSError as error:
        listening.close()
        raise UsageError(f"Cannot listen on {host}:{port}: {error.strerror}.", hint="Choose another --port.") from error
    return listening


async def _serve(
    options: argparse.Namespace, settings: Settings, listening: socket.socket, people: People, access: BookAccess
) -> int:
    import uvicorn

    from graph.book_agents import open_book_agents
    from rag.profiles.offered_profiles import offer_of
    from rag.web.app import build_app
    from rag.web.hosting import Hosting, Limits, origins_of
    from rag.web.running_turns import FINISHING_SECONDS
    from state import Context

    offer, origins = offer_of(settings), origins_of(settings.allowed_origins)
    async with (
        opened(options, settings) as agent,
        open_book_agents(settings, agent, offer.names, suggest=_suggested) as books,
    ):
        limits = Limits(turns_per_minute=settings.turns_per_minute, concurrent_turns=settings.concurrent_turns)
        hosting = Hosting(books, Context, offer, people, limits, origins=origins, access=access)
        config = uvicorn.Config(
            build_app(hosting),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=FINISHING_SECONDS,
        )
        server = uvicorn.Server(config)
        host, port = listening.getsockname()[:2]
        say(f"askbook answers at http://{f'[{host}]' if ':' in host else host}:{port}/ . Ctrl-C stops it.")
        await say_if_book_is_missing(agent.services.index)
        await books.questions(books.usual)  # begins to look for them
        await server.serve([listening])
    return 0


async def say_if_book_is_missing(index: ChunkIndex) -> None:
    """Say in one line, with what to do, that the usual book is missing or empty or cannot be reached."""
    from rag.index.catalog import require_book
    from rag.index.index_errors import no_collection

    try:
        if (await require_book(index)).chunks:
            return
        missing: AskbookError = no_collection(index.collection)
    except AskbookError as error:
        missing = error
    say(f"No question can be answered yet. {missing.message} {missing.hint or ''}".rstrip())


async def _suggested(services: Services) -> list[str]:
    """Questions that the book answers. A hosted embedder would bill the searches that try them."""
    from cli.suggestion import suggestions
    from rag.books.book_settings import is_local
    from rag.services import LiveServices

    if not isinstance(services, LiveServices) or not is_local(services.embedder):
        return []
    return await suggestions(services.index, services.embedder, services.sparse, most=_SUGGESTED)


def mcp(options: argparse.Namespace) -> int:
    """Serve one client until it closes standard input. Only messages of the protocol go to standard output."""
    need("mcp", "mcp", "The command mcp")
    settings = Settings.from_env()
    preload()
    return asyncio.run(_mcp(options, settings))


async def _mcp(options: argparse.Namespace, settings: Settings) -> int:
    from graph.book_agents import open_book_agents
    from rag.profiles.offered_profiles import offer_of
    from rag.web.hosting import Hosting
    from rag.web.mcp_server import build_mcp
    from state import Context

    offer, access = offer_of(settings), book_access(settings)
    async with opened(options, settings) as agent, open_book_agents(settings, agent, offer.names) as books:
        await build_mcp(Hosting(books, Context, offer, access=access)).run_stdio_async()
    return 0
