"""The agent for synchronous programs: Flask, Django, Celery, notebooks, scripts."""

from __future__ import annotations

import asyncio
import atexit
import os
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from functools import partial, wraps
from typing import Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot, StateUpdate

from graph.agent import Agent, open_agent
from graph.build import LockedAgentGraph
from graph.private_apis import change_class
from rag.errors import UsageError
from rag.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")
OpenedT = TypeVar("OpenedT")

_END: Final = object()


class BackgroundLoop(Generic[OpenedT]):
    """A running loop with an object that is opened and closed in it. Every thread may use it.

    Waiting is interrupted by Ctrl-C, which then also cancels the work. A forked process cannot use the loop of its
    parent, whose thread it does not have.
    """

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[OpenedT]]) -> None:
        """Start the loop and open the object. Raises what opening it raises."""
        self._process = os.getpid()
        self._loop: asyncio.AbstractEventLoop  # set by the thread before it opens the object
        self._stop = asyncio.Event()
        self._closed = False
        ready: Future[OpenedT] = Future()
        self._thread = threading.Thread(target=self._run, args=(opening, ready), name="askbook", daemon=True)
        self._thread.start()
        self.opened = ready.result()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the coroutine. Raises what it raises, and `UsageError` where the loop is of no use."""
        if self._closed or self._process != os.getpid():
            work.close()
            raise self._useless()
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        """The items as they come. When the iterator is closed early, the generator is cancelled."""
        if self._closed or self._process != os.getpid():
            raise self._useless()
        arrived: queue.Queue[Any] = queue.Queue()

        async def drain() -> None:
            try:
                async with aclosing(items):
                    async for item in items:
                        arrived.put(item)
            finally:
                arrived.put(_END)

        future = asyncio.run_coroutine_threadsafe(drain(), self._loop)
        try:
            while (item := arrived.get()) is not _END:
                yield item
            future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        """Close the object and end the loop. Does nothing the second time, or in a forked process."""
        if self._closed or self._process != os.getpid():
            return
        self._closed = True
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self, opening: Callable[[], AbstractAsyncContextManager[OpenedT]], ready: Future[OpenedT]) -> None:
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            runner.run(self._hold(opening, ready))

    async def _hold(self, opening: Callable[[], AbstractAsyncContextManager[OpenedT]], ready: Future[OpenedT]) -> None:
        """Open the object, tell the waiting thread, and close it when asked to."""
        try:
            async with opening() as opened:
                ready.set_result(opened)
                await self._stop.wait()
                await self._cancel_rest()
        except BaseException as failure:
            if ready.done():
                raise
            ready.set_exception(failure)

    async def _cancel_rest(self) -> None:
        """Cancel the work that is still running, as `asyncio.run` does."""
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*rest, return_exceptions=True)

    def _useless(self) -> UsageError:
        if self._closed:
            return UsageError("The agent is closed.", code="closed")
        hint = "Call open_agent_sync in each worker process, after the fork."
        return UsageError("The agent was opened in another process.", code="forked", hint=hint)


class BlockingGraph(LockedAgentGraph):
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


def _waiting(method: Callable[Concatenate[Agent, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[SyncAgent, P], T]:
    @wraps(method)
    def call(agent: SyncAgent, /, *arguments: P.args, **options: P.kwargs) -> T:
        return agent._background.run(method(agent._background.opened, *arguments, **options))

    return call


def _iterating(
    method: Callable[Concatenate[Agent, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[SyncAgent, P], Iterator[T]]:
    @wraps(method)
    def call(agent: SyncAgent, /, *arguments: P.args, **options: P.kwargs) -> Iterator[T]:
        return agent._background.iterate(method(agent._background.opened, *arguments, **options))

    return call


class SyncAgent:
    """The methods of `Agent`, each waiting for its result. Every thread may use it.

    It is open until `close`, the end of a `with` block, or the end of the program. A turn whose iterator is closed
    early is interrupted, and `resume` finishes it. `watch` of `ingest` is called in the agent's thread.
    """

    def __init__(self, background: BackgroundLoop[Agent]) -> None:
        self._background = background
        graph: Any = background.opened.graph.copy()
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

    ask = _waiting(Agent.ask)
    ingest = _waiting(Agent.ingest)
    retry = _waiting(Agent.retry)
    unfinished = _waiting(Agent.unfinished)
    undo = _waiting(Agent.undo)
    clear = _waiting(Agent.clear)
    threads = _waiting(Agent.threads)
    conversation = _waiting(Agent.conversation)
    last_retrieval = _waiting(Agent.last_retrieval)
    stream = _iterating(Agent.stream)
    stream_retry = _iterating(Agent.stream_retry)
    resume = _iterating(Agent.resume)


def open_agent_sync(settings: Settings, profile: str | None = None, **options: Any) -> SyncAgent:
    """An agent over one background loop; the arguments are those of `open_agent`, and so are the exceptions."""
    return SyncAgent(BackgroundLoop(partial(open_agent, settings, profile, **options)))
