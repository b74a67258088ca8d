"""From pieces to the lines of an answer: statements, items, headings, leads, rows and code, in their blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from rag.answer.citations import CitationForms
from rag.answer.pieces import OPENING, PieceSplitter, TextPiece
from rag.text.english.numerals import SMALL
from rag.text.english.phrases import ANNOUNCES, CAPTION, SOURCE_LABEL, SOURCES_TITLE
from rag.text.english.units import unit_of
from rag.text.markup import MarkedText, without_markers
from rag.types import OMISSION, Quote, Standing

LineKind = Literal["sentence", "item", "heading", "lead", "row", "rule", "code", "markers", "definition"]

_PREFIX: Final = re.compile(r"(?:>[ \t]*)*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?(?:>[ \t]*)*")
_HEADING: Final = re.compile(r"(?:>[ \t]*)*(?P<signs>#{1,6})[ \t]+")
# All of it is bold, and it is neither a sentence nor a lead.
_BOLD_HEADING: Final = re.compile(r"\*\*[^*\n]{0,119}[^*\n.!?。！？]\*\*|__[^_\n]{0,119}[^_\n.!?。！？]__")
BOLD: Final = 7  # the level of a bold heading
_FINISHED: Final = re.compile(r"[.!?…:。！？][\"'”’)\]】*_`]*$")
_RULE: Final = re.compile(r"(?:[-*_=][ \t]*){3,}")
_DEFINITION: Final = re.compile(r"\[\^?[^\[\]\n]{1,100}\]:(?:[ \t]|$)")
# A statement behind its marker and a colon, "[1]: It runs.", which Markdown takes for the target of a link.
_LABELLED: Final = re.compile(
    rf"(?P<sign>{_PREFIX.pattern})(?P<marker>\[\^?(?:(?i:source|passage) )?\d{{1,3}}\]):[ \t]+"
    r"(?=[^\s<\[])(?!https?:|www\.)"
)
DELIMITER: Final = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*")
_BARE_ROW: Final = re.compile(r"[^\n`|]*(?:`[^`\n]*`[^\n`|]*)*[^\n]?\|[ \t][^\n]*[^\s.!?:]")  # without bars at its ends
_EMPHASIS: Final = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)")
_JOINS_NEXT: Final = re.compile(r"[,;]?[ \t]+(?:and|or)[ \t]*\Z|[,;][ \t]*\Z")  # at the end of an item: "a node, or"
_OPEN: Final = re.compile(r"(?<!\\)\[(?:\\.|[^\[\]\\\n]){0,300}$|\]\([^()\n]{0,500}$|<[A-Za-z/!][^<>\n]{0,500}$")


@dataclass(slots=True, eq=False)
class AnswerLine:
    """One piece on its way into the answer.

    `prefix` is the list sign or quotation mark before the text, `gap` the white space before that. `block` numbers
    paragraphs, items and the like; `run` numbers whole lists, tables and paragraphs. `level` is a heading's.
    `announces` is the number of items that a lead-in says will follow, 0 for none. A `frame` states nothing and is
    shown with the lines around it; `refusal` says that it denies that the book has an answer; `unresolved` that it
    has a citation by which no passage is meant. `standing` is None until the line was checked; `reasons` say why it is
    not supported. `waits` says that the judge is still to be heard, and `under` which line introduces this one.
    """

    kind: LineKind
    marked: MarkedText
    prefix: str = ""
    gap: str = ""
    block: int = 0
    run: int = 0
    level: int = 0
    announces: int = 0
    frame: bool = False
    refusal: bool = False
    unresolved: bool = False
    standing: Standing | None = None
    reasons: tuple[str, ...] = ()
    waits: bool = False
    under: str = ""
    quotes: dict[int, Quote] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.marked.text

    @property
    def is_open(self) -> bool:
        """Whether the line is still to be checked."""
        return self.standing is None and not self.frame

    @property
    def indent(self) -> int:
        """The indentation of the line, in characters."""
        return len(self.gap.rpartition("\n")[2])

    @property
    def in_list(self) -> bool:
        return self.kind in ("item", "lead") and bool(re.search(r"[-*+•\d]", self.prefix))


def _line(text: str, gap: str, *, starts: bool, ends: bool) -> AnswerLine:
    """The line of a text, by what a reader takes it for: "## Nodes" a heading, "- A node runs." an item."""
    heading = _HEADING.match(text) if starts else None
    begin = heading or (_PREFIX.match(text) if starts else None)
    prefix = begin[0] if begin else ""
    body = MarkedText(text[len(prefix) :])
    bare = body.bare.strip()
    is_lead = bare.rstrip("*_ \t\n").endswith((":", "："))
    kind: LineKind = "lead" if ends and is_lead else "item" if re.search(r"[-*+•\d]", prefix) else "sentence"
    only_cites = SOURCE_LABEL.fullmatch(bare) or not re.search(r"\w", prefix + bare)
    if only_cites and re.search(r"\d", body.text):
        kind = "markers"
    elif _DEFINITION.match(text) and (starts or text.startswith("[^")):
        kind = "definition"
    elif starts and _RULE.fullmatch(text):
        kind = "rule"
    elif heading or (starts and ends and not prefix.strip("> \t") and not is_lead and _BOLD_HEADING.fullmatch(bare)):
        kind = "heading"
    elif starts and (body.text.startswith("|") or (ends and not prefix and _is_bare_row(bare))):
        kind = "row"
    if kind in ("markers", "definition", "rule"):
        prefix, body = "", body.changed(text)
    level = len(heading["signs"]) if heading else BOLD
    return AnswerLine(kind, body, prefix, gap, level=level, frame=bare == OMISSION)


def _is_bare_row(line: str) -> bool:
    """Whether a line is a row, or the line below the head, of a table without bars at its ends."""
    return _BARE_ROW.fullmatch(line) is not None or ("|" in line and DELIMITER.fullmatch(line) is not None)


def with_markers(text: str, numbers: Iterable[int]) -> str:
    """The sentence with markers before its full stop, the row of a table with markers in its last cell.

    >>> with_markers("A node runs.", (1, 3)), with_markers("| Pump | 12 kg |", (2,)), with_markers("a node, or", (1,))
    ('A node runs [1][3].', '| Pump | 12 kg [2] |', 'a node [1], or')
    """
    joint = _JOINS_NEXT.search(text)
    end = joint.start() if joint else len(text.rstrip(".!?…:。！？"))
    if end == 0 or text[end - 1] in "\"'”’)]】*_`":
        end = len(text)
    return with_sign(text, "".join(f"[{n}]" for n in numbers), end)


def with_sign(text: str, sign: str, at: int) -> str:
    """The text with a sign at a place, the row of a table with it in its last cell."""
    row = text.rstrip()
    if row.startswith("|") and row.endswith("|"):
        return f"{row[:-1].rstrip()} {sign} |"
    return f"{text[:at]} {sign}{text[at:]}"


def announced(lead: str) -> tuple[int, str]:
    """How many items a lead-in announces, 0 if it does not say, and the lead-in without that number.

    >>> announced("There are **six** types:")
    (6, 'There are types:')
    """
    plain = _EMPHASIS.sub("", lead)
    match = ANNOUNCES.search(plain)
    if match is None or unit_of(match["noun"]):
        return 0, lead
    number = SMALL[match["number"]] if match["number"].isalpha() else int(match["number"])
    return number, plain[: match.start()] + plain[match.end("number") :].lstrip()


class LineParser:
    """Takes tokens and gives whole lines, each with the number of its block and run.

    A line of the kind "definition" belongs to the model's own list of sources and is not shown. `cut` is set when half
    a sentence at the end was left out.
    """

    def __init__(self, forms: CitationForms) -> None:
        self._cutter = PieceSplitter(
            lambda text: forms.is_open(text) or _OPEN.search(text) is not None, forms.is_in_passages
        )
        self._overlong = False  # within a stretch that is too long for a line
        self._listing = False  # within a list of sources of the model's own
        self._gap = ""  # white space after the last piece
        self._last = AnswerLine("code", MarkedText(""))  # nothing goes on from it
        self._in_list = False  # whether the last block is an item
        self._has_prose = False  # whether a statement without a label such as "[1]:" was there
        self.cut = False

    def feed(self, text: str) -> Iterator[AnswerLine]:
        """Take the next tokens; give the lines that they finish."""
        for piece in self._cutter.feed(text):
            yield from self._line(piece)

    @property
    def paused(self) -> bool:
        """Whether a paragraph has ended after the last line."""
        return self._gap.count("\n") > 1

    def close(self, *, cut: bool = False) -> Iterator[AnswerLine]:
        """The last line. With `cut` the model was stopped, and a line is left out that does not end as one does."""
        last = self._cutter.close()
        if cut and (text := without_markers(last.text).rstrip()):
            self.cut = last.kind != "text" or not _FINISHED.search(text)
        if not self.cut:
            yield from self._line(last)

    def _line(self, piece: TextPiece) -> Iterator[AnswerLine]:
        """The line of a piece; none of blank lines, of thoughts, and of what continues an overlong line."""
        raw = piece.text if piece.kind in ("text", "code") else ""
        text = raw.strip() if raw.strip("> \t\n") else ""  # a blank line of a quotation
        fence, *inner = text.split("\n") if piece.kind == "code" else [""]
        goes_on, self._overlong = self._overlong, piece.kind == "overlong"
        if self._overlong and not goes_on:
            long = "distant: it is too long for one sentence"
            yield self._placed(AnswerLine("sentence", MarkedText(""), standing="contradicted", reasons=(long,)))
        if not text or (piece.kind == "code" and not any(line.strip("> \t`~") for line in inner)):
            self._gap += raw if not text else "" if "\n" in self._gap else "\n"
            return
        gap, self._gap = self._gap + raw[: len(raw) - len(raw.lstrip())], raw[len(raw.rstrip()) :]
        if piece.kind == "code":
            sign = OPENING.match(fence)
            if sign and not (inner and inner[-1].strip("> \t").startswith(sign["fence"])):
                text += f"\n{sign[0]}"  # the closing fence that a model may forget; what follows would become code
            yield self._placed(AnswerLine("code", MarkedText(text), gap=gap))
        else:
            starts = "\n" in gap or self._last.kind == "code"
            text, labelled = self._unlabelled(text, starts=starts)
            line = self._placed(_line(text, gap, starts=starts, ends="\n" in self._gap or not self._gap))
            self._has_prose |= starts and not labelled and line.kind in ("sentence", "item", "row")
            yield line

    def _unlabelled(self, text: str, *, starts: bool) -> tuple[str, bool]:
        """The text without the colon behind its marker, and whether it had one.

        Below statements, a line that begins so is a footnote of the model's own, and so is "[^1]:" on their line.
        """
        found = _LABELLED.match(text)
        if found is None or self._listing:
            return text, False
        if (self._has_prose if starts else found["marker"].startswith("[^")) and not found["sign"]:
            return text, False
        return f"{found['sign']}{found['marker']} {text[found.end() :]}", True

    def _placed(self, line: AnswerLine) -> AnswerLine:
        """The line with its block and run; as a "definition" where it belongs to the model's own list of sources."""
        if line.kind in ("heading", "lead") and SOURCES_TITLE.fullmatch(line.marked.bare.strip()):
            self._listing = True
            line.kind = "definition"
        else:
            entry = line.kind in ("item", "definition", "markers") or line.text.startswith(("[", "【", "http"))
            self._listing = self._listing and entry
            line.kind = "definition" if self._listing else line.kind
        last = self._last
        starts = "\n" in line.gap or not last.block
        if line.kind == "sentence" and starts and last.kind not in ("row", "code") and CAPTION.match(line.text):
            line.kind = "lead"  # "Table: the weights [2]" introduces the table, and below one it is a remark
        line.block, line.run = last.block, last.run
        if not last.block or not _goes_on(last, line):
            line.block += 1
            line.run += not (self._in_list and line.in_list)
            self._in_list = line.in_list
        self._last = line
        return line


def _goes_on(last: AnswerLine, line: AnswerLine) -> bool:
    """Whether the line belongs to the same paragraph, item or table as the one before it, or cites it."""
    if line.kind == "markers" or (line.kind == "row" and last.kind == "row"):
        return True
    if line.prefix or line.kind not in ("sentence", "lead") or re.search(r"\n[\s>]*\n", line.gap):
        return False
    if last.kind == "lead":
        return "\n" not in line.gap
    return last.kind in ("sentence", "item", "markers")
