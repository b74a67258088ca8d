"""`run.py mcp`: the agent as an MCP server on standard input and output."""

from __future__ import annotations

import argparse
import asyncio

from cli.terminal import opened, preload
from rag.settings import Settings
from rag.system.process import need


def mcp(options: argparse.Namespace) -> int:
    """Serve one client until it closes standard input. Only messages of the protocol go to standard output."""
    need("mcp", "mcp", "The command mcp")
    settings = Settings.from_env()
    preload()
    return asyncio.run(_mcp(options, settings))


async def _mcp(options: argparse.Namespace, settings: Settings) -> int:
    from graph.book_agents import open_book_agents
    from rag.profiles.offered_profiles import offer_of
    from rag.web.book_access import BookAccess
    from rag.web.hosting import Hosting
    from rag.web.mcp_server import build_mcp
    from state import Context

    offer, access = offer_of(settings), BookAccess.parse(settings.books)
    async with opened(options, settings) as agent, open_book_agents(settings, agent, offer.names) as books:
        await build_mcp(Hosting(books, Context, offer, access=access)).run_stdio_async()
    return 0
