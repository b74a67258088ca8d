"""The builder of the machine and its compiled form: no error handlers in the drawing, one turn at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Any, Final

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langchain_core.runnables.graph import Graph as Drawing
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.types import StateUpdate

from graph.private_apis import change_class
from rag.conversation.turns import check_thread_id
from rag.errors import UsageError
from state import AgentState, Context, InputState

_ASYNC_ONLY: Final = 'The graph is asynchronous: use the method with the prefix "a", such as ainvoke.'

LockOfThread = Callable[[str], AbstractAsyncContextManager[None]]


class CompiledMachine(CompiledStateGraph[AgentState, Context, Any, AgentState]):
    """LangGraph's compiled graph, drawn without the boxes of its error handlers.

    LangGraph draws each error handler as a node without edges. `graph.build` draws their effect as edges to ERROR.
    """

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Drawing:
        """The drawing of the machine, which LangGraph Studio shows too."""
        return self._without_handlers(super().get_graph(config, xray=xray))

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Drawing:
        """As `get_graph`."""
        return self._without_handlers(await super().aget_graph(config, xray=xray))

    def stream(self, *_arguments: Any, **_options: Any) -> Iterator[Any]:
        """Always raises `NotImplementedError`: most nodes are asynchronous. LangGraph routes `invoke` through it."""
        raise NotImplementedError(_ASYNC_ONLY)

    def _without_handlers(self, drawing: Drawing) -> Drawing:
        for name in set(self.node_error_handler_map.values()) & set(drawing.nodes):
            drawing.remove_node(drawing.nodes[name])
        return drawing


class MachineBuilder(StateGraph[AgentState, Context, InputState, AgentState]):
    """LangGraph's builder, which compiles to a `CompiledMachine`."""

    def compile(self, *args: Any, **options: Any) -> CompiledMachine:
        """As LangGraph's `compile`, with another class as the result."""
        return change_class(super().compile(*args, **options), CompiledMachine)


class ExclusiveGraph(CompiledMachine):
    """A compiled machine whose runs and state updates hold the thread's lock, taken from `lock_of_thread`.

    LangGraph routes every run through `astream` and every state update through `abulk_update_state`. Both raise
    `MemoryFailureError` "thread_busy" when the lock is not free in time, and `UsageError` for an id that `Agent`
    refuses. A run stores each step before the next one begins, unless its caller sets `durability`, so a killed run can
    be resumed. As a subgraph it runs on the parent's thread, stores its steps as the parent does, and takes no lock.
    """

    def __init__(self, *, lock_of_thread: LockOfThread, **parts: Any) -> None:
        super().__init__(**parts)
        self.lock_of_thread = lock_of_thread

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """As LangGraph's. Raises `MemoryFailureError`."""
        if not _is_subgraph(config) and not options.get("durability"):
            options["durability"] = "sync"
        steps: Any = super().astream(input, config, **options)  # a generator, typed as an iterator
        async with self._locked(config), aclosing(steps):
            async for step in steps:
                yield step

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """As LangGraph's. Raises `MemoryFailureError`."""
        async with self._locked(config):
            return await super().abulk_update_state(config, supersteps)

    def bulk_update_state(self, *_arguments: Any, **_options: Any) -> RunnableConfig:
        """Always raises `NotImplementedError`."""
        raise NotImplementedError(_ASYNC_ONLY)

    def _locked(self, config: RunnableConfig | None) -> AbstractAsyncContextManager[None]:
        configurable = ensure_config(merge_configs(self.config, config)).get("configurable", {})
        thread_id = configurable.get("thread_id")
        if _is_subgraph(config) or "thread_id" not in configurable:  # LangGraph rejects a run without a thread
            return nullcontext()
        if thread_id is None:  # LangGraph would store it as the conversation "None", which all such callers share
            raise UsageError("The thread_id of the run is None.", code="thread_id", hint="Give each user an id.")
        return self.lock_of_thread(check_thread_id(str(thread_id)))


def _is_subgraph(config: RunnableConfig | None) -> bool:
    """Whether a node of another graph runs this one; LangGraph then gives it the node's namespace."""
    return bool(ensure_config(config).get("configurable", {}).get("checkpoint_ns"))


def exclusive(graph: CompiledMachine, lock_of_thread: LockOfThread) -> ExclusiveGraph:
    """A copy of the compiled graph that takes the thread's lock for each run and each state update."""
    return change_class(graph.copy(), ExclusiveGraph, lock_of_thread=lock_of_thread)


def observed(graph: CompiledMachine, observers: Sequence[BaseCallbackHandler]) -> CompiledMachine:
    """The graph with LangChain's callback handlers for each of its runs, besides those that a caller adds."""
    return graph.with_config(callbacks=list(observers)) if observers else graph


def thread_config(thread_id: str) -> RunnableConfig:
    return RunnableConfig(configurable={"thread_id": thread_id})
