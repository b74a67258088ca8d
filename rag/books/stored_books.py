"""The collections of an index as books: list them, look at one, rename it, delete it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Final, Literal

from pydantic import Field

from rag.book import IndexEntry, IndexInfo
from rag.books.book_settings import MANUAL, collection_index, server_of
from rag.errors import RetrievalError, UsageError, unknown_book
from rag.index.catalog import list_collections, rename_collection
from rag.profiles.profile import Profile, profile_folders, profile_names, profile_of
from rag.settings import Settings
from rag.system.process import program
from rag.types import Record

MANUAL_TITLE: Final = "askbook's own manual"
State = Literal["ready", "absent", "foreign", "broken"]


class BookSource(Record):
    """Where pages of a book come from, by whose rules they were read, and why."""

    source: str
    generator: str = ""
    reason: str = ""


class BookRecord(Record):
    """A collection as a book: the object that `books show --json` prints.

    A book is "absent" if it is not indexed yet, "foreign" if another program made it, and "broken" if it cannot be
    read; `problem` says why. `pages` and `date`, the time of the last change (ISO 8601, UTC), are None if they are not
    known. `profiles` are those that name the collection.
    """

    name: str
    title: str
    state: State
    pages: int | None = None
    passages: int = 0
    sources: list[BookSource] = Field(default_factory=list)
    embedding_model: str = ""
    date: str | None = None
    profiles: list[str] = Field(default_factory=list)
    problem: str = ""


async def list_books(settings: Settings) -> list[BookRecord]:
    """Every collection, sorted by name, with the manual, and on a server those of profiles. Nothing is created.

    Raises `RetrievalError` if the index cannot be reached.
    """
    owners = await asyncio.to_thread(_owners, settings)
    stored = await list_collections(home=settings.home, server=server_of(settings))
    named = owners if settings.qdrant_url else ()
    names = sorted({*stored, *named, MANUAL})
    return list(await asyncio.gather(*(_record(settings, name, owners, counted=False) for name in names)))


async def books_on_offer(settings: Settings, profiles: Collection[str] = ()) -> list[dict[str, Any]]:
    """The books that can be asked, as JSON data for remote users; foreign ones if one of `profiles` can read them."""
    shown = {"name", "title", "pages", "passages", "embedding_model", "date"}
    found = [book for book in await list_books(settings) if _can_be_asked(book, profiles)]
    return [book.model_dump(mode="json", include=shown) for book in found]


async def book_to_ask(settings: Settings, name: str, profiles: Collection[str] = ()) -> BookRecord | None:
    """The book of that name if it can be asked, as `books_on_offer` decides; None for any other name."""
    owners = await asyncio.to_thread(_owners, settings)
    try:
        found = await _record(settings, name, owners, counted=False)
    except UsageError:  # it cannot be the name of a collection
        return None
    return found if _can_be_asked(found, profiles) else None


def _can_be_asked(book: BookRecord, profiles: Collection[str]) -> bool:
    mapped = book.state == "foreign" and not book.problem and not set(profiles).isdisjoint(book.profiles)
    return book.state == "ready" or mapped


async def show_book(settings: Settings, name: str) -> BookRecord:
    """One book, its pages counted in the points themselves. Raises `UsageError` "unknown_book" for an unknown name."""
    owners = await asyncio.to_thread(_owners, settings)
    found = await _record(settings, name, owners, counted=True)
    if found.state == "absent" and name != MANUAL and name not in owners:
        raise _unknown(name)
    return found


async def delete_book(settings: Settings, name: str) -> BookRecord:
    """Delete a book, also a broken one, and return what it was. Raises `UsageError` for an unknown or foreign one."""
    found = await _ours(settings, name, "deleted")
    async with aclosing(collection_index(settings, name)) as index:
        await index.drop()
    return found


async def rename_book(settings: Settings, name: str, new: str) -> BookRecord:
    """Give a book another name, in one step, and return it; conversations keep the old one. Raises `UsageError`."""
    if MANUAL in (name, new):
        message = f'The name "{MANUAL}" belongs to {MANUAL_TITLE}.'
        raise UsageError(message, code="reserved_book", hint="Choose another name.")
    found = await _ours(settings, name, "renamed")
    if found.state == "broken":
        raise UsageError(found.problem, code="broken_book", hint="Ingest its sources again, or delete it.")
    if new != name:
        await rename_collection(home=settings.home, server=server_of(settings), collection=name, new=new)
    return found.model_copy(update={"name": new})


async def _ours(settings: Settings, name: str, done: str) -> BookRecord:
    found = await show_book(settings, name)
    if found.state == "foreign":
        message = f'The collection "{name}" was not made by askbook, so it is not {done}.'
        hint = "Use the program that made it, or Qdrant's own tools."
        raise UsageError(message, code="foreign_collection", hint=hint)
    if found.state == "absent":
        raise _unknown(name)
    return found


def _unknown(name: str) -> UsageError:
    return unknown_book(name, f'See "{program()} books list".')


def _owners(settings: Settings) -> Mapping[str, list[Profile]]:
    """The profiles that name a collection, by its name. A profile that cannot be read names none."""
    found: dict[str, list[Profile]] = defaultdict(list)
    for name in profile_names(profile_folders(settings)):
        with suppress(UsageError):
            profile = profile_of(settings, name)
            if profile.book.collection:
                found[profile.book.collection].append(profile)
    return found


async def _record(
    settings: Settings, name: str, owners: Mapping[str, Sequence[Profile]], *, counted: bool
) -> BookRecord:
    """A collection's record. With `counted`, or where no number is recorded, its pages are counted in its points."""
    profiles = owners.get(name, ())
    index = collection_index(settings, name, profiles[0] if profiles else None)
    title = MANUAL_TITLE if name == MANUAL else name
    base = BookRecord(name=name, title=title, state="absent", profiles=[profile.name for profile in profiles])
    try:
        info = await index.info()
        if info is None:
            return base
        entries = await index.entries() if not info.foreign and (counted or not info.pages) else None
    except RetrievalError as error:
        if error.code not in ("index_broken", "index_vectors"):
            raise
        state: State = "broken" if error.code == "index_broken" else "foreign"
        return base.model_copy(update={"state": state, "problem": error.message})
    finally:
        await index.aclose()
    return base.model_copy(update=_known(info, entries, base.title))


def _known(info: IndexInfo, entries: Sequence[IndexEntry] | None, title: str) -> dict[str, object]:
    """What a collection's record, and its entries if they were read, say about the book."""
    pages = info.pages or None if entries is None else len({(e.source, e.source_file_path) for e in entries})
    sources = {source: BookSource(source=source) for source in sorted({e.source for e in entries or ()} - {""})}
    for source, said in info.generators.items():
        generator, _, reason = said.partition(" (")
        sources[source] = BookSource(source=source, generator=generator, reason=reason.removesuffix(")"))
    own = info.title if title != MANUAL_TITLE else ""
    return {
        "title": own or title,
        "state": "foreign" if info.foreign else "ready",
        "pages": pages,
        "passages": info.chunks,
        "sources": list(sources.values()),
        "embedding_model": info.embedding_model,
        "date": info.updated_at or None,
    }
