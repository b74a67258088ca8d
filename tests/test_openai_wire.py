"""The machine with the real client of OpenAI's wire format, against an endpoint on this machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from graph.agent import Agent
from graph.memory import Memory, open_memory
from rag.errors import USER_MESSAGES, UsageError
from rag.model.endpoint import build_model
from rag.profiles.profile import load_profile
from rag.quoting.answerer import QuotingAnswerer
from rag.settings import Settings
from rag.system.network import OPENAI
from rag.types import Event, Response
from tests.compiled import compiled
from tests.fakes import FakeEmbedder
from tests.openai_server import Endpoint, Reply, answer, calls_tool, refuses
from tests.wire import nobody
from tests.wired_services import GOOD, KEY, WiredServices, environment


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_ORG_ID", "OPENAI_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with open_memory(tmp_path, persistent=True) as opened:
        yield opened


@pytest.fixture
def agent(endpoint: Endpoint, memory: Memory) -> Agent:
    """An agent whose model is reached through the network; its search is a fake."""
    return agent_on(endpoint, memory)


def agent_on(endpoint: Endpoint, memory: Memory, seconds: float = 30.0) -> Agent:
    """An agent that waits so long for its model."""
    services = WiredServices(endpoint.address, seconds)
    return Agent(compiled(services, memory), services, memory)


async def asked(agent: Agent, endpoint: Endpoint, *script: Reply) -> tuple[Response, list[str]]:
    """The response to a question, and the kinds of events on the way."""
    endpoint.script += script
    found: list[Event] = [event async for event in agent.stream("What is a node?", thread_id="t")]
    assert found[-1].response is not None
    return found[-1].response, [event.type for event in found if event.type != "phase"]


# --- an answer ------------------------------------------------------------------------------------------------------


async def test_a_streamed_answer_becomes_one_with_citations(agent: Agent, endpoint: Endpoint) -> None:
    response, _ = await asked(agent, endpoint, GOOD)
    assert (response.status, response.plain_content) == ("success", "A node is a process [1].")
    assert [citation.quote for citation in response.citations] == ["A node is a process."]


async def test_tokens_are_those_that_the_endpoint_counted(agent: Agent, endpoint: Endpoint) -> None:
    response, _ = await asked(agent, endpoint, GOOD)
    assert response.tokens_used.model_dump() == {"input": 11, "output": 7, "total": 18, "estimated": False}


async def test_tokens_are_estimated_where_the_endpoint_counts_none(agent: Agent, endpoint: Endpoint) -> None:
    response, _ = await asked(agent, endpoint, answer("A node [1].", usage=None))
    assert response.tokens_used.estimated


async def test_the_request_is_the_one_that_the_settings_describe(agent: Agent, endpoint: Endpoint) -> None:
    await asked(agent, endpoint, GOOD)
    (request,) = endpoint.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert (request.body["model"], request.body["stream"]) == ("wired-model", True)
    assert request.body["temperature"] == 0.0
    assert {"max_tokens", "max_completion_tokens"} & request.body.keys()


async def test_the_key_is_only_in_its_header(agent: Agent, endpoint: Endpoint) -> None:
    await asked(agent, endpoint, GOOD)
    (request,) = endpoint.requests
    others = {name: value for name, value in request.headers.items() if name != "authorization"}
    assert KEY not in json.dumps([others, request.body])


async def test_a_tool_call_goes_there_and_back(agent: Agent, endpoint: Endpoint) -> None:
    response, _ = await asked(agent, endpoint, calls_tool("topics"), answer("A topic is a bus [2]."))
    assert (response.status, response.llm_calls, response.tool_calls[0].args) == ("success", 2, {"query": "topics"})
    call, result = endpoint.requests[1].body["messages"][-2:]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"] == "call-1"
    assert [message["role"] for message in (call, result)] == ["assistant", "tool"]


async def test_a_tool_call_that_is_no_json_is_answered(agent: Agent, endpoint: Endpoint) -> None:
    broken = Reply(tool={"id": "c", "name": "search_book", "arguments": "nodes, please"}, finish="tool_calls")
    response, _ = await asked(agent, endpoint, broken, GOOD)
    assert response.status == "success"
    assert endpoint.requests[1].body["messages"][-1]["content"] == "The arguments are not valid JSON."


async def test_a_second_turn_sends_the_first_without_its_markers(agent: Agent, endpoint: Endpoint) -> None:
    await asked(agent, endpoint, GOOD)
    await asked(agent, endpoint, GOOD)
    contents = [message["content"] for message in endpoint.requests[1].body["messages"]]
    assert contents[1:3] == ["What is a node?", "A node is a process."]


# --- failures -------------------------------------------------------------------------------------------------------

FAILURES: list[tuple[Reply, int, str, str]] = [
    (refuses(401, KEY), 1, "auth_error", "wrong_key"),
    (refuses(403), 1, "auth_error", "forbidden"),
    (refuses(404), 1, "api_error", "model_not_found"),
    (refuses(400), 1, "api_error", "bad_request"),
    (refuses(400, code="context_length_exceeded"), 1, "context_overflow", "context_length"),
    (refuses(413), 1, "context_overflow", "too_large"),
    (refuses(422), 1, "api_error", "bad_request"),
    (refuses(429, retry_after="7"), 3, "rate_limit", "rate_limit"),
    (refuses(500), 3, "api_error", "server_error"),
    (refuses(503), 3, "api_error", "server_error"),
    (Reply(hang=True, finish=None), 3, "api_error", "timeout"),
    (Reply(texts=("A no",), hang=True, finish=None), 3, "api_error", "timeout"),
    (Reply(texts=("A no",), finish=None), 3, "api_error", "stream_cut"),
    (Reply(finish=None), 1, "api_error", "bad_response"),
    (Reply(texts=("A no",), finish="content_filter"), 1, "invalid_input", "content_filter"),
    (Reply(raw="data: {not json\n\n"), 1, "api_error", "bad_response"),
    (Reply(raw="<html>hello</html>"), 1, "api_error", "bad_response"),
    (answer(""), 3, "api_error", "empty_answer"),
]


@pytest.mark.parametrize(("reply", "calls", "error_type", "code"), FAILURES)
async def test_a_failure_is_retried_where_that_helps_told_as_what_it_is_and_over_with_the_turn(
    reply: Reply, calls: int, error_type: str, code: str, memory: Memory, endpoint: Endpoint, tmp_path: Path
) -> None:
    agent = agent_on(endpoint, memory)
    asked_first = agent_on(endpoint, memory, seconds=0.3) if reply.hang else agent
    response, _ = await asked(asked_first, endpoint, *[reply] * calls)
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == (error_type, code)
    assert len(endpoint.requests) == calls
    assert (await asked(agent, endpoint, GOOD))[0].status == "success"
    assert [message["role"] for message in endpoint.requests[-1].body["messages"]] == ["system", "user"]
    assert KEY not in response.model_dump_json()
    assert KEY.encode() not in await asyncio.to_thread(on_disk, tmp_path)


def on_disk(home: Path) -> bytes:
    return b"".join(file.read_bytes() for file in home.iterdir())


@pytest.mark.parametrize(("named", "told"), [("6.2", 7), ("1e25", 86400)])
async def test_a_rate_limit_says_how_long_the_endpoint_wants_to_be_left_alone(
    agent: Agent, endpoint: Endpoint, named: str, told: int
) -> None:
    response, _ = await asked(agent, endpoint, *[refuses(429, retry_after=named)] * 3)
    assert response.error is not None
    assert response.error.retry_after == told
    assert response.content == f"The service is busy. Please wait {told} seconds and try again."


async def test_a_failure_that_passes_is_not_noticed(agent: Agent, endpoint: Endpoint) -> None:
    response, kinds = await asked(agent, endpoint, refuses(503), refuses(429), GOOD)
    assert response.status == "success"
    assert kinds == ["retrieval", "sentence", "sentence", "response"]


@pytest.mark.parametrize("end", [{"finish": None}, {"finish": None, "hang": True}])
async def test_a_stream_that_breaks_after_a_sentence_withdraws_it_and_is_not_tried_again(
    end: dict[str, Any], memory: Memory, endpoint: Endpoint
) -> None:
    agent = agent_on(endpoint, memory, seconds=5.0 if "hang" in end else 30.0)  # time enough for the sentence
    broken = Reply(texts=("A node is a process [1]. ", "And then"), **end)
    response, kinds = await asked(agent, endpoint, broken)
    assert kinds == ["retrieval", "sentence", "retract", "response"]
    assert response.content == USER_MESSAGES["api_error"]
    assert len(endpoint.requests) == 1


async def test_an_endpoint_that_is_not_there_is_said_to_be_unreachable(memory: Memory) -> None:
    with nobody() as address:
        services = WiredServices(f"{address}/v1")
        response = await Agent(compiled(services, memory), services, memory).ask("What is a node?")
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("api_error", "unreachable")
    assert "OPENAI_BASE_URL" in response.error.hint


# --- the model of a process -----------------------------------------------------------------------------------------


def test_without_an_address_the_key_goes_to_openai() -> None:
    model, name, quoter = build_model(load_profile("default"), environment(None), FakeEmbedder())
    assert str(getattr(model, "openai_api_base", "")) == OPENAI
    assert (name, quoter) == ("gpt-4o-mini", None)


def test_without_a_key_the_book_is_quoted() -> None:
    settings = Settings()
    answerer = build_model(load_profile("default"), settings, FakeEmbedder())
    assert (answerer.name, answerer.model, type(answerer.quoter)) == ("askbook-quoting", None, QuotingAnswerer)


@pytest.mark.parametrize("address", ["api.openai.com/v1", "ftp://example.org", "file:///etc/passwd"])
def test_an_address_that_is_no_web_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="OPENAI_BASE_URL must start with"):
        build_model(load_profile("default"), environment(address), FakeEmbedder())


def test_the_key_is_not_in_what_the_model_says_of_itself() -> None:
    model = build_model(load_profile("default"), environment(None), FakeEmbedder()).model
    assert KEY not in repr(model)
    assert KEY not in str(model)
