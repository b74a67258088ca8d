"""The lines of an answer: units with their citations, and which of them belong together."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from rag.answer.citations import AnswerPiece, Citations
from rag.answer.units import AnswerUnitKind
from rag.types import Quote, Standing

# Tags of HTML are taken out of running text; `Vec<T>` is none.
_TAG: Final = re.compile(
    r"<!--.{0,2000}?-->|<(?:script|style)\b.{0,2000}?</(?:script|style)\s*>"
    r"|</?(?:a|abbr|article|b|base|big|blockquote|body|br|button|center|code|dd|del|details|div|dl|dt|em|embed|font|form|h[1-6]|"
    r"head|hr|html|i|iframe|img|input|ins|kbd|li|link|main|mark|math|meta|nav|object|ol|p|pre|s|script|section|small|span|"
    r"strong|style|sub|summary|sup|svg|table|tbody|td|th|thead|title|tr|tt|u|ul|video|audio|source)"
    r"(?:[\s/](?:[^<>]{0,2000}=[^<>]{0,2000}|\s*/?))?>|<[a-z][\w-]{0,30}\s[^<>]{0,2000}=[^<>]{0,2000}>",
    re.IGNORECASE | re.DOTALL,
)
SOURCE_LINE: Final = re.compile(r"\W*(?:(?:sources?|references?)\W*)?\[\d", re.IGNORECASE)
_BLANKS: Final = re.compile(r"[ \t]{20,}")  # no padding of a table; they cost time and show nothing
_SOURCE_WORDS: Final = re.compile(r"\W*(?:(?:sources?|references?|citations?|see|from|passages?)\W*)*", re.IGNORECASE)


@dataclass(slots=True, eq=False)
class AnswerLine:
    """A unit on its way into the answer.

    `gap` is the white space before it and `sign` what begins its line: a list sign, hashes. `group` numbers lists,
    tables and paragraphs, `block` their items. `cites` are the passages that it rests on, `chosen` says that the answer
    names them, and `shown_cites` those whose markers are shown. A `frame` states nothing. `waits` for the judge.
    """

    kind: AnswerUnitKind
    pieces: list[AnswerPiece]
    raw: str = ""
    gap: str = ""
    sign: str = ""
    group: int = 0
    block: int = 0
    level: int = 0
    frame: bool = False
    unresolved: bool = False
    checked: bool = False
    standing: Standing | None = None
    reasons: tuple[str, ...] = ()
    cites: tuple[int, ...] = ()
    inherited: tuple[int, ...] = ()
    quotes: dict[int, Quote] = field(default_factory=dict)
    under: str = ""
    candidates: tuple[int, ...] = ()  # what the judge reads it against
    waits: bool = False
    asked: bool = False
    scan: int = 0

    @property
    def numbers(self) -> tuple[int, ...]:
        """The passages that it names itself, each once."""
        return tuple(dict.fromkeys(number for piece in self.pieces for number in piece.numbers))

    @property
    def text(self) -> str:
        """What it says, without markers and tags."""
        if self.kind == "code":
            return self.raw
        said = "".join("\0" if piece.kind == "cite" else piece.text for piece in self.pieces)
        said = re.sub(r"[ \t]*\0+", "", said)
        if self.kind in ("row", "head"):
            said = re.sub(r"\n.*", "", said)
            return " | ".join(cell for cell in (cell.strip() for cell in said.strip().strip("|").split("|")) if cell)
        return re.sub(r"\s*\n[ \t>]*", " ", said).strip()

    @property
    def is_source(self) -> bool:
        """Whether it only names sources: "Sources: [1], [3]"."""
        return bool(self.numbers) and self.kind != "code" and _SOURCE_WORDS.fullmatch(self.text) is not None


def read_line(kind: AnswerUnitKind, raw: str, citations: Citations) -> tuple[AnswerLine, int, int]:
    """A line from its source, how many of its citations name no passage, and how many images it had."""
    if kind == "code":
        return AnswerLine(kind, [AnswerPiece("code", raw)], raw), 0, 0
    text = _BLANKS.sub(" ", raw if "<" not in raw else without_tags(raw))
    reading = citations.read(text)
    line = AnswerLine(kind, reading.pieces, raw, unresolved=reading.unknown > 0)
    return line, reading.unknown, reading.images


def without_tags(text: str) -> str:
    """The text without tags of HTML, outside inline code; what breaks a line is a blank."""
    parts = re.split(r"(`+[^`]*`+)", text)
    parts[::2] = [_TAG.sub(_instead, part) for part in parts[::2]]
    return "".join(parts)


def _instead(tag: re.Match[str]) -> str:
    small = tag[0].lower()
    return tag[0] if small in ("<sup>", "</sup>") else " " if small.startswith(("<br", "<li", "<p")) else ""
