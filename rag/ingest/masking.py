"""Mask code while the text around it is rewritten.

Every fenced block, indented block and inline code span is replaced by a placeholder, a number between two NUL
characters; the loader rejects pages with NUL characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rag.ingest.page import MarkdownText
from rag.text.sentences import code_spans

_FENCE: Final = re.compile(
    r"(?P<prefix>[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<mark>`{3,}|~{3,})(?P<info>.*)"
)
_MASK: Final = re.compile("\0(\\d+)\0")
# An indented line that rewriting could change. Only then it matters whether the line is code.
_INDENTED: Final = re.compile(r"(?: {4}|[ ]{0,3}\t).*[<>\[\]{}!:$#&|%]")


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


def without_empty_fences(text: str) -> str:
    """The text without the fenced blocks that have nothing inside, since the files that they name are missing."""
    lines = text.split("\n")
    gone: set[int] = set()
    for block in fences(lines):
        if not any(line.strip() for line in lines[block.begin + 1 : block.end - block.closed]):
            gone.update(range(block.begin, block.end))
    return "\n".join(line for n, line in enumerate(lines) if n not in gone)


def close_fences(text: str) -> str:
    """The text with its last fence closed, as renderers close a fence that is left open."""
    lines = text.split("\n")
    last = fences(lines)[-1:]
    return text if not last or last[0].closed else text.rstrip("\n") + "\n" + last[0].closer


class PageDraft:
    """A page while its syntax is rewritten: its text with the code masked, and the code.

    `indented`: indented blocks are code, as in Markdown; in MDX they are not.
    """

    def __init__(self, source: MarkdownText, *, indented: bool) -> None:
        self.source = source
        self._code: list[str] = []
        self.text = self._masked(source.text, indented=indented)

    def keep(self, code: str) -> str:
        """The placeholder of a text that must not be rewritten."""
        self._code.append(code)
        return f"\0{len(self._code) - 1}\0"

    def code(self, placeholder: str) -> str:
        """The code that a placeholder stands for."""
        return self._code[int(placeholder.strip("\0"))]

    def rewrite_code(self, rewrite: Callable[[str], str]) -> None:
        """Rewrite every piece of masked code."""
        self._code = [rewrite(code) for code in self._code]

    def restored(self, text: str | None = None) -> str:
        """The text, or a part of it, with its code in place."""
        text = self.text if text is None else text
        while _MASK.search(text):  # masked code may contain placeholders
            text = _MASK.sub(lambda m: self._code[int(m[1])], text)
        return text

    def _masked(self, text: str, *, indented: bool) -> str:
        lines = text.split("\n")
        ranges = [(f.begin, f.end) for f in fences(lines)]
        if indented:
            inside = {n for begin, end in ranges for n in range(begin, end)}
            if any(_INDENTED.match(line) for n, line in enumerate(lines) if n not in inside):
                code = self.source.code_lines
                ranges += [(b, e) for b, e in code if b not in inside and e - 1 not in inside]
        for begin, end in sorted(ranges, reverse=True):
            while end > begin and not lines[end - 1].strip():
                end -= 1
            lines[begin:end] = [self.keep("\n".join(lines[begin:end]))]
        whole, at = "\n".join(lines), 0
        pieces: list[str] = []
        for begin, end in code_spans(whole, in_page=True):
            pieces += [whole[at:begin], self.keep(whole[begin:end])]
            at = end
        return "".join(pieces) + whole[at:]
