"""One turn at a time on a conversation: of two at once, each from what it saw, the last to end would win."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Final

from rag.errors import MemoryFailureError

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
