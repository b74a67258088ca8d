"""The lines of an answer that wait, and which are shown: by their standing, the mode and the lines below them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Literal

from rag.answer.lines import AnswerLine
from rag.types import GroundingMode, Standing

Fate = Literal["show", "drop", "wait"]


class HeldLines:
    """A queue of lines. The mode decides which are shown: see `shows`. A heading over nothing that is shown is dropped.

    Of "## Nodes", "A node is Zenoh [1].", "## Topics", "A topic carries messages [1]." the second line names what no
    passage does and is dropped. So is the heading "Nodes", since the next heading follows it.
    """

    def __init__(self, mode: GroundingMode) -> None:
        self._mode = mode
        self._lines: deque[AnswerLine] = deque()

    def shows(self, line: AnswerLine) -> bool:
        """Whether the mode shows a checked line: "exact" only supported ones, "strict" all but contradicted ones."""
        if self._mode in ("flag", "off"):
            return True
        return line.standing == "supported" or (self._mode == "strict" and line.standing == "unconfirmed")

    def add(self, line: AnswerLine) -> None:
        self._lines.append(line)

    def open_lines(self, block: int | None = None) -> list[AnswerLine]:
        """The lines that are still to be checked, of a block or of all."""
        return [line for line in self._lines if line.is_open and block in (None, line.block)]

    def statements(self) -> list[AnswerLine]:
        """The lines that state something."""
        return [line for line in self._lines if not line.frame]

    def waiting(self) -> list[AnswerLine]:
        """The lines that a second judge has to be asked about."""
        return [line for line in self._lines if line.waits]

    def settle(self, line: AnswerLine, standing: Standing) -> None:
        """Apply the second judge's verdict. Markers behind a rejected line move to the line above that shares them."""
        line.waits, line.standing = False, standing
        if not self.shows(line):
            beside = [one for one in self._lines if one.block == line.block and one is not line]
            above = [one for one in beside if not (one.frame or one.is_open) and self.shows(one)]
            if above and line.behind:
                above[-1].behind = tuple(number for number in line.behind if number in above[-1].quotes)
                above[-1].apart, line.behind = line.apart, ()

    def settled(self, *, shown: bool, last: bool = False) -> Iterator[tuple[AnswerLine, bool]]:
        """The lines that need not wait any more, each with whether it is shown, up to the first that waits.

        `shown` says that a part of the answer is shown already; `last` that nothing follows.
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
        if line.is_open or line.waits or self._may_inherit(line):
            return "wait"
        if not line.frame:
            return "show" if self.shows(line) else "drop"
        drops = self._mode in ("strict", "exact")
        if line.refusal:  # it is the whole answer or is left out
            speaks = shown or any(not one.refusal for one in following)
            if drops or (last and not speaks):
                return "drop"
            return "show" if speaks else "wait"
        if not drops:
            return "show"
        if line.kind not in ("heading", "lead", "row"):
            carried = any(self._stands(one) for one in following)
            return "show" if carried or (shown and line.kind != "rule") else "wait"
        fate = self._by_what_follows(line, following)
        if fate == "show" and line.kind == "lead" and line.announces and not self._counted(line, following, last=last):
            return "wait"
        return fate

    def _may_inherit(self, line: AnswerLine) -> bool:
        """Whether a line below may be rejected whose markers this one would then take over."""
        return any(one.waits and one.behind and one.block == line.block for one in self._lines if one is not line)

    def _stands(self, line: AnswerLine) -> bool:
        """Whether the line is a statement that is shown for good."""
        return line.standing is not None and not line.frame and not line.waits and self.shows(line)

    def _by_what_follows(self, frame: AnswerLine, following: Sequence[AnswerLine]) -> Fate:
        """A heading, lead or head of a table is shown with the first statement under it."""
        for line in following:
            if not _is_under(frame, line):
                return "drop"
            if line.waits or self._stands(line):
                return "wait" if line.waits else "show"
        return "wait"

    def _counted(self, lead: AnswerLine, following: Sequence[AnswerLine], *, last: bool) -> bool:
        """Whether the list under a lead-in that announces a number of items is complete; compares the two then."""
        items = [one for one in following if one.in_list and one.run in (lead.run, lead.run + 1)]
        ended = last or any(one.run > lead.run + bool(items) or one.kind == "heading" for one in following)
        if not ended or any(one.is_open for one in items):
            return False
        least = min((one.indent for one in items), default=0)
        count = len({one.block for one in items if one.indent == least})
        if count not in (0, lead.announces):
            lead.standing = "unconfirmed"
            lead.reasons = (f"number: {lead.announces} are announced, and {count} follow",)
        lead.announces = 0
        return True


def _is_under(frame: AnswerLine, line: AnswerLine) -> bool:
    """Whether a line belongs to a heading, or to a lead, which introduces the next list, table, code or paragraph."""
    if frame.kind == "heading":
        return line.kind != "heading" or line.level > frame.level
    if line.kind == "heading" or line.run > frame.run + (frame.kind == "lead"):
        return False
    beside = line.in_list or line.run != frame.run
    return not (frame.in_list and beside and line.indent <= frame.indent)
