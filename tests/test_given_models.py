"""Chat models that the caller brings: real clients of other providers against what their services send."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from graph.agent import Agent, open_agent
from rag.errors import UsageError
from rag.settings import Settings
from rag.types import CUT_OFF
from state import Context
from tests.command_line import QUESTION
from tests.fakes import AT_ONCE
from tests.homes import copied
from tests.other_models import PROVIDERS, Provider
from tests.wire import WireServer, listening

pytestmark = pytest.mark.asyncio(loop_scope="module")

ANSWER = ("Every widget has exactly ", "four teeth [1].")


@pytest.fixture(scope="module")
def home(tiny_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tiny_book, tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def _listening() -> Iterator[WireServer]:
    with listening(WireServer()) as opened:
        yield opened


@pytest.fixture
def server(_listening: WireServer) -> WireServer:
    """The service of all providers, as if nobody had asked it yet."""
    assert _listening.script == []
    _listening.requests.clear()
    return _listening


@pytest.fixture(params=PROVIDERS, scope="module")
def provider(request: pytest.FixtureRequest) -> Provider:
    return PROVIDERS[request.param]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(provider: Provider, _listening: WireServer, home: Path) -> AsyncIterator[Agent]:
    async with asking(home, provider.model(_listening.address)) as opened:
        yield opened


@asynccontextmanager
async def asking(home: Path, model: BaseChatModel) -> AsyncIterator[Agent]:
    settings = Settings(home=home)
    async with open_agent(settings, collection="book", model=model, retries=AT_ONCE) as agent:
        yield agent


async def test_its_answer_is_streamed_checked_and_counted(provider: Provider, agent: Agent, server: WireServer) -> None:
    server.script.append(provider.says(*ANSWER, finish=provider.stop))
    response = await agent.ask(QUESTION)
    assert (response.status, response.plain_content) == ("success", "Every widget has exactly four teeth [1].")
    assert response.model in ("claude-x", "llama-x", "gemini-x")
    assert (response.tokens_used.input, response.tokens_used.output, response.llm_calls) == (11, 7, 1)
    assert not response.tokens_used.estimated
    assert response.grounding.supported == 1


async def test_it_searches_with_the_tool_in_its_own_format(
    provider: Provider, agent: Agent, server: WireServer
) -> None:
    finish = {"end_turn": "tool_use"}.get(provider.stop, provider.stop)
    queries = ["teeth", "widget"]
    server.script += [provider.says(finish=finish, query=query) for query in queries]
    server.script.append(provider.says(*ANSWER, finish=provider.stop))
    response = await agent.ask(QUESTION)
    assert (response.status, [call.args["query"] for call in response.tool_calls]) == ("success", queries)
    bodies = [request.body for request in server.requests]
    # Also where it may search no more: Anthropic rejects results of a tool that is not offered.
    assert [provider.tools(body) for body in bodies] == [["search_book"]] * 3
    assert "Every widget has exactly four teeth" in str(bodies[1])


async def test_an_answer_that_reached_its_length_says_so(provider: Provider, agent: Agent, server: WireServer) -> None:
    server.script.append(provider.says(*ANSWER, " And more", finish=provider.length))
    assert CUT_OFF in (await agent.ask(QUESTION)).notices


async def test_an_answer_that_broke_off_is_asked_for_again(
    provider: Provider, agent: Agent, server: WireServer
) -> None:
    server.script += [provider.says("Every", finish=None), provider.says(*ANSWER, finish=provider.stop)]
    response = await agent.ask(QUESTION)
    assert (response.status, len(server.requests)) == ("success", 2)


@pytest.mark.parametrize("name", ["ChatAnthropic", "ChatGoogleGenerativeAI"])
async def test_a_filtered_answer_is_no_answer(name: str, server: WireServer, home: Path) -> None:
    provider = PROVIDERS[name]
    server.script.append(provider.says("Every", finish=provider.filtered))
    async with asking(home, provider.model(server.address)) as agent:
        response = await agent.ask(QUESTION)
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("invalid_input", "content_filter")


@pytest.mark.parametrize(
    ("status", "error_type", "attempts"), [(401, "auth_error", 1), (429, "rate_limit", 3), (500, "api_error", 3)]
)
async def test_a_status_becomes_our_error(
    provider: Provider, agent: Agent, server: WireServer, status: int, error_type: str, attempts: int
) -> None:
    server.script += [provider.refuses(status)] * attempts
    response = await agent.ask(QUESTION)
    assert response.error is not None
    assert (response.error.error_type, len(server.requests)) == (error_type, attempts)
    assert "OPENAI" not in response.error.hint
    assert "canary" not in response.model_dump_json()


async def test_a_run_may_set_temperature_and_length(provider: Provider, agent: Agent, server: WireServer) -> None:
    server.script.append(provider.says(*ANSWER, finish=provider.stop))
    await agent.ask(QUESTION, context=Context(temperature=0.25, max_tokens=77))
    sent = str(server.requests[0].body)
    assert "0.25" in sent
    assert "77" in sent
    assert "0.25" not in repr(agent.services.parts(None).model)


async def test_the_profile_s_options_are_not_those_of_the_given_model(server: WireServer, home: Path) -> None:
    provider = PROVIDERS["ChatOllama"]
    server.script.append(provider.says(*ANSWER, finish=provider.stop))
    async with asking(home, provider.model(server.address)) as agent:
        await agent.ask(QUESTION)
    assert server.requests[0].body["options"] == {}


async def test_langchain_s_fake_answers_without_a_tool(home: Path) -> None:
    async with asking(home, FakeListChatModel(responses=["".join(ANSWER)])) as agent:
        response = await agent.ask(QUESTION)
    assert (response.status, response.model) == ("success", "FakeListChatModel")
    assert response.tokens_used.estimated


async def test_another_object_is_refused(home: Path) -> None:
    with pytest.raises(UsageError, match="model must be of the class BaseChatModel, not str"):
        async with asking(home, "gpt-4o"):  # type: ignore[arg-type]
            pass
