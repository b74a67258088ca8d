"""Set the quoted units of blocks as Markdown, each with the marker of its passage."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from rag.quoting.blocks import QuoteBlock, bullet, is_signature
from rag.quoting.snippet import snippet
from rag.text.markup import parse
from rag.text.sentences import Unit, sentence_spans
from rag.text.terms import Term
from rag.types import OMISSION

_TITLE: Final = re.compile(r"\btitle=[\"']([\w.-]*[/\\]?[\w./-]*\.\w{1,8})[\"']")


@dataclass(frozen=True, slots=True)
class Line:
    """A unit to be quoted, or with None an omission, in the block it belongs to."""

    block: QuoteBlock
    unit: Unit | None


def laid_out(quoted: Sequence[Sequence[Line]], wanted: Sequence[Term]) -> list[str]:
    """The pieces of an answer, one for each line of the blocks, and one for each table.

    `wanted` are the terms by which the part of a long program is chosen.
    """
    pieces: list[str] = []
    previous: Line | None = None
    for block in quoted:
        for run in _runs(block):
            text = _table(run) if _is_row(run[0]) else _formatted(run[0], wanted, alone=len(block) == 1)
            pieces.append(_separator(previous, run[0]) + text)
            previous = run[-1]
    return pieces


def _is_row(line: Line) -> bool:
    return line.unit is not None and line.unit.kind in ("table", "row")


def _runs(block: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines one by one, but the rows of a table, with what was left out between them, as one run."""
    run: list[Line] = []
    for line in block:
        if run and not _is_row(line) and line.unit is not None:
            yield run
            run = []
        if run or _is_row(line):
            run.append(line)
        else:
            yield [line]
    if run:
        yield run


def _table(run: Sequence[Line]) -> str:
    """The rows of a table below its head, with one marker; what was left out is marked below the table."""
    rows = [without_numbers(line.unit.text) for line in run if line.unit]
    cut = [OMISSION] if any(line.unit is None for line in run) else []
    return "\n\n".join(["\n".join(rows), f"[{run[0].block.passage.number}]", *cut])


def _separator(previous: Line | None, line: Line) -> str:
    """The white space between two lines: a space in a paragraph, a line break in a list, else a blank line."""
    if previous is None:
        return ""
    if previous.block is not line.block:
        return "\n\n"
    if previous.unit and is_signature(previous.unit):
        return "\n\n"
    block, kinds = line.block, {one.unit.kind if one.unit else "" for one in (previous, line)}
    if block.form == "text" or kinds <= {"sentence", "lead"}:
        return " "
    return "\n" if kinds <= {"item", "lead", ""} else "\n\n"


def _formatted(line: Line, wanted: Sequence[Term], *, alone: bool) -> str:
    """A unit as Markdown, with its marker. An item that is quoted `alone` is set as a sentence."""
    block, unit = line.block, line.unit
    if unit is None:
        return "- " + OMISSION if block.form in ("list", "steps") else OMISSION
    marker = f"[{block.passage.number}]"
    base = min(one.depth for one in block.units[block.lead :])
    indent = " " * min(6, max(0, unit.depth - base))
    if unit.kind == "code":
        above = f"`{name}`: {marker}\n\n" if (name := _file_name(line)) else ""
        return textwrap.indent(f"{above}{snippet(_unquoted(line), wanted)}\n{marker}", indent)
    text = _marked(flat(unit.text), marker)
    if unit.kind != "item":
        return f"{indent if block.form in ('list', 'steps') else ''}{text}"
    return text if alone else f"{indent}{bullet(block.passage.text, unit)} {text}"


def _unquoted(line: Line) -> str:
    """The text of a unit, without the signs of a quotation at the beginning of its lines if it is in one."""
    block, unit = line.block, cast(Unit, line.unit)
    text = block.passage.text
    before = text[text.rfind("\n", 0, unit.start) + 1 : unit.start]
    signs = before.count(">") if not before.strip("> \t") else 0
    return re.sub(rf"(?m)^(?:[ \t]*>){{1,{signs}}} ?", "", unit.text) if signs else unit.text


def _file_name(line: Line) -> str:
    """The file that the fence of a code names (`title="copier.yml"`), if the block does not name it above; else ""."""
    block, unit = line.block, cast(Unit, line.unit)
    named = _TITLE.search(unit.text.partition("\n")[0])
    above = " ".join(one.text for one in block.units if one.end <= unit.start)
    return named[1] if named and named[1] not in above else ""


def _marked(text: str, marker: str) -> str:
    """The text with the marker behind each of its sentences."""
    return " ".join(f"{text[start:end]} {marker}" for start, end in sentence_spans(text))


def flat(text: str) -> str:
    """A text on one line, without the signs of a quotation at the beginning of its lines."""
    return re.sub(r"\s*\n[ \t>]*", " ", without_numbers(text))


def without_numbers(text: str) -> str:
    """The text with the book's own `[3]` escaped outside code, so that it does not read as a citation of the answer."""
    return "".join(
        re.sub(r"[\[\]]", r"\\\g<0>", segment.raw)
        if segment.kind == "marker" and segment.raw[0] == "["
        else segment.raw
        for segment in parse(text)
    )
