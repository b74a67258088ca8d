"""What the HTTP application is given: the agents as ports, the profiles on offer, the keys and the limits."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from langchain_core.messages import AnyMessage
from pydantic import BaseModel

from rag.profiles.offered_profiles import Offer
from rag.types import Event
from rag.web.api_keys import People
from rag.web.book_access import BookAccess

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")


class HostedAgent(Protocol):
    """The agent that the application serves. Turns raise only `UsageError`; other methods `MemoryFailureError` too.

    `graph.agent.Agent` is the implementation.
    """

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
    ) -> AsyncGenerator[Event, None]:
        """One turn over a conversation that the caller keeps; nothing is stored."""
        ...

    def stream_retry(self, thread_id: str, *, context: Any = None) -> AsyncGenerator[Event, None]: ...

    async def undo(self, thread_id: str) -> str | None: ...

    async def clear(self, thread_id: str) -> None: ...

    async def threads(self) -> list[str]: ...

    async def summary(self, thread_id: str) -> dict[str, Any] | None: ...

    async def conversation(self, thread_id: str) -> dict[str, Any]: ...

    async def passages(self, chunk_ids: Sequence[str]) -> list[dict[str, Any]]: ...

    async def search(self, query: str, *, k: int | None = None, filter: str | None = None) -> dict[str, Any]: ...

    async def book(self) -> dict[str, Any]: ...

    async def check_health(self) -> dict[str, str]:
        """What fails, by part ("index", "memory"), in one sentence each; empty when everything answers."""
        ...


class HostedBooks(Protocol):
    """The books of the application, each with an agent of its own. All agents know the same conversations.

    `graph.book_agents.BookAgents` is the implementation.
    """

    @property
    def main(self) -> HostedAgent:
        """The agent of the usual book, for whatever is not about one book."""
        ...

    @property
    def usual(self) -> str:
        """The book that answers when none is named."""
        ...

    async def listed(self) -> list[dict[str, Any]]:
        """The books that can be asked, as JSON data with a `name` each. Raises `RetrievalError`."""
        ...

    def agent(self, book: str) -> AbstractAsyncContextManager[HostedAgent]:
        """The agent of a book, which stays open for the block. Raises `UsageError` "unknown_book"."""
        ...

    async def questions(self, book: str) -> list[str]:
        """Questions for a first visitor; empty until some are known."""
        ...


@dataclass(frozen=True)
class Limits:
    """Bounds of a request and of a person. `turns_per_minute` and `concurrent_turns` hold for each key."""

    body_bytes: int = 1_000_000
    turns_per_minute: int = 60
    concurrent_turns: int = 8


@dataclass(frozen=True)
class Hosting:
    """Everything the application needs. `context_type` validates the options of one turn that a client may set.

    Without keys the application answers only requests that name one of `hosts`, so that no page of another site can use
    it through the reader's browser. `origins` are the sites whose pages may call it. `access` says which books each
    key may see.
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
