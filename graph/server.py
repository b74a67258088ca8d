"""The door for `langgraph dev` and LangGraph Studio, named in `langgraph.json`."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from graph.build import STEPS, build_graph
from graph.memory import Graph
from rag.ports import ChunkIndex, Parts
from rag.services import LiveServices, build_services
from rag.settings import Settings


class SharedServices:
    """The services of this process for every graph in it, built when a turn first needs them.

    The server makes a graph also to draw it or to read its schemas, which needs none of them. What is configured
    wrongly fails in a node and so becomes an ERROR turn that says what to do, instead of a server that does not start.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._built: LiveServices | None = None

    def parts(self, profile: str | None) -> Parts:
        return self._services().parts(profile)

    @property
    def index(self) -> ChunkIndex:
        return self._services().index

    def _services(self) -> LiveServices:
        with self._lock:
            if self._built is None:
                # A thread of its own: the one that asks may be running an event loop already.
                with ThreadPoolExecutor(max_workers=1) as worker:
                    self._built = worker.submit(asyncio.run, _build()).result()
            return self._built


async def _build() -> LiveServices:
    settings = await asyncio.to_thread(Settings.from_env)
    return await build_services(settings, profile=settings.profile)


_shared = SharedServices()


def make_graph() -> Graph:
    """The compiled graph without a checkpointer, since the server brings its own.

    The server calls this for every run; the graph is built anew, the services are kept.
    """
    return build_graph(_shared).compile().with_config(recursion_limit=STEPS)
