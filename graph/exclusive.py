"""The compiled graph as programs get it: every run and every change of a conversation has it for itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateUpdate

from graph.memory import Graph
from rag.conversation import check_thread_id
from state import AgentState, Context, InputState

Turns = Callable[[str], AbstractAsyncContextManager[None]]


class ExclusiveGraph(CompiledStateGraph[AgentState, Context, InputState, AgentState]):
    """LangGraph's compiled graph, whose runs and updates take the conversation's lock from `exclusive`.

    Every way into a run leads through `astream`, every change of a state through `abulk_update_state`. Both raise
    `MemoryFailureError` "thread_busy" when the lock is not to be had, and `UsageError` for an id that `Agent` would not
    take either. A run stores each step before the next begins
    unless its caller says otherwise, so that a killed one can be finished. As a part of another graph it works in that
    graph's conversation and takes no lock.
    """

    def __init__(self, *, exclusive: Turns, **parts: Any) -> None:
        super().__init__(**parts)
        self.exclusive = exclusive  # under the name of the parameter: LangGraph's `copy` passes attributes by name

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """As LangGraph's. Raises `MemoryFailureError`."""
        options["durability"] = options.get("durability") or "sync"
        steps: Any = super().astream(input, config, **options)  # a generator, and not typed as one
        async with self._alone(config), aclosing(steps):
            async for step in steps:
                yield step

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """As LangGraph's. Raises `MemoryFailureError`."""
        async with self._alone(config):
            return await super().abulk_update_state(config, supersteps)

    def stream(self, *_arguments: Any, **_options: Any) -> Iterator[Any]:
        """There is no run without an event loop."""
        raise NotImplementedError("The graph runs in an event loop: await the method with an a in front.")

    def bulk_update_state(self, *_arguments: Any, **_options: Any) -> RunnableConfig:
        """There is no change without an event loop."""
        raise NotImplementedError("The graph is changed in an event loop: await the method with an a in front.")

    def _alone(self, config: RunnableConfig | None) -> AbstractAsyncContextManager[None]:
        where = ensure_config(merge_configs(self.config, config)).get("configurable", {})
        if where.get("thread_id") is None or where.get("checkpoint_ns"):  # LangGraph refuses the former
            return nullcontext()
        return self.exclusive(check_thread_id(str(where["thread_id"])))


def exclusive(graph: Graph, turns: Turns) -> Graph:
    """The compiled graph with a lock in front: of two runs on a conversation the second waits, or is told so."""
    return ExclusiveGraph(exclusive=turns, **{name: part for name, part in vars(graph).items() if name[:2] != "__"})
