"""The agent for synchronous programs: Flask, Django, Celery, notebooks, scripts."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot, StateUpdate

from graph.agent import Agent, open_agent
from graph.background import BackgroundLoop
from graph.build import ExclusiveGraph
from graph.private_apis import change_class
from rag.conversation.retrieval_context import RetrievalContext
from rag.ingest.report import IngestReport
from rag.settings import Settings
from rag.types import Event, Response
from state import Context


class BlockingGraph(ExclusiveGraph):
    """The compiled graph with LangGraph's synchronous methods, which run it in the agent's background loop.

    Its asynchronous methods belong to that loop and must not be called from another.
    """

    def __init__(self, *, background: BackgroundLoop[Agent], **parts: Any) -> None:
        super().__init__(**parts)
        self.background = background

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        """As LangGraph's; `invoke` goes through it too. Raises `MemoryFailureError`."""
        steps: Any = self.astream(input, config, **options)
        return self.background.iterate(steps)

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """As LangGraph's."""
        return self.background.run(self.aget_state(config, subgraphs=subgraphs))

    def get_state_history(self, config: RunnableConfig, **options: Any) -> Iterator[StateSnapshot]:
        """As LangGraph's."""
        snapshots: Any = self.aget_state_history(config, **options)
        return self.background.iterate(snapshots)

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """As LangGraph's; `update_state` goes through it. Raises `MemoryFailureError`."""
        return self.background.run(self.abulk_update_state(config, supersteps))


class SyncAgent:
    """The methods of `Agent`, each waiting for its result. Every thread may use it.

    It is open from its construction until `close`, the end of a `with` block, or the end of the program.
    """

    def __init__(self, background: BackgroundLoop[Agent]) -> None:
        self._background = background
        self._agent = background.opened
        graph: Any = self._agent.graph.copy()
        self.graph = change_class(graph, BlockingGraph, background=background)
        atexit.register(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close everything that the agent has opened. The second time this does nothing."""
        atexit.unregister(self.close)
        self._background.close()

    def ask(
        self,
        question: str,
        *,
        thread_id: str | None = None,
        context: Context | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Response:
        """As `Agent.ask`."""
        work = self._agent.ask(question, thread_id=thread_id, context=context, metadata=metadata)
        return self._background.run(work)

    def stream(
        self,
        question: str,
        *,
        thread_id: str | None = None,
        context: Context | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Iterator[Event]:
        """As `Agent.stream`. A turn whose iterator is closed early is interrupted, and `resume` finishes it."""
        events = self._agent.stream(question, thread_id=thread_id, context=context, metadata=metadata)
        return self._background.iterate(events)

    def ingest(self, sources: Sequence[Path | str] | Path | str, **options: Any) -> IngestReport:
        """As `Agent.ingest`, with the same options; `watch` is called in the agent's thread."""
        return self._background.run(self._agent.ingest(sources, **options))

    def retry(self, thread_id: str, *, context: Context | None = None) -> Response:
        """As `Agent.retry`."""
        return self._background.run(self._agent.retry(thread_id, context=context))

    def stream_retry(self, thread_id: str, *, context: Context | None = None) -> Iterator[Event]:
        """As `Agent.stream_retry`."""
        return self._background.iterate(self._agent.stream_retry(thread_id, context=context))

    def resume(self, thread_id: str, *, context: Context | None = None) -> Iterator[Event]:
        """As `Agent.resume`."""
        return self._background.iterate(self._agent.resume(thread_id, context=context))

    def unfinished(self, thread_id: str) -> str | None:
        """As `Agent.unfinished`."""
        return self._background.run(self._agent.unfinished(thread_id))

    def undo(self, thread_id: str) -> str | None:
        """As `Agent.undo`."""
        return self._background.run(self._agent.undo(thread_id))

    def clear(self, thread_id: str) -> None:
        """As `Agent.clear`."""
        self._background.run(self._agent.clear(thread_id))

    def threads(self) -> list[str]:
        """As `Agent.threads`."""
        return self._background.run(self._agent.threads())

    def conversation(self, thread_id: str) -> dict[str, Any]:
        """As `Agent.conversation`."""
        return self._background.run(self._agent.conversation(thread_id))

    def last_retrieval(self, thread_id: str) -> RetrievalContext | None:
        """As `Agent.last_retrieval`."""
        return self._background.run(self._agent.last_retrieval(thread_id))


def open_agent_sync(settings: Settings, profile: str | None = None, **options: Any) -> SyncAgent:
    """An agent over one background loop; the arguments are those of `open_agent`, and so are the exceptions."""
    return SyncAgent(BackgroundLoop(partial(open_agent, settings, profile, **options)))
