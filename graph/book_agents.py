"""The agents of one process, one for each book that is asked: opened when needed, shared, and closed when idle."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from graph.agent import Agent
from graph.build import build_graph
from rag.books.stored_books import book_to_ask, books_on_offer
from rag.errors import AskbookError, UsageError, unknown_book
from rag.ports import Services
from rag.services import LiveServices, build_services, observers_of
from rag.settings import Settings

MOST: Final = 8  # books that stay open besides the first; an open one holds its vectors and a client for each profile

Suggest = Callable[[Services], Awaitable[list[str]]]


@dataclass
class _Kept:
    """An open agent. `users` are the blocks that use it now."""

    agent: Agent
    services: LiveServices
    users: int = 0


class BookAgents:
    """The agent of the usual book, which is given, and agents for the other books. Implements `HostedBooks`.

    All agents share one memory, one lock for each thread, and their models. At most `MOST` agents stay open when nobody
    uses them; the one used longest ago is closed first. `profiles` are those that readers may choose; they say how to
    read collections that other programs made. `suggest` finds questions that a book answers.
    """

    def __init__(
        self,
        settings: Settings,
        main: Agent,
        services: LiveServices,
        profiles: Collection[str] = (),
        *,
        suggest: Suggest | None = None,
        most: int = MOST,
    ) -> None:
        self.main = main
        self._settings = settings
        self._services = services
        self._profiles = profiles
        self._suggest = suggest
        self._most = most
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._opening = asyncio.Lock()
        self._questions: dict[str, list[str]] = {}
        self._suggesting: set[asyncio.Task[None]] = set()

    @property
    def usual(self) -> str:
        """The book that answers when none is named."""
        return self._services.index.collection

    async def listed(self) -> list[dict[str, Any]]:
        """The books that can be asked, as `books_on_offer` lists them, and the usual one. Raises `RetrievalError`."""
        found = await books_on_offer(self._settings, self._profiles)
        if self.usual not in [book["name"] for book in found]:  # for example a collection of another program
            usual = await self.main.book()
            found += [{"name": self.usual, "title": self.usual} | usual] if usual["passages"] else []
        return found

    @asynccontextmanager
    async def agent(self, book: str) -> AsyncIterator[Agent]:
        """The agent of a book, which stays open for the block. Raises `UsageError` "unknown_book"."""
        if book == self.usual:
            yield self.main
            return
        kept = await self._taken(book)
        try:
            if await kept.services.index.info() is None:  # deleted since it was opened
                self._kept.pop(book, None)
                raise unknown_book(book)
            yield kept.agent
        finally:
            kept.users -= 1
            await self._close_idle(kept, book)

    async def _taken(self, book: str) -> _Kept:
        """The open agent of the book, counted as in use."""
        async with self._opening:  # two requests for a book that is closed open it once
            kept = self._kept.get(book)
            if kept is None:
                kept = self._kept[book] = await self._open(book)
            self._kept.move_to_end(book)
            kept.users += 1
        return kept

    async def _open(self, book: str) -> _Kept:
        record = await book_to_ask(self._settings, book, self._profiles)
        if record is None:
            raise unknown_book(book)
        owner = next((name for name in record.profiles if name in self._profiles), self._settings.profile)
        services = await build_services(self._settings, profile=owner, collection=book, shared_with=self._services)
        graph = self.main.memory.compile(build_graph(services))
        return _Kept(Agent(graph, services, self.main.memory, observers=observers_of(self._settings)), services)

    async def _close_idle(self, left: _Kept, book: str) -> None:
        """Close what is open beyond the limit, and the agent that was left if its book has been deleted."""
        closing = [left] if not left.users and self._kept.get(book) is not left else []
        for name in [name for name, kept in self._kept.items() if not kept.users]:
            if len(self._kept) <= self._most:
                break
            closing.append(self._kept.pop(name))
        for kept in closing:
            await kept.services.aclose()

    async def questions(self, book: str) -> list[str]:
        """Questions that the book answers: none before the first call has found them, in the background."""
        if book not in self._questions and self._suggest is not None:
            self._questions[book] = []
            task = asyncio.create_task(self._find_questions(book, self._suggest))
            self._suggesting.add(task)
            task.add_done_callback(self._suggesting.discard)
        return self._questions.get(book, [])

    async def _find_questions(self, book: str, suggest: Suggest) -> None:
        with suppress(AskbookError):  # readers can ask without
            async with self.agent(book) as agent:
                self._questions[book] = await suggest(agent.services)

    async def aclose(self) -> None:
        """Close all agents but the first, which belongs to the caller."""
        tasks = list(self._suggesting)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        while self._kept:
            _, kept = self._kept.popitem()
            await kept.services.aclose()


@asynccontextmanager
async def open_book_agents(
    settings: Settings, main: Agent, profiles: Collection[str] = (), *, suggest: Suggest | None = None
) -> AsyncIterator[BookAgents]:
    """The agents beside `main`, closed at exit. `main` must have services of its own, as `open_agent` builds them."""
    if not isinstance(main.services, LiveServices):
        raise UsageError("These services have no index that other books could be opened from.", code="given")
    async with aclosing(BookAgents(settings, main, main.services, profiles, suggest=suggest)) as agents:
        yield agents
