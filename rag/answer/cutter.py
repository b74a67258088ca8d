"""Cuts a growing Markdown text where nothing that follows can change what stands before: between blocks, and between
the sentences of a paragraph. Each character is looked at a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rag.answer.units import units
from rag.text.sentences import BRACKET, LEADING
from rag.text.visible import plain_lines

_FENCE: Final = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})")
_BEGINS: Final = re.compile(r"#{1,6}[ \t]|(?:[-*+]|\d{1,3}[.)])[ \t]+\S|`{3}|~{3}")
_ENDS: Final = re.compile(r"[.!?…。！？][^\n]")
_TAGS: Final = "think|thinking|thought|reasoning|reflection"
_THOUGHT: Final = re.compile(rf"\s*(?:<(?:{_TAGS})>|\[THINK\])", re.IGNORECASE)
_THOUGHT_ENDS: Final = re.compile(rf"(?:</(?:{_TAGS})>|\[/THINK\])\s*", re.IGNORECASE)
_LONGEST_TAG: Final = 14
_ENOUGH: Final = 5  # signs of a line that tell what it begins
_BRACKETS: Final = "([【［<\\"
_CLOSED: Final = re.compile(rf"(?:{BRACKET}[ \t]*)+[^\s(\[]")
_OPEN: Final = 400  # signs for which an open bracket may still become a citation


class Cutter:
    """Takes text in pieces of any size and gives chunks back: `(chunk, inside)`. With `inside` a chunk goes on in the
    middle of a paragraph.
    """

    def __init__(self) -> None:
        self._text = ""
        self._scan = 0  # the first line that was not read yet begins here
        self._fence = ""
        self._blank = self._heading = False
        self._tried = 0
        self._began = self._thinking = False
        self._inside = False

    @property
    def is_between_blocks(self) -> bool:
        """Whether the last chunk ended its paragraph."""
        return not self._inside

    def feed(self, text: str) -> Iterator[tuple[str, bool]]:
        """Take the next piece; give the chunks that are complete."""
        self._text += text
        if not self._began and not self._without_thoughts(last=False):
            return
        cut = self._blocks()
        if cut:
            yield from self._take(cut, inside=False)
        if self._sentences_ended():
            cut = self._sentence()
            if cut:
                yield from self._take(cut, inside=True)

    def close(self) -> Iterator[tuple[str, bool]]:
        """Give what is left."""
        if not self._began:
            self._without_thoughts(last=True)
        self._text += "\n"  # the last line is whole too
        if cut := self._blocks():
            yield from self._take(cut, inside=False)
        if self._fence:
            self._text = f"{self._text.rstrip()}\n{self._fence}"
        yield from self._take(len(self._text), inside=False)

    def _take(self, cut: int, *, inside: bool) -> Iterator[tuple[str, bool]]:
        chunk, self._text = self._text[:cut], self._text[cut:]
        was, self._inside = self._inside, inside
        self._scan = max(0, self._scan - cut)
        self._tried = 0
        if chunk.strip():
            yield plain_lines(chunk), was

    def _without_thoughts(self, *, last: bool) -> bool:
        """Drop what a model thinks aloud before its answer. False while that is not known to have ended."""
        if not self._thinking:
            head = self._text.lstrip()
            self._thinking = _THOUGHT.match(self._text) is not None
            if not self._thinking and not last and len(head) < _LONGEST_TAG and (not head or head[0] in "<["):
                return False
        if self._thinking:
            ended = _THOUGHT_ENDS.search(self._text, max(0, self._tried - _LONGEST_TAG))
            self._tried = len(self._text)
            if not ended:
                self._text = "" if last else self._text
                return False
            self._text = self._text[ended.end() :]
            self._tried = 0
        self._began = True
        return True

    def _blocks(self) -> int:
        """Where the last block begins that is known to begin; 0 if the text is one block so far."""
        cut = 0
        while True:
            end = self._text.find("\n", self._scan)
            line = self._text[self._scan : end if end >= 0 else self._scan + 200]
            if end < 0 and len(line.strip()) < (1 if self._blank else _ENOUGH):
                return cut
            if self._begins(line):
                cut = self._scan
                self._blank = False
            if end < 0:
                return cut
            self._read(line)
            self._scan = end + 1

    def _begins(self, line: str) -> bool:
        if self._fence or self._scan == 0 or not line.strip() or line[0] in " \t":
            return False
        return self._blank or self._heading or _BEGINS.match(line) is not None

    def _read(self, line: str) -> None:
        """Note what a whole line means for the next one."""
        fence = _FENCE.match(line)
        if self._fence:
            closes = fence and fence[1][0] == self._fence[0] and len(fence[1]) >= len(self._fence)
            if closes and not line.strip(" \t>").strip(self._fence[0]):
                self._fence, self._blank = "", True
            return
        if fence and (fence[1][0] == "~" or "`" not in line[fence.end() :]):
            self._fence = fence[1]
        self._blank = not line.strip()
        self._heading = line.startswith("#")

    def _sentences_ended(self) -> bool:
        """Whether it is worth looking for the end of a sentence. Waits longer each time, so that the work is linear."""
        length = len(self._text)
        if self._fence or length < self._tried + self._tried // 4 + 2 or "|" in self._text[:200]:
            return False
        return _ENDS.search(self._text, max(0, self._tried - 2)) is not None

    def _sentence(self) -> int:
        """Where the last sentence of a paragraph begins; 0 if it is the first, or if its beginning may still cite."""
        self._tried = len(self._text)
        text = self._text
        if text.startswith("#") or (not self._inside and LEADING.match(text)):
            return 0
        found = units(text, inside=self._inside)
        if len(found) < 2 or found[-1].block != found[-2].block or found[-1].kind not in ("sentence", "lead"):
            return 0
        before, last = text[: found[-1].start], text[found[-1].start :]
        if before.count("**") % 2 or before.count("`") % 2:
            return 0  # what follows may close it
        if last[0] in "#`~|>-*+":
            return 0  # at the beginning of a text it would be no sentence
        if last[0] in _BRACKETS and len(last) < _OPEN and not _CLOSED.match(last):
            return 0
        return found[-1].start
