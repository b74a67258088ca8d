"""askbook as a library. Importing it loads nothing; each name is loaded when it is first used.

In a checkout this package stands beside `graph`, `nodes` and `rag`; in the wheel it contains them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph.agent import Agent, open_agent
    from graph.build import build_graph
    from rag.errors import AskbookError, UsageError
    from rag.grounding import check
    from rag.index.langchain_store import as_vector_store
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
    "UsageError",
    "as_vector_store",
    "build_graph",
    "check",
    "open_agent",
    "open_services",
]


def __getattr__(name: str) -> Any:
    home: Any
    if name in ("Agent", "open_agent"):
        from graph import agent as home
    elif name == "build_graph":
        from graph import build as home
    elif name in ("AskbookError", "UsageError"):
        from rag import errors as home
    elif name == "check":
        from rag import grounding as home
    elif name == "as_vector_store":
        from rag.index import langchain_store as home
    elif name in ("open_services", "Settings"):
        from rag import services as home
    elif name in ("Event", "Response"):
        from rag import types as home
    elif name == "Context":
        from graph import build as home
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(home, name)


def __dir__() -> list[str]:
    return __all__
