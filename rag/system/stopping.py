"""Work in a thread that stops at the next occasion when the task that waits for it is cancelled, as by Ctrl-C."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_stopped: Final[ContextVar[threading.Event | None]] = ContextVar("stopped", default=None)


async def in_thread(work: Callable[_Given, _Result], *given: _Given.args, **named: _Given.kwargs) -> _Result:
    """As `asyncio.to_thread`, but the thread ends at its next `stop_if_cancelled` once nobody waits for it."""
    stopped = threading.Event()

    def stoppable() -> _Result:
        _stopped.set(stopped)  # in the context of the thread alone
        return work(*given, **named)

    try:
        return await asyncio.to_thread(stoppable)
    except asyncio.CancelledError:
        stopped.set()
        raise


def stop_if_cancelled() -> None:
    """Raise `CancelledError` in a thread of `in_thread` whose result nobody waits for. Does nothing elsewhere."""
    stopped = _stopped.get()
    if stopped is not None and stopped.is_set():
        raise asyncio.CancelledError
