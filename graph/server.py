"""The entry point for `langgraph dev` and LangGraph Studio, named in `langgraph.json`."""

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
    """The services of this process, shared by all its graphs and built when a turn first needs them.

    The server also makes graphs only to draw them or to read their schemas. A wrong configuration then fails in a node
    and becomes an ERROR turn with a hint, and the server still starts.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._built: tuple[LiveServices, Offer] | None = None

    def parts(self, profile: str | None) -> Parts:
        """The parts of an offered profile. Raises `UsageError` for any other."""
        services, offer = self._services()
        return services.parts(offer.choose(profile))

    @property
    def index(self) -> ChunkIndex:
        return self._services()[0].index

    def _services(self) -> tuple[LiveServices, Offer]:
        with self._lock:
            if self._built is None:
                # In a new thread, since the calling one may be running an event loop already.
                with ThreadPoolExecutor(max_workers=1) as worker:
                    self._built = worker.submit(asyncio.run, _build()).result()
            return self._built


async def _build() -> tuple[LiveServices, Offer]:
    settings = await asyncio.to_thread(Settings.from_env)
    offer = await asyncio.to_thread(offer_of, settings)
    return await build_services(settings, profile=offer.usual), offer


_shared = SharedServices()


def make_graph() -> CompiledMachine:
    """A compiled graph without a checkpointer, since the server has its own.

    The server calls this for every run. The graph is built each time, the services once.
    """
    return build_graph(_shared).compile().with_config(recursion_limit=STEPS)
