"""Do the passages say what a sentence of the answer says? The check that every sentence passes before a reader sees it.

No model is asked. The sentence's numbers, units, names and code words must stand in the passages, near the words that
the sentence puts beside them; the sentence must be close to something said there; and where it denies, compares or
orders, the passages must do so the same way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Final

from rag.support.code import unstated_code, unstated_lines
from rag.support.evidence import Sources, Support, Word, support, words_of
from rag.support.facts import absent_numbers, doubtful_facts
from rag.support.limits import unlimited
from rag.support.polarity import contradictions
from rag.support.reading import Line, line, read
from rag.support.roles import exchanged
from rag.support.slots import Slots
from rag.support.sorts import Sort, claim_of, is_code
from rag.wording import IDLE, LIGHT

LONGEST: Final = 100  # tokens of a sentence that are checked together
LONGEST_TEXT: Final = 5000  # code points; no sentence is longer
STRANGE: Final = 1  # words of a heading or a lead that no passage has
MOST_CODE: Final = 20  # reasons of one kind that are given
CLOSE: Final = 0.4  # share of a sentence's words, by weight, that the passages must hold near one another


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the check found.

    `reasons` say why a sentence is not supported, each as "kind: what", the kind one of number, unit, name, code,
    negation, comparison and distant; a supported sentence has none. `sort` is "claim" for a sentence that states
    something, else what it is instead: a "heading", a "lead" ("The steps are:"), a "code" block, a "remark" about the
    conversation or about what the passages do not say. These need no citation; their numbers and their code are looked
    for, and a heading or a lead may hold one word of content at most that no passage has. `passage` is the index of the
    passage, and `start` and `end` the place in it, in code points, of the one sentence that supports a claim best;
    None and 0, 0 without one. `score` is the share of the sentence, by weight, that the passages say, 0..1.
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
    if len(sentence) > LONGEST_TEXT and not is_code(sentence):
        return Verdict(False, ("distant: it is too long for one sentence",), "claim", None, 0, 0, 0.0)
    sort, text = claim_of(sentence)
    unstated = unstated_lines(sentence, passages) if sort == "code" else unstated_code(sentence, passages)
    code = [f"code: {word} is not in the passages" for word in islice(unstated, MOST_CODE)]
    if sort == "code":
        return Verdict(not code, tuple(code), sort, None, 0, 0, 0.0 if code else 1.0)
    said = line(text, 0, len(text))
    sources = Sources([read(passage) for passage in passages], frozenset(line(known, 0, len(known)).places))
    if sort != "claim":
        absent = (*absent_numbers(said, sources), *code, *_strange(sort, said, sources))
        return Verdict(not absent, absent, sort, None, 0, 0, 0.0 if absent else 1.0)
    if len(said.tokens) <= LONGEST:
        return _judged(said, sources, code)
    pieces = [_judged(piece, sources, code) for piece in _pieces(text, said)]
    reasons = tuple(dict.fromkeys(reason for piece in pieces for reason in piece.reasons))
    first = pieces[0]
    return replace(first, supported=not reasons, reasons=reasons, score=min(piece.score for piece in pieces))


def _strange(sort: Sort, said: Line, sources: Sources) -> Iterator[str]:
    """A heading or a lead is made of the passages' words, of such as "overview", and of one other at most."""
    if sort in ("heading", "lead"):
        words = [token for token in said.tokens if token.content and not token.digits]
        usual = LIGHT | IDLE | sources.known
        strange = [t.word for t in words if not sources.forms(t.key) and t.word not in usual and t.key not in usual]
        if len(strange) > STRANGE:
            yield f"distant: the passages say nothing of {strange[0]} and {strange[1]}"


def _pieces(text: str, said: Line) -> list[Line]:
    """What is too long for a sentence, in pieces: the check of one takes time in proportion to its length squared."""
    starts = [said.tokens[index].start for index in range(0, len(said.tokens), LONGEST)]
    return [line(text, start, end) for start, end in pairwise([*starts, len(text)])]


def _judged(said: Line, sources: Sources, code: Sequence[str]) -> Verdict:
    words = words_of(said, sources)
    slots = Slots(said, words, sources)
    found = support(words, sources)
    reasons = [
        *doubtful_facts(said, sources, slots),
        *code,
        *contradictions(said, words, slots),
        *unlimited(said, sources),
    ]
    reasons += [] if reasons else exchanged(said, sources, slots)
    if found.share < CLOSE or not sources.sites or _speaks_of_itself(said, sources):
        reasons.append("distant: the passages say nothing like it")
    passage, start, end = _evidence(found, words, sources)
    return Verdict(not reasons, tuple(dict.fromkeys(reasons)), "claim", passage, start, end, round(found.share, 4))


def _speaks_of_itself(said: Line, sources: Sources) -> bool:
    """Does it say "I" where no passage does?"""
    return any(token.word == "i" and token.capital for token in said.tokens) and "i" not in sources.holders


def _evidence(found: Support, words: Sequence[Word], sources: Sources) -> tuple[int | None, int, int]:
    """The one line of the best stretch that holds most of the sentence."""
    best, most = None, 0.0
    for number in found.best:
        held = sum(w.weight for w in words if number in sources.lines_with(w.forms))
        if held > most and not sources.sites[number].line.heading:
            best, most = sources.sites[number], held
    return (best.passage, best.line.start, best.line.end) if best else (None, 0, 0)
