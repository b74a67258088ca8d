"""An event loop in a thread of its own, for callers that have none."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from typing import Any, Final, Generic, TypeVar

from rag.errors import UsageError

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
