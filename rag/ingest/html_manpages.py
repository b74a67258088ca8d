"""Manual pages of Unix that a page shows as one block of typewriter text, as rman and man2html write them.

Their lines are prose: heads at the margin, paragraphs below them, and terms with their descriptions further in. What is
set in neither way stays a block of code.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from html import escape, unescape
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from bs4.element import Tag

_FIRST: Final = "NAME"
_SYNOPSIS: Final = "SYNOPSIS"
_SECOND: Final = frozenset([_SYNOPSIS, "DESCRIPTION"])
_SHARE: Final = 0.8  # of the words of the page that the block has at least
LINES: Final = 20_000  # of a longer block none is looked at
DEPTH: Final = 8  # of descriptions in each other
_STEP: Final = 5  # columns by which a description is set in at least; code is set in by less
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*>")
_HEAD: Final = re.compile(r"[A-Z][^a-z]{1,60}")
_SUBHEAD: Final = re.compile(r"\s*<b>.*</b>:?\s*")
_RUNNING_TITLE: Final = re.compile(r"\s*(?:\S+\(\w+\)\s.*|.*\s)?\S+\(\w+\)")
_BULLETS: Final = frozenset(["o", "*", "-", "+", "·", "•"])
_BROKEN: Final = re.compile(r"([^\W\d_]+)((?:</\w+>)*)[-\u2010]((?:</\w+>)*)$")
_BEGINS: Final = re.compile(r"((?:<\w[^<>]*>)*)([^\W\d_]+)")
_TAG_NAME: Final = re.compile(r"</?(\w+)")
_GAP: Final = re.compile(r"(?<=\S)[ ]{2,}(?=\S)")
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


class _ManLine(NamedTuple):
    """A line as HTML and as its words, and the column at which they begin."""

    html: str
    words: str
    indent: int

    @classmethod
    def of(cls, html: str) -> _ManLine:
        words = unescape(_TAG.sub("", html)).expandtabs().rstrip()
        return cls(html.strip(), words, len(words) - len(words.lstrip()))


def place_man_pages(element: Tag) -> None:
    """Put headings, paragraphs and lists of definitions in place of a block that is a manual page."""
    for block in element.find_all("pre"):
        lines = [_ManLine.of(line) for line in block.decode_contents().strip("\n").split("\n")]
        heads = {line.words for line in lines if line.indent == 0}
        if _FIRST not in heads or not heads & _SECOND or len(lines) > LINES:
            continue
        if len(block.get_text()) >= _SHARE * len(element.get_text()):
            from bs4 import BeautifulSoup

            while lines and (not lines[-1].words or _RUNNING_TITLE.fullmatch(lines[-1].words)):
                lines.pop()
            if _RUNNING_TITLE.fullmatch(lines[0].words):
                del lines[0]
            body = BeautifulSoup(ManPage(lines).html, "lxml").body
            block.replace_with(*(body.contents if body is not None else ()))
        return


class ManPage:
    """The lines of a manual page as HTML."""

    def __init__(self, lines: Sequence[_ManLine]) -> None:
        long = Counter(len(line.words) for line in lines if len(line.words) > 50)
        self._width = long.most_common(1)[0][0] if long else 0  # of a full line
        self._margin = next((one.indent for one in lines if one.indent), 0)  # of the text below NAME
        self._known = frozenset(_WORD.findall("\n".join(line.words for line in lines)))
        self._inner: dict[int, int] = {}  # by the column of terms, that of their descriptions
        self.html = "".join(self._sections(lines))

    def _sections(self, lines: Sequence[_ManLine]) -> Iterator[str]:
        held: list[_ManLine] = []
        head = ""
        for line in [*lines, _ManLine("", _FIRST, 0)]:
            is_head = line.indent == 0 and bool(_HEAD.fullmatch(line.words))
            is_subhead = 0 < line.indent < self._margin and bool(_SUBHEAD.fullmatch(line.html))
            if is_head or is_subhead:
                yield _code(held) if head == _SYNOPSIS else self._body(held)
                held = []
                head = line.words if is_head else head
                level = "h2" if is_head else "h3"
                yield f"<{level}>{escape(line.words.strip().rstrip(':'))}</{level}>" if line.html else ""
            else:
                held.append(line)

    def _body(self, lines: Sequence[_ManLine], depth: int = 0) -> str:
        """Lines of one column, and those further in that belong to them."""
        column = min((line.indent for line in lines if line.words), default=0)
        if depth > DEPTH:
            return _code(lines)
        written: list[str] = []
        at = 0
        while at < len(lines):
            if not lines[at].words:
                at += 1
                continue
            inner = lines[at + 1 : _next(lines, at, lambda line: bool(line.words) and line.indent <= column)]
            entry = self._entry(lines[at : at + 2], inner, column)
            if entry is not None:
                term, description = entry
                written.append(f"<dl><dt>{term}</dt><dd>{self._body(description, depth + 1)}</dd></dl>")
                at += 1 + len(inner)
            else:
                text, used = self._block(_run(lines, at), column)
                written.append(text)
                at += used
        return "".join(written).replace("</dl><dl>", "")

    def _entry(
        self, lines: Sequence[_ManLine], inner: Sequence[_ManLine], column: int
    ) -> tuple[str, Sequence[_ManLine]] | None:
        """The term in the first of two lines and the lines that describe it; None where there is none."""
        first = lines[0]
        if first.indent != column:
            return None
        below = next((line.indent for line in inner if line.words), 0)
        beside = _GAP.search(first.words, column)
        if beside and (below == beside.end() or (not below and self._is_listed(beside.end(), lines, column))):
            self._inner[column] = beside.end()
            term, text = _GAP.split(first.html, maxsplit=1)
            described = _ManLine(text, " " * beside.end() + first.words[beside.end() :], beside.end())
            return "" if first.words[column : beside.start()] in _BULLETS else term, [described, *inner]
        run = _run(inner, 0)
        if run and below >= column + _STEP and all(line.indent == below for line in run) and self._is_prose(run):
            self._inner[column] = below
            return first.html, inner
        return None

    def _is_listed(self, text: int, lines: Sequence[_ManLine], column: int) -> bool:
        """Whether the first line is a whole entry, with its text at the column of those before it."""
        following = lines[1] if len(lines) > 1 else lines[0]
        gap = _GAP.search(following.words, column)
        goes_on = following.indent == column and (gap is None or gap.end() != text)
        return self._inner.get(column) == text and not (following.words and goes_on)

    def _block(self, run: Sequence[_ManLine], column: int) -> tuple[str, int]:
        """A paragraph or a block of code at the beginning of some lines, and how many it takes."""
        even = run[: _next(run, 0, lambda line: line.indent != run[0].indent)]
        several = len(even) > 1
        if self._is_prose(even) and (several or (even == run and run[0].indent == column)):
            return f"<p>{self._joined(even)}</p>", len(even)
        return _code(run), len(run)

    def _is_prose(self, lines: Sequence[_ManLine]) -> bool:
        """Whether each line goes on in the next one because it is full."""
        return all(len(one.words) + 1 + len(other.words.split()[0]) > self._width for one, other in pairwise(lines))

    def _joined(self, lines: Sequence[_ManLine]) -> str:
        """The lines as one. A hyphen at the end of one goes unless the page writes the word with one."""
        pieces: list[str] = []
        for line in lines:
            words = " ".join(line.html.split())
            broken, begins = _BROKEN.search(pieces[-1]) if pieces else None, _BEGINS.match(words)
            if not broken or not begins:
                pieces += [" ", words]
                continue
            one, two = broken[1], begins[2]
            hyphen = "-" if f"{one}-{two}" in self._known and one + two not in self._known else ""
            ends, opens = _TAG_NAME.findall(broken[2] + broken[3]), _TAG_NAME.findall(begins[1])
            if ends == opens[::-1]:  # a link or bold letters that go on
                pieces[-1] = f"{pieces[-1][: broken.end(1)]}{hyphen}"
                pieces.append(words[begins.start(2) :])
            else:
                pieces[-1] = f"{pieces[-1][: broken.end(2)]}{hyphen}{broken[3]}"
                pieces.append(words)
        return "".join(pieces).strip()


def _next(lines: Sequence[_ManLine], at: int, holds: Callable[[_ManLine], bool]) -> int:
    """The place of the first line after one for which something holds; else the number of lines."""
    return next((n for n in range(at + 1, len(lines)) if holds(lines[n])), len(lines))


def _run(lines: Sequence[_ManLine], at: int) -> Sequence[_ManLine]:
    """The lines up to the next blank one; none where one is blank already."""
    if at >= len(lines) or not lines[at].words:
        return ()
    return lines[at : _next(lines, at, lambda line: not line.words)]


def _code(lines: Sequence[_ManLine]) -> str:
    code = textwrap.dedent("\n".join(line.words for line in lines)).strip("\n")
    return f"<pre>{escape(code)}</pre>" if code else ""
