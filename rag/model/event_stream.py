"""The chunks of a streamed response. Chunks that have arrived together are joined, since each costs the same to
process: an endpoint sends one for each token, a few characters long.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Final, Self

import anyio
import httpx2
from openai import APIConnectionError, APIError, APITimeoutError, AsyncStream

from rag.model.reading_pace import OpenStreams

_STEPS: Final = 4  # of the event loop, in which the reading task takes from the connection what has come
_DRAIN: Final = 0.1  # seconds for the end of a response after its last event, so that its connection can be used again
_END: Final = "[DONE]"


class EventStream(AsyncStream[object]):
    """A streamed response of OpenAI's client, for its `stream_cls`. Chunks are JSON, joined if they differ only in
    text.

    With other streams `beside` it, it pauses before it reads on, so that more text becomes one chunk. A failure of the
    response is raised after its chunks, as the client raises it. Leaving the `async with` block closes the response.
    """

    beside: OpenStreams | None = None

    async def __aenter__(self) -> Self:
        self.beside = self.beside or OpenStreams()
        self.beside.count += 1
        self._arrivals = Arrivals(self.response.aiter_bytes())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.beside:
            self.beside.count -= 1
        await self._arrivals.stop()
        await self.response.aclose()

    async def __aiter__(self) -> AsyncIterator[Any]:
        if self.response.headers.get("content-type", "").startswith("application/json"):  # "stream" was ignored
            body = bytearray()
            while parts := await self._take():
                body += b"".join(parts)
            yield as_one_chunk(self._chunk(body.decode("utf-8")))
            return
        events = EventDecoder()
        while parts := await self._take():
            for chunk in self._chunks(events.feed(b"".join(parts))):
                yield chunk
            if events.ended:
                await self._arrivals.finish(_DRAIN)
                return
            if self.beside and (pause := self.beside.pause):
                await asyncio.sleep(pause)
        for chunk in self._chunks(events.close()):
            yield chunk

    async def _take(self) -> list[bytes]:
        try:
            return await self._arrivals.take()
        except httpx2.TimeoutException as error:
            raise APITimeoutError(request=self.response.request) from error
        except (httpx2.RequestError, ssl.SSLError, anyio.EndOfStream) as error:
            raise APIConnectionError(request=self.response.request) from error

    def _chunks(self, events: Iterable[str]) -> Iterator[Any]:
        """The events as JSON, joined. Then raises `APIError` for an event that reports an error, `ValueError` for no
        JSON.
        """
        chunks: list[Any] = []
        failure = None
        try:
            chunks.extend(map(self._chunk, events))
        except Exception as error:
            failure = error
        yield from joined(chunks)
        if failure is not None:
            raise failure

    def _chunk(self, event: str) -> Any:
        chunk = json.loads(event)
        error = chunk.get("error") if isinstance(chunk, Mapping) else None
        if error:
            message = error.get("message") if isinstance(error, Mapping) else None
            said = message if message and isinstance(message, str) else "An error occurred during streaming"
            raise APIError(said, request=self.response.request, body=error)
        return chunk


class EventDecoder:
    """Takes the bytes of server-sent events, gives the data of complete ones. Only data is read of an event.

    See https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation. `ended` is true
    after the event that ends a stream of chunks, and what follows is ignored. Raises `UnicodeDecodeError`.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # of a line that has not ended
        self._data: list[str] = []  # of the event that has not ended
        self.ended = False

    def feed(self, block: bytes) -> Iterator[str]:
        self._rest.append(block)
        if b"\n" not in block and b"\r" not in block:
            return iter(())
        block = b"".join(self._rest)
        # A carriage return at the end may be half of a line end.
        end = max(block.rfind(b"\n"), block.rfind(b"\r", 0, -1)) + 1
        self._rest = [block[end:]]
        return self._events(block[:end].splitlines())

    def close(self) -> Iterator[str]:
        """The response has ended. An event that no empty line ends is dropped."""
        return self._events(b"".join(self._rest).splitlines())

    def _events(self, lines: Iterable[bytes]) -> Iterator[str]:
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" ").decode("utf-8"))
            elif not line and self._data:
                event, self._data = "\n".join(self._data), []
                self.ended = event.startswith(_END)
                if self.ended:
                    return
                yield event


class Arrivals:
    """The parts of a response, read by a task of its own, and only while somebody waits for one."""

    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        self._arrived: list[bytes] = []
        self._news, self._wanted = asyncio.Event(), asyncio.Event()
        self._failure: Exception | None = None
        self._ended = False
        self._reading = asyncio.create_task(self._read(parts))

    async def take(self) -> list[bytes]:
        """What has arrived, at least one part; empty at the end. Raises what the response fails with, after its parts.

        A part that came while nobody waited brings along those that have come after it.
        """
        self._wanted.set()
        if self._arrived and not self._ended:
            for _ in range(_STEPS):
                await asyncio.sleep(0)
        await self._news.wait()
        if not self._ended:
            self._news.clear()
            self._wanted.clear()
        parts, self._arrived = self._arrived, []
        if not parts and self._failure is not None:
            raise self._failure
        return parts

    async def finish(self, seconds: float) -> None:
        """Read to the end of the response, and drop what comes, but for so long at most."""
        self._wanted.set()
        await asyncio.wait({self._reading}, timeout=seconds)

    async def stop(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self, parts: AsyncIterator[bytes]) -> None:
        try:
            async for part in parts:
                self._arrived.append(part)
                self._news.set()
                if not self._wanted.is_set():
                    await self._wanted.wait()
        except Exception as failure:
            self._failure = failure
        self._ended = True
        self._news.set()


def as_one_chunk(completion: Any) -> Any:
    """A completion that was not streamed as the only chunk of a stream; anything else as it is."""
    choices = completion.get("choices") if isinstance(completion, dict) else None
    if not isinstance(choices, list) or not all(isinstance(one, dict) for one in choices):
        return completion
    for choice in choices:
        message = choice.pop("message", None)
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        for index, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, dict):
                call.setdefault("index", index)
        choice.setdefault("delta", message)
    return completion


def joined(chunks: Iterable[Any]) -> list[Any]:
    """The chunks, with neighbours that differ only in their text as one. The first one of these is changed in place."""
    found: list[Any] = []
    places: list[dict[str, Any] | None] = []  # where the text of each was taken out
    texts: list[list[str]] = []
    for chunk in chunks:
        place = _place_of_text(chunk)
        text = place.pop("content") if place is not None else ""
        if place is not None and found and places[-1] is not None and chunk == found[-1]:
            texts[-1].append(text)
        else:
            found.append(chunk)
            places.append(place)
            texts.append([text])
    for place, parts in zip(places, texts, strict=True):
        if place is not None:
            place["content"] = "".join(parts)
    return found


def _place_of_text(chunk: Any) -> dict[str, Any] | None:
    """The delta of the chunk's only choice, if it has a text; None for a chunk of another form."""
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        return None
    delta = choices[0].get("delta")
    return delta if isinstance(delta, dict) and isinstance(delta.get("content"), str) else None
