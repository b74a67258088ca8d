"""The lines of an answer that are not shown yet. Their standing, the mode and the lines after them decide which are."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rag.answer.lines import AnswerLine
from rag.text.english.speech_acts import is_yes_or_no
from rag.types import GroundingMode, Quote

_HIDDEN: Final[dict[GroundingMode, tuple[str, ...]]] = {
    "strict": ("contradicted",),
    "exact": ("contradicted", "unconfirmed"),
}


class PendingLines:
    """A queue of `lines`, each of which waits until it is known whether it is shown."""

    def __init__(self, mode: GroundingMode) -> None:
        self._hidden = _HIDDEN.get(mode, ())
        self.lines: deque[AnswerLine] = deque()
        self._block = 0  # of the last line that is shown
        self._denied = False  # whether a line before said that the book has no answer
        self._quotes: dict[int, Quote] = {}  # of the lines of that block

    @property
    def open_lines(self) -> list[AnswerLine]:
        """The lines that are still to be checked, all of the last block."""
        return [line for line in self.lines if line.is_open]

    def settled(self, *, shown: bool, last: bool = False) -> Iterator[tuple[AnswerLine, bool]]:
        """Remove the lines before the first undecided one from the queue; yield each with whether it is shown. With
        `last`, decide all.

        `shown` says that a part of the answer is shown already.
        """
        while self.lines:
            goes = self._goes(shown=shown, last=last)
            if goes is None and not last:
                return
            line = self.lines.popleft()
            if goes:
                shown = True
                self._quotes = line.quotes | (self._quotes if line.block == self._block else {})
                self._block = line.block
            yield line, bool(goes)

    def _goes(self, *, shown: bool, last: bool) -> bool | None:
        """Whether the first line is shown; None while that is not known."""
        line = self.lines[0]
        if line.is_open or line.waits:
            return None
        leads = line.kind == "lead" and line.standing == "unconfirmed"  # a claim of its own that nothing confirms
        following = list(self.lines)[1:] if line.frame or leads else []
        if line.kind == "markers":
            return self._below(line)
        if not line.frame:
            if leads and self._hidden == _HIDDEN["strict"]:
                return self._by_what_follows(line, following)
            return line.standing not in self._hidden
        self._denied = self._denied or line.refusal
        if self._hidden and line.refusal:
            return False
        if not self._hidden:  # a denial and polite words are no answer; with an answer, nothing goes
            alone = self._denied or is_yes_or_no(line.text)
            if (
                line.kind == "lead"
                and not last
                and (not following or (following[0].kind == "code" and following[0].is_open))
            ):
                return None  # it may be given the marker of the code
            return not alone or shown or any(not line.frame for line in following) or None
        if line.kind not in ("heading", "lead", "row"):
            return any(map(self._is_shown, following)) or (shown and line.kind != "rule") or None
        goes = self._by_what_follows(line, following)
        return None if goes and line.announces and not self._counted(line, following, last=last) else goes

    def _below(self, markers: AnswerLine) -> bool:
        """Markers below a block name the passages that say one of its shown lines."""
        quotes = self._quotes if markers.block == self._block else {}
        markers.quotes = {n: quotes[n] for segment in markers.marked.segments for n in segment.numbers if n in quotes}
        markers.marked = markers.marked.changed("".join(f"[{n}]" for n in markers.quotes))
        return bool(markers.quotes)

    def _is_shown(self, line: AnswerLine) -> bool:
        """Whether the line is a statement that is shown for good."""
        return not (line.frame or line.is_open or line.waits or line.standing in self._hidden)

    def _by_what_follows(self, frame: AnswerLine, following: Iterable[AnswerLine]) -> bool | None:
        """A heading, lead or head of a table is shown with the first statement that it introduces.

        What a lead below it introduces counts too: "Follow these steps:", "1. Build it:" and then the command.
        """
        above = [frame]
        for line in following:
            while above and not _is_under(above[-1], line):
                above.pop()
            if not above or line.waits or self._is_shown(line):
                return None if above and line.waits else bool(above)
            if line.frame and line.kind == "lead":
                above.append(line)
        return None

    def _counted(self, lead: AnswerLine, following: Sequence[AnswerLine], *, last: bool) -> bool:
        """Whether the list under a lead-in that announces a number of items is complete; compares the two then."""
        items = [line for line in following if line.in_list and line.run in (lead.run, lead.run + 1)]
        ended = last or any(line.run > lead.run + bool(items) or line.kind == "heading" for line in following)
        if not ended or any(line.is_open for line in items):
            return False
        least = min((line.indent for line in items), default=0)
        count = len({line.block for line in items if line.indent == least})
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
    if line.kind == "code" and line.run > frame.run:  # a step may have its command at the margin
        return True
    beside = line.in_list or line.run != frame.run
    return not (frame.in_list and beside and line.indent <= frame.indent)
