"""Do the passages answer the question? One logistic regression over six plain features of a reading.

The weights were fitted on half of some 600 questions written for three books, answerable and not; `bench/refusal.py`
fits them again, prints them, and shows how they do on the half that they have not seen.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import Final

from rag.quotes.relevance import Reading, share
from rag.terms import keys


@dataclass(frozen=True, slots=True)
class Features:
    """What speaks for an answer, each 0..1 (`joint` 0..2); `missing` speaks against it.

    `cosine`: of the question and the closest unit. `joint`: the largest sum of a unit's cosine and its share of the
    question's terms. `covered`: the share of the terms in the best passage. `topic`: in the best passage's last two
    headings. `spread`: the mean share over all passages. `missing`: weight of the rarest term that no passage has.
    Without an embedder `cosine` is 0 and `joint` the best share alone.
    """

    cosine: float
    joint: float
    covered: float
    topic: float
    spread: float
    missing: float


@dataclass(frozen=True, slots=True)
class Weights:
    of: Features
    bias: float


WITH_EMBEDDER: Final = Weights(Features(1.75, 2.68, 1.65, 1.24, 2.02, -1.50), -6.50)
WORDS_ONLY: Final = Weights(Features(0.0, 1.77, 2.33, 1.74, 2.96, -1.47), -4.90)
THRESHOLD: Final = 0.33  # of the probability; lower answers more, and more often beside the question


def features(reading: Reading) -> Features:
    held = [c for c in reading.ranked if c.held or c.cosine]
    shares, topics = [0.0], [0.0]
    for candidates in reading.passages:
        found = frozenset[str]().union(*(c.own | c.context for c in candidates))
        shares.append(share(reading.terms, found))
        if candidates:
            topics.append(share(reading.terms, keys(" ".join(candidates[0].passage.title.split(">")[-2:]))))
    return Features(
        cosine=max((c.cosine for c in held), default=0.0),
        joint=max((c.held + c.cosine for c in held), default=0.0),
        covered=max(shares),
        topic=max(topics),
        spread=sum(shares) / max(1, len(shares) - 1),
        missing=max((t.weight for t in reading.terms if not t.within(reading.everything)), default=0.0),
    )


def probability(seen: Features, *, words_only: bool = False) -> float:
    """How likely it is that the passages answer, 0..1."""
    weights = WORDS_ONLY if words_only else WITH_EMBEDDER
    score = weights.bias + sum(w * x for w, x in zip(astuple(weights.of), astuple(seen), strict=True))
    return 1 / (1 + math.exp(-score))


def answers(reading: Reading, *, words_only: bool = False) -> bool:
    """Shall the passages be quoted rather than refused? Never when there is nothing to quote."""
    return bool(reading.ranked) and probability(features(reading), words_only=words_only) >= THRESHOLD
