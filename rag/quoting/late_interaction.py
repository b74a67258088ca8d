"""Compare a question with a text token by token (late interaction; Khattab and Zaharia 2020, "ColBERT").

One vector for a whole text hides that a single word of the question has no counterpart in it. Here each token of the
question is compared with every token of the text, and its best match counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from rag.ports import TokenVectors
from rag.text.terms import Term


class Matched(NamedTuple):
    """How well a text matches the tokens of a question, as cosines: their mean, and the term that it matches least."""

    mean: float
    weakest: float


def matched(question: TokenVectors, places: Sequence[Sequence[int]], texts: Sequence[TokenVectors]) -> list[Matched]:
    """Compare a question, with the tokens of each of its terms in `places`, with each text."""
    import numpy as np

    found = [Matched(0.0, 0.0)] * len(texts)
    filled = [i for i, text in enumerate(texts) if len(text.tokens)]
    if not filled or not len(question.tokens):
        return found
    lengths = [len(texts[i].tokens) for i in filled]
    starts = [0, *accumulate(lengths[:-1])]
    similarities = question.tokens @ np.concatenate([texts[i].tokens for i in filled]).T
    for i, best in zip(filled, np.maximum.reduceat(similarities, starts, axis=1).T, strict=True):
        mean = float(best.mean())
        found[i] = Matched(mean, min((float(best[list(place)].mean()) for place in places), default=mean))
    return found


def token_places(question: str, vectors: TokenVectors, wanted: Sequence[Term]) -> list[list[int]]:
    """The tokens of each term that the question has as written, by their positions."""
    found = []
    for term in wanted:
        words = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(term.word)}(?!\w)", question)]
        found.append(
            [i for i, (a, b) in enumerate(vectors.spans) if any(a < end and start < b for start, end in words)]
        )
    return [place for place in found if place]
