"""The advice for Azure OpenAI in the manual, against a server with the form of its interface `v1`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from graph.agent import Agent
from graph.build import build_graph
from graph.memory import Memory, open_memory
from rag.types import Response
from tests.fakes import AT_ONCE
from tests.openai_server import Endpoint, Reply, events
from tests.wire import Reply as AnyReply
from tests.wire import data, listening
from tests.wired_services import GOOD, WiredServices

# Azure's first event has no choice: it tells what the filter found in the prompt.
FILTERED = {"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": []}


@pytest.fixture
def azure() -> Iterator[Endpoint]:
    with listening(Endpoint(prefix="/openai/v1/")) as opened:
        yield opened


@pytest.fixture
async def agent(azure: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Agent]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_TYPE"):
        monkeypatch.delenv(name, raising=False)
    memory: Memory
    async with open_memory(tmp_path, persistent=True) as memory:
        services = WiredServices(azure.address)
        yield Agent(memory.compile(build_graph(services, AT_ONCE)), services, memory)


async def ask(agent: Agent, azure: Endpoint, *script: AnyReply) -> Response:
    azure.script += script
    return await agent.ask("What is a node?", thread_id="t")


def refusal(code: str, message: str, parameter: str | None = None) -> AnyReply:
    return data({"error": {"code": code, "message": message, "param": parameter, "type": "invalid_request_error"}}, 400)


async def test_the_address_and_the_key_are_those_of_the_interface_v1(agent: Agent, azure: Endpoint) -> None:
    stream = f"data: {json.dumps(FILTERED)}\n\n" + "".join(events(GOOD))
    assert (await ask(agent, azure, Reply(raw=stream))).status == "success"
    (request,) = azure.requests
    assert (request.path, request.query) == ("/openai/v1/chat/completions", "")
    assert request.headers["authorization"].startswith("Bearer sk-canary-")


async def test_a_reasoning_model_that_refuses_the_older_name_of_an_option_answers(
    agent: Agent, azure: Endpoint
) -> None:
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    response = await ask(agent, azure, refusal("unsupported_parameter", said, "max_tokens"), GOOD)
    assert response.status == "success"
    assert "max_tokens" not in azure.requests[1].body


async def test_the_content_filter_is_told_as_such(agent: Agent, azure: Endpoint) -> None:
    said = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
    response = await ask(agent, azure, refusal("content_filter", said, "prompt"))
    assert response.error is not None
    assert response.error.code == "content_filter"


async def test_a_deployment_that_does_not_exist_is_named(agent: Agent, azure: Endpoint) -> None:
    missing = {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}
    response = await ask(agent, azure, data({"error": missing}, 404))
    assert response.error is not None
    assert response.error.code == "model_not_found"
