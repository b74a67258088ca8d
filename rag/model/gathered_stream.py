"""Chunks of a model's answer that have arrived together, as one chunk.

An endpoint sends a chunk for each token, a few characters long. What LangChain, LangGraph and the check of the answer
do for each chunk takes about a third of the processor's time of a turn, and is the same for a long piece of text.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, Final, Protocol, Self

_PAUSE_FOR_EACH: Final = 0.001  # seconds for each other stream that is open
_LONGEST_PAUSE: Final = 0.05  # seconds; the reader sees a sentence so much later at most
_STEPS: Final = 4  # of the event loop, in which the reading task takes from the connection what has come


class ChunkStream(Protocol):
    """A streamed response of OpenAI's client whose chunks are JSON."""

    def __aiter__(self) -> AsyncIterator[Any]: ...

    async def close(self) -> None: ...


class OpenStreams:
    """Counts the streams of one client that are open."""

    def __init__(self) -> None:
        self.count = 0

    @property
    def pause(self) -> float:
        """Seconds to let chunks gather: none for a single reader, and more the busier the process is."""
        return min(_LONGEST_PAUSE, _PAUSE_FOR_EACH * (self.count - 1))


class GatheredStream:
    """A stream whose chunks are joined with those that arrived with them, if they differ only in their text.

    A task of its own reads the chunks while somebody waits for one, so it never reads far ahead. Before the next chunk
    is asked for, more have time to arrive. The chunks come in their order, and what the inner stream raises is raised
    after them. Use it in an `async with` block; leaving the block ends the task and closes the inner stream.
    """

    def __init__(self, inner: ChunkStream, opened: OpenStreams) -> None:
        self._inner = inner
        self._opened = opened
        self._arrived: deque[Any] = deque()
        self._news, self._wanted = asyncio.Event(), asyncio.Event()
        self._failure: Exception | None = None
        self._ended = False
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._opened.count += 1
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._opened.count -= 1
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._inner.close()

    async def __aiter__(self) -> AsyncIterator[Any]:
        while not self._ended or self._arrived:
            self._wanted.set()
            await self._news.wait()
            self._news.clear()
            self._wanted.clear()
            while self._arrived:
                yield self._next()
            if not self._ended:
                await self._gather()
        if self._failure is not None:
            raise self._failure

    async def _gather(self) -> None:
        """Leave the connection alone for a while, then have what has come read at once."""
        if pause := self._opened.pause:
            await asyncio.sleep(pause)
            self._wanted.set()
            for _ in range(_STEPS):
                await asyncio.sleep(0)

    def _next(self) -> Any:
        """The oldest chunk with those after it that differ only in their text."""
        first = self._arrived.popleft()
        rest, texts = _without_text(first), []
        if rest is None:
            return first
        while self._arrived and _without_text(self._arrived[0]) == rest:
            texts.append(_text(self._arrived.popleft()))
        return _with_text(first, _text(first) + "".join(texts)) if texts else first

    async def _read(self) -> None:
        try:
            async for chunk in self._inner:
                self._arrived.append(chunk)
                self._news.set()
                await self._wanted.wait()
        except Exception as failure:
            self._failure = failure
        self._ended = True
        self._news.set()


def _without_text(chunk: Any) -> dict[str, Any] | None:
    """The chunk without the text of its only choice; None for a chunk of another form."""
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        return None
    delta = choices[0].get("delta")
    if not isinstance(delta, dict) or not isinstance(delta.get("content"), str):
        return None
    return _with_text(chunk, "")


def _with_text(chunk: dict[str, Any], text: str) -> dict[str, Any]:
    (choice,) = chunk["choices"]
    return chunk | {"choices": [choice | {"delta": choice["delta"] | {"content": text}}]}


def _text(chunk: dict[str, Any]) -> str:
    text: str = chunk["choices"][0]["delta"]["content"]
    return text
