"""What the HTTP application is given: the agents as ports, the profiles on offer, the keys and the limits."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from langchain_core.messages import AnyMessage
from pydantic import BaseModel

from rag.errors import UsageError
from rag.profiles.offered_profiles import Offer
from rag.types import Event
from rag.web.api_keys import People

_SEPARATOR = ":"  # in neither the name of a key nor that of a collection
_ORIGIN = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?/?", re.IGNORECASE)
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")


class BookAccess(NamedTuple):
    """The entries of ASKBOOK_BOOKS, as (name of a key or "" for everyone, book); None if every book may be seen."""

    entries: tuple[tuple[str, str], ...] | None = None

    @classmethod
    def parse(cls, text: str | None, names: Collection[str] = ()) -> BookAccess:
        """The access from `BOOK,NAME:BOOK`; `names` are those of the keys. Raises `UsageError` for another name."""
        if text is None:
            return cls()
        entries = []
        for entry in filter(None, (part.strip() for part in text.split(","))):
            name, separator, book = entry.rpartition(_SEPARATOR)
            if not book or (separator and name not in names):
                problem = f"ASKBOOK_BOOKS has the entry {entry[:100]!r}"
                told = ", but ASKBOOK_API_KEYS has no such name." if book and name else ", which is not allowed."
                raise UsageError(problem + told, code="settings", hint="Write BOOK for everyone, or NAME:BOOK.")
            entries.append((name, book))
        if not entries:
            raise UsageError("ASKBOOK_BOOKS lists no book.", code="settings", hint="Unset it to offer every book.")
        return cls(tuple(entries))

    def allows(self, name: str, book: str) -> bool:
        """Whether the key of that name may see the book. Says nothing about whether there is such a book."""
        return self.entries is None or any(book == one for owner, one in self.entries if owner in ("", name))

    def usual(self, name: str, usual: str) -> str | None:
        """The book that answers this key when it names none: `usual` if the key may see it, else its first one."""
        if self.allows(name, usual):
            return usual
        return next((book for owner, book in self.entries or () if owner in ("", name)), None)


def origins_of(text: str | None) -> tuple[str, ...]:
    """The sites of ASKBOOK_ALLOWED_ORIGINS, as a browser names them. Raises `UsageError` for what is no site."""
    entries = tuple(filter(None, (part.strip() for part in (text or "").split(","))))
    for entry in entries:
        if not _ORIGIN.fullmatch(entry):
            problem = f"ASKBOOK_ALLOWED_ORIGINS has the entry {entry[:100]!r}, which is no site."
            raise UsageError(problem, code="settings", hint="Write scheme and host, such as https://docs.example.org.")
    return tuple(entry.lower().removesuffix("/") for entry in entries)


class HostedAgent(Protocol):
    """The agent that is served, as `graph.agent.Agent` describes its methods."""

    def stream(
        self,
        question: str,
        *,
        thread_id: str | None = None,
        context: Any = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Event, None]: ...

    def stream_messages(
        self, messages: Sequence[AnyMessage], *, context: Any = None, metadata: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[Event, None]: ...

    def stream_retry(
        self, thread_id: str, *, context: Any = None, last: str | None = None
    ) -> AsyncGenerator[Event, None]: ...

    async def undo(self, thread_id: str, *, last: str | None = None) -> str: ...

    async def clear(self, thread_id: str) -> None: ...

    async def threads(self) -> list[str]: ...

    async def summary(self, thread_id: str) -> dict[str, Any] | None: ...

    async def conversation(self, thread_id: str) -> dict[str, Any]: ...

    async def passages(self, chunk_ids: Sequence[str]) -> list[dict[str, Any]]: ...

    async def search(self, query: str, *, k: int | None = None, filter: str | None = None) -> dict[str, Any]: ...

    async def book(self) -> dict[str, Any]: ...

    async def check_health(self) -> dict[str, str]: ...


class HostedBooks(Protocol):
    """The books and their agents, as `graph.book_agents.BookAgents` describes its methods.

    `main` is the agent of the book `usual`, which answers when none is named. All agents know the same conversations.
    """

    @property
    def main(self) -> HostedAgent: ...

    @property
    def usual(self) -> str: ...

    async def listed(self) -> list[dict[str, Any]]: ...

    def agent(self, book: str) -> AbstractAsyncContextManager[HostedAgent]: ...

    async def questions(self, book: str) -> list[str]: ...


@dataclass(frozen=True)
class Limits:
    """Bounds of a request and of a person. `turns_per_minute` and `concurrent_turns` hold for each key."""

    body_bytes: int = 1_000_000
    turns_per_minute: int = 60
    concurrent_turns: int = 8


@dataclass(frozen=True)
class Hosting:
    """Everything the application needs. `context_type` validates the options of a turn.

    Without keys only requests to one of `hosts` are answered, so that no other site can use the reader's browser.
    `origins` are the sites whose pages may call it. `access` says which books each key may see.
    """

    books: HostedBooks
    context_type: type[BaseModel]
    offer: Offer
    people: People = field(default_factory=People)
    limits: Limits = field(default_factory=Limits)
    hosts: Sequence[str] = LOCAL_HOSTS
    origins: Sequence[str] = ()
    access: BookAccess = field(default_factory=BookAccess)

    @property
    def agent(self) -> HostedAgent:
        """The agent for conversations, which all agents share."""
        return self.books.main
