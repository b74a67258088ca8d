"""Code in a page: fenced blocks and code spans, where they are, and how a fenced block is written."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

FENCE: Final = re.compile(
    r"(?P<prefix>[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<mark>`{3,}|~{3,})(?P<info>.*)"
)
_BACKTICKS_OR_BLANK_LINE: Final = re.compile(r"`+|\n[ \t>]*(?=\n)")
_LANGUAGE: Final = re.compile(r"[\w+#.-]+")
_LANGUAGES: Final = {
    "py": "python", "yml": "yaml", "sh": "bash", "rb": "ruby", "js": "javascript", "txt": "", "htm": "html",
    "jsonc": "json",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block at the lines `begin` up to `end` (excluded). `prefix` and `info` are around the opening mark."""

    begin: int
    end: int
    prefix: str
    mark: str
    info: str
    closed: bool

    @property
    def inside(self) -> range:
        """The numbers of the lines of code."""
        return range(self.begin + 1, self.end - self.closed)


def fences(lines: Sequence[str]) -> list[Fence]:
    """The fenced blocks of a text, at any depth of lists, quotes and JSX; an unclosed one runs to the end.

    The lines are scanned here because a Markdown parser reads a fence directly after a JSX tag as HTML.
    """
    found: list[Fence] = []
    line = 0
    while line < len(lines):
        opening = FENCE.fullmatch(lines[line])
        if not opening or (opening["mark"][0] == "`" and "`" in opening["info"]):
            line += 1
            continue
        prefix, mark, info = opening.groups()
        closing = closing_line(lines, line + 1, mark)
        end = min(closing + 1, len(lines))
        found.append(Fence(line, end, prefix, mark, info, closing < len(lines)))
        line = end
    return found


def closing_line(lines: Sequence[str], at: int, mark: str) -> int:
    """The line from `at` on that closes a fence, or the number of lines."""
    closing = re.compile(rf"[ \t]*(?:>[ \t]?)*[ \t]*{mark[0]}{{{len(mark)},}}[ \t]*")
    return next((n for n in range(at, len(lines)) if closing.fullmatch(lines[n])), len(lines))


def fenced_lines(lines: Sequence[str]) -> set[int]:
    """The numbers of all lines in fenced blocks."""
    return {n for block in fences(lines) for n in range(block.begin, block.end)}


def without_empty_fences(text: str) -> str:
    """The text without the fenced blocks that have nothing inside, since the files that they name are missing."""
    lines = text.split("\n")
    empty = [block for block in fences(lines) if not any(lines[n].strip() for n in block.inside)]
    gone = {n for block in empty for n in range(block.begin, block.end)}
    return "\n".join(line for n, line in enumerate(lines) if n not in gone)


def code_spans(text: str) -> list[tuple[int, int]]:
    """Where the code spans of a text are, in linear time: a run of backticks up to the next one of the same length.

    A span ends with its paragraph, and a backslash before a backtick makes it text.

    >>> [text[slice(*span)] for text in ["a `b` ``c ` d`` `e"] for span in code_spans(text)]
    ['`b`', '``c ` d``']
    """
    found: list[tuple[int, int]] = []
    runs: list[tuple[int, int]] = []

    def pair() -> None:
        places: dict[int, list[int]] = defaultdict(list)
        for n, (begin, end) in enumerate(runs):
            places[end - begin].append(n)
        at = 0
        while at < len(runs):
            begin, end = runs[at]
            begin += text[begin - 1 : begin] == "\\"
            same = places.get(end - begin, [])
            later = bisect_right(same, at)
            if begin < end and later < len(same):
                found.append((begin, runs[same[later]][1]))
                at = same[later]
            at += 1
        runs.clear()

    for mark in _BACKTICKS_OR_BLANK_LINE.finditer(text):
        if mark[0][0] == "`":
            runs.append(mark.span())
        else:
            pair()
    pair()
    return found


def close_fences(text: str) -> str:
    """The text with its last fence closed, as renderers close a fence that is left open."""
    last = fences(text.split("\n"))[-1:]
    if not last or last[0].closed:
        return text
    return text.rstrip("\n") + "\n" + re.sub(r"[^\s>]", " ", last[0].prefix) + last[0].mark


def fenced(code: str, language: str = "") -> str:
    """Code as a fenced block, whose fence is longer than any run of backticks in it. A language is one word."""
    fence = "`" * (max(map(len, re.findall("`{3,}", code)), default=2) + 1)
    return f"{fence}{language if _LANGUAGE.fullmatch(language) else ''}\n{code}\n{fence}"


def language_of(file: str) -> str:
    """The language of a file of code by its ending."""
    suffix = posixpath.splitext(file)[1].lstrip(".").lower()
    return _LANGUAGES.get(suffix, suffix)
