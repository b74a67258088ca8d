"""Fenced blocks of code: where they are in the lines of a page, what opens them, and how one is written."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

FENCE: Final = re.compile(
    r"(?P<prefix>[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<mark>`{3,}|~{3,})(?P<info>.*)"
)
LEAD_IN: Final = 20  # lines of a paragraph that introduces a block
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_NO_PROSE: Final = re.compile(r"[ \t>]*(?:#|`{3}|~{3}|!!!|\?\?\?|===|///|:::|\|)")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")
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
    """The text without the fenced blocks that have nothing inside, since the files that they name are missing.

    What introduces such a block goes with it.
    """
    lines = text.split("\n")
    found: list[str] = []
    end = 0
    for block in fences(lines):
        if not any(lines[n].strip() for n in block.inside):
            found += lines[end : block.begin]
            drop_lead_in(found)
            end = block.end
    return "\n".join([*found, *lines[end:]])


def drop_lead_in(lines: list[str]) -> None:
    """Remove a sentence at the end of the lines that introduces what follows with a colon.

    >>> lines = ["Set values.", "These are", "known:", ""]
    >>> drop_lead_in(lines)
    >>> lines
    ['Set values.', '']
    """
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    if not end or not lines[end - 1].rstrip().endswith(":"):
        return
    begin = end
    while begin > max(end - LEAD_IN, 0) and _is_prose(lines[begin - 1]):
        begin -= 1
        if _ITEM.match(lines[begin]):
            break
    if begin < end:
        lines[begin:end] = _SENTENCE_END.split("\n".join(lines[begin:end]))[:-1]


def _is_prose(line: str) -> bool:
    """Whether a line can be one of a paragraph or an item, not of code, a heading, a note or a tab."""
    return bool(line.strip()) and not _NO_PROSE.match(line)


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
