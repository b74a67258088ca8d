"""Answers without an end: text, nothing at all, arguments, one line. Their length is limited."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from graph.agent import Agent
from graph.memory import Memory, open_memory
from nodes.model_call import DiscardingSink, ModelRequest, call_model
from rag.errors import AskbookError
from rag.model import received_answer
from rag.model.received_answer import AnswerMeter
from rag.system import transport
from tests.compiled import compiled
from tests.fakes import ScriptedModel, tool_call
from tests.openai_server import Endpoint, answer
from tests.stage import parts_of
from tests.wire import EVENTS, flooding
from tests.wired_services import WiredServices

PIECE = 'data: {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [%s]}\n\n'


class Endless(ScriptedModel):
    """A model whose answer is one chunk, again and again."""

    chunk: AIMessageChunk = AIMessageChunk(content="A node is a process. ")

    def _chunks(self, prompt: Any, options: Any) -> Iterator[Any]:
        self.prompts.append(prompt)
        for _ in repeat(None):
            yield ChatGenerationChunk(message=self.chunk.model_copy())


@pytest.mark.parametrize(
    "chunk",
    [
        AIMessageChunk(content="A node is a process. " * 100),
        AIMessageChunk(content=[{"type": "thinking", "thinking": "Hm. " * 1000}]),
        AIMessageChunk(content="", additional_kwargs={"reasoning_content": "Hm. " * 1000}),
        tool_call("nodes"),
    ],
    ids=["text", "thoughts", "reasoning", "tool calls"],
)
async def test_an_endless_answer_is_stopped_and_not_tried_again(chunk: AIMessageChunk) -> None:
    model = Endless(chunk=chunk)
    request = ModelRequest([], 100, may_search=True, model="scripted")
    with pytest.raises(AskbookError) as caught:
        await call_model(parts_of(model)(None), request, DiscardingSink())
    assert (caught.value.code, caught.value.retryable, len(model.prompts)) == ("endless_answer", False, 1)
    assert caught.value.hint


def test_chunks_that_say_nothing_count_too() -> None:
    meter = AnswerMeter(most=40)
    for _ in range(10):
        meter.count(AIMessageChunk(content=""))
    with pytest.raises(AskbookError, match="40 characters"):
        meter.count(AIMessageChunk(content=""))


# --- over the wire --------------------------------------------------------------------------------------------------


@pytest.fixture
async def agent(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Agent]:
    monkeypatch.setattr(transport, "MOST", 2**18)  # the real limit takes seconds
    memory: Memory
    async with open_memory(tmp_path, persistent=True) as memory:
        services = WiredServices(endpoint.address)
        yield Agent(compiled(services, memory), services, memory)


def delta(**fields: Any) -> str:
    return PIECE % json.dumps({"index": 0, "delta": fields, "finish_reason": None})


ENDLESS = {
    "text": delta(content="A node is a process. "),
    "long arguments": delta(tool_calls=[{"index": 0, "function": {"arguments": "[" * 30_000}}]),
    "comments": ": still here\n\n",
    "one line": "data: " + "x" * 1000,
}


@pytest.mark.parametrize("piece", ENDLESS.values(), ids=ENDLESS.keys())
async def test_an_endpoint_that_never_stops_is_left_and_the_thread_goes_on(
    piece: str, agent: Agent, endpoint: Endpoint
) -> None:
    endpoint.script.append(flooding(piece * (1 + 60_000 // len(piece)), EVENTS))
    response = await agent.ask("What is a node?", thread_id="t")
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("api_error", "endless_answer")
    assert len(endpoint.requests) == 1
    endpoint.script.append(answer("A node is a process [1]."))
    assert (await agent.ask("What is a node?", thread_id="t")).status == "success"


def test_the_limits_of_the_manual_are_those_of_the_program() -> None:
    page = (Path(__file__).parent.parent / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    assert f"{received_answer.MOST:,} characters" in page
    assert f"{transport.MOST // 2**20} megabytes" in page
