"""The process that reads a PDF.

PDFium finds the characters and orders them. A line is what it ends with a line break; where the line stands and in
which font it is set are those of its first and last characters.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from rag.ingest.data_values import unicode_text
from rag.ingest.formats.file_format import LoadedText
from rag.ingest.formats.font_widths import FIXED, TELLING, FontWidths
from rag.ingest.formats.printed_line import Bookmark, PrintedLine
from rag.ingest.formats.printed_text import MARK, printed_text

PAGES: Final = 5_000
CHARACTERS: Final = 20_000_000
BOOKMARKS: Final = 20_000
_FIXED_PITCH: Final = 1  # a flag of a font, PDF 32000-1:2008, table 123
_NO_TITLES: Final = ("untitled", "microsoft word", "microsoft powerpoint", ".doc", ".tex", ".indd", ".dvi", ".qxd")


def pdf_texts(raw: bytes) -> list[LoadedText]:
    """The text of all pages as one. Raises `ValueError` if it cannot be read."""
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
            height, found = page.get_height(), list(_lines(page, number, widths))
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
        if page is not None and page >= 0 and title:
            found.append(Bookmark(bookmark.level, title, page))
        if len(found) == BOOKMARKS:
            break
    return found


def _lines(page: Any, number: int, widths: FontWidths) -> Iterator[PrintedLine]:
    """The lines of a page, in the order of its text. `widths` gets those of their characters."""
    from pypdfium2 import raw

    textpage = page.get_textpage()
    begin = 0
    for line in textpage.get_text_range(errors="replace").split("\r\n"):
        text = line.replace("\0", "")
        if text.strip():
            first, last = len(line) - len(line.lstrip()), len(line.rstrip()) - 1
            mark = MARK.match(line, first)
            places = (first, last, mark.end() if mark else first)
            found = [raw.FPDFText_GetCharIndexFromTextIndex(textpage, begin + at) for at in places]
            if min(found) >= 0:
                placed = _placed(raw, textpage, text.strip(), number, *found[:2])
                _measure(raw, textpage, line, begin, placed.fonts, widths)
                yield replace(placed, hang=_box(raw, textpage, found[2])[0]) if mark else placed
        begin += len(line) + 2
    textpage.close()


def _placed(raw: Any, textpage: Any, text: str, page: int, first: int, last: int) -> PrintedLine:
    left, _, width = _box(raw, textpage, first)
    _, right, _ = _box(raw, textpage, last)
    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(textpage, first, x, y)
    fonts = {_font(raw, textpage, at) for at in (first, (first + last) // 2, last)}
    size = raw.FPDFText_GetFontSize(textpage, first)
    return PrintedLine(text, page, left, right, y.value, size, width, fonts=frozenset(fonts))


def _measure(raw: Any, textpage: Any, line: str, begin: int, fonts: Collection[str], widths: FontWidths) -> None:
    """Tell the widths of the line's characters, if one of its fonts is not known well enough."""
    if all(map(widths.is_known, fonts)):
        return
    for n, character in enumerate(line):
        if character in TELLING:
            at = raw.FPDFText_GetCharIndexFromTextIndex(textpage, begin + n)
            size = raw.FPDFText_GetFontSize(textpage, at) if at >= 0 else 0.0
            if size > 0:
                widths.add(_font(raw, textpage, at), character, _box(raw, textpage, at)[2] / size)


def _box(raw: Any, textpage: Any, at: int) -> tuple[float, float, float]:
    """The left and the right end of a character with the space around it, and its width."""
    box = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(textpage, at, box)
    return box.left, box.right, box.right - box.left


def _font(raw: Any, textpage: Any, at: int) -> str:
    """The name of a character's font; a sign is added to that of a font that calls itself one of a single width."""
    name, flags = ctypes.create_string_buffer(200), ctypes.c_int()
    raw.FPDFText_GetFontInfo(textpage, at, name, len(name), flags)
    return name.value.decode("utf-8", "replace") + (FIXED if flags.value & _FIXED_PITCH else "")
