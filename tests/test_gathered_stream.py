"""Chunks that arrive together reach LangChain as one; nothing is lost, changed, or held back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from rag.model.gathered_stream import GatheredStream, OpenStreams

HEAD = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}


def piece(text: str, **delta: Any) -> dict[str, Any]:
    return HEAD | {"choices": [{"index": 0, "delta": {"content": text, **delta}, "finish_reason": None}]}


END = HEAD | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USAGE = HEAD | {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}


class Script:
    """A stream that gives its chunks at once, waits where an `asyncio.Event` stands, and raises an exception."""

    def __init__(self, *steps: Any) -> None:
        self._steps = steps
        self.given = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[Any]:
        for step in self._steps:
            if isinstance(step, asyncio.Event):
                await step.wait()
            elif isinstance(step, Exception):
                raise step
            else:
                self.given += 1
                yield step

    async def close(self) -> None:
        self.closed = True


async def read(stream: Script, opened: OpenStreams | None = None) -> list[Any]:
    async with GatheredStream(stream, opened or OpenStreams()) as gathered:
        return [chunk async for chunk in gathered]


def texts(chunks: Sequence[Any]) -> list[str]:
    return [chunk["choices"][0]["delta"]["content"] for chunk in chunks]


class Busy(OpenStreams):
    """The count of a process in which other streams are open."""

    pause = 0.0001


async def test_pieces_that_arrive_together_are_one_chunk() -> None:
    more = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, more.set)
    found = await read(Script(piece("A "), more, piece("node "), piece("runs."), END, USAGE), Busy())
    assert texts(found[:-2])[-1].endswith("node runs.")
    assert "".join(texts(found[:-2])) == "A node runs."
    assert found[-2:] == [END, USAGE]


async def test_a_single_stream_waits_for_nothing() -> None:
    async with GatheredStream(Script(piece("A "), asyncio.Event()), opened := OpenStreams()) as gathered:
        assert opened.pause == 0
        assert texts([await anext(aiter(gathered))]) == ["A "]


@pytest.mark.parametrize(
    "other",
    [
        piece("b", role="assistant"),
        piece("b", reasoning_content="hm"),
        piece("b") | {"usage": {"completion_tokens": 1}},
        HEAD | {"choices": [{"index": 1, "delta": {"content": "b"}, "finish_reason": None}]},
        HEAD | {"choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": "length"}]},
        HEAD | {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0}]}, "finish_reason": None}]},
        HEAD | {"choices": None},
        HEAD | {"choices": [None]},
        HEAD | {"choices": [{"index": 0, "delta": {"content": None}}]},
        [1],
        "text",
        None,
    ],
)
async def test_what_differs_in_more_than_its_text_stays_a_chunk_of_its_own(other: Any) -> None:
    assert await read(Script(piece("a"), other, piece("c")), Busy()) == [piece("a"), other, piece("c")]


async def test_a_failure_is_raised_after_what_arrived_before_it() -> None:
    stream = Script(piece("A node"), ConnectionError("gone"))
    async with GatheredStream(stream, Busy()) as gathered:
        reading = aiter(gathered)
        assert await anext(reading) == piece("A node")
        with pytest.raises(ConnectionError, match="gone"):
            await anext(reading)
    assert stream.closed


async def test_no_more_is_read_than_somebody_waits_for() -> None:
    waits = [asyncio.Event() for _ in range(3)]
    steps = [one for place, wait in enumerate(waits) for one in (piece(str(place)), wait)]
    stream = Script(*steps)
    async with GatheredStream(stream, OpenStreams()) as gathered:
        await anext(aiter(gathered))
        for wait in waits:
            wait.set()
        for _ in range(20):
            await asyncio.sleep(0)
        assert stream.given <= 2


async def test_leaving_the_block_closes_the_stream_and_ends_its_task() -> None:
    stream, opened = Script(piece("A "), asyncio.Event()), OpenStreams()
    before = asyncio.all_tasks()
    async with GatheredStream(stream, opened) as gathered:
        await anext(aiter(gathered))
        assert opened.count == 1
    assert (stream.closed, opened.count) == (True, 0)
    assert asyncio.all_tasks() == before
