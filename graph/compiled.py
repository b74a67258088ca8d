"""The machine as a LangGraph builder, and its compiled form: drawn without loose boxes, one turn at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langchain_core.runnables.graph import Graph as Drawing
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.types import StateUpdate

from rag.conversation.turns import check_thread_id
from state import AgentState, Context, InputState

LockOfThread = Callable[[str], AbstractAsyncContextManager[None]]


class CompiledMachine(CompiledStateGraph[AgentState, Context, InputState, AgentState]):
    """LangGraph's compiled graph, drawn without its boxes for error handlers.

    LangGraph draws each handler as a node without an edge. The machine draws what a handler does as edges to ERROR.
    """

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Drawing:
        """The drawing of the machine. LangGraph Studio shows it too."""
        return _without_handlers(super().get_graph(config, xray=xray))

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Drawing:
        """As `get_graph`."""
        return _without_handlers(await super().aget_graph(config, xray=xray))


class MachineBuilder(StateGraph[AgentState, Context, InputState, AgentState]):
    """The builder of the machine."""

    def compile(self, *args: Any, **options: Any) -> CompiledMachine:
        """As LangGraph's, with a drawing that holds together."""
        compiled: Any = super().compile(*args, **options)
        compiled.__class__ = CompiledMachine  # LangGraph names no way to choose the class
        machine: CompiledMachine = compiled
        return machine


class ExclusiveGraph(CompiledMachine):
    """The compiled machine, whose runs and updates take the conversation's lock from `lock_of_thread`.

    Every run goes through `astream` and every change of a state through `abulk_update_state`. Both raise
    `MemoryFailureError` "thread_busy" when the lock cannot be had, and `UsageError` for an id that `Agent` refuses. A
    run stores each step before the next begins unless its caller says otherwise, so a killed run can be finished. As a
    part of another graph it works in that graph's conversation and takes no lock.
    """

    def __init__(self, *, lock_of_thread: LockOfThread, **parts: Any) -> None:
        super().__init__(**parts)
        self.lock_of_thread = lock_of_thread  # named as the parameter: LangGraph's `copy` passes attributes by name

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
        return self.lock_of_thread(check_thread_id(str(where["thread_id"])))


def exclusive(graph: CompiledMachine, lock_of_thread: LockOfThread) -> ExclusiveGraph:
    """The compiled graph with a lock in front: of two runs on a conversation the second waits, or is told so."""
    locked: Any = graph.copy()
    locked.lock_of_thread = lock_of_thread
    locked.__class__ = ExclusiveGraph
    only: ExclusiveGraph = locked
    return only


def _without_handlers(drawing: Drawing) -> Drawing:
    for name, node in list(drawing.nodes.items()):
        if name.startswith("__") and "error_handler" in name:
            drawing.remove_node(node)
    return drawing
