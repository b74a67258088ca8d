"""The state machine: nodes, edges, retry policies, timeouts and error handlers; and the class of the compiled graph.

The ids of the nodes are the documented states. `rewrite` and `tools` assist RETRIEVING: `rewrite` rewrites the question
before the search, `tools` runs the searches that the model asks for. The compiled graph runs at most one turn of a
thread at a time. Its drawing leaves out the error handlers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from datetime import timedelta
from functools import partial
from typing import Any, Final

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langchain_core.runnables.graph import Graph as Drawing
from langgraph.graph import END, START
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.types import RetryPolicy, StateUpdate, TimeoutPolicy

from graph.private_apis import change_class
from nodes.error import error, route_to_error, try_fallback
from nodes.generate import generate
from nodes.idle import idle
from nodes.retrieve import retrieve
from nodes.rewrite import REWRITE_SECONDS, rewrite, skip_rewrite
from nodes.tools import tools
from nodes.turn import DEFAULT_RETRIES, RetrySettings, checked_metadata
from rag.conversation.turns import check_thread_id
from rag.errors import AskbookError, UsageError
from rag.ports import PartsOf, Services
from state import AgentState, Context, InputState

# Recursion limit of a run. The longest run has 4 + 2 * 10 + 1 + 2 = 27 steps: IDLE, rewrite, RETRIEVING and GENERATING,
# 10 rounds of tools and GENERATING, the fallback model in GENERATING, ERROR and IDLE.
RECURSION_LIMIT: Final = 40
SEARCH_TIMEOUT: Final = TimeoutPolicy(run_timeout=timedelta(seconds=60))
REWRITE_TIMEOUT: Final = TimeoutPolicy(run_timeout=timedelta(seconds=REWRITE_SECONDS))
# `nodes.model_call` limits how long a model may send nothing, since each profile has a limit of its own.
ANSWER_TIMEOUT: Final = TimeoutPolicy(run_timeout=timedelta(minutes=10))
_ASYNC_ONLY: Final = 'The graph is asynchronous: use the method with the prefix "a", such as ainvoke.'

LockOfThread = Callable[[str], AbstractAsyncContextManager[None]]


def build_graph(
    services: Services, retries: RetrySettings = DEFAULT_RETRIES, *, context_schema: type[Context] = Context
) -> AgentGraphBuilder:
    """A fresh, uncompiled graph over the given services; `retries` sets when and how often failed steps are retried.

    `context_schema` may be a subclass of `Context`, such as one whose schema lists the profiles on offer. A builder
    with node defaults can be compiled only once, so each caller gets a new one.
    """
    if not callable(getattr(services, "parts", None)):
        raise UsageError("services must be those of open_services.", code="given")
    graph = AgentGraphBuilder(AgentState, context_schema=context_schema, input_schema=InputState)
    _add_nodes(graph, services.parts, retries)
    _add_edges(graph)
    return graph


def _add_nodes(graph: AgentGraphBuilder, parts_of: PartsOf, retries: RetrySettings) -> None:
    """The nodes with their retries, timeouts and error handlers.

    Each function is a `partial`, `error` too: LangGraph inspects plain functions for input schemas and subgraphs at
    each compilation, which takes half of its time. Ours have neither. `destinations` changes only the drawing: it adds
    the edges that error handlers take.
    """
    retry, failed = retry_policies(retries), {"ERROR": "failed"}
    searching: Any = {"retry_policy": retry, "timeout": SEARCH_TIMEOUT, "destinations": failed}
    graph.set_node_defaults(error_handler=partial(route_to_error))
    graph.add_node("IDLE", partial(idle, parts_of=parts_of), destinations=failed)
    graph.add_node(  # no retries: the search works without a rewrite, and the call that answers reports a broken model
        "rewrite", partial(rewrite, parts_of=parts_of), timeout=REWRITE_TIMEOUT, error_handler=partial(skip_rewrite)
    )
    graph.add_node("RETRIEVING", partial(retrieve, parts_of=parts_of, retries=retries), **searching)
    graph.add_node(
        "GENERATING",
        partial(generate, parts_of=parts_of, retries=retries),
        retry_policy=retry,
        timeout=ANSWER_TIMEOUT,
        error_handler=partial(try_fallback, parts_of=parts_of),
        destinations={**failed, "GENERATING": "fallback model"},
    )
    graph.add_node("tools", partial(tools, parts_of=parts_of, retries=retries), **searching)
    graph.add_node("ERROR", partial(error))


def _add_edges(graph: AgentGraphBuilder) -> None:
    graph.add_edge(START, "IDLE")
    graph.add_conditional_edges("IDLE", Router(after_idle), ["rewrite", "RETRIEVING", "GENERATING", END])
    graph.add_edge("rewrite", "RETRIEVING")
    graph.add_edge("RETRIEVING", "GENERATING")
    graph.add_conditional_edges("GENERATING", Router(after_generate), ["tools", "IDLE"])
    graph.add_edge("tools", "GENERATING")
    graph.add_edge("ERROR", "IDLE")


class Router(Runnable[AgentState, str]):
    """A router that LangGraph calls without awaiting, so that a node's writes and the next node are stored in one step.

    For a plain function, LangGraph awaits a traced task or a thread. If the run is cancelled during that wait, the
    checkpoint has the node's writes but no next node: the run counts as finished and cannot be resumed.
    """

    def __init__(self, choose: Callable[[AgentState], str]) -> None:
        self._choose = choose
        self.name = choose.__name__

    def invoke(self, input: AgentState, *_arguments: Any, **_options: Any) -> str:
        """The name of the next node."""
        return self._choose(input)

    async def ainvoke(self, input: AgentState, *_arguments: Any, **_options: Any) -> str:
        """As `invoke`. Never yields to the event loop."""
        return self._choose(input)


def after_idle(state: AgentState) -> str:
    """Go to the search for a new question, to GENERATING for small talk, else end the run.

    Must not raise: no error handler covers a router.
    """
    match state.get("phase"):
        case "RETRIEVING":
            turn: object = state.get("turn")  # of any type when a client of the graph wrote it
            return "rewrite" if isinstance(turn, dict) and "rewrite" in turn else "RETRIEVING"
        case "GENERATING":
            return "GENERATING"
        case _:
            return END


def after_generate(state: AgentState) -> str:
    """Run the searches that the model asked for, or close the turn."""
    return "tools" if state.get("phase") == "RETRIEVING" else "IDLE"


def retry_policies(retries: RetrySettings) -> tuple[RetryPolicy, ...]:
    """The retry policies of a node: one for each wait, in whole seconds, that a service may request, then one for
    failures without a requested wait.

    LangGraph fixes a policy's interval when the graph is built, but applies the first policy whose `retry_on` is true,
    so a list of policies lets the interval follow the exception. Attempts are counted over all policies of a node.
    """
    timed = tuple(
        RetryPolicy(
            initial_interval=seconds * retries.time_scale,
            max_interval=seconds * retries.time_scale,
            max_attempts=retries.max_attempts,
            jitter=False,  # the user was told this number
            retry_on=partial(_asks_to_wait, retries, seconds),
        )
        for seconds in range(retries.max_requested_wait + 1)
    )
    unnamed = RetryPolicy(
        initial_interval=retries.initial_interval * retries.time_scale,
        max_interval=retries.max_interval * retries.time_scale,
        max_attempts=retries.max_attempts,
        jitter=retries.time_scale > 0,
        retry_on=retries.may_retry,
    )
    return (*timed, unnamed)


def _asks_to_wait(retries: RetrySettings, seconds: int, failure: Exception) -> bool:
    return retries.may_retry(failure) and isinstance(failure, AskbookError) and failure.requested_wait == seconds


class AgentGraph(CompiledStateGraph[AgentState, Context, Any, AgentState]):
    """LangGraph's compiled graph, drawn without the boxes of its error handlers.

    LangGraph draws each error handler as a node without edges. `build_graph` draws their effect as edges to ERROR.
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


class AgentGraphBuilder(StateGraph[AgentState, Context, InputState, AgentState]):
    """LangGraph's builder, which compiles to an `AgentGraph`."""

    def compile(self, *args: Any, **options: Any) -> AgentGraph:
        """As LangGraph's `compile`, with another class as the result."""
        return change_class(super().compile(*args, **options), AgentGraph)


class LockedAgentGraph(AgentGraph):
    """A compiled graph whose runs and state updates hold the thread's lock, taken from `lock_of_thread`.

    LangGraph routes every run through `astream` and every state update through `abulk_update_state`. Both raise
    `MemoryFailureError` "thread_busy" when the lock is not free in time, and `UsageError` for an id that `Agent`
    refuses. A run stores each step before the next one begins, unless its caller sets `durability`, so a killed run can
    be resumed. As a subgraph it runs on the parent's thread, stores its steps as the parent does, and takes no lock.
    """

    def __init__(self, *, lock_of_thread: LockOfThread, **parts: Any) -> None:
        super().__init__(**parts)
        self.lock_of_thread = lock_of_thread

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """As LangGraph's. Raises `MemoryFailureError`, and `UsageError` for metadata that cannot be stored."""
        if isinstance(input, Mapping):
            checked_metadata(input.get("metadata"))
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
        configurable = ensure_config(merge_configs(self.config, config)).get("configurable") or {}
        thread_id = configurable.get("thread_id")
        if _is_subgraph(config):
            return nullcontext()
        if thread_id is None:  # LangGraph would store None as the conversation "None", which all such callers share
            raise UsageError("The run has no thread_id.", code="thread_id", hint="Give each user an id.")
        return self.lock_of_thread(check_thread_id(str(thread_id)))


def _is_subgraph(config: RunnableConfig | None) -> bool:
    """Whether a node of another graph runs this one; LangGraph then gives it the node's namespace."""
    return bool((ensure_config(config).get("configurable") or {}).get("checkpoint_ns"))


def with_thread_lock(graph: AgentGraph, lock_of_thread: LockOfThread) -> LockedAgentGraph:
    """A copy of the compiled graph that takes the thread's lock for each run and each state update."""
    return change_class(graph.copy(), LockedAgentGraph, lock_of_thread=lock_of_thread)


def with_callbacks(graph: AgentGraph, observers: Sequence[BaseCallbackHandler]) -> AgentGraph:
    """The graph with LangChain's callback handlers for each of its runs, besides those that a caller adds."""
    return graph.with_config(callbacks=list(observers)) if observers else graph
