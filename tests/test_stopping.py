"""Work in a thread ends soon after the task that waits for it is cancelled."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from rag.system.stopping import in_thread, stop_if_cancelled


async def test_a_thread_whose_result_nobody_waits_for_stops() -> None:
    begun, ended = Event(), Event()

    def work() -> None:
        try:
            begun.set()
            while True:  # nothing but the cancellation ends it
                stop_if_cancelled()
        finally:
            ended.set()

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(begun.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, 60)


async def test_a_thread_gives_its_result_and_its_error() -> None:
    stop_if_cancelled()
    assert await in_thread(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await in_thread(divmod, 7, 0)
