"""The first lines of a chat: what is asked, what answers, and two questions to begin with."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from cli.session import ChatSession
from cli.terminal import printable, say, say_field
from rag.errors import AskbookError
from rag.settings import Settings
from rag.system.process import program
from rag.text.counting import counted

if TYPE_CHECKING:
    from rag.ports import Parts


_PATIENCE: Final = 5.0  # seconds for the headings of a book on a server


def is_first_run(settings: Settings) -> bool:
    """Whether nothing was asked in this home before."""
    return not any((settings.home / name).exists() for name in ("history", "memory.sqlite"))


async def greet(session: ChatSession, *, first: bool = False, person: bool = False) -> None:
    """Print the book, the profile, what answers and searches, and for a `person` two questions to try.

    At a `first` run it also says which keys and books were found.
    """
    parts = session.agent.services.parts(session.profile)
    say(f"{parts.profile.display_name or 'askbook'} · the book is {await session.book()}.")
    for name, text in _fields(session, parts, first=first):
        say_field(name, text)
    # They may have to be tried first, which takes a second or two, so they come after what is known at once.
    for place, question in enumerate(await questions_to_try(session) if person else ()):
        say_field("" if place else "try", question)
    if session.resumed:
        say(f"Continuing conversation {session.thread_id} ({counted(session.resumed, 'turn')}).")
    say("Ask a question, or type /help.\n")


def _fields(session: ChatSession, parts: Parts, *, first: bool) -> Iterator[tuple[str, str]]:
    if first:
        yield "keys", _keys(session.settings, parts)
        yield "index", _index(session)
    yield "profile", parts.profile.name
    yield "model", answers_with(session)
    yield "search", parts.searched_with
    if session.where:
        yield "filter", f"Searching only pages that match the filter {printable(session.where)}"


def answers_with(session: ChatSession) -> str:
    """What writes the answers of the chat."""
    parts = session.agent.services.parts(session.profile)
    if not parts.quotes:
        return session.model or parts.model_name
    return f"No model is set, so answers quote the book's own sentences. Set {parts.key_variable} to have them written."


def _keys(settings: Settings, parts: Parts) -> str:
    found = [parts.key_variable] if parts.key_variable and not parts.quotes else []
    found += ["COHERE_API_KEY"] if settings.cohere_api_key else []
    found += ["QDRANT_API_KEY"] if settings.qdrant_api_key else []
    return ", ".join(found) or "none found; none is needed"


def _index(session: ChatSession) -> str:
    from rag.books.book_settings import MANUAL

    place = "on a Qdrant server" if session.settings.qdrant_url else str(session.settings.home)
    if session.collection != MANUAL:
        return place
    return f'{place}; no book of yours yet, "{program()} ingest FOLDER" reads one'


async def questions_to_try(session: ChatSession) -> list[str]:
    """Two questions that the book answers, tried once for each state of a book; the result is stored.

    With a hosted embedding model, which bills each trial, they are headings that were not tried. None if the headings
    cannot be read within a few seconds.
    """
    from cli.suggestion import remembered
    from rag.books.book_settings import is_local
    from rag.services import LiveServices

    services = session.agent.services
    if not isinstance(services, LiveServices):
        return []
    trying = services.embedder if is_local(services.embedder) else None
    with suppress(AskbookError, OSError):  # a courtesy: the chat works without
        async with asyncio.timeout(_PATIENCE):
            return await remembered(session.settings.home, services.index, trying, services.sparse)
    return []
