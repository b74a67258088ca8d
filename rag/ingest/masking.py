"""Mask code while the text around it is rewritten.

Every fenced block, indented block and inline code span is replaced by a placeholder, a number between two NUL
characters; the loader rejects pages with NUL characters. `unmask` restores the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rag.ingest.page import MarkdownText

_FENCE: Final = re.compile(
    r"(?P<prefix>[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<mark>`{3,}|~{3,})(?P<info>.*)"
)
_TICKS: Final = re.compile(r"`+|\n(?=[ \t]*\n)")
_MASK: Final = re.compile("\0(\\d+)\0")


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block at the lines `begin` up to `end` (excluded), with its closing line, if it has one.

    `closer` is a line that closes it.
    """

    begin: int
    end: int
    closer: str
    closed: bool


def fences(lines: list[str]) -> list[Fence]:
    """The fenced blocks of a text, at any depth of lists, quotes and JSX; an unclosed one runs to the end.

    The lines are scanned here because a Markdown parser reads a fence directly after a JSX tag as HTML.
    """
    found: list[Fence] = []
    line = 0
    while line < len(lines):
        opening = _FENCE.fullmatch(lines[line])
        if not opening or (opening["mark"][0] == "`" and "`" in opening["info"]):
            line += 1
            continue
        mark = opening["mark"]
        closing = re.compile(rf"[ \t]*(?:>[ \t]?)*[ \t]*{mark[0]}{{{len(mark)},}}[ \t]*")
        end = next((n for n in range(line + 1, len(lines)) if closing.fullmatch(lines[n])), None)
        closer = re.sub(r"[^\s>]", " ", opening["prefix"]) + mark
        found.append(Fence(line, len(lines) if end is None else end + 1, closer, end is not None))
        line = found[-1].end
    return found


def close_fences(text: str) -> str:
    """The text with its last fence closed, as renderers close a fence that is left open."""
    lines = text.split("\n")
    last = fences(lines)[-1:]
    return text if not last or last[0].closed else text.rstrip("\n") + "\n" + last[0].closer


def mask(source: MarkdownText, *, indented: bool) -> tuple[str, list[str]]:
    """The text with code replaced by placeholders, and the code that they stand for.

    `indented`: indented blocks are code, as in Markdown; in MDX they are not.
    """
    kept: list[str] = []

    def keep(code: str) -> str:
        kept.append(code)
        return f"\0{len(kept) - 1}\0"

    lines = source.text.split("\n")
    ranges = [(f.begin, f.end) for f in fences(lines)]
    if indented:
        inside = {n for begin, end in ranges for n in range(begin, end)}
        ranges += [(b, e) for b, e in source.code_lines if b not in inside and e - 1 not in inside]
    for begin, end in sorted(ranges, reverse=True):
        while end > begin and not lines[end - 1].strip():
            end -= 1
        lines[begin:end] = [keep("\n".join(lines[begin:end]))]
    text, at = "\n".join(lines), 0
    pieces: list[str] = []
    for begin, end in code_spans(text):
        pieces += [text[at:begin], keep(text[begin:end])]
        at = end
    return "".join(pieces) + text[at:], kept


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where inline code begins and ends: at a run of backticks and the next run of the same length in the paragraph.

    A run after a backslash opens no code. A regex would look through the rest of the text for the partner of every run;
    here the next run of each length is noted in one pass from the end.
    """
    marks = list(_TICKS.finditer(text))  # runs, and line feeds before blank lines, which end a paragraph
    partners = [0] * len(marks)  # 0: none
    following: dict[int, int] = {}
    for n in range(len(marks) - 1, -1, -1):
        if marks[n][0] == "\n":
            following.clear()
            continue
        length = len(marks[n][0])
        partners[n] = following.get(length, 0)
        following[length] = n
    n = 0
    while n < len(marks):
        begin = marks[n].start()
        if partners[n] and text[max(0, begin - 1) : begin] != "\\":
            n = partners[n]
            yield begin, marks[n].end()
        n += 1


def unmask(text: str, kept: list[str]) -> str:
    """The text with its code restored."""
    while _MASK.search(text):  # masked code may contain placeholders
        text = _MASK.sub(lambda m: kept[int(m[1])], text)
    return text
