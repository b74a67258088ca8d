"""The answer as a reader sees it: the lines that are shown, with citations in the profile's style, and notices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from rag.answer.cited_passage import best_quote, clip
from rag.answer.lines import AnswerLine, with_sign
from rag.text.markup import MarkedText, Segment, as_written, plain_address, plain_lines
from rag.types import (
    CLOSEST,
    UNCONFIRMED_MARK,
    Citation,
    CitationStyle,
    Footer,
    Grounding,
    GroundingMode,
    Passage,
    Quote,
)

LEFT_OUT: Final = "(left out: the cited passages do not say this)"  # in place of an item, a row or a lead-in
_EMPTY_ROW: Final = re.compile(r"[\s|]+")
# Why sentences were removed.
_REMOVED: Final = "nothing was left of it after what the cited passages do not have was removed."
_REMOVED_IN: Final[dict[GroundingMode, str]] = {
    "strict": "it says what no cited passage says, or follows an order planted in the book.",
    "exact": "the cited passages do not say so in these or nearly these words.",
}
_OF_SEVERAL: Final = (("it names", "they name"), ("it says", "they say"), ("follows", "follow"), ("of it", "of them"))
_EMPHASIS: Final = re.compile(r"`+|\*{1,3}|_{1,3}")
UNCONFIRMED: Final = "This answer could not be confirmed from the book."


class ShownAnswer:
    """Joins lines to the answer. `content` has citations in the given style, `plain` has `[n]`."""

    def __init__(self, passages: Mapping[int, Passage], style: CitationStyle) -> None:
        self._passages = passages
        self._style: CitationStyle = style
        self._out: list[str] = []
        self._gap = ""  # white space that left-out lines leave before the next line
        self._prefix: tuple[int, str] = (0, "")  # the list sign of a block whose first sentence was left out
        self._missing: list[AnswerLine] = []  # items, rows and lead-ins that were left out since the last line
        self._run = 0  # of the last line
        self._before: AnswerLine | None = None  # the line before, shown or not
        self._emphasis = OpenEmphasis()
        self.content = self.plain = ""
        self.citations: dict[int, Citation] = {}

    def take_out(self) -> list[str]:
        """The pieces added since the last call."""
        pieces, self._out = self._out, []
        return pieces

    def put(self, line: AnswerLine, numbers: Sequence[int], *, flagged: bool) -> None:
        """Show a line, which cites these passages."""
        self._tell_missing(line)
        self._before = line
        gap = wider(self._gap, line.gap) if self.content else ""
        block, sign = self._prefix
        lead = gap + (line.prefix or (sign if block == line.block else ""))
        self._gap, self._prefix, self._run = "", (0, ""), line.run
        for number in numbers:
            passage, citation = self._passages[number], self.citations.get(number)
            quote = line.quotes.get(number) or best_quote(as_written(line.text), passage.text)
            if citation is None:
                self.citations[number] = make_citation(passage, quote, self._style)
            elif quote != Quote.of(citation) and quote not in citation.occurrences:
                citation.occurrences.append(quote)
        if flagged:  # after its text, below a block of code, inside the last cell of a row
            below = f"{line.text}\n{UNCONFIRMED_MARK}"
            beside = with_sign(line.text, UNCONFIRMED_MARK, len(line.text))
            line.marked = MarkedText(below if line.kind == "code" else beside)
        # code holds no markers, whatever it looks like
        if begin := self._emphasis.opened_before(line):
            line.marked = MarkedText(begin + line.text)
        segments = [Segment("text", line.text)] if line.kind == "code" else line.marked.segments
        if line.kind == "markers" and "\n" in gap and self._style in ("numbered", "title"):
            segments = [Segment("text", "Sources: " if len(numbers) > 1 else "Source: "), *segments]
        texts = self._rendered(segments), "".join(segment.raw for segment in segments)
        if not self.content or lead[-1:].isspace():  # what was taken out of its beginning left a blank
            texts = texts[0].lstrip(), texts[1].lstrip()
        self.add(lead + as_written(texts[0]), lead + as_written(texts[1]))

    def leave_out(self, line: AnswerLine) -> None:
        """A line that is not shown leaves its white space, and its list sign to the rest of its item."""
        if end := self._emphasis.closed_in(line):
            self.add(end, end)
        self._gap = wider(self._gap, line.gap)
        if line.prefix:
            self._prefix = (line.block, line.prefix)
        is_row = line.kind == "row" and not line.frame and not _EMPTY_ROW.fullmatch(line.text)
        introduction = line.kind == "lead" and line.standing == "contradicted"
        introduced = line.kind == "code" and self._before is not None and self._before.kind == "lead"
        self._before = line
        nested = bool(self._missing) and line.in_list and self._missing[-1].run == line.run
        if nested and self._missing[-1].kind == "lead" and line.indent > self._missing[-1].indent:
            return  # it goes with the item above it, which is told of
        if is_row or line.in_list or introduction or introduced:
            self._missing.append(line)

    def _tell_missing(self, line: AnswerLine | None) -> None:
        """Add a note where an item, a row or a lead-in of a shown list or table was left out. `line` is shown next."""
        for missing in self._missing:
            is_row = missing.kind == "row"
            above = missing.kind == "code" or (self._run == missing.run and (is_row or missing.in_list))
            near = line is not None and line.run - missing.run in (0, missing.kind == "lead")
            below = near and (is_row or (line is not None and line.in_list))
            if (above or below) and (is_row or line is None or line.block != missing.block):
                cells = " |" * missing.text.rstrip().removesuffix("|").count("|")
                note = f"| {LEFT_OUT}{cells}" if is_row else LEFT_OUT
                text = f"{missing.gap if self.content else ''}{missing.prefix}{note}"
                self.add(text, text)
                self._run, self._gap = missing.run, ""
        self._missing = []

    def put_footer(self, footer: Footer) -> None:
        self._tell_missing(None)
        self.add(sources_footer(self.citations.values(), footer if self._style == "numbered" else "none"))

    def add(self, content: str, plain: str = "") -> None:
        """Show a text as it is."""
        self.content += content
        self.plain += plain
        self._out += [content] if content else []

    def _rendered(self, segments: Sequence[Segment]) -> str:
        """The text of the segments, with its markers in the style of the answer."""
        if self._style == "numbered":
            return "".join(segment.raw for segment in segments)
        text, between = "", ""
        group: list[str] = []  # adjacent citations: several passages of a page may look the same
        for segment in segments:
            if segment.kind != "marker":
                between += segment.raw
                continue
            if between.strip(" \t,;"):
                group = []
            for citation in [self.citations[n].formatted for n in segment.numbers]:
                if citation not in group:
                    apart = " " if self._style == "chapter" and group and not between else between
                    text, between = text + apart + citation, ""
                    group.append(citation)
            between = "" if group else between
        return text + between


class OpenEmphasis:
    """Signs of emphasis and code, such as `**`, whose other half is in a sentence of the block that is not shown.

    `**It runs. It flies.**` without its second sentence needs a sign at its end, without its first at its beginning.
    """

    def __init__(self) -> None:
        self._block = -1
        self._written: list[str] = []  # open behind the lines so far
        self._shown: list[str] = []  # open behind those of them that are shown

    def opened_before(self, line: AnswerLine) -> str:
        """The signs that a shown line closes and that were opened in lines which are not shown."""
        before = self._begin(line)
        lost = before[len(self._shown) :] if before[: len(self._shown)] == self._shown else []
        self._written = open_signs(line.text, before)
        closed = lost if len(self._written) <= len(self._shown) else []
        self._shown = open_signs("".join(closed) + line.text, self._shown)
        return "".join(closed)

    def closed_in(self, line: AnswerLine) -> str:
        """The signs that a line which is not shown closes and that were opened in shown ones."""
        self._written = open_signs(line.text, self._begin(line))
        common = sum(1 for sign, other in zip(self._written, self._shown, strict=False) if sign == other)
        lost, self._shown = self._shown[common:], self._shown[:common]
        return "".join(reversed(lost))

    def _begin(self, line: AnswerLine) -> list[str]:
        """The signs that are open before a line. Those of another block, of a row and of code have no other half."""
        if line.block != self._block or line.kind not in ("sentence", "item", "lead"):
            self._block, self._written, self._shown = line.block, [], []
        return self._written


def open_signs(text: str, before: Sequence[str] = ()) -> list[str]:
    """The signs of emphasis and code that are open behind a text, those from `before` included.

    >>> open_signs("**It runs"), open_signs("It runs.**", ["**"]), open_signs("2 * 3, `a*b` and a_b")
    (['**'], [], [])
    """
    found = list(before)
    for match in _EMPHASIS.finditer(text):
        sign, last = match[0], text[match.start() - 1 : match.start()] if match.start() else ""
        follows = text[match.end() : match.end() + 1]
        inside = sign[0] == "_" and last.isalnum() and follows.isalnum()
        if found and found[-1] == sign and not last.isspace() and (last or len(text) > len(sign)):
            found.pop()
        elif (found and found[-1][0] == "`") or inside or not follows or follows.isspace():
            continue
        elif sign[0] == "`" or not last or not last.isalnum():
            found.append(sign)
    return found


def wider(first: str, second: str) -> str:
    """The gap of two with more line breaks; of equals the second, whose indentation begins the line."""
    return max(second, first, key=lambda gap: gap.count("\n"))


def notices(counts: Grounding, links: int, *, denies_answer: bool, cut: bool, refused: bool) -> Iterator[str]:
    """One sentence for each kind of thing that was left out. For a refusal, only those that a reader can act on."""
    yield from _told(counts.unknown_markers, "citation", "it names no passage of this turn.")
    yield from _told(links, "link", "the cited passages have no such address.")
    if not refused:
        yield from _told(counts.removed, "sentence", _REMOVED_IN.get(counts.mode, _REMOVED))
    marked = {"strict": ("unconfirmed",), "flag": ("unconfirmed", "contradicted")}.get(counts.mode, ())
    if any(sentence.standing in marked and sentence.text for sentence in counts.checked) and not refused:
        yield f"Sentences marked {UNCONFIRMED_MARK} could not be confirmed from the passages."
    foreign = sum(any(reason.startswith("language:") for reason in sentence.reasons) for sentence in counts.checked)
    if foreign and counts.mode != "off":
        noun, verb = ("sentence is", "was") if foreign == 1 else ("sentences are", "were")
        yield f"{foreign} {noun} not in English and {verb} not checked."
    if denies_answer and not refused:
        yield "The model also said that the book does not answer a part of the question."
    if cut:
        yield "The unfinished sentence at its end was left out."


def _told(count: int, noun: str, why: str) -> Iterator[str]:
    if count == 1:
        yield f"1 {noun} was taken out: {why}"
    elif count:
        for singular, plural in _OF_SEVERAL:
            why = why.replace(singular, plural)
        yield f"{count:,} {noun}s were taken out: {why}"


def make_citation(passage: Passage, quote: Quote, style: CitationStyle) -> Citation:
    """The record of a passage that was cited for `quote`."""
    same = passage.model_dump(include=Citation.model_fields.keys() - {"url"})
    return Citation(
        **same,
        **quote.model_dump(),
        marker=passage.number,
        url=passage.link,
        confidence_score=passage.score,
        text_preview=clip(passage.text, 0, len(passage.text)).quote,
        formatted=format_citation(passage, style),
    )


def format_citation(passage: Passage, style: CitationStyle) -> str:
    """A citation in the profile's style, in Markdown."""
    title, heading, link = label(passage.title), label(passage.heading), plain_address(passage.link)
    if style == "source":
        return f"[Source: {title}]({link})"
    if style == "title":
        return f"[{title} - {heading}]({link})" if heading else f"[{title}]({link})"
    if style == "chapter":
        return f"(from {', '.join(dict.fromkeys(filter(None, (title, heading))))})"
    return f"[{passage.number}]"


def label(text: str) -> str:
    """A title on one line, with the signs escaped that would end it or begin something else."""
    return re.sub(r"([\\\[\]<])", r"\\\1", " ".join(plain_lines(text).split()))


def sources_footer(citations: Iterable[Citation], form: Footer = "list") -> str:
    """The list of what was cited, below a rule; empty when nothing was, or the form is "none".

    "list" gives titles and addresses, a line for what has both in common ("- [1] [3] Nodes (nodes.md)"); "files" also
    the source file, "scores" an address and its score a line.
    """
    cited = list(citations)
    if not cited or form == "none":
        return ""
    if form == "scores":
        return scores_footer((c.marker, c.url, c.score) for c in cited)
    lines: dict[str, list[str]] = {}  # passages of one section look the same; they share a line
    for c in cited:
        name = label(c.breadcrumb or c.title)
        if form == "files" and c.source_file_path and c.url.partition("#")[0] != c.source_file_path:
            name += f", {label(c.source_file_path)}"
        place = f" ({plain_address(c.url)})" if c.url else ""  # a retriever's document may have none
        lines.setdefault(f"{name}{place}", []).append(f"[{c.marker}]")
    return "\n\n---\n**Sources:**\n" + "\n".join(f"- {' '.join(markers)} {line}" for line, markers in lines.items())


def unconfirmed_answer(passages: Iterable[Passage]) -> str:
    """The text in place of an answer of which nothing could be shown: a sentence, and the closest passages."""
    names = [(label(p.breadcrumb or p.title or f"Passage {p.number}"), p.link) for p in passages][:CLOSEST]
    closest = [f"- {name} ({link})" if link else f"- {name}" for name, link in names]
    return "\n".join([UNCONFIRMED, "", "Closest passages:", *closest] if closest else [UNCONFIRMED])


def scores_footer(sources: Iterable[tuple[int, str, float]]) -> str:
    """The footer with scores, from (number, address, score), in the lines of the design; see decision 148."""
    lines = [f"[{number}] {plain_address(url)} (score: {score:.2f})" for number, url, score in sources]
    return "\n\n---\n" + "\n".join(["**Sources:**", *lines]) if lines else ""
