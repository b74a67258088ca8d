"""The queries of a search with their weights, and the ranking of what they found.

The queries are the question, in a conversation its contexts, and its rewrite. A context is the question joined with an
earlier question or answer. A query's lift is the difference between its largest cosine in the book and that of the raw
question. The weights below were measured. Hits are ranked by a fused score, without duplicates, with neighbours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from rag.book import Candidate, Chunk, Matches, Outcome, SearchQuery
from rag.types import AnsweredQuestion

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import ArrayLike, NDArray

CONTEXT: Final = 0.6  # weight of a context at a lift of 0, if the question needs its context
ALONE: Final = 0.9  # mean cosine of a question and its contexts: above it the question needs none, its weight is 0
LOST: Final = 0.5  # below it the question needs its contexts, and their weight is full; between the two it is linear
STEEPNESS: Final = 6.0  # growth of a weight with the lift; at a lift of -1/6 the weight is 0
MOST_LIFT: Final = 1.6  # largest factor of the lift: an answer quoted from the book is close to it in any case
ANSWER_WORDS: Final = 96  # of the last answer; the rest of a long one takes longer to embed than all else in a search
REWRITE: Final = 0.6  # weight of a rewrite at a lift of 0, if it is about the same thing as the question
STRANGE: Final = 0.4  # cosine of a rewrite and the other queries: below it the rewrite is off topic, its weight is 0
CLOSE: Final = 0.8  # above it the rewrite is about the same thing, and its weight is full
WORDS: Final = 1  # column of the scores by words, after the raw question's cosines
BM25: Final = 0.28  # weight of the best BM25 score of a search, in units of cosine
PROSE: Final = 0.36  # bonus of a passage with at least `ENOUGH` words of prose
ENOUGH: Final = 60  # words
SHINGLE: Final = 3  # words
RESEMBLANCE: Final = 0.9  # least share of common shingles that makes two texts duplicates
BESIDE: Final = 2  # best kept passages that may bring a neighbour
AMONG: Final = 20  # best candidates that may become a neighbour
_ANY_WORD: Final = re.compile(r"\w+")


def queries_of(question: str, history: Sequence[AnsweredQuestion], rewrite: str) -> list[SearchQuery]:
    """The texts to search for, the raw question first. A rewrite that repeats the question is left out."""
    queries = [SearchQuery("question", question)]
    queries += [SearchQuery("context", text) for text in contexts(question, history)]
    new = rewrite.strip() and rewrite.split() != question.split()
    return [*queries, SearchQuery("rewrite", rewrite)] if new else queries


def contexts(question: str, history: Sequence[AnsweredQuestion]) -> list[str]:
    """The question joined with the first question, and with the beginning of the last answer, if there are any."""
    if not history:
        return []
    earlier = dict.fromkeys((history[0].question.strip(), _beginning(history[-1].answer)))
    return [f"{question} {text}" for text in earlier if text and text != question]


def _beginning(answer: str) -> str:
    """The first `ANSWER_WORDS` words of an answer, and the whole answer where no spaces divide it."""
    words = answer.split(maxsplit=ANSWER_WORDS)
    return answer.strip() if len(words) <= ANSWER_WORDS else " ".join(words[:ANSWER_WORDS])


def weighed(queries: Sequence[SearchQuery], matches: Matches) -> list[SearchQuery]:
    """The queries with their weights. The vectors are those of the queries; the sparse one is the second."""
    import numpy as np

    vectors = _vectors(matches)
    best = [float(matches.scores[rows[0], i]) if len(rows := matches.rankings[i]) else 0.0 for i in _dense(matches)]
    positions = [i for i, query in enumerate(queries) if query.kind != "rewrite"]
    near = [_cosine(vectors[0], vectors[i]) for i in positions[1:]]
    context = context_weight(near, [best[i] for i in positions])
    found = [replace(query, weight=context) if query.kind == "context" else query for query in queries]
    if found[-1].kind == "rewrite":  # compared with the sum of all others
        summed = np.array([query.weight for query in found[:-1]]) @ vectors[:-1]
        found[-1] = replace(found[-1], weight=rewrite_weight(_cosine(summed, vectors[-1]), best[-1] - best[0]))
    return found


def _dense(matches: Matches) -> list[int]:
    """The columns of cosines, one for each query."""
    return [place for place in range(len(matches.vectors)) if place != WORDS]


def _vectors(matches: Matches) -> NDArray[float64]:
    """The vectors of the queries, as rows."""
    import numpy as np

    return np.array([matches.vectors[place] for place in _dense(matches)], dtype=float)


def context_weight(near: Sequence[float], best: Sequence[float]) -> float:
    """The weight of each context; 0 without contexts.

    `near` holds the cosine of the question and each context; `best` the largest cosine in the book of the raw question,
    then of each context. A question at a cosine of 0.7 to its only context, whose lift is 0, gets half of `CONTEXT`:

    >>> round(context_weight([0.7], [0.5, 0.5]), 6)  # 0.6 * (0.9 - 0.7) / (0.9 - 0.5) * 1
    0.3
    """
    raw, *others = best
    if not others:
        return 0.0
    factor = sum(_lift_factor(cosine - raw) for cosine in others) / len(others)
    return CONTEXT * _clipped((ALONE - sum(near) / len(near)) / (ALONE - LOST)) * factor


def rewrite_weight(closeness: float, lift: float) -> float:
    """The weight of a rewrite. `closeness` is its cosine with the weighted sum of the other queries."""
    return REWRITE * _clipped((closeness - STRANGE) / (CLOSE - STRANGE)) * _lift_factor(lift)


def _cosine(one: NDArray[float64], other: NDArray[float64]) -> float:
    length = math.sqrt((one @ one) * (other @ other))
    return float(one @ other) / length if length else 0.0


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))


def _lift_factor(lift: float) -> float:
    return min(MOST_LIFT, max(0.0, 1.0 + STEEPNESS * lift))


def fuse(similarities: ArrayLike, weights: ArrayLike, bm25: ArrayLike, words: ArrayLike) -> Any:
    """The fused score that a passage is ranked by, or those of many passages; larger is better.

    `similarities` are the passage's cosines with the raw question and its other queries, `weights` those of the
    queries, the first of them 1. `bm25` is the passage's share of the best BM25 score of the search, 0 to 1; `words` is
    its `prose_words`. A passage of 30 words with a cosine of 0.5 and half of the best BM25 score:

    >>> print(round(fuse([0.5], [1.0], 0.5, 30), 6))  # 0.5 + 0.28 / 2 + 0.36 * 30 / 60
    0.82
    """
    import numpy as np

    meaning = np.asarray(similarities) @ np.asarray(weights)
    return meaning + BM25 * np.asarray(bm25) + PROSE * np.minimum(words, ENOUGH) / ENOUGH


@dataclass(frozen=True, slots=True)
class Ranking:
    """Rows of `Matches`, best first by fused score, ties by id, with what each was ranked by.

    `cosines` are the scores of the passages: the cosine of the stored vector and the weighted sum of the queries'
    vectors, clipped to 0..1, with six decimals. `scores` has a row for each passage: its cosine with the question, its
    BM25 score, and its cosines with the other queries.
    """

    rows: list[int]
    cosines: list[float]
    fused: list[float]
    scores: NDArray[float64]

    def candidates(self, chunks: Sequence[Chunk], outcomes: Sequence[Outcome]) -> list[Candidate]:
        """The candidates of the first chunks, in the order of the ranking."""
        scores = self.scores[: len(chunks)].round(6).tolist()
        return [
            Candidate(chunk.id, chunk.title, chunk.heading, cosine, tuple(each), fused, outcome)
            for chunk, outcome, cosine, each, fused in zip(
                chunks, outcomes, self.cosines, scores, self.fused, strict=False
            )
        ]


def ranked(matches: Matches, queries: Sequence[SearchQuery]) -> Ranking:
    """Rank the hits by fused score. Hits that only queries of weight 0 found are left out."""
    import numpy as np

    weights = np.array([query.weight for query in queries])
    vectors = _vectors(matches)
    counts = [True, True, *(weights[1:] > 0)]
    searched = [ranking for ranking, one in zip(matches.rankings, counts, strict=True) if one]
    kept = np.full(len(matches.scores), all(counts))
    kept[np.concatenate(searched)] = True
    rows = np.flatnonzero(kept)
    scores = matches.scores[rows]
    dense = scores[:, _dense(matches)]
    most = float(matches.scores[:, WORDS].max(initial=0.0)) or 1.0
    fused = fuse(dense, weights, scores[:, WORDS] / most, matches.prose[rows])
    products = vectors @ vectors.T
    length = math.sqrt(weights @ products @ weights) or 1.0
    cosines = (dense @ (weights * np.sqrt(products.diagonal())) / length).clip(0.0, 1.0).round(6)
    order = np.argsort(-fused, kind="stable")  # rows are in the order of ids
    return Ranking(rows[order].tolist(), cosines[order].tolist(), fused[order].tolist(), scores[order])


class Fingerprint:
    """What a text is compared by: its words, its shingles (runs of three words), and its marks.

    A mark is a word with a digit or more than one capital. Shingles are seldom needed, so they are made late.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._small: list[str] = _ANY_WORD.findall(text.lower())
        self._distinct = frozenset(self._small)

    @cached_property
    def _marks(self) -> frozenset[str]:
        return frozenset(word for word in set(_ANY_WORD.findall(self._text)) if _is_mark(word))

    @cached_property
    def _shingles(self) -> frozenset[tuple[str, ...]]:
        small = self._small
        return frozenset(zip(*(small[start:] for start in range(min(SHINGLE, len(small)))), strict=False))

    def same(self, other: Fingerprint) -> bool:
        """Whether two texts resemble each other (Broder 1997) and have the same marks, such as digits of a version."""
        # A word that only one text has lies in a shingle that only this text has, and a shingle has three words. So
        # near-duplicates differ in few words. This cheap test rejects most pairs without making shingles.
        most = SHINGLE * (1 / RESEMBLANCE - 1) * min(len(self._small), len(other._small))
        own = len(self._distinct) + len(other._distinct) - 2 * len(self._distinct & other._distinct)
        if own > most or self._marks != other._marks:
            return False
        common = len(self._shingles & other._shingles)
        return common >= RESEMBLANCE * len(self._shingles | other._shingles)


def _is_mark(word: str) -> bool:
    return any(map(str.isdigit, word)) or sum(map(str.isupper, word)) > 1


def joined(candidates: Sequence[Candidate], chunks: Mapping[str, Chunk], most: int) -> list[Candidate]:
    """The candidates, with the outcome "neighbour" in place of "beyond_k" for at most `most`, the best first.

    A neighbour stands directly before or after a kept passage on its page, and is no duplicate. `chunks` go by id.
    """
    kept = [chunks[candidate.chunk_id] for candidate in candidates if candidate.outcome == "kept"]
    beside = [(*_page(chunk), chunk.chunk_index + step) for chunk in kept[:BESIDE] for step in (-1, 1)]
    places = set(beside) if most else set()
    prints = [Fingerprint(chunk.text) for chunk in kept] if places else []
    found = list(candidates)
    for i, candidate in enumerate(candidates[:AMONG]):
        chunk = chunks[candidate.chunk_id]
        place = (*_page(chunk), chunk.chunk_index)
        if len(prints) - len(kept) < most and candidate.outcome == "beyond_k" and place in places:
            fingerprint = Fingerprint(chunk.text)
            if not any(fingerprint.same(other) for other in prints):
                prints.append(fingerprint)
                found[i] = candidate._replace(outcome="neighbour")
    return found


def _page(chunk: Chunk) -> tuple[str, str, str]:
    return chunk.source, chunk.source_file_path, chunk.url
