"""Turns over a Qdrant server that fails in every way: what is told, what is not, and that it goes on."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import pytest_asyncio

from graph.agent import Agent, open_agent
from nodes.turn import RetrySettings
from rag.settings import Settings
from rag.types import new_id
from tests.conftest import index_book
from tests.homes import stored
from tests.qdrant_faults import CANARY, FAULTS
from tests.qdrant_server import QdrantServer, refused
from tests.search_faults import ATTEMPTS, QUESTION, Fault, goes_on, goes_wrong
from tests.wire import Reply, listening, nobody

pytestmark = pytest.mark.asyncio(loop_scope="module")

RETRIES: Final = RetrySettings(max_attempts=ATTEMPTS, time_scale=0)
LOOK, SEARCH = "/collections/book", "/points/query"
# A search looks at the collection first: a few faults show that what fails there is told alike.
CASES: Final = [
    *((SEARCH, name) for name in FAULTS),
    *((LOOK, name) for name in ("401", "404 collection missing", "429", "hang", "another shape")),
]


def settings_of(home: Path, address: str) -> Settings:
    address = address.replace("http://", f"http://user:{CANARY}@")
    given = {"QDRANT_URL": address, "QDRANT_API_KEY": CANARY, "QDRANT_COLLECTION_NAME": "book"}
    return Settings(ASKBOOK_HOME=home, **given)  # type: ignore[call-arg,arg-type]  # by variable


@pytest.fixture(scope="module")
def server() -> Iterator[QdrantServer]:
    with listening(QdrantServer(key=CANARY)) as running:
        yield running


@pytest.fixture(scope="module")
def home(server: QdrantServer, tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder whose book, the tiny one, is on the stand-in."""
    folder = tmp_path_factory.mktemp("served")
    asyncio.run(index_book(tiny_source, folder, settings=settings_of(folder, server.address)))
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(home: Path, server: QdrantServer) -> AsyncIterator[Agent]:
    async with open_agent(settings_of(home, server.address), retries=RETRIES) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _as_it_was(server: QdrantServer) -> Iterator[None]:
    yield
    server.faults.clear()


def wire(agent: Agent) -> Any:
    """The REST client below the index, to be less patient than a user is."""
    index: Any = agent.services.index
    return index._client.openapi_client.client


@contextmanager
def in_haste(agent: Agent, path: str) -> Iterator[None]:
    """Little time for what hangs. What answers may take long on a busy machine, and so may a connection."""

    async def hurry(request: httpx.Request) -> None:
        if path in request.url.path:
            request.extensions["timeout"]["read"] = 0.04

    client = wire(agent)._async_client
    usual = client.event_hooks
    client.event_hooks = usual | {"request": [*usual["request"], hurry]}
    try:
        yield
    finally:
        client.event_hooks = usual


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """All that was logged of ours and LangGraph's, with the causes of what was raised."""
    traces = [
        "".join(traceback.format_exception(one.exc_info[1]))
        for one in caplog.records
        if one.exc_info and one.exc_info[1]
    ]
    return caplog.text + "".join(traces)


@pytest.mark.parametrize(("path", "name"), CASES)
async def test_a_fault_is_told_exactly_and_the_thread_goes_on(
    agent: Agent, server: QdrantServer, home: Path, caplog: pytest.LogCaptureFixture, path: str, name: str
) -> None:
    """On the first turn of a thread and, once it has an answer, on a later one."""
    caplog.set_level(logging.DEBUG)
    for name_of_log in ("httpx", "httpcore", "asyncio"):  # not ours: headers are theirs to log, and they hide keys
        caplog.set_level(logging.WARNING, name_of_log)
    caplog.set_level(logging.INFO, logger="aiosqlite")  # it logs what the checkpoints hold, which is looked at anyway
    thread, fault, shown = new_id(), FAULTS[name], ""
    for turn in (1, 3):
        server.faults[path] = fault.reply
        server.requests.clear()
        with in_haste(agent, path) if fault.reply.hang else nullcontext():
            shown += (await goes_wrong(agent, thread, fault)).model_dump_json()
        assert CANARY.encode() not in stored(home, "memory.sqlite*")
        looks = sum(request.path.endswith("/book") for request in server.requests)
        # A state of the book that is gone or forbidden is looked for once more, and then searched by the book's name.
        assert looks == fault.tries + (path == SEARCH and name in ("403", "404 collection missing"))
        server.faults.clear()
        await goes_on(agent, thread, turn + 1)
    assert CANARY not in shown + logged(caplog)
    kept = stored(home)
    assert QUESTION.encode() in kept
    assert CANARY.encode() not in kept


async def test_a_server_that_is_gone_is_told_and_the_thread_goes_on_when_it_is_back(agent: Agent) -> None:
    thread, client = new_id(), wire(agent)
    address = client.host
    for turn in (1, 3):
        with nobody() as client.host:
            await goes_wrong(agent, thread, Fault(Reply(), "index_unreachable"))
        client.host = address
        await goes_on(agent, thread, turn + 1)


async def test_the_question_of_a_failed_turn_is_not_lost(agent: Agent, server: QdrantServer) -> None:
    thread = new_id()
    server.faults[SEARCH] = refused(500, CANARY)
    await goes_wrong(agent, thread, FAULTS["500"])
    server.faults.clear()
    again = await agent.retry(thread)
    assert (again.status, again.turn_number) == ("success", 1)
