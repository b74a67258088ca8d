"""Spaces that PDFium does not see, as in files made of PostScript, where a letter with a kern stands before them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from rag.ingest.formats.page_characters import PageCharacters, units

SPACE: Final = 0.2  # sizes of type between two characters that are a space
_SAMPLE: Final = 6  # pages by which a file is judged, since measuring takes as long as reading
_MEASURED: Final = 20_000  # characters of such a page
_OFTEN: Final = 500  # a file loses spaces if one is missing in so many characters
_LETTER_SPACED: Final = 3  # in a line where every third gap is wide, letters are spaced and not words


def loses_spaces(document: Any) -> bool:
    """Whether PDFium misses spaces of the file, by some of its pages."""
    from pypdfium2 import PdfiumError

    characters = missing = 0
    for number in range(0, len(document), max(len(document) // _SAMPLE, 1)):
        with suppress(PdfiumError):  # a page that is broken says nothing
            page = document[number]
            found = PageCharacters(page)
            for begin, line in _first_lines(found):
                characters += len(line)
                missing += len(missing_spaces(found, line, begin))
            found.close()
            page.close()
    return missing * _OFTEN >= max(characters, 1)


def _first_lines(page: PageCharacters) -> Iterator[tuple[int, str]]:
    """The lines of a page with their places in its text, up to `_MEASURED` characters."""
    begin = 0
    for line in page.text.split("\r\n"):
        if begin > _MEASURED:
            return
        yield begin, line[:_MEASURED]
        begin += units(line) + 2


def missing_spaces(page: PageCharacters, line: str, begin: int) -> list[int]:
    """The places in a line before which a space is missing. `begin` is that of the line in the text of the page."""
    wide, gaps = [], 0
    for n, gap in _gaps(page, line, begin):
        gaps += 1
        if gap > SPACE:
            wide.append(n)
    return wide if _LETTER_SPACED * len(wide) < gaps else []


def with_spaces(line: str, places: list[int]) -> str:
    """
    >>> with_spaces("stafflies", [5])
    'staff lies'
    """
    return " ".join(line[a:b] for a, b in zip([0, *places], [*places, len(line)], strict=True))


def _gaps(page: PageCharacters, line: str, begin: int) -> Iterator[tuple[int, float]]:
    """The distance of each character from the one before it, in sizes of type, where no space is between them."""
    end = None
    place = begin
    for n, character in enumerate(line):
        index = -1 if character.isspace() else page.index(place)
        place += units(character)
        if index < 0:
            end = None
            continue
        left, right = page.ends(index)
        if end is not None:
            yield n, (left - end) / max(page.size(index), 1.0)
        end = right
