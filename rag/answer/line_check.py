"""The check of one line of an answer: make its text fit to be shown, and find what the passages say of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rag.answer.compose import Composed, Composer
from rag.answer.lines import AnswerLine, announced, with_markers
from rag.answer.shown_answer import LeftOut
from rag.answer.support import Finding, SupportCheck
from rag.evidence.reading import read
from rag.text.english.phrases import POINTING
from rag.text.english.speech_acts import HEADING_WORDS, is_refusal
from rag.text.markup import MarkedText
from rag.text.vocabulary import is_english
from rag.types import Grounding, Passage

_COLUMN_WORDS: Final = 2  # most words of a column's name; more may state something
_SAYS: Final = re.compile(r"[\w`]")  # a line without it, such as "**", says nothing
_ATTRIBUTE: Final = re.compile(r"(?:href|src)\s*=\s*['\"]{2}")  # half a tag, whose address was taken out
# A sign at the end of a sentence that is meant as a citation and is none: "[I]", "(9)", "`[1]`", "①".
_NO_MARKER: Final = re.compile(r"\s(?P<sign>[`\[({<]{1,2}[\dIVX.:-]{1,4}[\\`\])}>]{1,2}|[⁰¹²³⁴-⁹①-⑳]{1,2})\W*$")


class LineCheck:
    """Checks lines against the passages of one turn. What it takes out of them is counted in `left_out` and `counts`.

    With `judged`, a sentence that is no quotation waits for a second judge.
    """

    def __init__(
        self, passages: Sequence[Passage], question: str, left_out: LeftOut, counts: Grounding, *, judged: bool
    ) -> None:
        self.composer = Composer(
            {p.number: p.text for p in passages},
            {p.number: (p.url, p.link) for p in passages},
            {p.number: " \n".join((p.title, p.heading, p.breadcrumb, p.chapter or "")) for p in passages},
        )
        self.support = SupportCheck(passages, question)
        self._left_out = left_out
        self._counts = counts
        self._judged = judged

    def check(self, line: AnswerLine, inherited: Sequence[int] = (), *, own_place: bool = False) -> None:
        """Check a line by its own markers, or else by inherited ones.

        The line then gets the inherited markers, unless they stand in another place of the answer.
        """
        if line.kind == "code":
            finding = self.support.code(line.text, inherited)
            if strange := self.composer.allowed(set(finding.quotes)).strange(line.text):  # shown whole or not at all
                self._left_out.links += len(strange)
                line.marked = MarkedText("")
                finding = finding._replace(reasons=tuple(f"address: {url} is not in the passages" for url in strange))
        else:
            composed = self.compose(line, inherited)
            line.unresolved = line.unresolved or composed.unknown > 0
            own, bare = self.composer.numbers(line.marked), self.composer.bare(line.marked)
            if _only_pointed(bare, composed) or (line.kind != "row" and not _SAYS.search(bare)):
                bare = ""
            finding = self._finding(line, bare, own, inherited)
            if not finding.supported:
                if is_refusal(bare):
                    self._left_out.said_no = True
                    finding = finding.contradicted("refusal: it says that the book has no answer")
            else:
                line.marked = self.composer.only(line.marked, finding.quotes)
                if not own and (not own_place or not set(finding.by) & set(inherited)):
                    line.marked = MarkedText(with_markers(line.text, finding.by))
            finding = _with_holes(finding, composed.holes)
        line.quotes, line.reasons = finding.quotes, finding.reasons
        line.standing = finding.standing if line.text else "contradicted"
        line.waits = self._judged and line.kind != "code" and not finding.verbatim
        line.waits = line.waits and line.standing != "contradicted"

    def _finding(self, line: AnswerLine, bare: str, own: Sequence[int], inherited: Sequence[int]) -> Finding:
        """What the passages say of a line. Without a citation of its own, any passage of the turn may say it."""
        if not own and (line.unresolved or self._ends_with_a_sign(bare)):
            return Finding("contradicted", (), {}, reasons=("citation: it names no passage of this turn",))
        cited = own or inherited
        finding = self.support.claim(bare, cited) if cited else self.support.anywhere(bare)
        if finding.supported and (clauses := self.composer.clauses(line.marked)):
            return self.support.clauses(finding, clauses)
        if not finding.supported and not own and inherited:
            elsewhere = self.support.anywhere(bare)
            return elsewhere if elsewhere.supported or finding.standing == "contradicted" else finding
        return finding

    def _ends_with_a_sign(self, bare: str) -> bool:
        """Whether the sentence ends with a sign that is meant as a citation: no passage has it."""
        found = _NO_MARKER.search(bare)
        return found is not None and not self.support.has_written(found["sign"])

    def frame(self, line: AnswerLine) -> None:
        """Check a heading or lead-in, which claims nothing.

        In the mode "exact" each of its words must come from the book or the user.
        """
        composed = self.compose(line, ())
        bare, numbers = line.marked.bare, self.composer.numbers(line.marked)
        if _only_pointed(bare, composed):
            line.standing, line.reasons = "contradicted", ("address: it only pointed at an address",)
            return
        if line.kind == "rule" or self.support.stands(bare, numbers, HEADING_WORDS) or _names_columns(line):
            line.frame = True
            return
        line.announces, said = announced(bare) if line.kind == "lead" else (0, bare)
        found = self.support.frame(said, numbers)
        line.frame = self._counts.mode != "exact" and found.standing != "contradicted"
        if not line.frame:
            line.standing, line.reasons = "contradicted", found.reasons
        elif line.kind == "heading" or not found.supported:
            line.standing, line.reasons = "unconfirmed", found.reasons or ("distant: no passage has all of its words",)

    def introduces(self, lead: AnswerLine, numbers: Sequence[int]) -> bool:
        """Whether a lead-in with a marker holds nothing that its passages do not; else it is checked as a claim."""
        return self.support.frame(announced(self.composer.bare(lead.marked))[1], numbers).supported

    def compose(self, line: AnswerLine, cited: Sequence[int]) -> Composed:
        """Make the line fit to be shown, and count what was taken out of it."""
        composed = self.composer.compose(line.marked, frozenset(cited))
        self._counts.unknown_markers += composed.unknown
        self._left_out.links += composed.links
        line.marked = composed.plain
        return composed


def _names_columns(line: AnswerLine) -> bool:
    """Whether the line is the head of a table with plain words of the language, at most two a column."""
    cells = line.text.strip("| \t").split("|")
    return line.kind == "row" and all(
        len(found := cell.split()) <= _COLUMN_WORDS and all(is_english(word.casefold()) for word in found)
        for cell in cells
    )


def _with_holes(finding: Finding, holes: Sequence[str]) -> Finding:
    """The finding on a sentence from which addresses were cut: what is left is not what the passages say."""
    if not finding.supported or not holes:
        return finding
    reasons = tuple(f"address: {hole} is not in the passages" for hole in holes)
    return finding._replace(standing="unconfirmed", reasons=reasons)


def _only_pointed(text: str, composed: Composed) -> bool:
    """Whether the text only pointed at an address that is now taken out."""
    if not composed.links:
        return False
    return POINTING.issuperset(read(text).whole.telling.values()) or _ATTRIBUTE.search(text) is not None
