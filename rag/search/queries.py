"""The queries of a search and their weights: the question, in a conversation its contexts, and its rewrite.

A context is the question together with an earlier question or answer. A query's lift is by how much its largest cosine
in the book exceeds that of the raw question. The weights below were measured; the raw question always has a weight
of 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rag.book import Matches
from rag.search_records import QueryKind
from rag.types import AnsweredQuestion

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

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


@dataclass(frozen=True, slots=True)
class Query:
    """A text that is searched for, its vector, and the weight of its cosine; the raw question has a weight of 1."""

    kind: QueryKind
    text: str
    vector: NDArray[float64]
    weight: float = 1.0


def queries_of(question: str, history: Sequence[AnsweredQuestion], rewrite: str) -> list[tuple[QueryKind, str]]:
    """The texts to search for, the raw question first. A rewrite that repeats the question is left out."""
    texts: list[tuple[QueryKind, str]] = [("question", question)]
    texts += [("context", text) for text in contexts(question, history)]
    new = rewrite.strip() and rewrite.split() != question.split()
    return [*texts, ("rewrite", rewrite)] if new else texts


def contexts(question: str, history: Sequence[AnsweredQuestion]) -> list[str]:
    """The question joined with the first question, and with the beginning of the last answer; none without a history.

    `history` holds the answered questions so far, oldest first, without refused and failed turns.
    """
    if not history:
        return []
    earlier = dict.fromkeys((history[0].question.strip(), _beginning(history[-1].answer)))
    return [f"{question} {text}" for text in earlier if text and text != question]


def _beginning(answer: str) -> str:
    """The first `ANSWER_WORDS` words of an answer, and the whole answer where no spaces divide it."""
    words = answer.split(maxsplit=ANSWER_WORDS)
    return answer.strip() if len(words) <= ANSWER_WORDS else " ".join(words[:ANSWER_WORDS])


def weighed(texts: Sequence[tuple[QueryKind, str]], matches: Matches) -> list[Query]:
    """The queries with their weights, in the order of `texts`: the raw question, its contexts, its rewrite.

    The legs of `matches` are the raw question's dense leg, its sparse leg, and the dense leg of each other text.
    """
    import numpy as np

    columns = [column for column in range(len(matches.legs)) if column != WORDS]
    vectors = np.array([matches.legs[column] for column in columns], dtype=float)
    best = [float(matches.scores[rows[0], i]) if (rows := matches.rankings[i]) else 0.0 for i in columns]
    positions = [i for i, (kind, _) in enumerate(texts) if kind != "rewrite"]
    near = [_cosine(vectors[0], vectors[i]) for i in positions[1:]]
    context = context_weight(near, [best[i] for i in positions])
    queries: list[Query] = []
    for (kind, text), vector, largest in zip(texts, vectors, best, strict=True):
        weight = context if kind == "context" else 1.0
        if kind == "rewrite":  # the last one, compared with the sum of all others
            summed = np.sum([query.weight * query.vector for query in queries], axis=0)
            weight = rewrite_weight(_cosine(summed, vector), largest - best[0])
        queries.append(Query(kind, text, vector, weight))
    return queries


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
