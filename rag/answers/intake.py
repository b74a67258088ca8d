"""From a model's tokens to the lines of an answer: sentences, items, headings, rows and code, in their blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rag.answers.citation_forms import CitationForms
from rag.answers.lines import Line, begins_sources, is_finished, lines_of
from rag.answers.pieces import Piece, PieceCutter
from rag.answers.raw import Raw

_LONGEST_OPEN: Final = 4000  # code points that are held back for the end of a link
_OPEN: Final = re.compile(r"\[(?:\\.|[^\[\]\\\n]){0,300}$|\]\([^()\n]{0,500}$|<[A-Za-z/!][^<>\n]{0,500}$")


class Intake:
    """Takes tokens, gives lines that are whole, each with the number of its block and run.

    A line of the kind "definition" belongs to a list of sources of the model's own, one of the kind "overlong" is too
    long to be a sentence: neither is to be shown. `cut` is set when half a sentence at the end was left out.
    """

    def __init__(self, forms: CitationForms) -> None:
        self._forms = forms
        self._raw = Raw()
        self._cutter = PieceCutter()
        self._unfinished = ""  # a piece that ends within a link
        self._overlong = False
        self._listing = False  # within a list of sources of the model's own
        self._gap = ""  # white space behind the last piece
        self._last: Line | None = None
        self.cut = False

    def feed(self, text: str) -> Iterator[Line]:
        """Take the next tokens; give the lines that they finish."""
        for piece in self._cutter.feed(self._raw.feed(text)):
            yield from self._whole(piece)

    @property
    def paused(self) -> bool:
        """Whether a paragraph has ended behind the last line."""
        return not self._unfinished and self._gap.count("\n") > 1

    def close(self, *, cut: bool = False) -> Iterator[Line]:
        """The last line. `cut` says that the model was stopped: a line that is no whole sentence is left out."""
        for piece in self._cutter.feed(self._raw.close()):
            yield from self._whole(piece)
        last = self._cutter.close()
        self.cut = cut and not is_finished(Piece(self._unfinished + last.text, last.code))
        if not self.cut:
            yield from self._whole(last, last=True)

    def _whole(self, piece: Piece, *, last: bool = False) -> Iterator[Line]:
        """Take a piece, unless it ends within a link or citation, such as `[Source: What is it? A guide](url)`."""
        if self._overlong or not piece.whole:
            if not self._overlong:
                yield self._placed(Line("overlong", ""))
            self._overlong, self._unfinished = not piece.whole, ""
            return
        held, self._unfinished = self._unfinished, ""
        if piece.code:
            yield from self._lines(Piece(held))
            yield from self._lines(piece)
        elif not last and len(held) + len(piece.text) < _LONGEST_OPEN and self._is_open(held + piece.text):
            self._unfinished = held + piece.text
        else:
            yield from self._lines(Piece(held + piece.text))

    def _is_open(self, text: str) -> bool:
        """Whether the text ends in what may be the beginning of a link or citation, on the same line."""
        tail = text[-1000:]
        return "\n" not in tail[len(tail.rstrip()) :] and (self._forms.is_open(text) or _OPEN.search(tail) is not None)

    def _lines(self, piece: Piece) -> Iterator[Line]:
        raw = piece.text
        if not raw.strip():
            self._gap += raw
            return
        gap, self._gap = self._gap + raw[: len(raw) - len(raw.lstrip())], raw[len(raw.rstrip()) :]
        starts = self._last is None or "\n" in gap or self._last.kind == "code"
        for line in lines_of(piece, gap, starts=starts, ends="\n" in self._gap or not self._gap):
            yield self._placed(line)

    def _placed(self, line: Line) -> Line:
        """The line with its block and run; as a "definition" where it belongs to the model's own list of sources."""
        if line.kind in ("heading", "lead") and begins_sources(line.text):
            self._listing = True
            line.kind = "definition"
        else:
            entry = line.kind in ("item", "definition", "markers") or line.text.startswith(("[", "【", "http"))
            self._listing = self._listing and entry
            line.kind = "definition" if self._listing else line.kind
        last = self._last
        if last is not None and _goes_on(last, line):
            line.block, line.run = last.block, last.run
        else:
            line.block = (last.block if last else 0) + 1
            line.run = (last.run if last else 0) + (not (last and last.in_list and line.in_list))
        self._last = line
        return line


def _goes_on(last: Line, line: Line) -> bool:
    """Whether the line belongs to the same paragraph, item or table as the one before it, or cites it."""
    if line.kind == "markers" or (line.kind == "row" and last.kind == "row"):
        return True
    if line.prefix or line.kind not in ("sentence", "lead") or re.search(r"\n\s*\n", line.gap):
        return False
    if last.kind == "lead":
        return "\n" not in line.gap
    return last.kind in ("sentence", "item", "markers")
