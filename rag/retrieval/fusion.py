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

BM25: Final = 0.28  # what the best BM25 score of a search is worth, as a cosine
PROSE: Final = 0.36  # what a passage with enough prose is worth beside one without any
ENOUGH: Final = 60  # words of prose
_NOT_PROSE: Final = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)"  # code
    r"|^[^\n]{0,200}(?<!\()https?://\S*[^\w\n]*$"  # a short line that ends in an address points elsewhere
    r"|https?://\S+",
    re.DOTALL | re.MULTILINE,
)
_POINTERS: Final = re.compile(
    r"\W*(?:\d+\.?\s*)?(?:references?|bibliography|literature|works cited|(?:further|suggested) reading|see also"
    r"|external links)\W*",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def fuse(cosines: Sequence[float], weights: Sequence[float], bm25: float, words: int) -> float:
    """The place of a passage among others; larger is better.

    `cosines` are those of the raw question and of its contexts, with as many `weights`, the first of them 1. `bm25` is
    a share of the best BM25 score of the search, 0 to 1; `words` is `prose_words` of the passage.
    """
    meaning = math.fsum(weight * cosine for weight, cosine in zip(weights, cosines, strict=True))
    return meaning + BM25 * bm25 + PROSE * min(words, ENOUGH) / ENOUGH


def prose_words(text: str, heading: str = "") -> int:
    """Words of a text outside code blocks and lines with an address; none under a heading such as "References".

    A short text is all about one thing, so an embedding brings a line of code, a bare label or the title of a cited
    paper as close to a question as the paragraph that answers it, or closer. Such passages have little prose.
    """
    return 0 if _POINTERS.fullmatch(heading) else len(_WORD.findall(_NOT_PROSE.sub(" ", text)))
