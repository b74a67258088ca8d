"""The lines of an answer that wait for what follows them, in their order, and when each of them may go."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from rag.answer.lines import AnswerLine

Fate = Literal["show", "drop", "wait"]

_MARKER: Final = re.compile(r"\[(\d+)\]")


class HeldLines:
    """A queue of lines. `strict` drops what is not supported, and what stands over nothing."""

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self._lines: deque[AnswerLine] = deque()

    def add(self, line: AnswerLine) -> None:
        self._lines.append(line)

    def open_lines(self, block: int) -> list[AnswerLine]:
        """The lines of a block that are still to be judged."""
        return [line for line in self._lines if line.is_open and line.block == block]

    def all_open(self) -> list[AnswerLine]:
        return [line for line in self._lines if line.is_open]

    def waiting(self) -> list[AnswerLine]:
        """The lines that a second judge has to be asked about."""
        return [line for line in self._lines if line.waits]

    def settle(self, line: AnswerLine, *, stands: bool) -> None:
        """What the second judge found. Markers behind the line that speak for those above it too stay with these."""
        line.waits = False
        if not stands:
            line.judged = False
            above = [one for one in self._lines if one.block == line.block and one is not line and one.judged]
            if above and line.suffix and self._strict:
                quotes = above[-1].quotes
                above[-1].suffix = _MARKER.sub(lambda mark: mark[0] if int(mark[1]) in quotes else "", line.suffix)
                line.suffix = ""

    def settled(self, *, shown: bool, last: bool = False) -> Iterator[tuple[AnswerLine, bool]]:
        """The lines whose fate is known, with whether each is shown; up to the first that has to wait.

        `shown` says that something of the answer is shown already; `last`, that nothing follows.
        """
        while self._lines:
            fate = self._fate(shown=shown, last=last)
            if fate == "wait" and not last:
                return
            line = self._lines.popleft()
            shown = shown or fate == "show"
            yield line, fate == "show"

    def _fate(self, *, shown: bool, last: bool) -> Fate:
        line, following = self._lines[0], list(self._lines)[1:] if self._lines[0].frame else ()
        if line.is_open or line.waits:
            return "wait"
        if not line.frame:
            return "show" if line.judged or not self._strict else "drop"
        if line.refusal:  # it is the answer, or no part of one
            speaks = shown or any(not one.refusal for one in following)
            if self._strict or (last and not speaks):
                return "drop"
            return "show" if speaks else "wait"
        if not self._strict:
            return "show"
        if line.kind == "heading":
            return _under_heading(line, following)
        if line.kind in ("lead", "row"):
            return _under_lead(line, following)
        carried = any(one.stands for one in following)
        return "show" if carried or (shown and line.kind != "rule") else "wait"


def _under_heading(heading: AnswerLine, following: Sequence[AnswerLine]) -> Fate:
    for line in following:
        if line.kind == "heading" and line.level <= heading.level:
            return "drop"
        if line.stands or line.waits:
            return "show" if line.stands else "wait"
    return "wait"


def _under_lead(lead: AnswerLine, following: Sequence[AnswerLine]) -> Fate:
    """A lead stands for the list, table, code or paragraph that comes next, and for nothing after that."""
    served = lead.run
    for line in following:
        if line.kind == "heading" or (lead.in_list and line.in_list and line.indent <= lead.indent):
            return "drop"
        if line.run != served:
            if served != lead.run or lead.in_list or lead.kind == "row":
                return "drop"
            served = line.run
        if line.stands or line.waits:
            return "show" if line.stands else "wait"
    return "wait"
