"""Compare a question with a text token by token (late interaction; Khattab and Zaharia 2020, "ColBERT").

One vector for a whole text hides that a single word of the question has no counterpart in it. Here each token of the
question is compared with every token of the text, and its best match counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rag.ports import TokenVectors
from rag.text.terms import Term


class Matched(NamedTuple):
    """How well a text matches the tokens of a question, as cosines: their mean, and the term that it matches least."""

    mean: float
    weakest: float


def matched(question: TokenVectors, places: Sequence[Sequence[int]], text: TokenVectors) -> Matched:
    """Compare a question, with the tokens of each of its terms in `places`, with a text."""
    if not len(question.tokens) or not len(text.tokens):
        return Matched(0.0, 0.0)
    best = (question.tokens @ text.tokens.T).max(axis=1)
    mean = float(best.mean())
    return Matched(mean, min((float(best[list(place)].mean()) for place in places), default=mean))


def token_places(question: str, vectors: TokenVectors, wanted: Sequence[Term]) -> list[list[int]]:
    """The tokens of each term that the question has as written, by their positions."""
    found = []
    for term in wanted:
        words = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(term.word)}(?!\w)", question)]
        found.append(
            [i for i, (a, b) in enumerate(vectors.spans) if any(a < end and start < b for start, end in words)]
        )
    return [place for place in found if place]
