"""PDF files, read in a process of their own: a PDF is a program for a large library in C.

PDFium finds the characters and orders them. A line is what it ends with a line break; where the line stands and in
which font it is set are those of its first and last characters.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from rag.ingest.data_values import unicode_text
from rag.ingest.formats.file_format import LoadedText
from rag.ingest.formats.page_characters import (
    TELLING,
    FontWidths,
    PageCharacters,
    raised_numbers,
    units,
    with_signs,
)
from rag.ingest.formats.printed_lines import Bookmark, PrintedLine
from rag.ingest.formats.printed_text import MARK, printed_text

PAGES: Final = 5_000
CHARACTERS: Final = 20_000_000
BOOKMARKS: Final = 20_000
_NO_SIGNS: Final = dict.fromkeys(map(ord, "\0\r\n"))  # glyphs of fonts that have signs at these places
_NUMBER: Final = re.compile(r"\d{1,3}\s+(?=\S)")
_NO_TITLES: Final = (
    "untitled",
    "(anonymous)",
    "microsoft word",
    "microsoft powerpoint",
    ".doc",
    ".tex",
    ".indd",
    ".dvi",
    ".qxd",
)


def pdf_texts(raw: bytes) -> list[LoadedText]:
    """All pages as one text, with headings from the outline. Raises `ValueError` if it cannot be read."""
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(raw)
    except PdfiumError as error:
        locked = "assword" in str(error)
        why = "it is encrypted; save it without a password" if locked else "it is not a PDF, or it is broken"
        raise ValueError(why) from error
    if len(document) > PAGES:
        raise ValueError(f"it has {len(document):,} pages; at most {PAGES:,} are read, so split it")
    lines: list[PrintedLine] = []
    heights: list[float] = []
    widths = FontWidths()
    left = CHARACTERS
    for number in range(len(document)):
        height, found = 0.0, []
        with suppress(PdfiumError):  # a page that is broken is empty
            page = document[number]
            characters = PageCharacters(page)
            height, found = page.get_height(), list(_lines(characters, number, widths))
            characters.close()
            page.close()
        left -= sum(len(line.text) for line in found)
        if left < 0:
            raise ValueError(f"it has more than {CHARACTERS:,} characters; split it")
        lines += found
        heights.append(height)
    if not any(c.isalnum() for line in lines for c in line.text):
        raise ValueError("it has no text, only pictures; recognise its text first, for example with ocrmypdf")
    title = _title(document)
    lines = [replace(line, fixed=bool(line.fonts) and all(map(widths.is_fixed, line.fonts))) for line in lines]
    body, page_lines = printed_text(lines, heights, _bookmarks(document), titled=bool(title))
    fields = {"title": unicode_text(title)} if title else {}
    return [LoadedText(unicode_text(body), "plain", fields, page_lines=tuple(page_lines))]


def _title(document: Any) -> str:
    """The title that the file gives itself; empty for one that a program made up."""
    title = " ".join(str(document.get_metadata_dict().get("Title") or "").split())
    return "" if any(sign in title.lower() for sign in _NO_TITLES) or not any(c.isalpha() for c in title) else title


def _bookmarks(document: Any) -> list[Bookmark]:
    """The entries of the outline that lead to a page, in order."""
    found: list[Bookmark] = []
    for bookmark in document.get_toc(max_depth=6):
        target = bookmark.get_dest()
        page = target.get_index() if target is not None else None
        title = " ".join(bookmark.get_title().split())
        if target is not None and page is not None and page >= 0 and title:
            found.append(Bookmark(bookmark.level, title, page, *_place(*target.get_view())))
        if len(found) == BOOKMARKS:
            break
    return found


def _place(mode: int, numbers: Sequence[float]) -> tuple[float, float]:
    """The left end and the height that an entry of the outline leads to; 0 for what it does not say."""
    from pypdfium2 import raw

    if mode == raw.PDFDEST_VIEW_XYZ and len(numbers) >= 2:
        return numbers[0], numbers[1]
    if mode in (raw.PDFDEST_VIEW_FITH, raw.PDFDEST_VIEW_FITBH) and numbers:
        return 0.0, numbers[0]
    return 0.0, 0.0


def _lines(page: PageCharacters, number: int, widths: FontWidths) -> Iterator[PrintedLine]:
    """The lines of a page. `widths` gets those of their characters;"""
    begin = 0
    for line in page.text.split("\r\n"):
        text = line.translate(_NO_SIGNS)
        if text.strip():
            first, last = len(line) - len(line.lstrip()), len(line.rstrip()) - 1
            mark = MARK.match(line, first)
            after = mark or _NUMBER.match(line, first)  # these are often set in another size
            places = (first, last, after.end() if after else first)
            found = [page.index(begin + units(line[:at])) for at in places]
            if min(found) >= 0:
                signs = dict.fromkeys(raised_numbers(page, line, begin), "^")
                shown = with_signs(line, signs).translate(_NO_SIGNS) if signs else text
                placed = replace(_placed(page, shown.strip(), number, *found[:2]), size=page.size(found[2]))
                _measure(page, line, begin, placed.fonts, widths)
                yield replace(placed, hang=page.ends(found[2])[0]) if mark else placed
        begin += units(line) + 2


def _placed(page: PageCharacters, text: str, number: int, first: int, last: int) -> PrintedLine:
    left, after = page.ends(first)
    fonts = frozenset(page.font(at) for at in (first, (first + last) // 2, last))
    return PrintedLine(
        text, number, left, page.ends(last)[1], page.base(first), page.size(first), after - left, fonts=fonts
    )


def _measure(page: PageCharacters, line: str, begin: int, fonts: Collection[str], widths: FontWidths) -> None:
    """Tell the widths of the line's characters, if one of its fonts is not known well enough."""
    if all(map(widths.is_known, fonts)):
        return
    for n, character in enumerate(line):
        if character in TELLING:
            at = page.index(begin + units(line[:n]))
            size = page.size(at) if at >= 0 else 0.0
            if size > 0:
                left, right = page.ends(at)
                widths.add(page.font(at), character, (right - left) / size)
