"""What a reader has been shown of an answer: text, citations, and notices of what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rag.answer.citations import make_citation, sources_footer
from rag.answer.lines import AnswerLine
from rag.text.markup import parse
from rag.types import Citation, CitationStyle, Footer, Grounding, Passage, Quote

_IN_ANOTHER_LANGUAGE: Final = (
    "The answer was in another language than the passages, so it could not be checked. Ask in the book's language, or "
    'have such sentences marked instead of removed: mode "flag".'
)


@dataclass(slots=True)
class LeftOut:
    """What is counted beside `Grounding`: addresses that no cited passage has, sentences in another language than the
    passages, whether the model denied that the book has an answer, and whether half a sentence was cut off.
    """

    links: int = 0
    foreign: int = 0
    said_no: bool = False
    cut: bool = False

    def told(self, counts: Grounding, *, refused: bool) -> Iterator[str]:
        """A sentence on each; of an answer that became the refusal only what a reader can do something about."""
        if counts.unknown_markers:
            yield f"{_were(counts.unknown_markers, 'citation')} taken out: no passage of this answer is meant."
        if self.links:
            yield f"{_were(self.links, 'link')} taken out: the cited passages have no such address."
        if counts.removed and not refused:
            yield f"{_were(counts.removed, 'sentence')} taken out: the cited passages do not say so."
        if counts.mode == "strict" and 2 * self.foreign > counts.sentences - counts.supported:
            yield _IN_ANOTHER_LANGUAGE
        if self.said_no and not refused:
            yield "The model also said that the book does not answer a part of the question."
        if self.cut:
            yield "The unfinished sentence at its end was left out."


def _were(count: int, noun: str) -> str:
    return f"1 {noun} was" if count == 1 else f"{count:,} {noun}s were"


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

    def put(self, line: AnswerLine, numbers: Sequence[int], *, flagged: bool) -> None:
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

    def leave_out(self, line: AnswerLine) -> None:
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


def _with_flag(line: AnswerLine) -> str:
    if line.kind == "code":
        return f"{line.text}\n{FLAG}{line.suffix}"
    if line.kind == "row" and line.text.rstrip().endswith("|"):
        return f"{line.text.rstrip()[:-1].rstrip()} {FLAG} |{line.suffix}"
    return f"{line.text} {FLAG}{line.suffix}"
