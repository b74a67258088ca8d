"""The agents of several books in one process: opened when needed, shared, and closed when idle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graph.agent import open_agent
from graph.book_agents import BookAgents, open_book_agents
from rag.books.stored_books import delete_book
from rag.errors import UsageError
from rag.services import LiveServices
from rag.settings import Settings
from tests.conftest import KETTLES, index_book
from tests.homes import copied

COPPER = "What is the lid of a kettle made of?"


@pytest.fixture
def settings(two_books: Path, tmp_path: Path) -> Settings:
    return Settings(home=copied(two_books, tmp_path / "home"))


@pytest.fixture
async def agents(settings: Settings) -> AsyncIterator[BookAgents]:
    async with open_agent(settings) as main, open_book_agents(settings, main, ["default"]) as opened:
        yield opened


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The books whose services were closed, in that order."""
    found: list[str] = []
    close = LiveServices.aclose

    async def noted(services: LiveServices) -> None:
        found.append(services.index.collection)
        await close(services)

    monkeypatch.setattr(LiveServices, "aclose", noted)
    return found


async def test_each_book_answers_from_its_own_pages(agents: BookAgents) -> None:
    async with agents.agent("kettles") as kettles, agents.agent(agents.usual) as usual:
        assert usual is agents.main
        assert "copper" in (await kettles.ask(COPPER, thread_id="t")).plain_content
        assert (await usual.ask(COPPER, thread_id="u")).status == "fallback"
    assert set(await agents.main.threads()) == {"t", "u"}


async def test_the_listed_books_are_those_that_can_be_asked(agents: BookAgents) -> None:
    names = [book["name"] for book in await agents.listed()]
    assert names == ["book", "kettles"]
    for name in names:
        async with agents.agent(name) as agent:
            assert (await agent.book())["collection"] == name


async def test_a_model_is_loaded_once_for_all_books(agents: BookAgents) -> None:
    async with agents.agent("kettles") as kettles:
        assert isinstance(kettles.services, LiveServices)
        assert isinstance(agents.main.services, LiveServices)
        assert kettles.services.embedder is agents.main.services.embedder
        assert kettles.services.local_embedder is agents.main.services.local_embedder


async def test_requests_at_once_open_a_book_once(agents: BookAgents) -> None:
    async def opened() -> int:
        async with agents.agent("kettles") as agent:
            await asyncio.sleep(0)
            return id(agent)

    assert len(set(await asyncio.gather(*(opened() for _ in range(5))))) == 1


async def test_the_book_used_longest_ago_is_closed_and_never_one_in_use(settings: Settings, closed: list[str]) -> None:
    pages = settings.home / "pages"
    pages.mkdir()
    (pages / "kettles.md").write_text(KETTLES, encoding="utf-8")
    for name in ("pans", "pots"):
        await index_book(pages, settings.home, settings=settings, collection=name)
    async with open_agent(settings) as main:
        assert isinstance(main.services, LiveServices)
        agents = BookAgents(settings, main, main.services, ["default"], most=1)
        async with agents.agent("kettles") as kettles:
            async with agents.agent("pans"):
                pass
            assert closed == ["pans"]  # the only idle one
            assert "copper" in (await kettles.ask(COPPER, thread_id="t")).plain_content
        async with agents.agent("pots"):
            pass
        assert closed == ["pans", "kettles"]
        async with agents.agent("kettles") as again:
            assert "copper" in (await again.ask(COPPER, thread_id="t2")).plain_content
        assert closed == ["pans", "kettles", "pots"]
        await agents.aclose()
    assert closed == ["pans", "kettles", "pots", "kettles", "book"]


@pytest.mark.parametrize("name", ["none", "../kettles", "a b", "", "x" * 300, "manual"])
async def test_an_unknown_book_opens_nothing(agents: BookAgents, settings: Settings, name: str) -> None:
    before = sorted(path.name for path in (settings.home / "index").iterdir())
    with pytest.raises(UsageError) as raised:
        async with agents.agent(name):
            pass
    assert raised.value.code == "unknown_book"
    assert sorted(path.name for path in (settings.home / "index").iterdir()) == before


async def test_a_book_that_is_deleted_while_it_is_open_is_unknown_and_closed(
    agents: BookAgents, settings: Settings, closed: list[str]
) -> None:
    async with agents.agent("kettles"):
        pass
    await delete_book(settings, "kettles")
    with pytest.raises(UsageError, match="no book"):
        async with agents.agent("kettles"):
            pass
    assert closed == ["kettles"]
    assert [book["name"] for book in await agents.listed()] == ["book"]


async def test_a_changed_book_answers_with_its_new_pages(
    agents: BookAgents, settings: Settings, tmp_path: Path
) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "kettles.md").write_text(KETTLES.replace("copper", "glass"), encoding="utf-8")
    async with agents.agent("kettles") as kettles:
        assert "copper" in (await kettles.ask(COPPER, thread_id="t")).plain_content
        await index_book(pages, settings.home, settings=settings, collection="kettles")
        assert "glass" in (await kettles.ask(COPPER, thread_id="u")).plain_content


async def test_questions_are_found_in_the_background_for_each_book(settings: Settings) -> None:
    found = asyncio.Event()

    async def suggested(services: object) -> list[str]:
        assert isinstance(services, LiveServices)
        found.set()
        return [f"What is in {services.index.collection}?"]

    async with open_agent(settings) as main, open_book_agents(settings, main, suggest=suggested) as agents:
        assert await agents.questions("kettles") == []
        await found.wait()
        assert await agents.questions("kettles") == ["What is in kettles?"]
