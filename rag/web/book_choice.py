"""Which book and which profile answer a request, by its field `model`: a profile, `askbook/BOOK`, or `PROFILE/BOOK`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Final, NamedTuple

from rag.errors import UsageError, unknown_book
from rag.profiles.offered_profiles import Offer
from rag.types import Event
from rag.web.api_keys import Person
from rag.web.hosting import HostedAgent, Hosting
from rag.web.http_requests import RequestRefusedError


class BookChoice(NamedTuple):
    """The book and the profile of a turn. Without a profile the default one answers."""

    book: str
    profile: str | None


async def choose(
    hosting: Hosting, person: Person, stored: str | None = None, *, book: Any = None, profile: Any = None
) -> BookChoice:
    """The book and the profile of a turn. A conversation stays with its book, and with its profile unless the request
    names another. Raises `UsageError` for a book that this person may not see, and `RequestRefusedError` 409 for
    another book than the conversation's.
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


ANY: Final = "askbook"  # in place of a profile: the default one


class ModelChoice(NamedTuple):
    """The `name` as the request has it, and the profile and the book that it names; None where it names none."""

    name: str
    profile: str | None
    book: str | None

    def missing(self) -> RequestRefusedError:
        """The refusal for a model whose profile or book does not exist, or not for this person."""
        message = f'There is no model "{self.name[:150]}".'
        return RequestRefusedError(404, "model_not_found", message, hint="GET /v1/models lists the models.")


def model_choice(offer: Offer, model: Any) -> ModelChoice:
    """What a model stands for; its book is not looked up. Raises `RequestRefusedError` 404 for an unknown profile.

    >>> model_choice(Offer(("default", "book-agent"), "default"), "askbook/uv")
    ModelChoice(name='askbook/uv', profile=None, book='uv')
    """
    if model is not None and not isinstance(model, str):
        raise UsageError("model is not a string.", code="invalid_option")
    name = model or ""
    if not name or name in offer.names:
        return ModelChoice(name, name or None, None)
    profile, slash, book = name.partition("/")  # no book has a slash in its name
    chosen = ModelChoice(name, None if profile == ANY else profile, book or None)
    if profile not in (ANY, *offer.names) or (slash and not book):
        raise chosen.missing()
    return chosen


def model_names(offer: Offer, books: Sequence[str]) -> list[str]:
    """The models to list: the profiles, and one for each book where there is a choice of books."""
    return [*offer.names, *([ANY, *(f"{ANY}/{book}" for book in books)] if len(books) > 1 else [])]
