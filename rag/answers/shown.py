"""What a reader has been shown of an answer: its text in both forms, and its citations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rag.answers.lines import Line
from rag.answers.markers import parse
from rag.citations import make_citation, sources_footer
from rag.types import Citation, CitationStyle, Footer, Passage, Quote

FLAG: Final = "(unsupported)"  # behind what the book does not support, in the mode "flag"


class Shown:
    """Puts lines together to the answer. `content` has citations in the given style, `plain` has `[n]`."""

    def __init__(self, passages: Mapping[int, Passage], style: CitationStyle) -> None:
        self._passages = passages
        self._style: CitationStyle = style
        self._out: list[str] = []
        self._gap = ""  # what has to stand before the next line, from lines that were left out
        self._prefix: tuple[int, str] = (0, "")  # the list sign of a block whose first sentence was left out
        self.content = ""
        self.plain = ""
        self.citations: dict[int, Citation] = {}

    def take_out(self) -> list[str]:
        """What was put since the last call, piece by piece."""
        pieces, self._out = self._out, []
        return pieces

    def put(self, line: Line, numbers: Sequence[int], *, flagged: bool) -> None:
        """Show a line, which cites these passages; `line.quotes` has a quote for each."""
        gap = wider(self._gap, line.gap) if self.content else ""
        block, sign = self._prefix
        lead = gap + (line.prefix or (sign if block == line.block else ""))
        self._gap, self._prefix = "", (0, "")
        for number in numbers:
            self._cite(number, line.quotes[number])
        text = line.text + line.suffix
        if flagged:
            text = _with_flag(line)
        fixed = len(line.text) if line.kind == "code" else 0  # code holds no markers, whatever it looks like
        self.plain += lead + text
        self._add(lead + text[:fixed] + self._rendered(text[fixed:]))

    def leave_out(self, line: Line) -> None:
        """A line that is not shown leaves what parts its neighbours, and its list sign to the rest of its item."""
        self._gap = wider(self._gap, line.gap)
        if line.prefix:
            self._prefix = (line.block, line.prefix)

    def put_footer(self, footer: Footer) -> None:
        self._add(sources_footer(self.citations.values(), footer if self._style == "numbered" else "none"))

    def put_alone(self, text: str) -> None:
        """Show a text that is the whole answer."""
        self.plain = text
        self._add(text)

    def _add(self, text: str) -> None:
        self.content += text
        self._out += [text] if text else []

    def _cite(self, number: int, quote: Quote) -> None:
        citation = self.citations.get(number)
        if citation is None:
            self.citations[number] = make_citation(self._passages[number], quote, self._style)
        elif quote != Quote.of(citation) and quote not in citation.occurrences:
            citation.occurrences.append(quote)

    def _rendered(self, plain: str) -> str:
        """The text with its markers in the style of the answer."""
        if self._style == "numbered":
            return plain
        text, between = "", ""
        group: list[str] = []  # the citations that stand next to one another here: passages of a page may look the same
        for one in parse(plain):
            if one.kind != "marker":
                between += one.raw
                continue
            if between.strip(" \t,;"):
                group = []
            for citation in [self.citations[n].formatted for n in one.numbers]:
                if citation not in group:
                    apart = " " if self._style == "chapter" and group and not between else between
                    text, between = text + apart + citation, ""
                    group.append(citation)
            between = "" if group else between
        return text + between


def wider(one: str, other: str) -> str:
    """The white space that parts more, with the indentation of the latter where that begins a line."""
    breaks = max(one.count("\n"), other.count("\n"))
    if not breaks:
        return other or one
    return "\n" * breaks + (other if "\n" in other else one).rpartition("\n")[2]


def _with_flag(line: Line) -> str:
    if line.kind == "code":
        return f"{line.text}\n{FLAG}{line.suffix}"
    if line.kind == "row" and line.text.rstrip().endswith("|"):
        return f"{line.text.rstrip()[:-1].rstrip()} {FLAG} |{line.suffix}"
    return f"{line.text} {FLAG}{line.suffix}"
