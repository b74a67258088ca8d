"""`run.py verify`: a stored conversation's citations against the index as it is now."""

from __future__ import annotations

import argparse
import asyncio
from typing import Final

from cli.terminal import counted, print_json, printable
from cli.threads import stored
from rag.book import Chunk
from rag.conversation.verification import Book, CheckedCitation, Verification, citations_of, verify
from rag.errors import UsageError
from rag.profiles.profile import Profile, profile_of
from rag.settings import Settings

_QUOTE: Final = 80  # characters of a quote on its line
_MEANING: Final = {
    "valid": "the passage is as it was cited",
    "stale": "the passage has changed",
    "gone": "the book has no such passage",
}


def verify_thread(options: argparse.Namespace) -> int:
    """Exit code 0 when every citation is valid, 1 when one is not, 2 for an unknown id."""
    result = asyncio.run(_verified(options, Settings.from_env()))
    if options.json:
        print_json(result.as_json())
    else:
        _show(result)
    return int(any(one.status != "valid" for one in result.citations))


async def _verified(options: argparse.Namespace, settings: Settings) -> Verification:
    """Each citation is looked for in the book that is given, else in the one that its turn asked, read as it was."""
    conversation = await stored(settings, options.id)
    cited = citations_of(conversation["turns"])
    notices: list[str] = []
    by_book: dict[Book, tuple[str, dict[str, Chunk]]] = {}
    for book in dict.fromkeys(one.book for one in cited):
        ids = list(dict.fromkeys(one.citation.chunk_id for one in cited if one.book == book))
        profile = _profile(settings, book, notices)
        name = options.collection or book.collection
        if name is None:
            name = await _usual(settings, profile)
            notices.append(f"Some turns do not say which book they asked; they were checked against {name}.")
        by_book[book] = (name, await _chunks(settings, name, profile, ids))
    checked = [verify(one, by_book[one.book][1].get(one.citation.chunk_id), by_book[one.book][0]) for one in cited]
    return Verification(thread_id=options.id, citations=checked, notices=list(dict.fromkeys(notices)))


def _profile(settings: Settings, book: Book, notices: list[str]) -> Profile:
    """The profile of the turn, else today's: it says how somebody else's collection is read."""
    try:
        return profile_of(settings, book.profile)
    except UsageError:
        notices.append(f"The profile {book.profile} is not there any more; {settings.profile} was taken in its place.")
        return profile_of(settings)


async def _usual(settings: Settings, profile: Profile) -> str:
    from rag.services import choose_collection

    return await choose_collection(settings, profile, None)


async def _chunks(settings: Settings, name: str, profile: Profile, ids: list[str]) -> dict[str, Chunk]:
    """The chunks of a collection that there are, by their ids."""
    from rag.services import collection_index

    index = collection_index(settings, name, profile)
    try:
        return {chunk.id: chunk for chunk in await index.fetch(ids)}
    finally:
        await index.aclose()


def _show(result: Verification) -> None:
    """A line for each citation, with what is wrong with it, and one for them all."""
    for one in result.citations:
        print(f"{one.status:<6} turn {one.turn_number} [{one.marker}]  {_told(one)}")
    for notice in result.notices:
        print(printable(notice))
    counts = ", ".join(f"{number} {status}" for status, number in result.counts.items() if number)
    books = printable(", ".join(result.collections))
    summary = f"{counted(len(result.citations), 'citation')} checked" + (f" against {books}" if books else "")
    print(f"{summary}: {counts}." if counts else f"{summary}.")


def _told(one: CheckedCitation) -> str:
    source = f"{printable(one.title)} ({printable(one.url)})"
    if one.status == "valid":
        return source
    quote = " ".join(one.quote.split())
    shown = quote if len(quote) <= _QUOTE else f"{quote[: _QUOTE - 1]}…"
    return f"{source}: {_finding(one)} “{printable(shown)}” {one.chunk_id}"


def _finding(one: CheckedCitation) -> str:
    meaning = _MEANING[one.status].capitalize()
    if one.status == "gone":
        return f"{meaning}."
    if one.quotes_found == one.quotes:
        return f"{meaning}; every quote is still in it."
    kept = f"{one.quotes_found} of {one.quotes} quotes are" if one.quotes > 1 else "the quote is not"
    return f"{meaning}; {kept} still in it." if one.quotes > 1 else f"{meaning}; {kept} in it any more."
