"""What a piece of an answer is to a reader: a statement, a list item, a heading, a lead, a row, a block of code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from rag.answers.markers import without_markers
from rag.answers.pieces import Piece
from rag.types import Quote

Kind = Literal["sentence", "item", "heading", "lead", "row", "rule", "code", "markers", "definition", "overlong"]

_PREFIX: Final = re.compile(r"(?:>[ \t]*)*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?(?:>[ \t]*)*")
_HEADING: Final = re.compile(r"(?P<signs>#{1,6})[ \t]+")
_BOLD: Final = re.compile(r"(?:\*\*[^*\n]{1,120}\*\*|__[^_\n]{1,120}__):?")
_RULE: Final = re.compile(r"(?:[-*_=][ \t]*){3,}")
_DEFINITION: Final = re.compile(r"\[\^?[^\[\]\n]{1,100}\]:(?:[ \t]|$)")
_DELIMITER: Final = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*")
_SOURCES: Final = re.compile(
    r"\W*(?:sources?|references?|citations?|works cited|bibliography|footnotes?|links?|further reading|learn more|"
    r"see also)(?:\s+(?:used|cited|consulted))?\W*",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Line:
    """One piece on its way into the answer.

    `prefix` is the list sign or quotation mark before `text`, `gap` the white space before it all, `suffix` markers
    behind it. `block` counts paragraphs, items and the like; `run` counts lists, tables and the rest as a whole.
    `judged` is None until it is known whether the line is supported; it `waits` where a second judge is to say so too.
    A `frame` states nothing and stands or falls with
    what is around it; `refusal` says that it denies that the book has an answer. `level` is a heading's.
    """

    kind: Kind
    text: str
    prefix: str = ""
    gap: str = ""
    block: int = 0
    run: int = 0
    level: int = 0
    frame: bool = False
    refusal: bool = False
    judged: bool | None = None
    waits: bool = False
    suffix: str = ""
    quotes: dict[int, Quote] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether it is still to be judged."""
        return self.judged is None and not self.frame

    @property
    def indent(self) -> int:
        """How far its line is indented, in characters."""
        return len(self.gap.rpartition("\n")[2])

    @property
    def stands(self) -> bool:
        """Whether it is a supported statement for good."""
        return bool(self.judged) and not self.frame and not self.waits

    @property
    def in_list(self) -> bool:
        return self.kind in ("item", "lead") and bool(re.search(r"[-*+•\d]", self.prefix))


def lines_of(piece: Piece, gap: str, *, starts: bool, ends: bool) -> list[Line]:
    """The lines of a piece: one, and behind it the markers that stand below it.

    `gap` is the white space before it; `starts` and `ends` say whether it begins and ends a line of the text.
    """
    text = piece.text.strip()
    if piece.code:
        return [Line("code", _closed(text), gap=gap)]
    body, _, below = text.partition("\n")
    if below and not _is_markers(below):
        body, below = text, ""
    line = _line(body.rstrip(), gap, starts=starts, ends=ends or bool(below))
    if not below:
        return [line]
    between = text[len(body.rstrip()) : len(text) - len(below.lstrip())]
    return [line, Line("markers", below.strip(), gap=between)]


def _closed(block: str) -> str:
    """A block of code with its closing fence, which a model may forget: what follows would be code as well."""
    fence = re.match(r"`{3,}|~{3,}", block)
    if fence is None or ("\n" in block and block.rpartition("\n")[2].strip().startswith(fence[0])):
        return block
    return f"{block}\n{fence[0]}"


def _is_markers(text: str) -> bool:
    return not re.search(r"\w", without_markers(text)) and re.search(r"\d", text) is not None


def _line(text: str, gap: str, *, starts: bool, ends: bool) -> Line:
    if _is_markers(text):
        return Line("markers", text, gap=gap)
    if not starts and text.startswith("[^") and _DEFINITION.match(text):
        return Line("definition", text, gap=gap)
    if not starts:
        return Line("lead" if ends and _is_lead(text) else "sentence", text, gap=gap)
    if _DEFINITION.match(text):
        return Line("definition", text, gap=gap)
    if _RULE.fullmatch(text):
        return Line("rule", text, gap=gap)
    if heading := _HEADING.match(text):
        return Line("heading", text[heading.end() :], heading[0], gap, level=len(heading["signs"]))
    found = _PREFIX.match(text)
    prefix = found[0] if found else ""
    body = text[len(prefix) :]
    if body.startswith("|"):
        return Line("row", body, prefix, gap)
    bare = without_markers(body).strip()
    if (
        ends
        and not prefix
        and _BOLD.fullmatch(bare)
        and not _is_lead(bare)
        and bare.rstrip("*_")[-1] not in ".!?。！？"
    ):
        return Line("heading", body, "", gap, level=7)
    if ends and _is_lead(body):
        return Line("lead", body, prefix, gap)
    return Line("item" if re.search(r"[-*+•\d]", prefix) else "sentence", body, prefix, gap)


def is_finished(piece: Piece) -> bool:
    """Whether the last piece of a text that was cut off is whole all the same: it ends as a sentence does."""
    text = without_markers(piece.text).rstrip()
    return not text or (not piece.code and text.rstrip("\"'”’)]】*_`")[-1:] in (*".!?…:。！？",))


def _is_lead(text: str) -> bool:
    return without_markers(text).rstrip("*_ \t\n").endswith((":", "："))


def is_delimiter(row: str) -> bool:
    """Whether a row of a table is the line under its head."""
    return _DELIMITER.fullmatch(without_markers(row).strip()) is not None


def begins_sources(text: str) -> bool:
    """Whether a heading or lead begins a list of sources of the model's own."""
    return _SOURCES.fullmatch(without_markers(text).strip()) is not None


def with_markers(text: str, numbers: tuple[int, ...]) -> str:
    """The sentence with markers before its full stop."""
    end = len(text.rstrip(".!?…:。！？"))
    if end == 0 or text[end - 1] in "\"'”’)]】*_`":
        end = len(text)
    return f"{text[:end]} {''.join(f'[{n}]' for n in numbers)}{text[end:]}"
