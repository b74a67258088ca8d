"""The answer while it streams: tokens come in from the model, checked sentences go out to the reader.

A sentence waits until its citations are known. In "A node runs. It is a process [1]." the marker belongs to both
sentences, so the output is "A node runs [1]. It is a process [1].". A heading or a lead-in waits for the lines below
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rag.answer.citations import BookBrackets, CitationForms, unconfirmed_answer
from rag.answer.judge_prompt import Claim
from rag.answer.line_check import LineCheck
from rag.answer.lines import DELIMITER, AnswerLine, LineParser, with_markers
from rag.answer.shown_answer import PendingLines, ShownAnswer, notices
from rag.text.english.phrases import SOURCE_LABEL
from rag.text.english.speech_acts import is_courtesy, is_refusal, is_talk, is_yes_or_no, words
from rag.text.markup import MarkedText
from rag.text.sentences import sentence_spans
from rag.types import (
    SMALLTALK,
    CheckedSentence,
    CitationStyle,
    FallbackReason,
    Footer,
    Grounding,
    GroundingMode,
    Passage,
)

_MARKERS: Final = re.compile(r"(?:\s*\[\d{1,4}\])*\s*")


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How an answer is written: the profile's settings with the run's overrides, and the question.

    `accepts` are the citation forms besides `[n]`; `footer` is the list below an answer in the style "numbered". With
    `judged` a second judge is asked about what is no quotation.
    """

    refusal: str
    style: CitationStyle = "numbered"
    footer: Footer = "list"
    accepts: tuple[CitationStyle, ...] = ()
    mode: GroundingMode = "strict"
    question: str = ""
    smalltalk: str = SMALLTALK
    judged: bool = False


class AnswerWriter:
    """Turns a model's tokens into checked pieces of the answer, which are `shown.content` byte for byte when joined.

    `refused` is the fallback reason if nothing of the answer is shown, else None. With a judge, doubtful sentences wait
    for a verdict; those without one at `close` keep their standing.
    """

    def __init__(self, passages: Sequence[Passage], options: AnswerOptions) -> None:
        self._options = options
        self._passages = passages
        self._forms = CitationForms(options.accepts, passages)
        self._brackets = BookBrackets(passages)
        self._refusal = [words(options.refusal[a:b]) for a, b in sentence_spans(options.refusal)]
        self._parser = LineParser(self._forms)
        self._pending = PendingLines(options.mode)
        self._last: AnswerLine | None = None
        self._cited: tuple[int, ...] = ()  # by the block so far, or by the lead-in above it
        self._cited_above: tuple[int, ...] = ()  # by the block before
        self._lead: AnswerLine | None = None  # the last lead-in
        self._head: AnswerLine | None = None  # the head of the last table
        self._at_judge: list[AnswerLine] = []  # each by its key
        self._ended = self._has_words = False
        self.refused: FallbackReason | None = None
        self.grounding = Grounding(mode=options.mode)
        self._check = LineCheck(passages, options.question, self.grounding, judged=options.judged)
        self._sanitizer = self._check.sanitizer
        self.shown = ShownAnswer({p.number: p for p in passages}, options.style)

    def feed(self, text: str) -> list[str]:
        """Take the next tokens; return the pieces that are now ready."""
        self._add_lines(self._parser.feed(text))
        return self.shown.take_out()

    def end_input(self, *, cut: bool = False) -> list[str]:
        """The model has finished. With `cut` it reached its maximum length, and an incomplete sentence is dropped."""
        if not self._ended:
            self._add_lines(self._parser.close(cut=cut))
            self._end_block()
            self._check_alone()
            self._ended = True
        return self.shown.take_out()

    @property
    def wordless(self) -> bool:
        """Whether the finished answer has only markers and thoughts. It is then neither an answer nor a refusal."""
        return self._ended and not self._has_words and not self.refused and not self.grounding.unknown_markers

    @property
    def doubtful_count(self) -> int:
        """How many sentences a second judge may be asked about now: those of complete paragraphs and lists."""
        return len(self._lines_for_judge())

    def take_doubtful(self) -> dict[int, Claim]:
        """The doubtful sentences for the judge, by the key of their verdict. Each is handed out once."""
        claims = {}
        for line in self._lines_for_judge():
            claims[len(self._at_judge)] = Claim(self._sanitizer.bare(line.marked), tuple(line.quotes), line.under)
            self._at_judge.append(line)
        return claims

    def apply_verdicts(self, verdicts: Mapping[int, bool | None]) -> list[str]:
        """Apply the judge's verdicts, by key; return the pieces that are now ready. With None, a sentence keeps its
        standing.
        """
        for key, verdict in verdicts.items():
            line = self._at_judge[key]
            if verdict is not None:
                line.reasons = () if verdict else (*line.reasons, "judge: the passages do not say so")
                line.standing = "supported" if verdict else "contradicted"
            line.waits = False
        self._release_decided()
        return self.shown.take_out()

    def close(self, *, cut: bool = False) -> list[str]:
        """Return the remaining pieces and the footer. If nothing is shown, return the fallback sentence instead."""
        pieces = self.end_input(cut=cut)
        for line in self._pending.lines:  # what was never judged waits no longer
            line.waits = False
        self._release_decided(last=True)
        if self.shown.content:
            self.shown.put_footer(self._options.footer)
        else:
            self.refused = self.refused or self._fallback_reason()
            alone = self._options.refusal
            if self.refused != "model_refused":
                small = self.refused == "smalltalk"
                alone = self._options.smalltalk if small else unconfirmed_answer(self._passages)
            self.shown.add(alone, alone)
        return pieces + self.shown.take_out()

    def _fallback_reason(self) -> FallbackReason:
        """Why nothing of the answer is shown. What only greets or thanks says nothing about the book."""
        if self._check.denies_answer or self.wordless:
            return "model_refused"
        claimed = self.grounding.sentences or self.grounding.unknown_markers
        polite = not claimed and any(is_courtesy(one.text) for one in self.grounding.checked)
        return "smalltalk" if polite else "unconfirmed"

    @property
    def notices(self) -> list[str]:
        """One sentence for each kind of thing that was left out."""
        check, cut = self._check, self._parser.cut
        refused = self.refused is not None
        return list(notices(self.grounding, check.links, denies_answer=check.denies_answer, cut=cut, refused=refused))

    # --- lines are checked ------------------------------------------------------------------------------------------

    def _add_lines(self, lines: Iterable[AnswerLine]) -> None:
        for line in lines:
            self._has_words = self._has_words or line.kind != "markers"
            if self._last is None or line.block != self._last.block:
                self._end_block(line)
            self._last = line
            lead = self._lead_of(line) if line.kind == "item" else None
            line.under = self._sanitizer.bare(lead.marked) if lead else ""
            if line.kind == "row" and self._head and self._head.block == line.block:
                line.under = self._head.marked.bare.strip()
            if self._process_line(line):
                self._pending.lines.append(line)
            self._release_decided()

    def _process_line(self, line: AnswerLine) -> bool:
        """Check the line and the earlier lines that wait for its markers. Returns whether the line joins the queue."""
        if line.kind != "code" and line.is_open:
            written = self._brackets.hidden(line.text)
            text, unknown, named = self._forms.as_numbers(written, begins=bool(line.prefix) or line.kind == "row")
            text = with_markers(text, named) if named else text
            self.grounding.unknown_markers += unknown
            if text != written and line.kind == "sentence" and not line.prefix:
                text = self._behind_citations(line, text)
                if not text:
                    return False
            line.marked = line.marked.changed(text)
            line.unresolved = unknown > 0
            numbers = self._sanitizer.numbers(line.marked)
            if line.kind == "sentence" and numbers and SOURCE_LABEL.fullmatch(line.marked.bare):
                line.kind = "markers"
            if line.kind in ("markers", "definition"):
                self._cite_open(line, numbers if line.kind == "markers" else ())
                return False
            if not self._is_refusal_or_talk(line, numbers):
                self._check_line(line, numbers)
        return True

    def _behind_citations(self, line: AnswerLine, text: str) -> str:
        """What is left of a line that begins with a citation in words: it may belong to the sentence before it.

        "It runs. [Nodes](nodes.md) It computes." has the citation behind the full stop; `text` has it as a marker.
        """
        end = _MARKERS.match(text).end()  # type: ignore[union-attr]  # it matches the empty text
        alone = not text[end:]
        cites = alone or (end and not text[end].islower())
        if not cites or not (self._pending.open_lines or (alone and self._options.mode != "off")):
            return text
        above = AnswerLine("markers", MarkedText(text[:end].strip()), gap=line.gap, block=line.block, run=line.run)
        self._cite_open(above, self._sanitizer.numbers(above.marked))
        return text[end:]

    def _check_line(self, line: AnswerLine, numbers: tuple[int, ...]) -> None:
        above = self._pending.open_lines
        if line.kind in ("heading", "rule") or (line.kind == "lead" and not numbers):
            self._frame(line)
        elif line.kind == "row":  # its own markers count, or those below the table
            if DELIMITER.fullmatch(line.marked.bare.strip()) and len(above) <= 1:
                for one in above:
                    self._frame(one)
                    self._head = one
                line.frame = True
            elif numbers:
                self._check.check(line)
        elif numbers:
            for one in above:
                self._check.check(one, numbers)
            self._check.check(line)
            self._lead, self._cited = line if line.kind == "lead" else self._lead, numbers

    def _is_refusal_or_talk(self, line: AnswerLine, numbers: Sequence[int]) -> bool:
        """Whether the line is a refusal or talk about the conversation; both claim nothing.

        A heading that the book has itself, such as "What this page does not cover", is neither.
        """
        bare = line.marked.bare.strip()
        exact = words(bare) in self._refusal
        plain = bare.strip("*_ ") if line.kind == "heading" else ""
        denies = is_refusal(plain) and not self._check.has_written(plain)
        may_be = not numbers and (denies or line.kind in ("sentence", "lead", "item"))
        line.refusal = exact or (may_be and is_refusal(bare))
        if not line.refusal and not (may_be and self._is_talk(bare)):
            return False
        self._check.denies_answer = self._check.denies_answer or line.refusal
        line.frame, line.kind = True, "sentence"
        self._check.sanitize(line)
        return True

    def _is_talk(self, sentence: str) -> bool:
        """Whether a line says nothing of the book. A greeting that a passage has may be one that it orders."""
        polite = is_courtesy(sentence) and not self._check.has_written(sentence.strip("*_#: "))
        talk = polite or is_talk(sentence, frozenset(words(self._options.question)))
        return talk or self._check.is_remark(sentence)

    def _lead_of(self, line: AnswerLine) -> AnswerLine | None:
        """The lead-in above a list, table or code block, or in the same list."""
        return self._lead if self._lead and line.run in (self._lead.run, self._lead.run + 1) else None

    def _frame(self, line: AnswerLine) -> None:
        """Check a heading or lead-in. What stands under a lead-in inherits its citations."""
        self._check.frame(line)
        if line.kind == "lead":
            self._lead = line
            self._cited = self._sanitizer.numbers(line.marked)

    def _cite_open(self, markers: AnswerLine, numbers: Sequence[int]) -> None:
        """Markers on a line of their own, as below a code block, belong to the lines of the block before them."""
        self._check.sanitize(markers)
        waiting = self._pending.open_lines if numbers else []
        if waiting and "\n" in markers.gap and waiting[-1].kind not in ("row", "code"):
            waiting[-1].marked = MarkedText(with_markers(waiting[-1].text, numbers))
            for one in waiting:
                self._check.check(one, numbers)
            return
        for one in waiting:
            self._check.check(one, numbers, own_place=one is waiting[-1] or one.kind == "row")
        if waiting:
            # On the line of a closing fence a marker would reopen the fence; right below a row it would be a row.
            gap = "\n" if waiting[-1].kind == "code" and "\n" not in markers.gap else markers.gap
            gap = "\n\n" if waiting[-1].kind == "row" else gap
            self._cite_below(waiting[-1], numbers, gap)

    def _end_block(self, below: AnswerLine | None = None) -> None:
        """Check the lines without a marker against the passages that their paragraph or lead-in cites, else against all
        passages.

        `below` begins the next block. An item without a marker above a nested list introduces it. A list, table or
        code block under a lead-in inherits its citations.
        """
        for line in self._pending.open_lines:
            if below and line.kind == "item" and below.in_list and below.indent > line.indent:
                line.kind = "lead"
                self._frame(line)
        for line in self._pending.open_lines:
            self._check.check(line, self._cited, own_place=bool(self._cited))
            if line.kind == "code" and line.standing == "supported":
                self._cite_below(line, ())
        lead = self._lead_of(below) if below else None
        self._cited_above, self._cited = self._cited, self._sanitizer.numbers(lead.marked) if lead else ()

    def _cite_below(self, last: AnswerLine, numbers: Sequence[int], gap: str = "\n") -> None:
        """Put markers below a block.

        Code is cited in its lead-in where that still waits, and not again where the text above cites the same passages.
        """
        if last.kind == "code":
            lead = self._lead_of(last)
            numbers = [one for one in last.quotes if one not in {*self._cited, *self._cited_above}]
            if lead and lead in self._pending.lines:
                own = self._sanitizer.numbers(lead.marked)
                if new := [one for one in numbers if one not in own]:
                    lead.marked = MarkedText(with_markers(lead.text, new))
                return
            if not numbers:
                return
        marked = MarkedText("".join(f"[{number}]" for number in numbers))
        self._pending.lines.append(AnswerLine("markers", marked, gap=gap, block=last.block, run=last.run, frame=True))

    def _check_alone(self) -> None:
        """Reject an answer that is only a yes or a no: it cites nothing."""
        lines = self._pending.lines
        if not self.grounding.sentences and not self._check.denies_answer and all(one.frame for one in lines):
            for line in (one for one in lines if is_yes_or_no(one.text) and not is_courtesy(one.text)):
                line.frame, line.standing = False, "contradicted"
                line.reasons = ("citation: no passage is cited for it",)

    def _lines_for_judge(self) -> list[AnswerLine]:
        whole = self._ended or self._parser.paused
        run = self._last.run if self._last and not whole else 0
        return [one for one in self._pending.lines if one.waits and one.run != run and one not in self._at_judge]

    # --- lines go out -----------------------------------------------------------------------------------------------

    def _release_decided(self, *, last: bool = False) -> None:
        for line, goes in self._pending.settled(shown=bool(self.shown.content), last=last):
            numbers = () if line.kind == "code" else self._sanitizer.numbers(line.marked)
            shown = goes and bool(line.text)
            if line.kind != "markers":
                self._record(line, numbers, shown=shown)
            if shown:
                doubtful = line.standing != "supported" and not (line.frame and line.standing is None)
                self.shown.put(line, numbers, flagged=doubtful and self._options.mode != "off")
            elif line.kind != "markers":
                self.shown.leave_out(line)

    def _record(self, line: AnswerLine, numbers: Sequence[int], *, shown: bool) -> None:
        """Count a line whose fate is known, and keep it for `grounding.checked`."""
        standing = line.standing or ("frame" if line.frame else "contradicted")
        cited = list(numbers or (line.quotes if standing == "supported" else ()))
        text = line.text if line.kind == "code" else self._sanitizer.bare(line.marked)
        self.grounding.checked.append(
            CheckedSentence(text=text, standing=standing, reasons=list(line.reasons), citations=cited)
        )
        if not line.frame:
            self.grounding.sentences += 1
            self.grounding.supported += standing == "supported"
            self.grounding.unconfirmed += standing == "unconfirmed"
            self.grounding.removed += not shown
