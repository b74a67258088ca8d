"""How doubtful a claim is by the way its words stand in the lines of the passages: one score of six signals.

A paraphrase says in other words what one line says, from its beginning to its end. A falsehood made of the words of the
passages takes its end from elsewhere, leaves out a "not" or a "most", or adds an "all", "because" or "before". None of
this is certain alone. The weights are those of a logistic regression on labelled claims (`bench.doubt`).
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final, NamedTuple

from rag.evidence.negation import cues
from rag.evidence.word_contexts import WordContexts
from rag.text.english.word_lists import CAUSES, LIMITS, TIMES, UNIVERSALS

TAIL: Final = 4  # content words at the end of a claim
BESIDE: Final = 0.5  # share that a word counts in a line before or after
MOST_MISSING: Final = 4  # missing words that count; more are no paraphrase


class Signals(NamedTuple):
    """What tells a falsehood that is made of the words of the passages from a paraphrase.

    `tail` is the share of the last four content words, by weight, that one line holds with its heading, 0 to 1; words
    of the lines beside it count half.
    `missing` counts the words that no passage has, 0 to 4: whoever writes in his own words has some. `short` is 1 for a
    claim of four content words or fewer, which is nothing but its tail. `denial` is 1 if the nearest line denies
    something and the claim denies nothing. `added` counts the claim's words for a whole, a cause or an order in time
    that have no counterpart around the nearest line. `limited` is 1 if it adds a word for a whole, and leaves out a
    "most", "may" or "except" of the nearest line.
    """

    tail: float
    missing: float
    short: float
    denial: float
    added: float
    limited: float


WEIGHTS: Final = Signals(tail=-4.54, missing=-0.69, short=-1.50, denial=0.82, added=0.85, limited=1.54)
BIAS: Final = 3.22


def score(claim: WordContexts) -> float:
    """How doubtful the claim is, among claims that no other rule doubts; it is doubted above 0."""
    return BIAS + sum(weight * value for weight, value in zip(WEIGHTS, signals(claim), strict=True))


def signals(claim: WordContexts) -> Signals:
    sources, line = claim.sources, claim.fullest[:1]
    nearest = sources.lines[line[0]].tokens if line else ()
    near = {token.word for n in line for one in (sources.lines[n], *sources.around(n)) for token in one.tokens}
    said = {token.word for token in claim.said.tokens}
    limits = {token.word for token in nearest} & LIMITS
    return Signals(
        tail=_tail(claim),
        missing=min(MOST_MISSING, sum(not word.key for word in claim.words)),
        short=float(len(claim.words) <= TAIL),
        denial=float(bool(cues(nearest)) and not cues(claim.said.tokens)),
        added=_added(said, near),
        limited=float(bool(said & UNIVERSALS - near) and bool(limits - said)),
    )


def _tail(claim: WordContexts) -> float:
    """The share of the last words that one line holds with what introduces it, the lines beside it half; or 1."""
    sources, words = claim.sources, claim.words[-TAIL:]
    most, whole = 0.0, sum(word.weight for word in words)
    for line in {line for word in words for line in sources.holders.get(word.key, ())}:
        own = {*sources.lines[line].places, *sources.above[line], *sources.known}
        beside = {key for other in sources.around(line) for key in other.places}
        most = max(most, sum(one.weight * ((one.key in own) or BESIDE * (one.key in beside)) for one in words))
    return most / whole if whole else 1.0


def _added(said: Set[str], near: Set[str]) -> int:
    """The number of words such as "all", "because" and "before" that the nearest line and those beside it lack.

    For a word for a whole or a cause, any other of its kind is a counterpart.
    """
    return len(said & TIMES - near) + sum(len(said & kind) for kind in (UNIVERSALS, CAUSES) if near.isdisjoint(kind))
