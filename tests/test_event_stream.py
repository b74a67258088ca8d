"""Chunks that arrive together reach LangChain as one; nothing is lost, changed, or held back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from copy import deepcopy
from typing import Any

import httpx2
import pytest
from openai import APIConnectionError, APIError, APITimeoutError, AsyncOpenAI, AsyncStream

from rag.model.event_stream import EventDecoder, EventStream, joined
from rag.model.reading_pace import OpenStreams, awaiting

HEAD = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
DONE = b"data: [DONE]\n\n"


def piece(text: str, **delta: Any) -> dict[str, Any]:
    return HEAD | {"choices": [{"index": 0, "delta": {"content": text, **delta}, "finish_reason": None}]}


END = HEAD | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USAGE = HEAD | {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}


def event(chunk: Any) -> bytes:
    return f"data: {json.dumps(chunk)}\n\n".encode()


class Wire:
    """The body of a response: gives its bytes at once, waits where an `asyncio.Event` stands, raises an exception."""

    def __init__(self, *steps: Any) -> None:
        self._steps = steps
        self.given = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for step in self._steps:
            if isinstance(step, asyncio.Event):
                await step.wait()
            elif isinstance(step, Exception):
                raise step
            else:
                self.given += 1
                yield step

    async def aclose(self) -> None:
        self.closed = True


def stream_of(wire: Wire, kind: type[AsyncStream[object]] = EventStream, beside: OpenStreams | None = None) -> Any:
    class Body(httpx2.AsyncByteStream):
        def __aiter__(self) -> AsyncIterator[bytes]:
            return aiter(wire)

        async def aclose(self) -> None:
            await wire.aclose()

    request = httpx2.Request("POST", "http://model/chat/completions")
    response = httpx2.Response(200, stream=Body(), request=request)
    stream: Any = kind(cast_to=object, response=response, client=AsyncOpenAI(api_key="k", base_url="http://model"))
    stream.beside = beside
    return stream


async def read(wire: Wire, beside: OpenStreams | None = None) -> list[Any]:
    async with stream_of(wire, beside=beside) as stream:
        return [chunk async for chunk in stream]


def texts(chunks: Sequence[Any]) -> list[str]:
    return [chunk["choices"][0]["delta"]["content"] for chunk in chunks]


def busy() -> OpenStreams:
    """The count of a process in which other streams are open."""
    streams = OpenStreams()
    streams.count = 1
    return streams


async def test_pieces_that_arrive_together_are_one_chunk() -> None:
    more = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, more.set)
    wire = Wire(event(piece("A ")), more, *map(event, (piece("node "), piece("runs."), END, USAGE)), DONE)
    assert await read(wire, busy()) == [piece("A "), piece("node runs."), END, USAGE]
    assert wire.closed


async def test_what_arrives_during_a_pause_is_one_chunk() -> None:
    class Slow(OpenStreams):
        @property
        def pause(self) -> float:
            more.set()
            return 0.02

    more = asyncio.Event()
    words = [event(piece(word)) for word in ("node ", "runs ", "now.")]
    wire = Wire(event(piece("A ")), more, *words, DONE)
    assert texts(await read(wire, Slow())) == ["A ", "node runs now."]


async def test_a_single_stream_waits_for_nothing() -> None:
    async with stream_of(Wire(event(piece("A ")), asyncio.Event()), beside=(streams := OpenStreams())) as stream:
        assert streams.pause == 0
        assert texts([await anext(aiter(stream))]) == ["A "]


def test_pauses_are_short_while_the_first_sentence_is_awaited_and_grow_with_the_streams() -> None:
    streams = OpenStreams()
    pauses = []
    for streams.count in (1, 2, 10, 50, 1000):
        with awaiting(lambda: True):
            short = streams.pause
        with awaiting(lambda: False):
            pauses.append((short, streams.pause))
    assert pauses[0] == (0, 0)
    assert all(short <= long for short, long in pauses)
    assert pauses == sorted(pauses)
    assert pauses[-1] == pauses[-2]
    assert pauses[-1][0] < pauses[-1][1] / 5


@pytest.mark.parametrize(
    "other",
    [
        piece("b", role="assistant"),
        piece("b", reasoning_content="hm"),
        piece("b") | {"usage": {"completion_tokens": 1}},
        HEAD | {"choices": [{"index": 1, "delta": {"content": "b"}, "finish_reason": None}]},
        HEAD | {"choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": "length"}]},
        HEAD | {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0}]}, "finish_reason": None}]},
        HEAD | {"choices": [{"index": 0, "delta": {}, "finish_reason": None}]},
        HEAD | {"choices": None},
        HEAD | {"choices": [None]},
        HEAD | {"choices": [{"index": 0, "delta": {"content": None}}]},
        [1],
        "text",
        None,
    ],
)
async def test_what_differs_in_more_than_its_text_stays_a_chunk_of_its_own(other: Any) -> None:
    given = [piece("a"), other, piece("c")]
    assert list(joined(deepcopy(given))) == given
    assert await read(Wire(b"".join(map(event, given)), DONE)) == given


def test_equal_chunks_without_text_are_not_joined() -> None:
    assert list(joined([deepcopy(END), deepcopy(END), None, None])) == [END, END, None, None]


async def test_a_failure_is_raised_after_what_arrived_before_it() -> None:
    wire = Wire(event(piece("A node")), httpx2.ReadError("gone"))
    async with stream_of(wire) as stream:
        reading = aiter(stream)
        assert await anext(reading) == piece("A node")
        with pytest.raises(APIConnectionError):
            await anext(reading)
    assert wire.closed


async def test_no_more_is_read_than_somebody_waits_for() -> None:
    waits = [asyncio.Event() for _ in range(3)]
    wire = Wire(*(one for place, wait in enumerate(waits) for one in (event(piece(str(place))), wait)))
    async with stream_of(wire) as stream:
        await anext(aiter(stream))
        for wait in waits:
            wait.set()
        for _ in range(20):
            await asyncio.sleep(0)
        assert wire.given <= 2


async def test_leaving_the_block_closes_the_stream_and_ends_its_task() -> None:
    wire, streams = Wire(event(piece("A ")), asyncio.Event()), OpenStreams()
    before = asyncio.all_tasks()
    async with stream_of(wire, beside=streams) as stream:
        await anext(aiter(stream))
        assert streams.count == 1
    assert (wire.closed, streams.count) == (True, 0)
    assert asyncio.all_tasks() == before


# --- events are read as OpenAI's client reads them ------------------------------------------------------------------

A_NODE = json.dumps(piece("A ñode\r")).replace("\\u00f1", "ñ")
BODIES = {
    "an answer": event(piece("A node.")) + event(END) + DONE,
    "lines that end with CR LF": event(piece("A node.")).replace(b"\n", b"\r\n") + b"data: [DONE]\r\n\r\n",
    "lines that end with CR": event(piece("A node.")).replace(b"\n", b"\r") + event(END).replace(b"\n", b"\r"),
    "no space behind the colon": b"data:" + json.dumps(piece("A")).encode() + b"\n\n",
    "data of several lines": b"data: {\ndata: \"choices\": []\ndata: }\n\n" + DONE,
    "comments and other fields": b": alive\n\nevent: chunk\nid: 7\nretry: 10\nfoo\n" + event(piece("A")) + DONE,
    "other letters": f"data: {A_NODE}\n\n".encode() + DONE,
    "no end": event(piece("A")),
    "an event without an empty line": event(piece("A")) + b"data: {}",
    "the end without an empty line": event(piece("A")) + b"data: [DONE]\n",
    "something after the end": event(piece("A")) + DONE + event(piece("B")),
    "an error": event(piece("A")) + event({"error": {"message": "overloaded", "code": 7}}) + DONE,
    "an error of text": event({"error": "overloaded"}),
    "no JSON": event(piece("A")) + b"data: {\n\n" + DONE,
    "no UTF-8": event(piece("A")) + b"data: \"\xff\"\n\n" + DONE,
    "nothing": b"",
    "a timeout": event(piece("A")) + b"?timeout",
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_events_are_read_as_openais_client_reads_them(body: bytes, size: int) -> None:
    late = body.endswith(b"?timeout")
    body = body.removesuffix(b"?timeout")
    parts: list[Any] = [body[at : at + size] for at in range(0, len(body), size)]
    if late:
        parts.append(httpx2.ReadTimeout("late"))
    found = []
    for kind in (EventStream, AsyncStream[object]):
        chunks: list[Any] = []
        failure: Exception | None = None
        try:
            async with stream_of(Wire(*parts), kind) as stream:
                async for chunk in stream:
                    chunks.append(chunk)  # noqa: PERF401  # those before a failure are kept
        except Exception as error:
            failure = error
        told = (type(failure), getattr(failure, "body", None), getattr(failure, "message", None))
        found.append((chunks, told))
    assert found[0] == found[1]
    assert not late or isinstance(failure, APITimeoutError)
    assert b"error" not in body or isinstance(failure, APIError)


def test_a_line_in_many_parts_is_joined_once() -> None:
    decoder = EventDecoder()
    body = event(piece("A node. " * 1000))
    found = [one for at in range(0, len(body), 10) for one in decoder.feed(body[at : at + 10])]
    assert [json.loads(one) for one in found] == [piece("A node. " * 1000)]
