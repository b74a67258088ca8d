"""The passages that show what a book is about: the beginnings of its start page and of its parts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from rag.book import Chunk, IndexEntry
from rag.ports import ChunkIndex

MOST: Final = 30  # passages; a book with more pages is shown by its parts
# Words in the names of files, or of their folders, that introduce a book; the earlier, the more likely.
START_WORDS: Final = ("index", "readme", "home", "introduction", "intro", "getting", "overview", "about", "title")
NO_START: Final = 1000
NEARLY_ALL: Final = 0.9  # share of the pages
_DIGITS: Final = re.compile(r"(\d+)")
_SENTENCE: Final = re.compile(r"^[^\W\d_*+#|`>:<\[-][^\n]{40,}", re.MULTILINE)  # a line of prose
_NAME: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")  # a word of "GettingStarted" and "ch00-introduction"


@dataclass(frozen=True, slots=True)
class _Page:
    """A page's first chunk and its path below the folder that holds nearly all pages."""

    chunk: Chunk
    path: PurePosixPath

    @property
    def part(self) -> str:
        """The folder, or the topmost title of a page outside folders."""
        titles = self.chunk.breadcrumb or self.chunk.title
        return self.path.parts[0] if len(self.path.parts) > 1 else titles.partition(" > ")[0].casefold()

    @property
    def start_rank(self) -> int:
        """How well the names of its folder, if it is in one, and of its file fit a start page; the least is best."""
        file, folder = _word_rank(self.path.stem), _word_rank(self.path.parent.name)
        if self.path.parent.name:
            return NO_START if folder == len(START_WORDS) else folder * len(START_WORDS) + file
        return NO_START if file == len(START_WORDS) else file

    @property
    def order(self) -> list[tuple[int, int, str]]:
        """The path as a key under which "ch2" comes before "ch10"."""
        pieces = _DIGITS.split(str(self.path).lower())
        return [(0, int(piece), "") if piece.isdecimal() else (1, 0, piece) for piece in pieces]

    @property
    def start_place(self) -> tuple[bool, bool, int, int, list[tuple[int, int, str]]]:
        """The place among all pages: the least is the start page."""
        says_nothing = not _SENTENCE.search(self.chunk.text)
        return self.start_rank == NO_START, says_nothing, len(self.path.parts), self.start_rank, self.order

    @property
    def place(self) -> tuple[int, int, list[tuple[int, int, str]]]:
        """The place among the pages of a part: the least introduces it."""
        return len(self.path.parts), _word_rank(self.path.stem), self.order


async def overview(index: ChunkIndex) -> list[Chunk]:
    """The first chunk of the start page, then of every page, or of one page of each other part in a book that is larger
    or whose pages have the same titles. A part is a folder, or the pages outside folders whose titles begin alike.

    Empty if no page has a path.
    """
    first: dict[tuple[str, str], IndexEntry] = {}
    for entry in await index.entries():
        key = (entry.source, entry.source_file_path)
        if entry.source_file_path and (key not in first or entry.chunk_index < first[key].chunk_index):
            first[key] = entry
    pages = sorted(_pages(await index.fetch([entry.id for entry in first.values()])), key=lambda page: page.order)
    if not pages:
        return []
    start = min(pages, key=lambda page: page.start_place)
    rest = [page for page in pages if page is not start]
    if len(pages) > MOST or len({page.chunk.title.casefold() for page in pages}) < len(pages):
        parts: dict[str, _Page] = {}
        for page in sorted(rest, key=lambda page: page.place):
            parts.setdefault(page.part, page)
        parts.pop(start.part, None)
        rest = sorted(parts.values(), key=lambda page: page.order)
    return [page.chunk for page in (start, *rest[: MOST - 1])]


def _pages(chunks: Sequence[Chunk]) -> list[_Page]:
    """The pages with their paths, without folders that hold nearly all of them, such as `docs`."""
    paths = [PurePosixPath(chunk.source_file_path) for chunk in chunks]
    while True:
        folders = Counter(path.parts[0] for path in paths if len(path.parts) > 1)
        folder, count = folders.most_common(1)[0] if folders else ("", 0)
        if count < NEARLY_ALL * len(paths) or not count:
            return [_Page(chunk, path) for chunk, path in zip(chunks, paths, strict=True)]
        paths = [path.relative_to(folder) if path.parts[0] == folder else path for path in paths]


def _word_rank(name: str) -> int:
    """The least place in `START_WORDS` of a word of a name; their number if none is there."""
    words = {word.lower() for word in _NAME.findall(name)}
    return next((rank for rank, word in enumerate(START_WORDS) if word in words), len(START_WORDS))
