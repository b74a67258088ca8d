"""From the lines of printed pages to Markdown: paragraphs, headings, lists and code, and where each page begins.

Not every line break on paper ends a paragraph. One does if the next word would still have fitted on the line, if the
space below is larger than usual, or if the next line is indented, numbered or set in another size.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from rag.ingest.fences import fenced
from rag.ingest.formats.page_furniture import LARGER, text_lines
from rag.ingest.formats.printed_lines import Bookmark, PrintedLine, right_margins, usual_size, whole_lines
from rag.ingest.titles import same_title

_PAGE: Final = "\0"  # stands where a page begins until the lines are counted; no text of a PDF has it
HEADING: Final = 120  # most characters of a heading
MARK: Final = re.compile(r"(?:[•‣▪▸●○◦·∙–—*-]|\d{1,3}[.)])\s+(?=\S)")  # of an item of a list
_SECTION_NUMBER: Final = re.compile(r"\A(?:(?i:chapter|part|appendix)\s+)?(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*[.:)]?\s+")
_ADDRESS: Final = re.compile(r"(?:https?://|www\.|[\w.]@)\S*[./?&=#_]$|[\w.]/$")  # that a line break parts
_PARTED: Final = re.compile(r"([^\W\d_]+)[-\u2010]$")  # a word with a hyphen, at the end of a line
_SENTENCE_END: Final = re.compile(r"[.!?:;…][\"'”’)\]]*$")


def printed_text(
    lines: Sequence[PrintedLine], heights: Sequence[float], bookmarks: Sequence[Bookmark], *, titled: bool
) -> tuple[str, list[int]]:
    """The text as Markdown, and the line at which each page begins. `titled`: the book has a title of its own."""
    kept = text_lines(whole_lines(lines), heights)
    # Without a title of the book, the first of many chapters must not become it.
    base = 1 if titled or sum(one.level == 0 for one in bookmarks) == 1 else 2
    kept = _by_outline(kept, bookmarks, base) if bookmarks else _by_size(kept, 2 if titled else 1)
    writer = _Writer(len(heights), _words(kept))
    margins = right_margins(kept)
    for n, line in enumerate(kept):
        writer.add(line, kept[n - 1] if n else None, margins[n])
    return writer.finish()


def _by_outline(lines: list[PrintedLine], bookmarks: Sequence[Bookmark], base: int) -> list[PrintedLine]:
    """The lines with the headings that the outline names. One that is not on its page begins the page."""
    found = list(lines)
    pages: dict[int, int] = {}
    for n, line in enumerate(found):
        pages.setdefault(line.page, n)
    headings: dict[int, PrintedLine] = {}
    gone: set[int] = set()
    added: dict[int, list[PrintedLine]] = {}
    for bookmark in bookmarks:
        begin = pages.get(bookmark.page)
        if begin is None:
            continue
        level = min(base + bookmark.level, 6)
        span = _found(found, begin, bookmark, headings)
        if span is None:
            heading = replace(found[begin], text=bookmark.title, level=level, fixed=False)
            added.setdefault(begin, []).append(heading)
            continue
        headings[span.start] = replace(found[span.start], text=bookmark.title, level=level, fixed=False)
        gone |= set(span)
    result: list[PrintedLine] = []
    for n, line in enumerate(found):
        result += added.get(n, [])
        result += [headings[n]] if n in headings else [] if n in gone else [line]
    return result


def _found(lines: list[PrintedLine], begin: int, bookmark: Bookmark, taken: dict[int, PrintedLine]) -> range | None:
    """The lines of a page that are the title of a bookmark, which may be broken into up to three.

    If the title stands there more than once, as in a table of contents above, the one nearest to the bookmark counts.
    """
    wanted = _SECTION_NUMBER.sub("", bookmark.title, count=1) or bookmark.title
    found: list[range] = []
    longest = 2 * len(bookmark.title) + 30  # of a line that can be the title, with its number and spaced letters
    n = begin
    while n < len(lines) and lines[n].page == bookmark.page:
        for length in (1, 2, 3) if len(lines[n].text) <= longest else ():
            text = " ".join(line.text for line in lines[n : n + length])
            if n not in taken and (
                same_title(text, bookmark.title) or same_title(_SECTION_NUMBER.sub("", text, count=1), wanted)
            ):
                found.append(range(n, n + length))
                break
        n += 1

    def distance(span: range) -> float:
        line = lines[span.start]
        return abs(line.y + line.size - bookmark.y) + (abs(line.left - bookmark.left) if bookmark.left else 0.0)

    return min(found, key=distance) if bookmark.y and found else next(iter(found), None)


def _by_size(lines: list[PrintedLine], base: int) -> list[PrintedLine]:
    """The lines with headings: short ones in a larger type than the text. The three largest sizes are levels."""
    usual = usual_size(lines)
    large = sorted({size for line in lines if (size := round(line.size, 1)) >= usual * LARGER}, reverse=True)
    levels = {size: min(n, 2) + base for n, size in enumerate(large)}
    return [
        replace(line, level=levels.get(round(line.size, 1), 0))
        if len(line.text) <= HEADING and any(c.isalpha() for c in line.text) and not line.fixed
        else line
        for line in lines
    ]


def _words(lines: Sequence[PrintedLine]) -> frozenset[str]:
    """The words of the book, by which a hyphen at the end of a line is judged."""
    return frozenset(word for line in lines for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", line.text.lower()))


class _Writer:
    """Writes the lines as blocks: a paragraph, an item of a list, a heading, or code."""

    def __init__(self, pages: int, words: frozenset[str]) -> None:
        self._out: list[str] = []
        self._words = words
        self._block: list[tuple[PrintedLine, str]] = []  # the lines of the open block, and what they were joined with
        self._kind = ""
        self._tight = False
        self._count = pages
        self._pages: list[int] = []  # those that have text, in order

    def add(self, line: PrintedLine, before: PrintedLine | None, margin: float) -> None:
        kind = "heading" if line.level else "code" if line.fixed else "text"
        if kind == "text" and (item := MARK.match(line.text)):
            mark = item[0].strip()
            line = replace(line, text=f"{mark if mark[0].isdigit() else '-'} {line.text[item.end() :]}")
            self._open("item", line)
        elif kind != "text":
            joined = kind == self._kind and (kind == "code" or self._heading_goes_on(line))
            self._block.append((line, "\n" if kind == "code" else " ")) if joined else self._open(kind, line)
        elif before is None or self._kind not in ("text", "item") or not self._goes_on(line, before, margin):
            forced = self._kind == "text" and before is not None and not _SENTENCE_END.search(before.text)
            if forced and before is not None and _near(line, before):
                self._block.append((line, "\n"))  # such as a row of a table
            else:
                self._open("text", line)
        else:
            self._block.append((line, "\n" if line.page != before.page else " "))

    def _open(self, kind: str, line: PrintedLine) -> None:
        self._close(tight=kind == self._kind == "item")
        self._kind = kind
        self._block = [(line, "")]

    def _heading_goes_on(self, line: PrintedLine) -> bool:
        last = self._block[-1][0]
        return (last.level, last.page, round(last.size, 1)) == (line.level, line.page, round(line.size, 1)) and (
            0 < last.y - line.y < 2 * line.size
        )

    def _goes_on(self, line: PrintedLine, before: PrintedLine, margin: float) -> bool:
        """Whether a line of text continues the open paragraph or item."""
        first = self._block[0][0]
        if self._kind == "item":
            hang = first.left + 3 * first.width if first.hang is None else first.hang
            return abs(line.left - hang) < 0.4 * line.size and _near(line, before)
        if abs(line.size - before.size) > 0.6:
            return False
        if line.page != before.page:
            return not _SENTENCE_END.search(before.text) and line.text[:1].islower()
        if line.y > before.y:  # the next column
            return not _SENTENCE_END.search(before.text)
        if not _near(line, before) or line.left - before.left > 0.8 * line.size:
            return False
        word = len(line.text.split()[0]) + 1
        character = (line.right - line.left) / max(len(line.text), 1)  # the mean width
        return before.right + word * character > margin - 1

    def _close(self, *, tight: bool = False) -> None:
        """Write the open block, with a blank line above it. Items of one list stand together."""
        if self._block:
            if self._out and not (self._kind == "item" and self._tight):
                self._out.append("")
            self._out += {"heading": self._heading, "code": self._code}.get(self._kind, self._text)()
        self._tight = tight
        self._block = []

    def _marked(self, line: PrintedLine) -> str:
        """The text of a line; a mark is in front where a page begins."""
        is_new = self._pages[-1:] != [line.page]
        if is_new:
            self._pages.append(line.page)
        return _PAGE * is_new + line.text

    def _heading(self) -> list[str]:
        words = _unbroken(" ".join(self._marked(line) for line, _ in self._block))
        return [f"{'#' * self._block[0][0].level} {words} {{#}}"]

    def _code(self) -> list[str]:
        """The lines with the indentation that they have on paper."""
        edge = min(line.left for line, _ in self._block)
        width = median(line.width for line, _ in self._block) or 1.0
        rows = [" " * min(round((line.left - edge) / width), 80) + self._marked(line) for line, _ in self._block]
        return fenced(_unbroken("\n".join(rows))).split("\n")

    def _text(self) -> list[str]:
        text = ""
        for line, gap in self._block:
            words = self._marked(line)
            if gap == "\n" and _PARTED.search(text) and line.text[:1].islower():  # the word goes to its first half
                end, _, rest = words.partition(" ")
                text = f"{self._joined(text, end.strip(_PAGE))}\n{_PAGE * (end[:1] == _PAGE)}{rest}"
            elif gap == " ":
                text = self._joined(text, words)
            else:
                text += gap + words
        return [_as_text(row) if self._kind == "text" else row for row in _unbroken(text).split("\n")]

    def _joined(self, text: str, following: str) -> str:
        """Two lines of a paragraph as one. A hyphen goes unless the book writes the word with one."""
        if text.endswith(("\ufffe", "\u00ad")):
            return text[:-1] + following
        if _ADDRESS.search(text) and following[:1].islower():
            return text + following
        parted = _PARTED.search(text)
        after = re.match(r"[^\W\d_]+", following)
        if parted and after and after[0][0].islower():
            one, two = parted[1].lower(), after[0].lower()
            hyphenated = f"{one}-{two}" in self._words and one + two not in self._words
            return text + following if hyphenated else text[:-1] + following
        return f"{text} {following}"

    def finish(self) -> tuple[str, list[int]]:
        """The text, and the line of it at which each page begins. One without text begins where the next one does."""
        self._close()
        begins: dict[int, int] = {}
        pages = iter(self._pages)
        for n, row in enumerate(self._out):
            begins |= {next(pages): n for _ in range(row.count(_PAGE))}
        following = len(self._out)
        lines = [following := begins.get(page, following) for page in reversed(range(self._count))]
        return "\n".join(self._out).replace(_PAGE, ""), lines[::-1]


def _near(line: PrintedLine, before: PrintedLine) -> bool:
    """Whether a line stands at the usual distance below another one."""
    return line.page == before.page and -1 <= before.y - line.y < 1.75 * max(line.size, 1)


def _unbroken(text: str) -> str:
    """The text without the marks of places where a word may be broken. PDFium writes U+FFFE for a hyphen in a break."""
    return text.replace("\ufffe", "").replace("\u00ad", "")


def _as_text(row: str) -> str:
    """A line of a paragraph that Markdown would take for something else, such as a heading or a rule."""
    mark, words = row[: len(row) - len(row.lstrip(_PAGE))], row.lstrip(_PAGE)
    if re.fullmatch(r"[-=_*~\s]{3,}", words):
        return f"{mark}—"
    return f"{mark}\\{words}" if re.match(r"#{1,6}\s|```|~~~|>", words) else row
