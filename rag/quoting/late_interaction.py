"""Compare a question with a text token by token (late interaction; Khattab and Zaharia 2020, "ColBERT").

One vector for a whole text hides that a single word of the question has no counterpart in it. Here each token of the
question is compared with every token of the text, and its best match counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from rag.ports import TokenVectors
from rag.text.terms import Term


def term_matches(
    question: TokenVectors, places: Sequence[Sequence[int]], texts: Sequence[TokenVectors]
) -> list[list[float]]:
    """For each text the cosines of the question's terms and their best matches in it.

    `places` has the tokens of each term; for one without tokens the mean of all tokens of the question counts. A text
    or a question without tokens matches nothing: 0.
    """
    import numpy as np

    found = [[0.0] * len(places) for _ in texts]
    filled = [i for i, text in enumerate(texts) if len(text.tokens)]
    if not filled or not len(question.tokens):
        return found
    starts = [0, *accumulate(len(texts[i].tokens) for i in filled[:-1])]
    similarities = question.tokens @ np.concatenate([texts[i].tokens for i in filled]).T
    every = range(len(question.tokens))
    for i, best in zip(filled, np.maximum.reduceat(similarities, starts, axis=1).T, strict=True):
        found[i] = [float(best[list(place or every)].mean()) for place in places]
    return found


def token_places(question: str, vectors: TokenVectors, wanted: Sequence[Term]) -> list[list[int]]:
    """The tokens of each term, by their positions; none for a term that the question does not have as written."""
    found = []
    for term in wanted:
        words = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(term.word)}(?!\w)", question)]
        found.append(
            [i for i, (a, b) in enumerate(vectors.spans) if any(a < end and start < b for start, end in words)]
        )
    return found
