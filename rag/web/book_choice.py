"""Which book and which profile answer a request: those that it names, or those of its conversation."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, NamedTuple

from rag.errors import UsageError, unknown_book
from rag.types import Event
from rag.web.api_keys import Person
from rag.web.hosting import HostedAgent, Hosting
from rag.web.http_errors import RequestRefusedError


class BookChoice(NamedTuple):
    """The book and the profile of a turn. Without a profile the default one answers."""

    book: str
    profile: str | None


async def choose(
    hosting: Hosting, person: Person, stored: str | None = None, *, book: Any = None, profile: Any = None
) -> BookChoice:
    """The book and the profile of a turn, of what the request names (None: nothing) and its stored conversation.

    A conversation stays with its book, and with its profile unless the request names another. Raises
    `UsageError` for a book that this person may not see, which is the same as for one that does not exist, and
    `RequestRefusedError` 409 for another book than the conversation's.
    """
    if book is not None and not isinstance(book, str):
        raise UsageError("book is not a string.", code="invalid_option")
    summary = await hosting.agent.summary(stored) if stored is not None else None
    begun = summary["collections"][-1] if summary and summary["collections"] else None
    if book and begun and book != begun:
        own_book(hosting, person, book)
        message = f'This conversation is with the book "{begun}".'
        raise RequestRefusedError(409, "other_book", message, hint="Begin another conversation for another book.")
    if profile is None and summary and summary["profile"] in hosting.offer.names:
        profile = summary["profile"]
    return BookChoice(own_book(hosting, person, book or begun), profile)


def own_book(hosting: Hosting, person: Person, book: str | None) -> str:
    """The book, or this person's usual one for None. Raises `UsageError` for one that it may not see."""
    usual = hosting.access.usual(person.name, hosting.books.usual)
    chosen = book or usual
    if chosen is None:
        raise RequestRefusedError(404, "unknown_book", "There is no book for this key.")
    if not hosting.access.allows(person.name, chosen):
        raise unknown_book(chosen)
    return chosen


async def own_books(hosting: Hosting, person: Person) -> list[dict[str, Any]]:
    """The books that this person may ask; `current` marks the one that answers when none is named."""
    usual = hosting.access.usual(person.name, hosting.books.usual)
    found = [book for book in await hosting.books.listed() if hosting.access.allows(person.name, book["name"])]
    return [book | {"current": book["name"] == usual} for book in found]


async def events_of(
    hosting: Hosting, book: str, turn: Callable[[HostedAgent], AsyncGenerator[Event, None]]
) -> AsyncGenerator[Event, None]:
    """The events of a turn with the book's agent, which stays open until the turn has ended."""
    async with hosting.books.agent(book) as agent, aclosing(turn(agent)) as events:
        async for event in events:
            yield event
