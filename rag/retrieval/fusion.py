"""The scores of several searches made into one order.

A weighted sum of scores, not of ranks: by how much a passage leads is what tells a sure find from a lucky one, and
ranks forget it. Weighted sums beat reciprocal rank fusion here as they do in Bruch, Gai and Ingber 2023 ("An Analysis
of Fusion Functions for Hybrid Retrieval"). Everything is measured in cosines of the raw question. The constants were
chosen on one collection, and values half or twice as large lose little; `docs/retrieval.md` has the figures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

BM25: Final = 0.22  # what the best BM25 score of a search is worth, as a cosine
LENGTH: Final = 0.05  # what a passage gains for each time that it is e times as long
SHORTEST: Final = 8  # words; below, a passage is no shorter
LONGEST: Final = 400
_NOT_PROSE: Final = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|https?://\S+", re.DOTALL)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def fuse(cosines: Sequence[float], weights: Sequence[float], bm25: float, words: int) -> float:
    """The place of a passage among others; larger is better.

    `cosines` are those of the raw question and of its contexts, with as many `weights`, the first of them 1. `bm25` is
    a share of the best BM25 score of the search, 0 to 1; `words` is `prose_words` of the passage.
    """
    context = math.fsum(weight * cosine for weight, cosine in zip(weights, cosines, strict=True))
    return context + BM25 * bm25 + LENGTH * math.log(min(LONGEST, max(SHORTEST, words)))


def prose_words(text: str) -> int:
    """Words of a text outside code blocks and addresses.

    Embeddings bring a bare heading, a list of links or a few lines of code as close to a question as the paragraph that
    answers it. Such a passage has few words of prose, and the sum makes up for that.
    """
    return len(_WORD.findall(_NOT_PROSE.sub(" ", text)))
