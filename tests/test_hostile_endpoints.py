"""Endpoints that send what no endpoint should: redirects, absurd counts, values that nothing stores."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from graph.agent import Agent
from graph.memory import Memory, open_memory
from rag.books.book_settings import build_embedder
from rag.embedding.hosted import connection_of
from rag.errors import AskbookError, UsageError
from rag.model.endpoint import build_model, endpoint_of
from rag.model.received_answer import clean_calls
from rag.profiles.profile import load_profile
from rag.search.reranker import CohereReranker
from rag.settings import Settings
from rag.types import Response
from tests.compiled import compiled
from tests.fakes import FakeEmbedder
from tests.openai_server import Endpoint, Reply, events, openai_server
from tests.wire import Reply as AnyReply
from tests.wire import WireServer, listening
from tests.wired_services import GOOD, WiredServices, environment


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "COHERE_API_KEY", "COHERE_BASE_URL", "CO_API_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def agent(endpoint: Endpoint, tmp_path: Path) -> AsyncIterator[Agent]:
    memory: Memory
    async with open_memory(tmp_path, persistent=True) as memory:
        services = WiredServices(endpoint.address)
        yield Agent(compiled(services, memory), services, memory)


async def ask(agent: Agent, endpoint: Endpoint, *script: AnyReply) -> Response:
    endpoint.script += script
    return await agent.ask("What is a node?", thread_id="t")


def settings(**fields: Any) -> Settings:
    return Settings(**fields)


# --- redirects ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_of_the_model_is_told_and_not_followed(status: int, agent: Agent, endpoint: Endpoint) -> None:
    with openai_server() as elsewhere:
        elsewhere.script.append(GOOD)
        there = elsewhere.address.removesuffix("/v1")
        headers = (("location", f"{there}/v1/chat/completions?key=canary"),)
        response = await ask(agent, endpoint, AnyReply(status=status, headers=headers))
        assert elsewhere.requests == []
    assert response.error is not None
    assert (response.error.code, len(endpoint.requests)) == ("redirected", 1)
    assert there.removeprefix("http://") in response.error.message
    assert "canary" not in response.model_dump_json()


@pytest.mark.parametrize("kind", ["cohere", "openai", "rerank"])
def test_a_redirect_of_an_embedder_or_a_reranker_is_not_followed(kind: str) -> None:
    with listening(WireServer()) as here, listening(WireServer()) as elsewhere:
        here.script += [AnyReply(status=307, headers=(("location", f"{elsewhere.address}/x"),))] * 2
        with pytest.raises(AskbookError) as caught:
            hosted_call(kind, here.address)
        assert (len(here.requests), elsewhere.requests) == (1, [])
    assert caught.value.code == ("rerank_redirected" if kind == "rerank" else "embedding_redirected")
    assert not caught.value.retryable


def hosted_call(kind: str, address: str) -> None:
    if kind == "openai":
        chosen = settings(
            openai_api_key=SecretStr("key"), openai_base_url=address, embedding_model=Path("text-embedding-3-small")
        )
    else:
        chosen = settings(cohere_api_key=SecretStr("key"), cohere_base_url=address)
    if kind == "rerank":
        CohereReranker(connection_of("cohere", chosen, needs="", variable="", part="rerank")).rerank("q", ["a", "b"])
    else:
        build_embedder(chosen).embed_query("a question")


# --- numbers and calls ----------------------------------------------------------------------------------------------


ARGUMENTS = [
    '{"query": "x", "top_k": 18446744073709551616}',
    '{"query": "x", "top_k": NaN}',
    '{"query": "x", "top_k": 1e999}',
    '{"query": "\\ud800"}',
    '{"\\ud800": "x"}',
    '{"query": ' + "[" * 500 + "]" * 500 + "}",
]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=lambda text: text[:40])
async def test_arguments_that_nothing_can_store_are_answered_as_broken_ones(
    arguments: str, agent: Agent, endpoint: Endpoint
) -> None:
    call = Reply(tool={"id": "c\ud800", "name": "search_book", "arguments": arguments}, finish="tool_calls")
    response = await ask(agent, endpoint, call, GOOD)
    assert (response.status, response.tool_calls) == ("success", [])
    assert endpoint.requests[1].body["messages"][-1]["content"] == "The arguments are not valid JSON."
    json.dumps(response.model_dump(mode="json"), allow_nan=False).encode()


def test_a_call_that_can_be_stored_stays_as_it_is() -> None:
    from langchain_core.messages import AIMessage

    call = {"name": "search_book", "args": {"query": "ä", "top_k": 3, "more": [1.5, None, True]}, "id": "a"}
    message = AIMessage(content="", tool_calls=[call])
    before = message.model_copy(deep=True)
    clean_calls(message)
    assert message == before


def chunk(**fields: Any) -> str:
    whole = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []} | fields
    return f"data: {json.dumps(whole)}\n\n"


def calls(*called: tuple[str, str, str]) -> Reply:
    """One message that calls all of them: id, name and arguments."""
    made = [
        {"index": n, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (call_id, name, arguments) in enumerate(called)
    ]
    called_all = chunk(choices=[{"index": 0, "delta": {"tool_calls": made}, "finish_reason": None}])
    end = chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "tool_calls"}])
    return Reply(raw=called_all + end + "data: [DONE]\n\n")


FLOODS = {
    "calls": calls(*((f"call-{n}", "search_book", '{"query": "a node"}') for n in range(500))),
    "broken calls": calls(*((f"call-{n}", "search_book", "{") for n in range(500))),
    "a long id": calls(("i" * 100_000, "search_book", '{"query": "a node"}')),
    "a long name": calls(("call-1", "n" * 100_000, '{"query": "a node"}')),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
async def test_a_flood_of_calls_does_not_blame_the_question(flood: Reply, agent: Agent, endpoint: Endpoint) -> None:
    """The refusals filled the prompt, and the turn ended with "The question is too long for the context window"."""
    response = await ask(agent, endpoint, flood, GOOD)
    assert (response.status, response.error) == ("success", None)
    assert len(endpoint.requests[1].body["messages"]) < 30


# --- answers of another form ----------------------------------------------------------------------------------------


FORMS = {
    "choices are an object": chunk(choices={"0": 1}),
    "a delta is a word": chunk(choices=[{"index": 0, "delta": "x", "finish_reason": "stop"}]),
    "a call is empty": chunk(choices=[{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": None}]}}]),
    "an event is a list": "data: [1, 2]\n\n",
    "an event is null": "data: null\n\n",
    "brackets without end": f"data: {'[' * 100_000}\n\n",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
async def test_an_answer_of_another_form_is_told_as_unreadable(form: str, agent: Agent, endpoint: Endpoint) -> None:
    response = await ask(agent, endpoint, Reply(raw=form))
    assert response.error is not None
    assert (response.error.code, len(endpoint.requests)) == ("bad_response", 1)


async def test_a_key_in_a_field_of_another_type_is_not_printed(agent: Agent, endpoint: Endpoint) -> None:
    """Pydantic warned of the field with its value; pytest makes a warning a failure."""
    body = "".join(events(GOOD)).replace('"chatcmpl-1"', '["sk-canary"]')
    assert (await ask(agent, endpoint, Reply(raw=body))).status == "success"


# --- addresses and keys ---------------------------------------------------------------------------------------------

AZURE = "https://mine.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21"


@pytest.mark.parametrize("address", [AZURE, "https://example.org/v1?", "https://example.org/v1#part"])
def test_an_address_with_a_query_is_refused_in_one_sentence(address: str) -> None:
    with pytest.raises(UsageError) as caught:
        endpoint_of(load_profile("default"), environment(address))
    assert caught.value.code == "settings"
    assert caught.value.message.startswith("OPENAI_BASE_URL has a ")
    assert "azure.com/openai/v1/" in caught.value.hint


@pytest.mark.parametrize("address", ["https://", "https://host:99999/v1", "https://[x/v1", "https://a b/v1"])
def test_an_address_without_a_host_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="OPENAI_BASE_URL is not a web address"):
        endpoint_of(load_profile("default"), environment(address))


@pytest.mark.parametrize("field", ["cohere_base_url", "openai_base_url"])
def test_the_address_of_an_embedder_is_checked_too(field: str) -> None:
    chosen = settings(
        openai_api_key=SecretStr("key"),
        cohere_api_key=SecretStr("key"),
        embedding_model=Path("text-embedding-3-small" if field == "openai_base_url" else "embed-v4.0"),
        **{field: AZURE},
    )
    with pytest.raises(UsageError, match=f"{field.upper()} has a"):
        build_embedder(chosen)


@pytest.mark.parametrize(
    "key", ["sk-canary\n", "sk-canäry", "sk canary", "\u201csk-canary\u201d", "sk-canary\x00", " "]
)
def test_a_key_with_a_character_that_no_key_has_is_told_as_that(key: str) -> None:
    chosen = environment("http://127.0.0.1:1/v1").model_copy(update={"openai_api_key": SecretStr(key)})
    with pytest.raises(UsageError) as caught:
        build_model(load_profile("default"), chosen, FakeEmbedder())
    assert caught.value.code == "key_form"
    assert caught.value.message == "OPENAI_API_KEY has a character that no key has."
    assert "canary" not in f"{caught.value.message}{caught.value.hint}"
