"""This process: Ctrl-C while it starts, and memory that it no longer uses.

Imports next to nothing, since it protects the imports of everything else.
"""

from __future__ import annotations

# `signal` itself imports `enum`, which takes long enough to be interrupted.
import _signal as signal  # type: ignore[import-not-found]
import os

INTERRUPTED = 130  # exit code


def leave_on_interrupt() -> None:
    """Let Ctrl-C end the program at once and quietly, with exit code 130, until `raise_on_interrupt`.

    A program that ignores Ctrl-C goes on ignoring it.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_on_interrupt() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_signal: int, _frame: object) -> None:
    os._exit(INTERRUPTED)


def give_back_memory() -> None:
    """Have the C library return unused memory to the system. It keeps that otherwise; does nothing without glibc."""
    import ctypes
    from contextlib import suppress

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
