"""The lines of an answer that wait: until it is known which passages count for them, and whether they are shown.

In "A node runs. It is a process [1]." the marker belongs to both sentences. In

    Robots need two parts [2]:
    - a motor
    - a battery

the items have the marker of their lead-in. A heading or a lead-in is shown with the first line that it introduces.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rag.answer.line_check import FrameCheck, LineCheck
from rag.answer.lines import BOLD, DELIMITER, AnswerLine, with_markers
from rag.answer.sanitizer import Sanitizer
from rag.text.english.speech_acts import is_yes_or_no
from rag.text.markup import MarkedText
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


_MARKERS: Final = re.compile(r"(?:\s*\[\d{1,4}\])*\s*")
_LEADING: Final = re.compile(r"\s*[\[【][^\[\]【】\n]{0,20}\d")


class LineCitations:
    """Has each line checked against the passages that count for it, as soon as these are known."""

    def __init__(self, check: LineCheck, frames: FrameCheck, sanitizer: Sanitizer, pending: PendingLines) -> None:
        self._check = check
        self._frames = frames
        self._sanitizer = sanitizer
        self._pending = pending
        self._cited: tuple[int, ...] = ()  # by the block so far, or by the lead-in above it
        self._cited_above: tuple[int, ...] = ()  # by the block before
        self._led = False  # whether the last line with markers has them before its words
        self._lead: AnswerLine | None = None  # the last lead-in
        self._head: AnswerLine | None = None  # the head of the last table

    def set_introduction(self, line: AnswerLine) -> None:
        """Note which line introduces an item or a row; a judge reads it with the line."""
        lead = self._lead_of(line) if line.kind == "item" else None
        line.under = self._sanitizer.bare(lead.marked) if lead else ""
        if line.kind == "row" and self._head and self._head.block == line.block:
            line.under = self._head.marked.bare.strip()

    def check_line(self, line: AnswerLine, numbers: tuple[int, ...]) -> None:
        """Check a line that has markers of its own or claims nothing, and the lines that wait for its markers."""
        waiting = self._pending.open_lines
        if line.kind == "heading" and line.level == BOLD and numbers and self._check.confirms(line):
            return
        if line.kind in ("heading", "rule") or (line.kind == "lead" and not numbers):
            self._check_frame(line)
        elif line.kind == "row":  # its own markers count, or those below the table
            if DELIMITER.fullmatch(line.marked.bare.strip()) and len(waiting) <= 1:
                for head in waiting:
                    self._check_frame(head)
                    self._head = head
                line.frame = True
            elif numbers:
                self._check.check(line)
        elif numbers:
            leads = _LEADING.match(line.text) is not None
            for above in waiting:
                self._check.check(above, self._cited if leads and self._led and self._cited else numbers)
            self._check.check(line)
            self._led = leads
            self._lead, self._cited = line if line.kind == "lead" else self._lead, numbers

    def without_leading(self, line: AnswerLine, text: str, *, alone_too: bool) -> str:
        """What is left of a line that begins with a citation in words: it may belong to the sentence before it.

        "It runs. [Nodes](nodes.md) It computes." has the citation after the full stop; `text` has it as a marker. With
        `alone_too`, nothing is left of a line that is nothing but citations, also where no sentence waits for them.
        """
        end = _MARKERS.match(text).end()  # type: ignore[union-attr]  # it matches the empty text
        alone = not text[end:]
        cites = alone or (end and not text[end].islower())
        if not cites or not (self._pending.open_lines or (alone and alone_too)):
            return text
        above = AnswerLine("markers", MarkedText(text[:end].strip()), gap=line.gap, block=line.block, run=line.run)
        self.cite_waiting(above, self._sanitizer.numbers(above.marked))
        return text[end:]

    def cite_waiting(self, markers: AnswerLine, numbers: Sequence[int]) -> None:
        """Markers on a line of their own, as below a code block, belong to the lines of the block before them."""
        self._sanitizer.clean(markers)
        waiting = self._pending.open_lines if numbers else []
        if not waiting:
            return
        last = waiting[-1]
        if "\n" in markers.gap and last.kind not in ("row", "code"):
            last.marked = MarkedText(with_markers(last.text, numbers))
            for line in waiting:
                self._check.check(line, numbers)
            return
        for line in waiting:
            self._check.check(line, numbers, own_place=line is last or line.kind == "row")
        # On the line of a closing fence a marker would reopen the fence; right below a row it would be a row.
        gap = "\n" if last.kind == "code" and "\n" not in markers.gap else markers.gap
        self._cite_below(last, numbers, "\n\n" if last.kind == "row" else gap)

    def end_block(self, below: AnswerLine | None = None) -> None:
        """Check the lines without a marker against the passages that their paragraph or lead-in cites, else against all
        passages.

        `below` begins the next block. An item without a marker above a nested list introduces it. A list, table or
        code block after a lead-in inherits its citations.
        """
        for line in self._pending.open_lines:
            if below and line.kind == "item" and below.in_list and below.indent > line.indent:
                line.kind = "lead"
                self._check_frame(line)
        for line in self._pending.open_lines:
            self._check.check(line, self._cited, own_place=bool(self._cited))
            if line.kind == "code" and line.standing == "supported":
                self._cite_below(line, ())
        self._led = False
        lead = self._lead_of(below) if below else None
        self._cited_above, self._cited = self._cited, self._sanitizer.numbers(lead.marked) if lead else ()

    def _lead_of(self, line: AnswerLine) -> AnswerLine | None:
        """The lead-in above a list, table or code block, or in the same list."""
        return self._lead if self._lead and line.run in (self._lead.run, self._lead.run + 1) else None

    def _check_frame(self, line: AnswerLine) -> None:
        """Check a heading or lead-in. What a lead-in introduces inherits its citations."""
        self._frames.check(line)
        if line.kind == "lead":
            self._lead = line
            self._cited = self._sanitizer.numbers(line.marked)

    def _cite_below(self, last: AnswerLine, numbers: Sequence[int], gap: str = "\n") -> None:
        """Put markers below a block.

        Code is cited in its lead-in where that still waits, and not again where the text above cites the same passages.
        """
        if last.kind == "code":
            lead = self._lead_of(last)
            numbers = [number for number in last.quotes if number not in {*self._cited, *self._cited_above}]
            if lead and lead in self._pending.lines:
                own = self._sanitizer.numbers(lead.marked)
                if new := [number for number in numbers if number not in own]:
                    lead.marked = MarkedText(with_markers(lead.text, new))
                return
            if not numbers:
                return
        marked = MarkedText("".join(f"[{number}]" for number in numbers))
        self._pending.lines.append(AnswerLine("markers", marked, gap=gap, block=last.block, run=last.run, frame=True))
