"""Compiled graphs that the machines of one test after another use.

LangGraph takes several milliseconds to compile a graph, and most tests need one. All that distinguishes the graphs of
two tests is whose services the nodes ask, and the memory, which LangGraph lets a copy of a compiled graph replace.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from typing import Final

from graph import build
from graph.build import AgentGraph
from graph.memory import Memory
from nodes.turn import RetrySettings
from rag.ports import ChunkIndex, Parts, Services
from tests.fakes import AT_ONCE


class _Lent:
    """The services of the machine that has the graph at present."""

    def __init__(self, services: Services) -> None:
        self.to(services)

    def to(self, services: Services) -> None:
        self._services = weakref.ref(services)

    @property
    def index(self) -> ChunkIndex:
        return self._now().index

    def parts(self, profile: str | None) -> Parts:
        return self._now().parts(profile)

    def _now(self) -> Services:
        services = self._services()
        assert services is not None, "a graph is used after its services, and so after its test"
        return services


_BUILD: Final = dict(vars(build))
_free: Final[dict[RetrySettings, list[tuple[_Lent, AgentGraph]]]] = defaultdict(list)


def compiled(services: Services, memory: Memory, retries: RetrySettings = AT_ONCE) -> AgentGraph:
    """The machine over these services, compiled with the memory. Another gets its graph once the services are gone."""
    changed = vars(build) != _BUILD  # by the test, which gets a graph of its own
    free = [] if changed else _free[retries]
    if free:
        lent, graph = free.pop()
        lent.to(services)
    else:
        lent = _Lent(services)
        graph = build.build_graph(lent, retries).compile()
    weakref.finalize(services, free.append, (lent, graph))
    copy = graph.copy({"checkpointer": memory.database.saver, "store": memory.database.store})
    vars(copy)["services"] = services  # which live as long as the graph
    return copy
