"""Do the passages say what a sentence of the answer says? The check that every sentence passes before a reader sees it.

No model is asked. The sentence's numbers, units, names and code words must stand in the passages, near the words that
the sentence puts beside them; the sentence must be close to something said there; and where it denies, compares or
orders, the passages must do so the same way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag.grounding_code import unstated_code, unstated_lines
from rag.grounding_evidence import Sources, Support, Word, support, words_of
from rag.grounding_facts import absent_numbers, doubtful_facts
from rag.grounding_polarity import contradictions
from rag.grounding_reading import Line, line, read
from rag.grounding_slots import Slots
from rag.grounding_sorts import Sort, claim_of

CLOSE: Final = 0.4  # share of a sentence's words, by weight, that the passages must hold near one another


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the check found.

    `reasons` say why a sentence is not supported, each as "kind: what", with the kind one of number, unit, name, code,
    negation, comparison, distant; a supported sentence has none. `sort` is "claim" for a sentence that states something, else what it
    is instead: a heading, a lead ("The steps are:"), a code block, or a remark about the conversation or about what
    the passages do not say; these need no passage. `passage` is the index of the passage, and `start` and `end` the
    place in it, in code points, of the one sentence that supports a claim best; None and 0, 0 without one. `score` is
    the share of the sentence that the passages say, 0..1.
    """

    supported: bool
    reasons: tuple[str, ...]
    sort: Sort
    passage: int | None
    start: int
    end: int
    score: float

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the reasons: the words before their colons."""
        return tuple(reason.partition(":")[0] for reason in self.reasons)


def check(sentence: str, passages: Sequence[str], *, known: str = "") -> Verdict:
    """Is this sentence of an answer supported by the passages that it cites?

    Plain text in: the sentence without or with its markers, the passages' texts as they were shown. `known` holds text
    that the passages stand under (titles, headings, breadcrumbs): names in it may be said, but it supports nothing by
    itself. Never raises; takes time in proportion to the text.
    """
    sort, text = claim_of(sentence)
    said = line(text, 0, len(text))
    sources = Sources([read(passage) for passage in passages], frozenset(line(known, 0, len(known)).places))
    code = [f"code: {word} is not in the passages" for word in unstated_code(sentence, passages)]
    if sort == "code":
        code = [f"code: {row} is not in the passages" for row in unstated_lines(sentence, passages)]
        return Verdict(not code, tuple(code), sort, None, 0, 0, 0.0 if code else 1.0)
    if sort != "claim":
        reasons = [*absent_numbers(said, sources), *code]
        return Verdict(not reasons, tuple(reasons), sort, None, 0, 0, 0.0 if reasons else 1.0)
    return _judged(said, sources, code)


def _judged(said: Line, sources: Sources, code: Sequence[str]) -> Verdict:
    words = words_of(said, sources)
    slots = Slots(said, words, sources)
    found = support(words, sources)
    reasons = [*doubtful_facts(said, sources, slots), *code, *contradictions(said, words, slots)]
    if found.share < CLOSE or not sources.sites:
        reasons.append("distant: the passages say nothing like it")
    passage, start, end = _evidence(found, words, sources)
    return Verdict(not reasons, tuple(dict.fromkeys(reasons)), "claim", passage, start, end, round(found.share, 4))


def _evidence(found: Support, words: Sequence[Word], sources: Sources) -> tuple[int | None, int, int]:
    """The one line of the best stretch that holds most of the sentence."""
    best, most = None, 0.0
    for number in found.best:
        held = sum(w.weight for w in words if number in sources.lines_with(w.forms))
        if held > most and not sources.sites[number].line.heading:
            best, most = sources.sites[number], held
    return (best.passage, best.line.start, best.line.end) if best else (None, 0, 0)
