"""Splits an answer that arrives in pieces into blocks of Markdown, each with the citations that follow it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_MARKER_LINE: Final = re.compile(r"\s*(?:\[(?:\d+|\?)\]\s*)+")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_ROW: Final = re.compile(r"\s*\|.*\|\s*")
_RULE: Final = re.compile(r"\s*\|[\s:|-]+\|\s*")  # the line between the head of a table and its rows


@dataclass
class AnswerBlock:
    """A block of Markdown, such as a paragraph, a list, a table or a code block.

    `markers` are the citations on lines of their own after code or a table, such as "[2] [3]".
    """

    text: str
    markers: str = ""

    @property
    def is_code(self) -> bool:
        return _FENCE.match(self.text) is not None

    @property
    def is_table(self) -> bool:
        lines = self.text.split("\n", 2)
        return _ROW.fullmatch(lines[0]) is not None

    def cite(self, markers: str) -> None:
        """Add markers to the end of the block. A row of a table without a head takes them as its last cell."""
        markers = " ".join(markers.split())
        if self.is_table and not self.has_head:
            self.text = f"{self.text.rstrip()} {markers} |"
        elif self.is_table or self.is_code:
            self.markers = f"{self.markers} {markers}".strip()
        else:
            self.text = f"{self.text.rstrip()} {markers}"

    @property
    def has_head(self) -> bool:
        """Whether a table begins with a head. A quoted row has none."""
        lines = self.text.split("\n", 2)
        return len(lines) > 1 and _RULE.fullmatch(lines[1]) is not None


class BlockReader:
    """Reads an answer piece by piece. A block is finished when a line that cannot belong to it has begun.

    Of "Run it:\\n\\n```\\nrun\\n```\\n[1]\\n\\nThen stop." the blocks are the first line, the code with the marker [1],
    and the last line.
    """

    def __init__(self) -> None:
        self._line = ""  # the last line, which may go on
        self._blocks: list[AnswerBlock] = []  # the last one may go on
        self._fence = ""  # the fence that closes the code block, while inside one
        self._ended = False  # whether an empty line or a closing fence ended the last block

    def feed(self, piece: str) -> list[AnswerBlock]:
        """Take in a piece, and return the blocks that it finished."""
        *lines, self._line = (self._line + piece).split("\n")
        for line in lines:
            self._take(line)
        finished, self._blocks = self._blocks[:-1], self._blocks[-1:]
        return finished

    def close(self) -> list[AnswerBlock]:
        """The blocks that are left at the end of the answer."""
        self._take(self._line)
        rest, self._line, self._blocks, self._ended = self._blocks, "", [], False
        return rest

    def open(self) -> Iterator[AnswerBlock]:
        """The blocks that may go on, as they look now."""
        reader = BlockReader()
        reader._blocks = [AnswerBlock(block.text, block.markers) for block in self._blocks]
        reader._fence, reader._ended = self._fence, self._ended
        reader._take(self._line)
        yield from reader._blocks

    def _take(self, line: str) -> None:
        """Add a line to the last block, or begin one with it."""
        if self._fence:
            self._blocks[-1].text += f"\n{line}"
            if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence, self._ended = "", True
            return
        if not line.strip():
            self._ended = True
        elif self._blocks and _MARKER_LINE.fullmatch(line) and (self._ended or self._blocks[-1].is_table):
            self._blocks[-1].cite(line)
        elif self._belongs(line):
            self._blocks[-1].text += f"\n{line}"
            self._ended = False
        else:
            self._blocks.append(AnswerBlock(line))
            fence = _FENCE.match(line)
            self._fence, self._ended = (fence[1] if fence else ""), False

    def _belongs(self, line: str) -> bool:
        """Whether the line goes on with the last block. Rows without a head do so after an empty line too."""
        if not self._blocks or _FENCE.match(line):
            return False
        last, row = self._blocks[-1], _ROW.fullmatch(line) is not None
        if last.is_table:
            return row and not (self._ended and last.has_head)
        return not self._ended and not last.is_code and not row
