"""The door for `langgraph dev` and LangGraph Studio, named in `langgraph.json`."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from graph.build import STEPS, build_graph
from graph.compiled import CompiledMachine
from rag.ports import ChunkIndex, Parts
from rag.profiles.offered import Offer, offer_of
from rag.services import LiveServices, build_services
from rag.settings import Settings


class SharedServices:
    """The services of this process for every graph in it, built when a turn first needs them.

    The server makes a graph also to draw it or to read its schemas, which needs none of them. What is configured
    wrongly fails in a node and so becomes an ERROR turn that says what to do, instead of a server that does not start.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._built: tuple[LiveServices, Offer] | None = None

    def parts(self, profile: str | None) -> Parts:
        """The parts of a profile that is on offer. Raises `UsageError` for any other."""
        services, offer = self._services()
        return services.parts(offer.choose(profile))

    @property
    def index(self) -> ChunkIndex:
        return self._services()[0].index

    def _services(self) -> tuple[LiveServices, Offer]:
        with self._lock:
            if self._built is None:
                # A thread of its own: the one that asks may be running an event loop already.
                with ThreadPoolExecutor(max_workers=1) as worker:
                    self._built = worker.submit(asyncio.run, _build()).result()
            return self._built


async def _build() -> tuple[LiveServices, Offer]:
    settings = await asyncio.to_thread(Settings.from_env)
    offer = await asyncio.to_thread(offer_of, settings)
    return await build_services(settings, profile=offer.usual), offer


_shared = SharedServices()


def make_graph() -> CompiledMachine:
    """The compiled graph without a checkpointer, since the server brings its own.

    The server calls this for every run; the graph is built anew, the services are kept.
    """
    return build_graph(_shared).compile().with_config(recursion_limit=STEPS)
