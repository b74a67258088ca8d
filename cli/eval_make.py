"""`run.py eval --make N BOOK`: a starting dataset from a book."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cli.terminal import counted, number, print_json, say
from rag.book import Chunk
from rag.errors import AskbookError, UsageError
from rag.evaluation.starting_dataset import starting_dataset
from rag.profiles.profile import profile_of
from rag.settings import Settings

_MOST: Final = 10_000


def make(options: argparse.Namespace) -> int:
    """Print the dataset as JSON Lines, with --json as a list. Exit code 2 for an unknown book, or if nothing is made.

    The book is one of the index, or a folder or file of pages; what is on the disk under this name is preferred only if
    the index has no such book.
    """
    wanted = int(number(options.make, "--make", 1, _MOST, whole=True) or 1)
    settings = Settings.from_env()
    chunks, others, ids = asyncio.run(_read(settings, options.dataset, options.profile))
    rows = starting_dataset(chunks, others, wanted, ids=ids)
    if not rows:
        raise UsageError(f"{options.dataset} has no headings or sentences to ask about.", code="dataset")
    if options.json:
        print_json(rows)
    else:
        for row in rows:
            print(_line(row))
    if len(rows) < wanted:
        say(f"The book gave only {counted(len(rows), 'question')}.")
    if not others:
        say("There is no other book in the index, so no question is unanswerable.")
    say("Read the questions before you rely on them: wrong and unnatural ones are among them.")
    return 0


def _line(row: object) -> str:
    """The row on one line. What a terminal must not get and what other readers take for a line break are escaped."""
    text = json.dumps(row, ensure_ascii=False)
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


async def _read(settings: Settings, book: str, profile: str | None) -> tuple[list[Chunk], list[Chunk], bool]:
    """The chunks of the book and of all other books, and whether the first are those of the index."""
    from rag.books.book_settings import server_of
    from rag.index.catalog import list_collections

    known = await list_collections(home=settings.home, server=server_of(settings))
    others = [name for name in known if name != book]
    if book in known:
        chunks = await _stored(settings, [book], profile)
    else:
        chunks = await asyncio.to_thread(_loaded, Path(book))
    return chunks, await _stored(settings, others, profile, broken_too=True), book in known


async def _stored(
    settings: Settings, books: Sequence[str], profile: str | None, *, broken_too: bool = False
) -> list[Chunk]:
    """All chunks of books of the index. With `broken_too`, books that cannot be read are left out."""
    from rag.books.book_settings import collection_index

    chosen = profile_of(settings, profile)
    found: list[Chunk] = []
    for name in books:
        index = collection_index(settings, name, chosen)
        try:
            found += await index.fetch(sorted(entry.id for entry in await index.entries()))
        except AskbookError:
            if not broken_too:
                raise
        finally:
            await index.aclose()
    return found


def _loaded(source: Path) -> list[Chunk]:
    """The chunks of a folder or file. Raises `UsageError` if it does not exist or has no pages."""
    if not source.exists():
        hint = "Name a book of the index, or a folder of pages."
        raise UsageError(f'There is no book and no folder "{source}".', code="collection", hint=hint)
    from rag.ingest.chunking import chunk
    from rag.ingest.loaders import load_source

    result = load_source(source)
    return [one for document in result.documents for one in chunk(document, count_tokens=lambda text: len(text) // 4)]
