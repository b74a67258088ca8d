"""What stands on printed pages and is no text of the book: running titles, page numbers, tables of contents."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from rag.ingest.formats.printed_lines import PrintedLine, usual_size

MARGIN: Final = 0.12  # the part of a page at its top and its bottom where running titles stand
LARGER: Final = 1.15  # a heading's size of type, as a multiple of the text's
TITLE: Final = 120  # most characters of a running title
SEQUENCE: Final = 3  # pages whose numbers must follow one another
ENTRIES: Final = 5  # lines with dots that make a page one of a table of contents
_ROMAN: Final = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_PAGE_NUMBER: Final = re.compile(
    r"[\s\-–—|]*(?:page\s+)?(?P<number>\d{1,4}|[ivxlc]{1,7})(?:\s*(?:/|of)\s*\d{1,4})?[\s\-–—|]*", re.I
)
_NUMBERED: Final = re.compile(r"(?P<first>\d{1,4})[\s|–—-]+\D.*|.*\D[\s|–—-]+(?P<last>\d{1,4})")
# The title of a section, dots, and its page.
_ENTRY: Final = re.compile(r"(?:\s?[.·…]){4,}\s*(?:\d{1,4}(?:[-–]\d{1,4})?|[ivxlc]{1,7})\s*$", re.I)
_ENDS_IN_NUMBER: Final = re.compile(r"\s(?:\d{1,4}|[ivxlc]{1,7})$")


def text_lines(lines: Sequence[PrintedLine], heights: Sequence[float]) -> list[PrintedLine]:
    """The lines that are text. `heights` are those of the pages."""
    left_out = _repeated(lines, heights) | _numbers(lines)
    kept = [line for n, line in enumerate(lines) if n not in left_out]
    left_out = _contents(kept)
    return [line for n, line in enumerate(kept) if n not in left_out]


def _repeated(lines: Sequence[PrintedLine], heights: Sequence[float]) -> set[int]:
    """Page numbers at the edges of pages, and what stands at the same place at the edge of several pages.

    Numbers may differ, but not in a larger type: `Section 1.1` and `Section 2.1` at the top of pages are headings.
    """
    usual = usual_size(lines)

    def place(line: PrintedLine) -> tuple[str, int]:
        return line.text if line.size > usual * LARGER else re.sub(r"\d+", "0", line.text), round(line.y / 4)

    at_edge = {n for n, line in enumerate(lines) if _at_edge(line, heights[line.page])}
    counts = Counter(place(lines[n]) for n in at_edge)
    least = 2 if len(heights) <= 6 else 3
    return {n for n in at_edge if _PAGE_NUMBER.fullmatch(lines[n].text) or counts[place(lines[n])] >= least}


def _at_edge(line: PrintedLine, height: float) -> bool:
    return height > 0 and not MARGIN * height < line.y < (1 - MARGIN) * height


def _numbers(lines: Sequence[PrintedLine]) -> set[int]:
    """The outermost lines of pages with the page's number, alone or beside a title. Such numbers grow by one a page."""
    found = [(n, number - lines[n].page) for n in _outermost(lines) for number in _numbers_of(lines[n].text)]
    pages: dict[int, set[int]] = defaultdict(set)
    for n, distance in found:
        pages[distance].add(lines[n].page)
    return {n for n, distance in found if len(pages[distance]) >= SEQUENCE}


def _outermost(lines: Sequence[PrintedLine]) -> Iterator[int]:
    """The places of the highest and the lowest line of each page, if some space parts them from the others."""
    pages: dict[int, list[int]] = defaultdict(list)
    for n, line in enumerate(lines):
        pages[line.page].append(n)
    for places in pages.values():
        places.sort(key=lambda n: lines[n].y)
        for outer, inner in ((places[0], places[1:2]), (places[-1], places[-2:-1])):
            gap = abs(lines[outer].y - lines[inner[0]].y) if inner else 0.0
            if len(lines[outer].text) <= TITLE and gap > 1.4 * lines[outer].size:
                yield outer


def _numbers_of(text: str) -> Iterator[int]:
    """The numbers that may be that of the page."""
    if alone := _PAGE_NUMBER.fullmatch(text):
        number = alone["number"].lower()
        yield int(number) if number.isdigit() else _roman(number)
    elif beside := _NUMBERED.fullmatch(text):
        yield int(beside["first"] or beside["last"])


def _roman(number: str) -> int:
    """
    >>> _roman("xiv")
    14
    """
    values = [_ROMAN[digit] for digit in number]
    return sum(-one if one < following else one for one, following in zip(values, [*values[1:], 0], strict=True))


def _contents(lines: Sequence[PrintedLine]) -> set[int]:
    """The entries of tables of contents, and of indexes with dots. The titles stand at their sections too."""
    entries: dict[int, list[int]] = defaultdict(list)
    on_page: dict[int, list[int]] = defaultdict(list)
    for n, line in enumerate(lines):
        on_page[line.page].append(n)
        if _ENTRY.search(line.text) and not line.fixed:
            entries[line.page].append(n)
    left_out = {n for places in entries.values() for n in places}
    for page, places in entries.items():
        if len(places) >= ENTRIES and 2 * len(places) >= len(on_page[page]):
            # Also the first lines of long titles, and entries without dots.
            left_out |= set(range(places[0], places[-1]))
            left_out |= {n for n in on_page[page] if _ENDS_IN_NUMBER.search(lines[n].text)}
    return left_out
