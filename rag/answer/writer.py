"""The answer while it streams: tokens come in from the model, checked sentences go out to the reader.

A sentence waits until its citations are known. Without a marker of its own it is checked against the next marker in its
paragraph and gets that marker; a heading or lead waits for what stands under it. The pieces that went out, joined, are
the final text byte for byte.

For "A node runs. It is a process [1]." the first sentence waits. The second brings the marker [1], both are checked
against passage 1, and "A node runs [1]. It is a process [1]." goes out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.answer.citations import CitationForms
from rag.answer.compose import Composer
from rag.answer.judging import Claim
from rag.answer.lines import AnswerLine, Intake, is_delimiter, with_markers
from rag.answer.output import HeldLines, LeftOut, Shown
from rag.answer.support import SupportCheck, telling_words
from rag.text.english.phrases import POINTING
from rag.text.english.talk import HEADING_WORDS, is_refusal, is_talk, words
from rag.text.language import Tongue
from rag.text.markup import MarkedText
from rag.text.sentences import sentence_spans
from rag.types import CitationStyle, FallbackReason, Footer, Grounding, GroundingMode, Passage


@dataclass(frozen=True, slots=True)
class Manner:
    """How an answer is written: the profile's settings with the run's overrides, and the question.

    `accepts` are the citation forms that a model may use besides `[n]`; `footer` is the list below an answer in the
    style "numbered". With `judged` a second judge is asked about what the check supports.
    """

    refusal: str
    style: CitationStyle = "numbered"
    footer: Footer = "list"
    accepts: tuple[CitationStyle, ...] = ()
    mode: GroundingMode = "strict"
    question: str = ""
    judged: bool = False


class AnswerWriter:
    """Turns a model's tokens into checked pieces of the answer.

    `feed`, `end` and `close` return the pieces that are ready to be shown; joined, they are `shown.content`. `refused`
    is the reason why the answer became the refusal sentence, or None.

    With a second judge, supported sentences wait: `claims` are those to ask the judge about now, and `settle` takes its
    verdicts. Sentences that were never judged stand when the answer is closed.
    """

    def __init__(self, passages: Sequence[Passage], manner: Manner) -> None:
        self._manner = manner
        self._forms = CitationForms(manner.accepts, passages)
        self._composer = Composer({p.number: p.text for p in passages}, {p.number: (p.url, p.link) for p in passages})
        self._judge = SupportCheck(passages, manner.question)
        self._asked = frozenset(words(manner.question))
        self._refusal = [words(manner.refusal[a:b]) for a, b in sentence_spans(manner.refusal)]
        self._intake = Intake(self._forms)
        self._held = HeldLines(strict=manner.mode == "strict")
        self._block = self._run = 0
        self._left_out = LeftOut()
        self._ended = False
        self.refused: FallbackReason | None = None
        self.grounding = Grounding(mode=manner.mode)
        self.shown = Shown({p.number: p for p in passages}, manner.style)

    def feed(self, text: str) -> list[str]:
        """Take the next tokens; return the pieces that are now ready."""
        self._take(self._intake.feed(text))
        return self.shown.take_out()

    def end(self, *, cut: bool = False) -> list[str]:
        """The model has finished. With `cut` it reached its maximum length, and an incomplete sentence is dropped."""
        if not self._ended:
            self._take(self._intake.close(cut=cut))
            self._left_out.cut = self._intake.cut
            self._end_block()
            self._ended = True
        return self.shown.take_out()

    @property
    def claims(self) -> list[Claim]:
        """The sentences that a second judge may be asked about: those of complete paragraphs and lists."""
        return [Claim(self._composer.bare(one.marked), tuple(one.quotes)) for one in self._waiting()]

    def settle(self, rejected: Collection[int]) -> list[str]:
        """Take the second judge's verdicts: the positions in `claims` of the sentences that it rejects."""
        for place, line in enumerate(self._waiting()):
            self._held.settle(line, stands=place not in rejected)
            self.grounding.supported -= place in rejected
        self._let_go()
        return self.shown.take_out()

    def close(self, *, cut: bool = False) -> list[str]:
        """The rest and the footer; the refusal sentence when nothing is left."""
        pieces = self.end(cut=cut) + self.settle(())
        self._let_go(last=True)
        if self.shown.content:
            self.shown.put_footer(self._manner.footer)
        else:
            if self.refused is None:
                claimed = self.grounding.sentences or self.grounding.unknown_markers
                self.refused = "model_refused" if self._left_out.said_no or not claimed else "unsupported"
            self.shown.put_alone(self._manner.refusal)
        return pieces + self.shown.take_out()

    @property
    def notices(self) -> list[str]:
        """One sentence for each kind of thing that was left out."""
        return list(self._left_out.told(self.grounding, refused=self.refused is not None))

    # --- lines are checked ------------------------------------------------------------------------------------------

    def _take(self, lines: Iterable[AnswerLine]) -> None:
        for line in lines:
            if self.refused:
                return
            if line.block != self._block:
                self._lead_to(line)
                self._end_block()
                self._block, self._run = line.block, line.run
            self._decide(line)
            self._let_go()

    def _lead_to(self, below: AnswerLine) -> None:
        """An item without a marker above a nested list introduces that list."""
        for line in self._held.open_lines(self._block):
            if line.kind == "item" and below.in_list and below.indent > line.indent:
                line.kind = "lead"
                self._frame(line)

    def _decide(self, line: AnswerLine) -> None:
        """Check the line and the lines that wait for its markers, or let it wait."""
        if line.kind == "overlong":
            self._count(line, supported=False)
        elif line.kind != "code":
            text, unknown = self._forms.as_numbers(line.text)
            line.marked = line.marked.changed(text)
            self.grounding.unknown_markers += unknown
            numbers = self._composer.numbers(line.marked)
            if line.kind in ("markers", "definition"):
                self._cite_open(line, numbers if line.kind == "markers" else ())
                return
            if self._is_beside_the_book(line, numbers):
                return
            self._judge_text(line, numbers)
        self._held.add(line)

    def _judge_text(self, line: AnswerLine, numbers: Sequence[int]) -> None:
        if line.kind in ("heading", "rule") or (line.kind == "lead" and not numbers):
            self._frame(line)
        elif line.kind == "row":
            self._row(line, numbers)
        elif numbers:
            for one in self._held.open_lines(line.block):
                self._judge_line(one, numbers)
            self._judge_line(line)

    def _is_beside_the_book(self, line: AnswerLine, numbers: Sequence[int]) -> bool:
        """Whether the line is a refusal or talk about the conversation. The exact refusal sentence ends the answer."""
        bare = line.marked.bare.strip()
        exact = words(bare) in self._refusal
        if (numbers and not exact) or not (exact or line.kind in ("sentence", "lead", "item")):
            return False
        if exact and not self.grounding.sentences and not self._held.all_open():
            self.refused = "model_refused"
            return True
        line.refusal = exact or is_refusal(bare)
        if not line.refusal and not is_talk(bare, self._asked):
            return False
        self._left_out.said_no = self._left_out.said_no or line.refusal
        line.frame, line.kind = True, "sentence"
        self._compose(line, ())
        self._held.add(line)
        return True

    def _frame(self, line: AnswerLine) -> None:
        """A heading or lead claims nothing, but each of its words must come from the book or the user."""
        self._compose(line, ())
        bare, numbers = line.marked.bare, self._composer.numbers(line.marked)
        line.frame = line.kind == "rule" or self._judge.stands(bare, numbers, HEADING_WORDS)
        if not line.frame:
            self._count(line, supported=False)

    def _row(self, line: AnswerLine, numbers: Sequence[int]) -> None:
        """The head of a table is a frame; a row is checked by its own markers or by those below the table."""
        above = self._held.open_lines(line.block)
        if is_delimiter(line.marked) and len(above) <= 1:
            for one in above:
                self._frame(one)
            line.frame = True
        elif numbers:
            self._judge_line(line)

    def _cite_open(self, markers: AnswerLine, numbers: Sequence[int]) -> None:
        """Markers on a line of their own, as below a code block, belong to the lines of the block before them."""
        self._compose(markers, ())
        waiting = self._held.open_lines(markers.block) if numbers else []
        for one in waiting:
            self._judge_line(one, numbers, own_place=one is waiting[-1] or one.kind == "row")
        kept = [one for one in waiting if one.judged or self._manner.mode != "strict"]
        if kept and (cited := [n for n in numbers if any(n in one.quotes for one in kept)]):
            # On the line of a closing fence a marker would reopen the fence.
            gap = "\n" if kept[-1].kind == "code" and "\n" not in markers.gap else markers.gap
            kept[-1].suffix = gap + "".join(f"[{n}]" for n in cited)

    def _end_block(self) -> None:
        """Check the lines that got no marker: a code block against every passage, anything else against none."""
        for line in self._held.all_open():
            self._judge_line(line, self._judge.numbers if line.kind == "code" else (), own_place=True)
            if line.kind == "code" and line.judged:
                line.suffix = "\n" + "".join(f"[{n}]" for n in line.quotes)

    def _judge_line(self, line: AnswerLine, inherited: Sequence[int] = (), *, own_place: bool = False) -> None:
        """Check a line by its own markers, else by inherited ones, which it then gets unless they stand elsewhere."""
        if line.kind == "code":
            finding = self._judge.code(line.text, inherited)
            line.marked = line.marked.changed(self._composer.code(line.text, set(finding.quotes)))
        else:
            taken = self._left_out.links
            self._compose(line, inherited)
            own, bare = self._composer.numbers(line.marked), self._composer.bare(line.marked)
            if self._left_out.links > taken and telling_words(bare) <= POINTING:  # it only pointed at the address
                bare = ""
            finding = self._judge.claim(bare, own or inherited)
            if finding.supported and (clauses := self._composer.clauses(line.marked)):
                finding = self._judge.clauses(finding, clauses)
            if not finding.supported:
                self._left_out.foreign += self._tongue.is_foreign(bare)
                self._left_out.said_no |= is_refusal(bare)
            if finding.supported:
                line.marked = self._composer.only(line.marked, finding.quotes)
                if not own and not own_place:
                    line.marked = MarkedText(with_markers(line.text, finding.by))
        line.quotes = finding.quotes
        self._count(line, supported=finding.supported and bool(line.text))
        if self._manner.judged and line.kind != "code":
            # A row may hold the marker of the rows above it, so they are shown together.
            line.waits = bool(line.judged) and (line.kind == "row" or not finding.verbatim)

    @cached_property
    def _tongue(self) -> Tongue:
        """The language of the passages, for telling answers in another one."""
        return Tongue(self._judge.text)

    def _waiting(self) -> list[AnswerLine]:
        waiting = self._held.waiting()
        return waiting if self._ended or self._intake.paused else [line for line in waiting if line.run != self._run]

    def _compose(self, line: AnswerLine, cited: Sequence[int]) -> None:
        """Make the line fit to be shown, and count what was taken out of it."""
        composed = self._composer.compose(line.marked, frozenset(cited))
        self.grounding.unknown_markers += composed.unknown
        self._left_out.links += composed.links
        line.marked = composed.plain

    def _count(self, line: AnswerLine, *, supported: bool) -> None:
        line.judged = supported
        self.grounding.sentences += 1
        self.grounding.supported += supported

    # --- lines go out -----------------------------------------------------------------------------------------------

    def _let_go(self, *, last: bool = False) -> None:
        for line, goes in self._held.settled(shown=bool(self.shown.content), last=last):
            if goes and line.text:
                self._show(line)
            else:
                self.grounding.removed += not line.frame
                self.shown.leave_out(line)

    def _show(self, line: AnswerLine) -> None:
        cited = [] if line.kind == "code" else [line.marked]
        cited += [MarkedText(line.suffix)] if line.suffix else []
        numbers = list(dict.fromkeys(n for text in cited for n in self._composer.numbers(text)))
        for number in numbers:
            line.quotes.setdefault(number, self._judge.quote(line.text, number))
        self.shown.put(line, numbers, flagged=line.judged is False and self._manner.mode == "flag")
