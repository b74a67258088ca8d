"""Markdown as units: sentences of paragraphs and items, rows of tables, blocks of code, headings.

markdown-it finds the blocks; each unit keeps its place in the source, so that what is shown is what was written. The
rules that read meaning into odd indentation, references and raw HTML are off: their text is checked as a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from rag.text.sentences import sentence_spans

AnswerUnitKind = Literal["sentence", "row", "head", "code", "heading", "lead", "rule"]
_OFF: Final = ["code", "reference", "html_block", "lheading", "inline", "text_join", "normalize"]
_BOLD_LINE: Final = re.compile(r"(?:\*\*[^*\n]{1,100}\*\*|__[^_\n]{1,100}__):?")
_COLON: Final = re.compile(r"[:：][*_\s]*(?:\[[^\[\]\n]{0,40}\][*_\s]*)*$")
_STRUCTURE: Final = re.compile(r"(?:[\s>*+|:#=_-]|\d{1,9}[.)](?=\s|$)|\[[ xX]\](?=\s))*")
_SIGN: Final = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])?[ \t>]*")
_BOLD_LEVEL: Final = 7  # of a bold line that stands for a heading
_CHECKBOX: Final = re.compile(r"\[[ xX]\][ \t]+")


@dataclass(frozen=True, slots=True)
class AnswerUnit:
    """`source[start:end]` is the unit, without list signs and the hashes of a heading.

    `block` numbers paragraphs, items, tables and blocks of code. `level` is that of a heading, else how deep a list
    nests, 0 outside lists. A "lead" ends in a colon and introduces what follows; a "head" is that of a table.
    """

    kind: AnswerUnitKind
    start: int
    end: int
    block: int
    level: int = 0


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").disable(_OFF).enable("table")


def units(source: str, *, inside: bool = False) -> list[AnswerUnit]:
    """The units of a Markdown text in order; every sign that is not structure is in one. Lines end in line feeds.

    `inside` says that the text begins in the middle of a paragraph or an item.
    """
    text = f"x{source}" if inside else source  # a letter keeps "1. " from beginning a list
    found = list(_read(text, _parser().parse(text)))
    if inside:
        found = [AnswerUnit(u.kind, max(0, u.start - 1), u.end - 1, u.block, u.level) for u in found if u.end > 1]
    return _with_rest(source, found)


def _read(text: str, tokens: Sequence[Token]) -> Iterator[AnswerUnit]:
    starts = [0, *(found.end() for found in re.finditer("\n", text)), len(text) + 1, len(text) + 1]
    block = depth = heading = 0
    inside: list[str] = []  # the parts of a table that are open
    for token in tokens:
        depth += token.nesting if token.type.endswith("_list_open") or token.type.endswith("_list_close") else 0
        if token.type in ("heading_open", "heading_close"):
            heading = int(token.tag[1]) if token.nesting > 0 else 0
        elif token.type.partition("_")[0] in ("table", "thead", "tbody"):
            inside = [*inside, token.tag] if token.nesting > 0 else inside[:-1]
            block += token.type == "table_open"
        if token.map is None:
            continue
        start, end = starts[token.map[0]], min(len(text), starts[token.map[1]] - 1)
        if token.type == "tr_open":
            is_head = inside[-1] == "thead"  # with the line of dashes below it
            end = min(len(text), starts[token.map[1] + 1] - 1) if is_head else end
            yield from _stripped("head" if is_head else "row", text, start, end, block, depth)
        elif token.type in ("fence", "hr"):
            block += 1
            begin = _SIGN.match(text, start, end) if token.type == "fence" else None
            kind: AnswerUnitKind = "code" if token.type == "fence" else "rule"
            yield from _stripped(kind, text, begin.end() if begin else start, end, block, depth)
        elif token.type == "inline" and not inside:
            block += 1
            begin_at, stop = _span(text, token, start, end)
            if heading:
                yield AnswerUnit("heading", begin_at, stop, block, heading)
            else:
                yield from _paragraph(text, begin_at, stop, block, depth)


def _span(text: str, token: Token, start: int, end: int) -> tuple[int, int]:
    """Where the content of a paragraph or heading stands in the source."""
    content = token.content
    first = content.partition("\n")[0].rstrip()
    line_end = text.find("\n", start, end)
    line = text[start : line_end if line_end >= 0 else end]
    begin = start + max(0, line.rfind(first) if token.level and first else line.find(first))
    tail = content.rpartition("\n")[2].rstrip()
    stop = text.rfind(tail, begin, end) + len(tail) if tail else end
    return begin, max(begin, stop)


def _paragraph(text: str, start: int, end: int, block: int, depth: int) -> Iterator[AnswerUnit]:
    if depth and (box := _CHECKBOX.match(text, start, end)):
        start = box.end()
    whole = text[start:end]
    if not depth and _BOLD_LINE.fullmatch(whole.strip()) and not whole.rstrip("*_ ").endswith((".", "!", "?", ":")):
        yield AnswerUnit("heading", start, end, block, _BOLD_LEVEL)
        return
    whole = text[start:end]
    spans = [(start + left, start + right) for left, right in sentence_spans(whole)]
    for number, (left, right) in enumerate(spans, 1):
        is_lead = number == len(spans) and _COLON.search(text[max(left, right - 300) : right]) is not None
        yield AnswerUnit("lead" if is_lead else "sentence", left, right, block, depth)


def _stripped(kind: AnswerUnitKind, text: str, start: int, end: int, block: int, depth: int) -> Iterator[AnswerUnit]:
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip(" \t" if kind == "code" else None))
    right = left + len(text[left:end].rstrip())
    if right > left:
        yield AnswerUnit(kind, left, right, block, depth)


def _with_rest(source: str, found: list[AnswerUnit]) -> list[AnswerUnit]:
    """The units, and sentences for what stands between them and is more than structure: lists nested too deep."""
    complete: list[AnswerUnit] = []
    at = 0
    for unit in [*found, AnswerUnit("rule", len(source), len(source), -1)]:
        gap = _STRUCTURE.match(source, at, unit.start)
        if gap and gap.end() < unit.start and unit.start > at:
            block = complete[-1].block if complete else 0
            for left, right in sentence_spans(source[gap.end() : unit.start]):
                complete.append(AnswerUnit("sentence", gap.end() + left, gap.end() + right, block))
        if unit.start >= at and unit.end > unit.start:
            complete.append(unit)
        at = max(at, unit.end)
    return complete
