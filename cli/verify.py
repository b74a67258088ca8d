"""`run.py verify`: checks the citations of a stored conversation against the current index."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Final

from cli.terminal import clipped, in_line, print_json, printable
from cli.threads import stored
from rag.book import Chunk
from rag.conversation.verification import (
    Book,
    CheckedCitation,
    LostSentence,
    Verification,
    citations_of,
    has_text,
    lost_sentences,
    verify,
)
from rag.errors import UsageError
from rag.ports import ChunkIndex
from rag.profiles.profile import Profile, profile_of
from rag.settings import Settings
from rag.text.counting import counted
from rag.types import Citation

_QUOTE: Final = 80  # characters of a quote on its line
_SENTENCE: Final = 160  # characters of a sentence on its line


def verify_thread(options: argparse.Namespace) -> int:
    """Exit code 0 if every citation is valid, 1 if one is not, 2 for an unknown id."""
    result = asyncio.run(_verified(options, Settings.from_env()))
    if options.json:
        print_json(result.as_json())
    else:
        _show(result)
    return int(any(citation.status != "valid" for citation in result.citations))


async def _verified(options: argparse.Namespace, settings: Settings) -> Verification:
    """Check each citation in the given book, else in the book of its turn, read with the profile of that turn."""
    from rag.books.book_settings import choose_collection, collection_index, owner_of
    from rag.index.catalog import require_book

    conversation = await stored(settings, options.id)
    cited = citations_of(conversation["turns"])
    notices: list[str] = []
    by_book: dict[Book, tuple[str, dict[str, Chunk]]] = {}
    for book in dict.fromkeys(item.book for item in cited):
        citations = [item.citation for item in cited if item.book == book]
        profile = _profile(settings, book, notices)
        name = options.collection or book.collection
        if name is None:
            name = await choose_collection(settings, profile, None)
            notices.append(f"Some turns were stored without the name of their book; they were checked against {name}.")
        async with aclosing(collection_index(settings, name, profile)) as index:
            if options.collection:
                await require_book(index, owner_of(name, profile))
            elif await index.info() is None:
                notices.append(f'There is no book "{name}" now. If it has another name, give that with --collection.')
            by_book[book] = (name, await _chunks(index, citations))
    checked = []
    for item in cited:
        name, chunks = by_book[item.book]
        checked.append(verify(item, chunks.get(item.citation.chunk_id), name))
    chunks = {identity: chunk for _, found in by_book.values() for identity, chunk in found.items()}
    lost = [
        sentence
        for turn in conversation["turns"]
        for sentence in lost_sentences(turn, [one for one in checked if one.turn_number == turn["turn_number"]], chunks)
    ]
    return Verification(thread_id=options.id, citations=checked, lost=lost, notices=list(dict.fromkeys(notices)))


def _profile(settings: Settings, book: Book, notices: list[str]) -> Profile:
    """The profile of the turn, which says how to read the collection; the current one if it no longer exists."""
    try:
        return profile_of(settings, book.profile)
    except UsageError:
        notices.append(f"The profile {book.profile} no longer exists; {settings.profile} was used instead.")
        return profile_of(settings)


async def _chunks(index: ChunkIndex, citations: Sequence[Citation]) -> dict[str, Chunk]:
    """The chunks that the citations name by id, or where a text has moved, the chunk that has it now."""
    found = {chunk.id: chunk for chunk in await index.fetch(list({one.chunk_id for one in citations}))}
    changed = [one for one in citations if not has_text(found.get(one.chunk_id), one)]
    if changed:
        wanted = {one.chunk_sha256 for one in changed} - {""}
        ids = {entry.sha256: entry.id for entry in await index.entries() if entry.sha256 in wanted}
        moved = {chunk.id: chunk for chunk in await index.fetch(list(ids.values()))}
        for one in changed:
            if has_text(chunk := moved.get(ids.get(one.chunk_sha256, "")), one) and chunk:
                found[one.chunk_id] = chunk
    return found


def _show(result: Verification) -> None:
    """One line per citation, with what is wrong with it, then lost sentences, the notices and the counts."""
    for citation in result.citations:
        print(f"{citation.status:<6} turn {citation.turn_number} [{citation.marker}]  {_description(citation)}")
    for sentence in result.lost:
        print(_lost(sentence))
    for notice in result.notices:
        print(printable(notice))
    counts = ", ".join(f"{number} {status}" for status, number in result.counts.items() if number)
    books = printable(", ".join(result.collections))
    summary = f"{counted(len(result.citations), 'citation')} checked" + (f" against {books}" if books else "")
    print(f"{summary}: {counts}." if counts else f"{summary}.")


def _description(citation: CheckedCitation) -> str:
    source = f"{in_line(citation.title)} ({in_line(citation.url)})"
    if citation.status == "valid":
        return source
    quote = clipped(" ".join(citation.quote.split()), _QUOTE)
    return f"{source}: {_finding(citation)} “{printable(quote)}” {citation.chunk_id}"


def _lost(sentence: LostSentence) -> str:
    said = printable(clipped(" ".join(sentence.text.split()), _SENTENCE))
    why = printable("; ".join(sentence.reasons))
    return f"lost   turn {sentence.turn_number}  The book no longer supports “{said}” ({why})."


def _finding(citation: CheckedCitation) -> str:
    if citation.status == "gone":
        return "The book no longer has this passage."
    if (place := citation.moved_to) is not None:
        return f"The passage has moved to {in_line(place.title)} ({in_line(place.url)}):"
    found, total = citation.quotes_found, citation.quotes
    if found == total:
        return "The passage has changed; every quote is still in it."
    if total == 1:
        return "The passage has changed; the quote is no longer in it."
    return f"The passage has changed; {found} of {total} quotes are still in it."
