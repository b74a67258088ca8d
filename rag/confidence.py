"""Do the passages answer the question? One logistic regression over a few plain features of a reading.

The weights were fitted on questions written for three books (`bench/refusal.py` recomputes them and prints how they do
on the half of the questions that they did not see).
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import Final

from rag.relevance import Reading, share


@dataclass(frozen=True, slots=True)
class Features:
    """Each from 0 to 1, or close to it.

    `held`: share of the question's terms in the best unit. `covered`: share of them in all passages together.
    `missing`: weight of the rarest term that no passage has. `cosine`: the best unit's, 0 without an embedder.
    """

    held: float
    covered: float
    missing: float
    cosine: float


WEIGHTS: Final = Features(held=3.0, covered=2.0, missing=-2.0, cosine=6.0)
BIAS: Final = -5.0
LEXICAL_WEIGHTS: Final = Features(held=4.0, covered=4.0, missing=-2.0, cosine=0.0)
LEXICAL_BIAS: Final = -5.0


def features(reading: Reading) -> Features:
    return Features(
        held=max((c.held for c in reading.ranked), default=0.0),
        covered=share(reading.terms, reading.everything),
        missing=max((t.weight for t in reading.terms if not t.within(reading.everything)), default=0.0),
        cosine=max((c.cosine for c in reading.ranked), default=0.0),
    )


def probability(seen: Features, *, lexical: bool) -> float:
    """How likely it is that the passages answer, 0..1."""
    weights, bias = (LEXICAL_WEIGHTS, LEXICAL_BIAS) if lexical else (WEIGHTS, BIAS)
    score = bias + sum(w * x for w, x in zip(astuple(weights), astuple(seen), strict=True))
    return 1 / (1 + math.exp(-score))


def answers(reading: Reading, *, lexical: bool) -> bool:
    return bool(reading.ranked) and probability(features(reading), lexical=lexical) >= 0.5
