"""The door for `langgraph dev` and LangGraph Studio, named in `langgraph.json`."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from graph.agent import Graph
from graph.build import STEPS, build_graph
from rag.services import LiveServices, open_services
from rag.settings import Settings

_lock = asyncio.Lock()
_services: LiveServices | None = None
_stack = AsyncExitStack()  # the server ends with the process, and the operating system closes what it held


async def make_graph() -> Graph:
    """The compiled graph without a checkpointer, since the server brings its own.

    The server calls this for every run: the services are kept, the graph is built anew.
    """
    return build_graph(await _open()).compile().with_config(recursion_limit=STEPS)


async def _open() -> LiveServices:
    global _services
    async with _lock:
        if _services is None:
            settings = await asyncio.to_thread(Settings.from_env)
            _services = await _stack.enter_async_context(open_services(settings, profile=settings.profile))
        return _services
