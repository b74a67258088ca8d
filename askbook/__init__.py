"""askbook as a library. Importing it loads nothing; each name is loaded when it is first used.

In a checkout this package stands beside `graph`, `nodes` and `rag`; in the wheel it contains them.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from graph.agent import Agent, open_agent
    from graph.agent_sync import SyncAgent, open_agent_sync
    from graph.build import build_graph
    from rag.errors import AskbookError, UsageError
    from rag.grounding import prove
    from rag.index.catalog import as_vector_store
    from rag.search.retriever import as_retriever
    from rag.services import open_services
    from rag.settings import Settings
    from rag.types import Event, Response
    from state import Context

__all__ = [
    "Agent",
    "AskbookError",
    "Context",
    "Event",
    "Response",
    "Settings",
    "SyncAgent",
    "UsageError",
    "as_retriever",
    "as_vector_store",
    "build_graph",
    "open_agent",
    "open_agent_sync",
    "open_services",
    "prove",
]


_HOMES: Final = {
    "Agent": "graph.agent",
    "AskbookError": "rag.errors",
    "Context": "state",
    "Event": "rag.types",
    "Response": "rag.types",
    "Settings": "rag.settings",
    "SyncAgent": "graph.agent_sync",
    "UsageError": "rag.errors",
    "as_retriever": "rag.search.retriever",
    "as_vector_store": "rag.index.catalog",
    "build_graph": "graph.build",
    "open_agent": "graph.agent",
    "open_agent_sync": "graph.agent_sync",
    "open_services": "rag.services",
    "prove": "rag.grounding",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    inside = find_spec(f"{__name__}.rag") is not None
    home = import_module(f"{__name__}.{_HOMES[name]}" if inside else _HOMES[name])
    return getattr(home, name)


def __dir__() -> list[str]:
    return __all__
