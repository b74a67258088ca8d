"""Turns over a hosted embedder and reranker that fail in every way: what is told, what is not, and that it goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio

from graph.agent import Agent, open_agent
from nodes.turn import RetrySettings
from rag.embedding import hosted
from rag.settings import Settings
from rag.text.sentences import without_markers
from rag.types import new_id
from tests.cohere_server import CohereServer, cohere_server, reshaped, says
from tests.conftest import index_book
from tests.homes import copied, stored
from tests.search_faults import ATTEMPTS, QUESTION, Fault, goes_on, goes_wrong
from tests.wire import cut_off, drops, hangs, html, malformed, nobody

pytestmark = pytest.mark.asyncio(loop_scope="module")

CANARY: Final = "co-canary-4711"
RETRIES: Final = RetrySettings(max_attempts=ATTEMPTS, time_scale=0)


def settings_of(home: Path, address: str, **variables: Any) -> Settings:
    given: dict[str, Any] = {"COHERE_API_KEY": CANARY, "COHERE_BASE_URL": address, "ASKBOOK_RERANK": "cohere"}
    return Settings(ASKBOOK_HOME=home, **(given | variables))  # type: ignore[call-arg]  # by variable


@pytest.fixture(scope="module")
def server() -> Iterator[CohereServer]:
    with cohere_server() as running:
        yield running


@pytest.fixture(scope="module")
def home(server: CohereServer, tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with the tiny book in it, embedded by the stand-in."""
    folder = tmp_path_factory.mktemp("hosted")
    settings = settings_of(folder, server.address)
    asyncio.run(index_book(tiny_source, folder, settings=settings))
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(home: Path, server: CohereServer) -> AsyncIterator[Agent]:
    async with open_agent(settings_of(home, server.address), retries=RETRIES) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _as_it_was(server: CohereServer) -> Iterator[None]:
    server.embedded.clear()
    server.ranked.clear()
    yield
    server.faults.clear()


FAULTS: Final = {
    "401": Fault(says(401, f"invalid api token {CANARY}"), "wrong_key", error_type="auth_error"),
    "403": Fault(says(403, CANARY), "forbidden", error_type="auth_error"),
    "404": Fault(says(404, CANARY), "model_not_found"),
    "408": Fault(says(408, CANARY), "timeout", ATTEMPTS),
    "409": Fault(says(409, CANARY), "conflict", ATTEMPTS),
    "422": Fault(says(422, CANARY), "bad_request"),
    "429": Fault(says(429, CANARY), "rate_limit", ATTEMPTS, "rate_limit", 10),
    "429 with its seconds": Fault(says(429, CANARY, retry_after="7"), "rate_limit", ATTEMPTS, "rate_limit", 7),
    "500": Fault(says(500, CANARY), "server_error", ATTEMPTS),
    "502 as a page": Fault(html(502), "server_error", ATTEMPTS),
    "503": Fault(says(503, CANARY), "server_error", ATTEMPTS),
    "dropped": Fault(drops(), "unreachable", ATTEMPTS),
    "cut off": Fault(cut_off('{"id": "1"'), "unreachable", ATTEMPTS),
    "malformed": Fault(malformed(), "bad_response"),
    "another shape": Fault(reshaped(note=CANARY), "bad_response"),
}


def of(part: str, fault: Fault) -> Fault:
    """The fault as that part of the search tells it."""
    return replace(fault, code=f"{part}_{fault.code}")


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize(("part", "path"), [("embedding", "/embed"), ("rerank", "/rerank")])
async def test_a_fault_is_told_exactly_and_the_thread_goes_on(
    agent: Agent, server: CohereServer, home: Path, caplog: pytest.LogCaptureFixture, part: str, path: str, name: str
) -> None:
    """On the first turn of a thread and, once it has an answer, on a later one."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, logger="aiosqlite")  # it logs what the checkpoints hold, which is looked at anyway
    thread, fault, shown = new_id(), FAULTS[name], ""
    for turn in (1, 3):
        server.faults[path] = fault.reply
        asked = len(server.requests)
        shown += (await goes_wrong(agent, thread, of(part, fault))).model_dump_json()
        assert CANARY.encode() not in stored(home, "memory.sqlite*")
        assert sum(path in request.path for request in server.requests[asked:]) == fault.tries
        server.faults.clear()
        await goes_on(agent, thread, turn + 1)
    assert CANARY not in shown + caplog.text
    kept = stored(home)
    assert QUESTION.encode() in kept
    assert CANARY.encode() not in kept


@pytest.mark.parametrize(("part", "path"), [("embedding", "/embed"), ("rerank", "/rerank")])
async def test_a_service_that_hangs_is_given_up_and_the_thread_goes_on(
    agent: Agent, server: CohereServer, home: Path, monkeypatch: pytest.MonkeyPatch, part: str, path: str
) -> None:
    thread = new_id()
    for turn in (1, 3):
        with monkeypatch.context() as patch:
            patch.setattr(hosted, "TIMEOUT", 0.5 if part == "rerank" else 0.05)  # for the rerank, embedding must work
            once = RetrySettings(max_attempts=1)
            async with open_agent(settings_of(home, server.address), retries=once) as asks_once:
                server.faults[path] = hangs()
                await goes_wrong(asks_once, thread, Fault(hangs(), f"{part}_timeout"))
        server.faults.clear()
        await goes_on(agent, thread, turn + 1)


@pytest.mark.parametrize("part", ["embedding", "rerank"])
async def test_a_service_that_is_not_there_is_told_and_the_thread_goes_on(
    agent: Agent, home: Path, tiny_book: Path, tmp_path: Path, part: str
) -> None:
    thread = new_id()
    with nobody() as address:
        settings = settings_of(home, address)
        if part == "rerank":  # the embedder must be there, so it is the one inside this process
            settings = settings_of(copied(tiny_book, tmp_path), address, ASKBOOK_EMBEDDING_MODEL="packaged")
        async with open_agent(settings, retries=RETRIES) as lonely:
            await goes_wrong(lonely, thread, Fault(drops(), f"{part}_unreachable"))
    if part == "embedding":
        await goes_on(agent, thread, 2)


async def test_a_turn_is_billed_for_its_question_and_its_order_alone(
    agent: Agent, server: CohereServer, home: Path
) -> None:
    await agent.ask(QUESTION, thread_id=new_id())
    assert server.embedded == [("search_query", QUESTION)]
    assert [question for question, _ in server.ranked] == [QUESTION]


async def test_a_follow_up_is_embedded_with_its_contexts_in_one_request(
    agent: Agent, server: CohereServer, home: Path
) -> None:
    thread = new_id()
    first = await agent.ask(QUESTION, thread_id=thread)
    asked = len(server.requests)
    await agent.ask("And its axle?", thread_id=thread)
    embedded = [request.body["texts"] for request in server.requests[asked:] if request.path == "/v1/embed"]
    assert embedded == [
        ["And its axle?", f"And its axle? {QUESTION}", f"And its axle? {without_markers(first.plain_content).strip()}"]
    ]


async def test_opening_and_closing_calls_nobody(server: CohereServer, home: Path) -> None:
    asked = len(server.requests)
    async with open_agent(settings_of(home, server.address)) as opened:
        assert "at Cohere" in opened.services.parts(None).searched_with
    assert len(server.requests) == asked


async def test_a_book_of_another_model_is_refused_before_anything_is_embedded(
    server: CohereServer, tiny_book: Path, tiny_source: Path, tmp_path: Path
) -> None:
    asked = len(server.requests)
    settings = settings_of(copied(tiny_book, tmp_path), server.address, COHERE_MODEL="embed-v4.0")
    async with open_agent(settings) as mismatched:
        response = await mismatched.ask(QUESTION)
    assert len(server.requests) == asked
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("retrieval_error", "embedding_mismatch")
    assert "all-MiniLM-L6-v2-int8 (384 dimensions)" in response.error.message
    assert "embed-v4.0 (1536 dimensions)" in response.error.message
    assert f'"python run.py ingest {tiny_source} --collection book --rebuild"' in response.error.hint
    assert "ASKBOOK_EMBEDDING_MODEL=packaged" in response.error.hint
