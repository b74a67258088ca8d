"""Turns over the embedded index that cannot be used: held by somebody else, damaged, out of reach, or gone."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio

from graph.agent import Agent, open_agent
from rag.errors import USER_MESSAGES, told
from rag.index.edge_files import NamedLock
from rag.retry import Patience
from rag.settings import Settings
from rag.types import new_id
from tests.homes import copied

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION: Final = "How many teeth does a widget have?"


@pytest.fixture(scope="module")
def home(tiny_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tiny book's home."""
    folder = tmp_path_factory.mktemp("copy") / "home"
    return copied(tiny_book, folder)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(home: Path) -> AsyncIterator[Agent]:
    settings = Settings(_env_file=None, ASKBOOK_HOME=home)  # type: ignore[call-arg]  # fields go by their variables
    async with open_agent(settings, collection="book", patience=Patience(attempts=2, pace=0)) as opened:
        index: Any = opened.services.index
        index._wait = 0.01  # seconds; a user's search waits longer for its turn
        yield opened


def book(home: Path) -> Path:
    return home / "index" / "book"


@contextmanager
def locked(home: Path) -> Iterator[None]:
    with NamedLock(book(home) / "lock").held("ingest", seconds=1):
        yield


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
def no_lock_to_take(home: Path) -> Iterator[None]:
    """The lock is a folder: as with a full disk or a folder without rights, the file cannot be opened."""
    lock = book(home) / "lock"
    lock.unlink()
    lock.mkdir()
    try:
        yield
    finally:
        lock.rmdir()


def generation(home: Path) -> Path:
    return book(home) / (book(home) / "current").read_text()


FAULTS: Final[dict[str, tuple[Callable[[Path], AbstractContextManager[None]], str]]] = {
    "locked": (locked, "index_locked"),
    "gone": (gone, "no_index"),
    "damaged": (damaged, "index_broken"),
    "cut short": (cut_short, "index_broken"),
    "out of reach": (no_lock_to_take, "index_files"),
}


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
        assert response.content == told(response.error)
        assert response.error.hint
        assert "\n" not in response.error.message
        response = await agent.ask(QUESTION, thread_id=thread)
        assert (response.status, response.turn_number) == ("success", turn + 1), response.error
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("call", ["open", "write"])
async def test_a_full_disk_is_told_and_the_thread_goes_on(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    usual: Any = os.open if call == "open" else Path.write_text

    def full(path: Any, *rest: Any, **more: Any) -> Any:
        if "index" not in Path(path).parts:  # the memory has a disk of its own
            return usual(path, *rest, **more)
        raise OSError(28, os.strerror(28))

    thread = new_id()
    for turn in (1, 3):
        with monkeypatch.context() as broken:
            if call == "open":
                broken.setattr(os, "open", full)
            else:
                broken.setattr(Path, "write_text", full)
            response = await agent.ask(QUESTION, thread_id=thread)
        assert response.error is not None
        assert (response.error.error_type, response.error.code) == ("retrieval_error", "index_files")
        assert "No space left on device" in response.error.message
        assert response.error.hint == "Free disk space."
        response = await agent.ask(QUESTION, thread_id=thread)
        assert (response.status, response.turn_number) == ("success", turn + 1)
