"""Which passages count for a line of an answer: those of its own markers, of its paragraph, or of its lead-in.

In "A node runs. It is a process [1]." the marker belongs to both sentences. In

    Robots need two parts [2]:
    - a motor
    - a battery

the items have the marker of their lead-in. A line waits in the queue until its passages are known, and is checked then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rag.answer.frames import FrameCheck
from rag.answer.line_check import LineCheck
from rag.answer.lines import DELIMITER, AnswerLine, with_markers
from rag.answer.pending_lines import PendingLines
from rag.answer.sanitizer import Sanitizer
from rag.text.markup import MarkedText

_MARKERS: Final = re.compile(r"(?:\s*\[\d{1,4}\])*\s*")


class LineCitations:
    """Has each line checked against the passages that count for it, as soon as these are known."""

    def __init__(self, check: LineCheck, frames: FrameCheck, sanitizer: Sanitizer, pending: PendingLines) -> None:
        self._check = check
        self._frames = frames
        self._sanitizer = sanitizer
        self._pending = pending
        self._cited: tuple[int, ...] = ()  # by the block so far, or by the lead-in above it
        self._cited_above: tuple[int, ...] = ()  # by the block before
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
            for above in waiting:
                self._check.check(above, numbers)
            self._check.check(line)
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
