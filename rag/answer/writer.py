"""The answer while it streams: tokens come in from the model, checked sentences go out to the reader.

A sentence waits until its citations are known. In "A node runs. It is a process [1]." the marker belongs to both
sentences, so the output is "A node runs [1]. It is a process [1].". A heading or a lead-in waits for the lines below
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rag.answer.citations import BookBrackets, CitationForms
from rag.answer.cited_passage import TurnEvidence
from rag.answer.judge_prompt import Claim
from rag.answer.line_check import FrameCheck, LineCheck
from rag.answer.lines import AnswerLine, LineParser, with_markers
from rag.answer.pending_lines import LineCitations, PendingLines
from rag.answer.sanitizer import Sanitizer
from rag.answer.shown_answer import ShownAnswer, notices, unconfirmed_answer
from rag.text.english.phrases import SOURCE_LABEL
from rag.text.english.speech_acts import is_courtesy, is_yes_or_no
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


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How an answer is written: the profile's settings with the run's overrides, and the question.

    `accepts` are the citation forms besides `[n]`; `footer` is the list below an answer in the style "numbered". With
    `judged` the judge is asked about what is no quotation.
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
        self._parser = LineParser(self._forms)
        self._at_judge: list[AnswerLine] = []  # each by its key
        self._last: AnswerLine | None = None
        self._ended = self._has_words = False
        self.refused: FallbackReason | None = None
        self.grounding = Grounding(mode=options.mode)
        evidence = TurnEvidence(passages, options.question)
        self._sanitizer = Sanitizer(evidence.passages, self.grounding)
        self._frames = FrameCheck(evidence, self._sanitizer, options.refusal, exact=options.mode == "exact")
        check = LineCheck(evidence, self._sanitizer, self._frames, judged=options.judged)
        self._pending = PendingLines(options.mode)
        self._citations = LineCitations(check, self._frames, self._sanitizer, self._pending)
        self.shown = ShownAnswer({p.number: p for p in passages}, options.style)

    def feed(self, text: str) -> list[str]:
        """Take the next tokens; return the pieces that are now ready."""
        self._add_lines(self._parser.feed(text))
        return self.shown.take_out()

    def end_input(self, *, cut: bool = False) -> list[str]:
        """The model has finished. With `cut` it reached its maximum length, and an incomplete sentence is dropped."""
        if not self._ended:
            self._add_lines(self._parser.close(cut=cut))
            self._citations.end_block()
            self._check_alone()
            self._ended = True
        return self.shown.take_out()

    @property
    def wordless(self) -> bool:
        """Whether the finished answer has only markers and thoughts. It is then neither an answer nor a refusal."""
        return self._ended and not self._has_words and not self.refused and not self.grounding.unknown_markers

    @property
    def for_judge_count(self) -> int:
        """How many sentences the judge may be asked about now: those of complete paragraphs and lists."""
        return len(self._lines_for_judge())

    def take_for_judge(self) -> dict[int, Claim]:
        """The sentences that the judge is asked about, by the key of their verdict. Each is handed out once."""
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
        if self._frames.denies_answer or self.wordless:
            return "model_refused"
        claimed = self.grounding.sentences or self.grounding.unknown_markers
        polite = not claimed and any(is_courtesy(sentence.text) for sentence in self.grounding.checked)
        return "smalltalk" if polite else "unconfirmed"

    @property
    def notices(self) -> list[str]:
        """One sentence for each kind of thing that was left out."""
        denies, cut, refused = self._frames.denies_answer, self._parser.cut, self.refused is not None
        return list(notices(self.grounding, self._sanitizer.links, denies_answer=denies, cut=cut, refused=refused))

    # --- lines are checked ------------------------------------------------------------------------------------------

    def _add_lines(self, lines: Iterable[AnswerLine]) -> None:
        for line in lines:
            self._has_words = self._has_words or line.kind != "markers"
            if self._last is None or line.block != self._last.block:
                self._citations.end_block(line)
            self._last = line
            self._citations.set_introduction(line)
            if self._process_line(line):
                self._pending.lines.append(line)
            self._release_decided()

    def _process_line(self, line: AnswerLine) -> bool:
        """Read the citations of a line and check it, if its passages are known. Returns whether it joins the queue."""
        if line.kind == "code" or not line.is_open:
            return True
        written = self._brackets.hidden(line.text)
        text, unknown, named = self._forms.as_numbers(written, begins=bool(line.prefix) or line.kind == "row")
        text = with_markers(text, named) if named else text
        self.grounding.unknown_markers += unknown
        if text != written and line.kind == "sentence" and not line.prefix:
            text = self._citations.without_leading(line, text, alone_too=self._options.mode != "off")
            if not text:
                return False
        line.marked = line.marked.changed(text)
        line.unresolved = unknown > 0
        numbers = self._sanitizer.numbers(line.marked)
        if line.kind == "sentence" and numbers and SOURCE_LABEL.fullmatch(line.marked.bare):
            line.kind = "markers"
        if line.kind in ("markers", "definition"):
            self._citations.cite_waiting(line, numbers if line.kind == "markers" else ())
            return False
        if not self._frames.mark_refusal_or_talk(line, numbers):
            self._citations.check_line(line, numbers)
        return True

    def _check_alone(self) -> None:
        """Reject an answer that is only a yes or a no: it cites nothing."""
        lines = self._pending.lines
        if not self.grounding.sentences and not self._frames.denies_answer and all(line.frame for line in lines):
            for line in (line for line in lines if is_yes_or_no(line.text) and not is_courtesy(line.text)):
                line.frame, line.standing = False, "contradicted"
                line.reasons = ("citation: no passage is cited for it",)

    def _lines_for_judge(self) -> list[AnswerLine]:
        whole = self._ended or self._parser.paused
        run = self._last.run if self._last and not whole else 0
        return [line for line in self._pending.lines if line.waits and line.run != run and line not in self._at_judge]

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
            counts = shown or self._options.mode == "exact"  # else a lead with nothing below it is only removed
            self.grounding.unconfirmed += standing == "unconfirmed" and counts
            self.grounding.removed += not shown
