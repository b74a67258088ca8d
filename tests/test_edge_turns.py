"""Turns over the embedded index: damaged, gone, out of reach, on a full disk, or used by many at once."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from graph.agent import Agent, open_agent
from nodes.turn import RetrySettings
from rag.errors import USER_MESSAGES
from rag.settings import Settings
from rag.types import new_id
from tests.homes import copied

QUESTION: Final = "How many teeth does a widget have?"


@pytest.fixture(scope="module")
def home(tiny_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tiny book's home."""
    folder = tmp_path_factory.mktemp("copy") / "home"
    return copied(tiny_book, folder)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(home: Path) -> AsyncIterator[Agent]:
    settings = Settings(ASKBOOK_HOME=home)  # type: ignore[call-arg]  # fields go by their variables
    async with open_agent(settings, collection="book", retries=RetrySettings(max_attempts=2, time_scale=0)) as opened:
        yield opened


def book(home: Path) -> Path:
    return home / "index" / "book"


@contextmanager
def moved(path: Path) -> Iterator[None]:
    away = path.with_name("away")
    path.rename(away)
    try:
        yield
    finally:
        if path.is_dir():
            shutil.rmtree(path)
        away.rename(path)


def gone(home: Path) -> AbstractContextManager[None]:
    return moved(book(home))


@contextmanager
def damaged(home: Path) -> Iterator[None]:
    with moved(generation(home)):
        (home / "index" / "book" / (book(home) / "current").read_text()).mkdir()
        yield


@contextmanager
def cut_short(home: Path) -> Iterator[None]:
    card = generation(home) / "collection.json"
    whole = card.read_bytes()
    card.write_bytes(whole[: len(whole) // 2])
    try:
        yield
    finally:
        card.write_bytes(whole)


@contextmanager
def no_pointer_to_read(home: Path) -> Iterator[None]:
    pointer = book(home) / "current"
    name = pointer.read_text()
    pointer.unlink()
    pointer.mkdir()
    try:
        yield
    finally:
        pointer.rmdir()
        pointer.write_text(name)


def generation(home: Path) -> Path:
    return book(home) / (book(home) / "current").read_text()


FAULTS: Final[dict[str, tuple[Callable[[Path], AbstractContextManager[None]], str]]] = {
    "gone": (gone, "no_index"),
    "damaged": (damaged, "index_broken"),
    "cut short": (cut_short, "index_broken"),
    "out of reach": (no_pointer_to_read, "index_broken"),
}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", FAULTS)
async def test_an_index_that_cannot_be_used_is_told_and_the_thread_goes_on(
    agent: Agent, home: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """On the first turn of a thread and, once it has an answer, on a later one."""
    caplog.set_level(logging.WARNING)
    fault, code = FAULTS[name]
    thread = new_id()
    for turn in (1, 3):
        with fault(home):
            response = await agent.ask(QUESTION, thread_id=thread)
        assert response.error is not None
        assert (response.error.error_type, response.error.code) == ("retrieval_error", code), response.error
        assert response.error.user_message == USER_MESSAGES["retrieval_error"]
        assert response.content == response.error.user_message
        assert response.error.hint
        assert "\n" not in response.error.message
        response = await agent.ask(QUESTION, thread_id=thread)
        assert (response.status, response.turn_number) == ("success", turn + 1), response.error
    assert "Traceback" not in caplog.text


@pytest.mark.asyncio(loop_scope="module")
async def test_a_full_disk_is_told_and_the_thread_goes_on(agent: Agent, home: Path) -> None:
    """Opening an index writes to its folder; the memory has a disk of its own. An open index needs no room."""
    usual, thread = shutil.disk_usage, new_id()
    for turn in (1, 3):
        with pytest.MonkeyPatch.context() as full:
            full.setattr(shutil, "disk_usage", lambda path: usual(path)._replace(free=0))
            await agent.services.index.aclose()
            response = await agent.ask(QUESTION, thread_id=thread)
        assert response.error is not None
        assert (response.error.error_type, response.error.code) == ("retrieval_error", "index_files")
        assert "No space left on device" in response.error.message
        assert response.error.hint == "Free disk space."
        response = await agent.ask(QUESTION, thread_id=thread)
        assert (response.status, response.turn_number) == ("success", turn + 1)


def test_twenty_asks_at_once_on_twenty_threads_are_answered(home: Path) -> None:
    """Each with an agent of its own, as in a program that opens one for every request."""

    async def ask() -> str:
        settings = Settings(ASKBOOK_HOME=home)  # type: ignore[call-arg]  # as above
        async with open_agent(settings, collection="book") as opened:
            response = await opened.ask(QUESTION, thread_id=new_id())
        return response.error.message if response.error else response.status

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(lambda _: asyncio.run(ask()), range(20))) == ["success"] * 20
