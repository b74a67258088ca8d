"""The entry point for `langgraph dev` and LangGraph Studio, named in `langgraph.json`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Annotated, Any

from langchain_core.callbacks import BaseCallbackHandler
from pydantic import Field, WithJsonSchema, create_model

from graph.build import RECURSION_LIMIT, AgentGraph, build_graph, with_callbacks
from rag.errors import UsageError
from rag.ports import ChunkIndex, Parts
from rag.profiles.offered_profiles import Offer, offer_of
from rag.services import LiveServices, build_services, observers_of
from rag.settings import Settings
from state import Context


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


def make_graph() -> AgentGraph:
    """A compiled graph without a checkpointer, since the server has its own.

    The server calls this for every run. The graph is built each time, the services once.
    """
    with ThreadPoolExecutor(max_workers=1) as worker:  # the server may call this in its event loop
        offered = worker.submit(_offered).result()
    profiles, models, observers = offered
    graph = build_graph(_shared, context_schema=form(profiles, models)).compile()
    return with_callbacks(graph.with_config(recursion_limit=RECURSION_LIMIT), observers)


def _offered() -> tuple[tuple[str, ...], tuple[str, ...], Sequence[BaseCallbackHandler]]:
    """The profiles and models on offer, and the observers. All are empty for an invalid configuration, which a turn
    tells.
    """
    try:
        settings = Settings.from_env()
        return offer_of(settings).names, settings.model_names, observers_of(settings)
    except UsageError:
        return (), (), ()


@lru_cache(maxsize=4)
def form(profiles: tuple[str, ...], models: tuple[str, ...]) -> type[Context]:
    """A subclass of `Context` whose JSON schema lists the profiles and models on offer, for LangGraph Studio's form.

    A run with another name becomes an ERROR turn that says so.
    """
    fields: Any = {
        name: (Annotated[str | None, Field(max_length=200), _choice(name, names)], None)
        for name, names in (("profile", profiles), ("model", models))
        if names
    }
    return create_model("Context", __base__=Context, **fields)


def _choice(name: str, names: tuple[str, ...]) -> WithJsonSchema:
    field = Context.model_fields[name]
    extra: Any = field.json_schema_extra
    choices = {"anyOf": [{"type": "string", "enum": [*names]}, {"type": "null"}], "default": None}
    return WithJsonSchema(choices | {"title": name.title(), "description": field.description} | extra)
