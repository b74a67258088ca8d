"""One turn at a time on a conversation: of two at once, each from what it saw, the last to end would win."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager, nullcontext
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateUpdate

from rag.conversation.turns import check_thread_id
from rag.errors import MemoryFailureError
from state import AgentState, Context, InputState

Graph = CompiledStateGraph[AgentState, Context, InputState, AgentState]
WAIT_SECONDS: Final = 10.0
_PAUSE: Final = 0.02  # seconds between two looks at a lock of another process, at first
_LONGER: Final = 1.3  # times as long each time: hundreds that wait must not keep the database from who answers
_LONGEST: Final = 0.25

OnlyHere = Callable[[str], AbstractAsyncContextManager[bool]]


class ThreadLocks:
    """The turns of one process queue in the order in which they came; other processes are asked through `only_here`."""

    def __init__(self, only_here: OnlyHere, seconds: float = WAIT_SECONDS) -> None:
        self._only_here = only_here
        self._seconds = seconds
        self._locks: dict[str, asyncio.Lock] = {}
        self._users: dict[str, int] = {}

    @asynccontextmanager
    async def held(self, thread_id: str) -> AsyncIterator[None]:
        """Hold the conversation for the block. Raises `MemoryFailureError` "thread_busy" after `seconds` of waiting."""
        deadline = asyncio.get_running_loop().time() + self._seconds
        lock = self._locks.setdefault(thread_id, asyncio.Lock())
        self._users[thread_id] = self._users.get(thread_id, 0) + 1
        try:
            async with AsyncExitStack() as held:
                await self._wait(lock, thread_id, deadline)
                held.callback(lock.release)
                await self._wait_for_others(held, thread_id, deadline)
                yield
        finally:
            self._users[thread_id] -= 1
            if not self._users[thread_id]:
                del self._users[thread_id], self._locks[thread_id]

    async def _wait(self, lock: asyncio.Lock, thread_id: str, deadline: float) -> None:
        try:
            async with asyncio.timeout_at(deadline):
                await lock.acquire()
        except TimeoutError:
            raise self._busy(thread_id) from None

    async def _wait_for_others(self, held: AsyncExitStack, thread_id: str, deadline: float) -> None:
        pause = _PAUSE
        while True:
            trial = self._only_here(thread_id)
            if await trial.__aenter__():
                held.push_async_exit(trial)
                return
            await trial.__aexit__(None, None, None)
            if asyncio.get_running_loop().time() >= deadline:
                raise self._busy(thread_id)
            await asyncio.sleep(random.uniform(pause / 2, pause))  # uneven, so that two do not move in step
            pause = min(pause * _LONGER, _LONGEST)

    def _busy(self, thread_id: str) -> MemoryFailureError:
        return MemoryFailureError(
            "thread_busy",
            f'A turn is running on the conversation "{thread_id}"; waited {self._seconds:g} seconds.',
            hint="Try again when it has ended, or begin another conversation.",
        )


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
