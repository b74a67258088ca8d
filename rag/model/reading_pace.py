"""How often a streamed response is read: at once for a single reader, in larger pieces when many answers stream.

A piece costs nearly the same for one token and for ten. The first sentence is what a reader waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_PAUSE_FOR_EACH: Final = 0.006  # seconds for each other stream that is open
_LONGEST_PAUSE: Final = 0.25  # seconds; what is shown after the first sentence comes so much later at most
_FIRST_PAUSE: Final = 0.025  # seconds, while the first sentence is awaited

_awaited: ContextVar[Callable[[], bool]] = ContextVar("awaited", default=lambda: False)


@contextmanager
def awaiting(first_sentence: Callable[[], bool]) -> Iterator[None]:
    """Streams that are read in the block make short pauses while the function returns true.

    LangChain's models have no option that reaches the stream without being sent or traced.
    """
    token = _awaited.set(first_sentence)
    try:
        yield
    finally:
        _awaited.reset(token)


class OpenStreams:
    """Counts the streams of one client that are open."""

    def __init__(self) -> None:
        self.count = 0

    @property
    def pause(self) -> float:
        """Seconds to let chunks gather: none for a single reader, and more the busier the process is."""
        longest = _FIRST_PAUSE if _awaited.get()() else _LONGEST_PAUSE
        return min(longest, _PAUSE_FOR_EACH * (self.count - 1))
