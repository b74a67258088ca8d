"""The passages that show what a book is about: the beginnings of its start page and of its parts."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from rag.book import Chunk, IndexEntry
from rag.ports import ChunkIndex

MOST: Final = 30  # passages; a book with more pages is shown by its parts
# Words in the names of files, or of their folders, that introduce a book; the earlier, the more likely.
START_WORDS: Final = ("index", "readme", "home", "introduction", "intro", "getting", "overview", "about", "title")
NO_START: Final = 1000
_DIGITS: Final = re.compile(r"(\d+)")
_SENTENCE: Final = re.compile(r"^[^\W\d_*+#|`>:<\[-][^\n]{40,}", re.MULTILINE)  # a line of prose
_NAME: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")  # a word of "GettingStarted" and "ch00-introduction"


async def overview(index: ChunkIndex) -> list[Chunk]:
    """The first chunk of the start page, then of every page, or in a larger book of one page of each part.

    A part is a folder, or among the pages outside folders those whose titles begin with the same one. Empty if the book
    has no pages with a path, as in a collection of another program.
    """
    first: dict[tuple[str, str], IndexEntry] = {}
    for entry in await index.entries():
        page = (entry.source, entry.source_file_path)
        if entry.source_file_path and (page not in first or entry.chunk_index < first[page].chunk_index):
            first[page] = entry
    pages = sorted(await index.fetch([entry.id for entry in first.values()]), key=_order)
    if not pages:
        return []
    start = min(pages, key=_start_order)
    rest = [chunk for chunk in pages if chunk is not start]
    if len(pages) > MOST:
        parts: dict[str, Chunk] = {}
        for chunk in sorted(rest, key=lambda chunk: (_depth(chunk), *_place(chunk))):
            parts.setdefault(_part(chunk), chunk)
        rest = sorted(parts.values(), key=_order)
    return [start, *rest[: MOST - 1]]


def _part(chunk: Chunk) -> str:
    folder, inside, _ = chunk.source_file_path.partition("/")
    return folder if inside else (chunk.breadcrumb or chunk.title).partition(" > ")[0].casefold()


def _depth(chunk: Chunk) -> int:
    return chunk.source_file_path.count("/")


def _start_order(chunk: Chunk) -> tuple[bool, bool, int, int, list[tuple[int, int, str]]]:
    """The least is the start page: by its name, and with a sentence to quote."""
    has_text = _SENTENCE.search(chunk.text) is not None
    return _start_rank(chunk) == NO_START, not has_text, _depth(chunk), *_place(chunk)


def _place(chunk: Chunk) -> tuple[int, list[tuple[int, int, str]]]:
    return _start_rank(chunk), _order(chunk)


def _start_rank(chunk: Chunk) -> int:
    """How well the names of the page's folder, if it is in one, and of its file fit a start page; the least is best."""
    path = PurePosixPath(chunk.source_file_path)
    file, folder = _word_rank(path.stem), _word_rank(path.parent.name)
    if path.parent.name:
        return NO_START if folder == len(START_WORDS) else folder * len(START_WORDS) + file
    return NO_START if file == len(START_WORDS) else file


def _word_rank(name: str) -> int:
    """The least place in `START_WORDS` of a word of a name; their number if none is there."""
    words = {word.lower() for word in _NAME.findall(name)}
    return next((rank for rank, word in enumerate(START_WORDS) if word in words), len(START_WORDS))


def _order(chunk: Chunk) -> list[tuple[int, int, str]]:
    """The path as a key under which "ch2" comes before "ch10"."""
    pieces = _DIGITS.split(chunk.source_file_path.lower())
    return [(0, int(piece), "") if piece.isdecimal() else (1, 0, piece) for piece in pieces]
