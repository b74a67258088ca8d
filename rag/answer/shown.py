"""The answer as a reader sees it: the lines that are shown, with citations in the profile's style."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from rag.answer.citations import AnswerPiece
from rag.answer.evidence import Source, best_quote
from rag.answer.lines import AnswerLine
from rag.answer.render import LEFT_OUT, make_citation, sources_footer
from rag.text.addresses import plain_address, same_address
from rag.types import UNCONFIRMED_MARK, Citation, CitationStyle, Footer, Quote

MOST_MARKERS: Final = 3  # numbers that a sentence shows; the other passages stay in the list of sources
_STOP: Final = re.compile(r"(?<![ \t])[ \t]*[.!?…。！？:]?[\"'”’»*_]*\s*\Z")


class ShownAnswer:
    """Joins lines to the answer. `content` has citations in the given style, `plain` has `[n]`.

    `citations` are in the order of their numbers, which are those of their appearance.
    """

    def __init__(self, sources: Mapping[int, Source], style: CitationStyle, *, renumber: bool = True) -> None:
        self._sources = sources
        self._style: CitationStyle = style
        self._renumber = renumber
        self._out: list[str] = []
        self._gap = ""  # white space that left-out lines leave before the next one
        self._sign: tuple[int, str] = (-1, "")  # of a block whose first sentence was left out
        self._missing: list[AnswerLine] = []  # items and rows that were left out since the last line that was shown
        self._last: AnswerLine | None = None
        self._numbers: dict[int, int] = {}
        self._unnumbered: dict[int, Quote] = {}
        self._cited: dict[int, Citation] = {}
        self.content = self.plain = ""

    @property
    def citations(self) -> list[Citation]:
        return list(self._cited.values())

    @property
    def links(self) -> dict[str, str]:
        """The address of each citation by its number, as text."""
        return {str(one.marker): one.url for one in self._cited.values()}

    def take_out(self) -> list[str]:
        """The pieces added since the last call."""
        pieces, self._out = self._out, []
        return pieces

    def put(self, line: AnswerLine, *, flagged: bool) -> None:
        """Show a line, with a mark if it is not confirmed."""
        self._tell_missing(line)
        sign = line.sign or (self._sign[1] if self._sign[0] == line.block else "")
        gap = _wider(self._gap, line.gap) if self.content else ""
        if self.content and not gap:
            gap = "\n\n" if sign or (self._last and self._last.block != line.block) else " "
        self._gap, self._sign, self._last = "", (-1, ""), line
        content, plain = self._texts(line)
        if flagged:
            content, plain = _marked(content, line), _marked(plain, line)
        self.add(f"{gap}{sign}{content}", f"{gap}{sign}{plain}")

    def leave_out(self, line: AnswerLine) -> None:
        """A line that is not shown leaves its white space, and its list sign to the rest of its item."""
        self._gap = _wider(self._gap, line.gap)
        if line.sign:
            self._sign = (line.block, line.sign)
        if not line.frame and (line.level or line.kind == "row") and (line.sign or line.kind == "row"):
            self._missing.append(line)

    def finish(self, footer: Footer) -> None:
        """Number what a train of markers left out, and add the list of sources."""
        self._tell_missing(None)
        for number, quote in self._unnumbered.items():
            if number not in self._cited:
                self._cite(number, quote)
        self.add(sources_footer(self.citations, footer if self._style == "numbered" else "none"))

    def add(self, content: str, plain: str = "") -> None:
        """Show a text as it is."""
        self.content += content
        self.plain += plain
        self._out += [content] if content else []

    def _tell_missing(self, line: AnswerLine | None) -> None:
        """Say where an item or a row of a list or table was left out of which something is shown."""
        for missing in self._missing:
            above = self._last is not None and self._last.group == missing.group
            below = line is not None and line.group == missing.group and line.block != missing.block
            if (above or below) and (line is None or line.block != missing.block or missing.kind == "row"):
                cells = max(1, missing.raw.strip().strip("|").count("|") + 1)
                note = f"| {LEFT_OUT}{' |' * cells}" if missing.kind == "row" else LEFT_OUT
                gap = missing.gap or "\n" if self.content else ""
                self.add(f"{gap}{missing.sign}{note}", f"{gap}{missing.sign}{note}")
                self._last = missing
                self._gap = ""
        self._missing = []

    # --- one line ---------------------------------------------------------------------------------------------------

    def _texts(self, line: AnswerLine) -> tuple[str, str]:
        """The line in the profile's style, and with plain markers."""
        if line.kind == "code":
            self._keep(line, line.cites)
            return line.raw, line.raw
        wanted = [number for number in line.cites if number in self._sources] if line.checked or line.numbers else []
        if line.frame:
            wanted = list(line.numbers or line.cites if line.kind == "lead" else line.numbers)
        most = MOST_MARKERS if self._style == "numbered" else len(wanted)
        chosen = wanted[:most]
        pieces = _placed(line.pieces, chosen, row=line.kind == "row")
        content = plain = ""
        group: list[int] = []  # cited at this place
        for piece in pieces:
            if piece.kind != "cite" and piece.text.strip(" \t,;"):
                group = []
            if piece.kind == "cite":
                shown = [number for number in dict.fromkeys(piece.numbers) if number in chosen and number not in group]
                group += shown
                styled = self._markers(line, shown)
                content = _with_marker(content, styled, self._style)
                plain = _with_marker(plain, "".join(f"[{self._numbers[n]}]" for n in shown), "numbered")
                continue
            text = self._link(piece, line) if piece.kind == "link" else piece.text
            content, plain = _joined(content, text), _joined(plain, text)
        self._keep(line, wanted[most:])
        if not self.content:
            return content.lstrip(), plain.lstrip()
        return content, plain

    def _markers(self, line: AnswerLine, numbers: Sequence[int]) -> str:
        styled = dict.fromkeys(self._cite(number, self._quote(line, number)).formatted for number in numbers)
        return ("" if self._style == "numbered" else " ").join(styled)

    def _quote(self, line: AnswerLine, number: int) -> Quote:
        return line.quotes.get(number) or best_quote(line.text, self._sources[number])

    def _cite(self, number: int, quote: Quote) -> Citation:
        citation = self._cited.get(number)
        if citation is None:
            shown = len(self._cited) + 1 if self._renumber else number
            self._numbers[number] = shown
            citation = make_citation(self._sources[number].passage, quote, self._style, shown)
            self._cited[number] = citation
        elif quote != Quote.of(citation) and quote not in citation.occurrences:
            citation.occurrences.append(quote)
        return citation

    def _keep(self, line: AnswerLine, numbers: Sequence[int]) -> None:
        """Remember what a line cites without a marker, for the list of sources."""
        for number in numbers:
            self._unnumbered.setdefault(number, self._quote(line, number))

    def _link(self, piece: AnswerPiece, line: AnswerLine) -> str:
        """The words of a link, with its address only if a cited passage has that link."""
        allowed = any(same_address(piece.url) in self._sources[n].addresses for n in line.cites or self._sources)
        written = any(f"]({piece.url}" in source.passage.text for source in self._sources.values())
        return f"[{piece.text}]({plain_address(piece.url)})" if allowed and written else piece.text


def _placed(pieces: Sequence[AnswerPiece], chosen: Sequence[int], *, row: bool) -> list[AnswerPiece]:
    """The pieces with a place for the citations that have none: before the full stop, or where another stood."""
    found = list(pieces)
    placed = {number for piece in found if piece.kind == "cite" for number in piece.numbers}
    rest = tuple(number for number in chosen if number not in placed)
    if not rest:
        return found
    cites = AnswerPiece("cite", "", rest)
    if not placed.intersection(chosen):
        for place, piece in enumerate(found):
            if piece.kind == "cite":
                found[place] = cites
                return found
    last = found[-1]
    if last.kind != "text":
        return [*found, cites]
    stop = re.search(r"(?<!\s)\s*\|?\s*\Z", last.text) if row else _STOP.search(last.text)
    at = stop.start() if stop else len(last.text)
    return [*found[:-1], AnswerPiece("text", last.text[:at]), cites, AnswerPiece("text", last.text[at:])]


def _with_marker(text: str, marker: str, style: CitationStyle) -> str:
    if not marker:
        return text.rstrip(" \t,;")
    if style == "numbered":
        apart = "" if not text or text[-1].isspace() or text.endswith("]") else " "
        return f"{text}{apart}{marker}"
    if text.rstrip().endswith(marker):
        return text.rstrip()
    return f"{text}{'' if not text or text[-1].isspace() else ' '}{marker}"


def _joined(text: str, more: str) -> str:
    """Two stretches of a line. What follows a marker must not make a link of it."""
    if text.endswith("]") and more.startswith("("):
        return f"{text} {more}"
    if text and text[-1].isspace() and re.match(r"[.,;:!?)]", more):
        return text.rstrip(" \t") + more
    return text + more


def _marked(text: str, line: AnswerLine) -> str:
    """The text with the mark of what is not confirmed: below code, inside the last cell of a row."""
    if line.kind == "code":
        return f"{text}\n\n{UNCONFIRMED_MARK}"
    if line.kind == "row" and text.rstrip().endswith("|"):
        return f"{text.rstrip()[:-1].rstrip()} {UNCONFIRMED_MARK} |"
    return f"{text.rstrip()} {UNCONFIRMED_MARK}"


def _wider(first: str, second: str) -> str:
    """The gap of two with more line breaks; of equals the second."""
    return max(second, first, key=lambda gap: gap.count("\n"))
