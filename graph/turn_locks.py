"""One turn at a time on a conversation: of two concurrent turns, the last to end would overwrite the other."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Final

from rag.errors import MemoryFailureError

WAIT_SECONDS: Final = 10.0
_PAUSE: Final = 0.02  # seconds between the first two attempts at a lock that another process holds
_BACKOFF: Final = 1.3  # growth of the pause, so that hundreds of waiting turns do not slow the database down
_LONGEST: Final = 0.25  # seconds, the longest pause

OnlyHere = Callable[[str], AbstractAsyncContextManager[bool]]


class ThreadLocks:
    """Turns of one process queue in their order of arrival. `only_here` locks a thread against other processes."""

    def __init__(self, only_here: OnlyHere, seconds: float = WAIT_SECONDS) -> None:
        self._only_here = only_here
        self._seconds = seconds
        self._locks: dict[str, asyncio.Lock] = {}
        self._users: dict[str, int] = {}

    @asynccontextmanager
    async def held(self, thread_id: str) -> AsyncIterator[None]:
        """Hold the thread's lock for the block. Raises `MemoryFailureError` "thread_busy" after waiting `seconds`."""
        deadline = asyncio.get_running_loop().time() + self._seconds
        lock = self._locks.setdefault(thread_id, asyncio.Lock())
        self._users[thread_id] = self._users.get(thread_id, 0) + 1
        try:
            async with AsyncExitStack() as locks:
                await self._wait(lock, thread_id, deadline)
                locks.callback(lock.release)
                await self._wait_for_others(locks, thread_id, deadline)
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

    async def _wait_for_others(self, locks: AsyncExitStack, thread_id: str, deadline: float) -> None:
        pause = _PAUSE
        while True:
            attempt = self._only_here(thread_id)
            if await attempt.__aenter__():
                locks.push_async_exit(attempt)
                return
            await attempt.__aexit__(None, None, None)
            if asyncio.get_running_loop().time() >= deadline:
                raise self._busy(thread_id)
            await asyncio.sleep(random.uniform(pause / 2, pause))  # jitter
            pause = min(pause * _BACKOFF, _LONGEST)

    def _busy(self, thread_id: str) -> MemoryFailureError:
        return MemoryFailureError(
            "thread_busy",
            f'A turn is running on the conversation "{thread_id}"; waited {self._seconds:g} seconds.',
            hint="Try again when it has ended, or begin another conversation.",
        )
