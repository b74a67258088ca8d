"""Answers without an end: text, nothing at all, arguments, one line. Their time, length and memory are limited."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from itertools import count, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.utils.json import parse_partial_json

from graph.agent import Agent
from graph.memory import Memory, open_memory
from nodes import model_call
from nodes.generate import spent_before
from nodes.model_call import DiscardingSink, ModelRequest, call_model
from rag.errors import AskbookError
from rag.http import http_clients
from rag.model import received_answer
from rag.model.received_answer import AnswerLimits, AnswerMeter
from rag.types import Response
from tests import wire
from tests.compiled import compiled
from tests.fakes import ScriptedModel, refuses_tools, tool_call
from tests.openai_server import Endpoint, Reply, answer
from tests.stage import parts_of
from tests.wire import EVENTS, flooding
from tests.wired_services import WiredServices

PIECE = 'data: {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [%s]}\n\n'


@pytest.fixture
def fewer_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the real limit, which takes two seconds."""
    limits = received_answer.ANSWER._replace(chunks=received_answer.ANSWER.chunks // 10)
    monkeypatch.setattr(model_call, "AnswerMeter", partial(AnswerMeter, limits))


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arguments that LangChain parses, which it does in quadratic time, while nothing else of the process runs."""
    texts: list[str] = []

    def parse(text: str, **options: Any) -> Any:
        texts.append(text)
        return parse_partial_json(text, **options)

    monkeypatch.setattr("langchain_core.messages.ai.parse_partial_json", parse)
    return texts


def arguments(text: str) -> AIMessageChunk:
    return tool_call(name=None, args=text, call_id="")


class Endless(ScriptedModel):
    """A model whose answer is one chunk, again and again."""

    chunk: AIMessageChunk = AIMessageChunk(content="A node is a process. ")

    def _chunks(self, prompt: Any, options: Any) -> Iterator[Any]:
        self.prompts.append(prompt)
        for _ in repeat(None):
            yield ChatGenerationChunk(message=self.chunk.model_copy())


async def stopped(model: ScriptedModel, clock: Callable[[], float] = lambda: 0.0) -> AskbookError:
    parts = parts_of(model)(None)
    request = ModelRequest([], 100, may_search=True, model="scripted")
    with pytest.raises(AskbookError) as caught:
        await call_model(parts, request, DiscardingSink(), clock=clock)
    return caught.value


async def test_an_answer_takes_ten_minutes_at_most() -> None:
    fast = count(0.0, step=7.0)
    error = await stopped(Endless(), clock=lambda: next(fast))
    assert (error.error_type, error.code, error.retryable) == ("api_error", "answer_timeout", False)
    assert error.message == "The model's answer was not complete after 10 minutes and was stopped."
    assert next(fast) == pytest.approx(616, abs=7)


async def test_what_earlier_attempts_took_counts_as_time_of_the_answer() -> None:
    fast = count(0.0, step=7.0)
    request = ModelRequest([], 100, may_search=True, model="scripted")
    with pytest.raises(AskbookError) as caught:
        await call_model(parts_of(Endless())(None), request, DiscardingSink(), spent=560.0, clock=lambda: next(fast))
    assert caught.value.code == "answer_timeout"
    assert next(fast) < 70


class Refusing(Endless):
    """Refuses its tools at first, and takes `seconds` for that."""

    seconds: float = 0.0
    now: float = 0.0

    def _chunks(self, prompt: Any, options: Any) -> Iterator[Any]:
        if not self.prompts:
            self.prompts.append(prompt)
            self.now += self.seconds
            raise refuses_tools()
        yield from super()._chunks(prompt, options)

    def clock(self) -> float:
        self.now += 7.0
        return self.now


async def test_what_a_model_took_to_refuse_an_option_counts_as_time_of_the_answer() -> None:
    model = Refusing(seconds=560.0)
    error = await stopped(model, clock=model.clock)
    assert (error.code, len(model.prompts)) == ("answer_timeout", 2)
    assert model.now < 660


@pytest.mark.parametrize(("attempt", "spent"), [(1, 0.0), (2, 90.0), (3, 90.0)])
def test_the_time_of_an_answer_begins_with_its_first_attempt(
    attempt: int, spent: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodes.generate.time.time", lambda: 1090.0)
    info = SimpleNamespace(node_attempt=attempt, node_first_attempt_time=1000.0)
    runtime: Any = SimpleNamespace(execution_info=info)
    assert spent_before(runtime) == spent


@pytest.mark.parametrize(
    "chunk",
    [
        AIMessageChunk(content="A node is a process. " * 100),
        AIMessageChunk(content=""),
        AIMessageChunk(content=[{"type": "thinking", "thinking": "Hm. " * 1000}]),
        tool_call("nodes"),
        arguments("more"),
    ],
    ids=["text", "nothing", "thoughts", "tool calls", "arguments"],
)
async def test_an_endless_answer_is_stopped_and_not_tried_again(chunk: AIMessageChunk, fewer_parts: None) -> None:
    model = Endless(chunk=chunk)
    error = await stopped(model)
    assert (error.code, error.retryable, len(model.prompts)) == ("endless_answer", False, 1)
    assert error.hint


async def test_endless_arguments_are_stopped_at_their_own_limit() -> None:
    error = await stopped(Endless(chunk=arguments("more and more " * 20)))
    assert f"{received_answer.ARGUMENTS:,} characters for one search" in error.message


@pytest.mark.parametrize(("indexes", "characters"), [((0, 0), 2001), ((0, 1, 2), 4000), ((None, None, None), 4000)])
def test_the_arguments_of_one_call_and_of_all_calls_are_limited(
    indexes: tuple[int | None, ...], characters: int
) -> None:
    meter = AnswerMeter(clock=lambda: 0.0)
    for index in indexes[:-1]:
        meter.count(tool_call(name=None, args="x" * characters, index=index))
    with pytest.raises(AskbookError, match="for one search"):
        meter.count(tool_call(name=None, args="x" * characters + "x", index=indexes[-1]))


def test_the_longest_answer_that_is_allowed_is_allowed() -> None:
    meter = AnswerMeter(AnswerLimits(characters=100, chunks=10), clock=lambda: 0.0)
    for _ in range(10):
        meter.count(AIMessageChunk(content="0123456789"))
    with pytest.raises(AskbookError):
        meter.count(AIMessageChunk(content=""))


# --- over the wire --------------------------------------------------------------------------------------------------


def endless(piece: str) -> wire.Reply:
    """A stream of one piece, again and again."""
    return flooding(piece * (1 + 60_000 // len(piece)), EVENTS)


@pytest.fixture
async def agent(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Agent]:
    monkeypatch.setattr(http_clients, "WIRE_BYTES", 2**18)  # the real limit takes seconds
    memory: Memory
    async with open_memory(tmp_path, persistent=True) as memory:
        services = WiredServices(endpoint.address)
        yield Agent(compiled(services, memory), services, memory)


async def ask(agent: Agent, endpoint: Endpoint, reply: wire.Reply) -> Response:
    endpoint.script.append(reply)
    return await agent.ask("What is a node?", thread_id="t")


def delta(**fields: Any) -> str:
    return PIECE % json.dumps({"index": 0, "delta": fields, "finish_reason": None})


CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "search_book", "arguments": '{"query": "'}}
ENDLESS = {
    "text": delta(content="A node is a process. "),
    "one sentence": delta(content="and so on "),
    "nothing": delta(content=""),
    "no delta": delta(),
    "tool calls": delta(tool_calls=[CALL]),
    "long arguments": delta(tool_calls=[{"index": 0, "function": {"arguments": "[" * 30_000}}]),
    "long arguments that are not JSON": delta(tool_calls=[{"index": 0, "function": {"arguments": "more " * 6_000}}]),
    "arguments": delta(tool_calls=[{"index": 0, "function": {"arguments": "more and more"}}]),
    "comments": ": still here\n\n",
    "one line": "data: " + "x" * 1000,
}


@pytest.mark.parametrize("piece", ENDLESS.values(), ids=ENDLESS.keys())
async def test_an_endpoint_that_never_stops_is_left_and_the_thread_goes_on(
    piece: str, agent: Agent, endpoint: Endpoint, parsed: list[str]
) -> None:
    response = await ask(agent, endpoint, endless(piece))
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("api_error", "endless_answer")
    assert len(endpoint.requests) == 1
    assert max(map(len, parsed), default=0) < 1000
    assert (await ask(agent, endpoint, answer("A node is a process [1]."))).status == "success"


async def test_deltas_that_say_nothing_are_not_kept(endpoint: Endpoint) -> None:
    """A chunk takes four kilobytes in LangChain, which keeps all of them, and a model may think in a million."""
    endpoint.script.append(Reply(texts=("",) * 2_000 + ("A node.",)))
    model = WiredServices(endpoint.address).parts(None).model
    assert model is not None
    chunks = [chunk async for chunk in model.astream("What is a node?")]
    assert "".join(chunk.text for chunk in chunks) == "A node."
    assert len(chunks) < 10


def test_the_limits_of_the_manual_are_those_of_the_program() -> None:
    page = (Path(__file__).parent.parent / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    assert f"{received_answer.ANSWER.characters:,} characters" in page
    assert f"{http_clients.WIRE_BYTES // 2**20} megabytes" in page
    assert f"| a whole answer | {received_answer.ANSWER.seconds / 60:g} minutes |" in page
