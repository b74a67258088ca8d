"""What a search found, put in order and passed through the gate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rag.book import Chunk, Hit
from rag.retrieval.followup import context_weight, rewrite_weight
from rag.retrieval.fusion import fuse, prose_words

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    Matrix = NDArray[float64]

Outcome = Literal["kept", "neighbour", "below_threshold", "duplicate", "beyond_k"]
Kind = Literal["question", "context", "rewrite"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One chunk that a leg found, and what became of it.

    `cosine` is the score that the gate saw. `scores` are those in the legs: cosines, and BM25 for the sparse one, where
    0 says that no word is shared. `fused` is what it was ordered by.
    """

    chunk_id: str
    title: str
    heading: str
    cosine: float
    scores: tuple[float, ...]
    fused: float
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Query:
    """One text that was searched for, its vector, and what its cosine counts; the raw question's counts 1."""

    kind: Kind
    text: str
    vector: Sequence[float]
    weight: float = 1.0


def weighed(
    texts: Sequence[tuple[Kind, str]], vectors: Sequence[Sequence[float]], rankings: Sequence[Sequence[Hit]]
) -> list[Query]:
    """The queries with their weights: the raw question, its contexts, its rewrite, each with its dense ranking."""
    best = [_largest(ranking, vector) for vector, ranking in zip(vectors, rankings, strict=True)]
    said = [place for place, (kind, _) in enumerate(texts) if kind != "rewrite"]
    near = [_cosine(vectors[0], vectors[place]) for place in said[1:]]
    context = context_weight(near, [best[place] for place in said])
    queries: list[Query] = []
    for (kind, text), vector, largest in zip(texts, vectors, best, strict=True):
        weight = context if kind == "context" else 1.0
        if kind == "rewrite":  # it is the last, and compared with all that is searched beside it
            weight = rewrite_weight(_cosine(_sum(queries), vector), largest - best[0])
        queries.append(Query(kind, text, vector, weight))
    return queries


def ordered(
    queries: Sequence[Query], rankings: Sequence[Sequence[Hit]], bm25: Mapping[str, float]
) -> list[tuple[Chunk, Candidate]]:
    """Every chunk that a ranking holds, best first, nothing decided yet. Ties are in the order of the ids.

    The score is the cosine of the stored vector and of the weighted sum of the queries' vectors: for a question without
    a context its own vector.
    """
    hits = list({hit.chunk.id: hit for ranking in rankings for hit in ranking}.values())
    if not hits:
        return []
    cosines = _cosines(hits, [query.vector for query in queries])
    scores = _cosines(hits, [_sum(queries)])[:, 0].clip(0.0, 1.0)
    weights = [query.weight for query in queries]
    most = max(bm25.values(), default=0.0) or 1.0
    found = []
    for hit, row, score in zip(hits, cosines.tolist(), scores.tolist(), strict=True):
        chunk, words = hit.chunk, bm25.get(hit.chunk.id, 0.0)
        fused = fuse(row, weights, words / most, prose_words(chunk.text, chunk.heading))
        legs = tuple(round(value, 6) for value in (row[0], words, *row[1:]))
        found.append((chunk, Candidate(chunk.id, chunk.title, chunk.heading, round(score, 6), legs, fused, "beyond_k")))
    return sorted(found, key=lambda pair: (-pair[1].fused, pair[1].chunk_id))


def _sum(queries: Sequence[Query]) -> list[float]:
    return [
        sum(query.weight * value for query, value in zip(queries, values, strict=True))
        for values in zip(*(query.vector for query in queries), strict=True)
    ]


def _largest(ranking: Sequence[Hit], vector: Sequence[float]) -> float:
    """The cosine of a query and the first of its dense ranking."""
    return float(_cosines(ranking[:1], [vector]).max(initial=0.0))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    length = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / length if length else 0.0


def _cosines(hits: Sequence[Hit], vectors: Sequence[Sequence[float]]) -> Matrix:
    """The cosine of each hit's stored vector and each given one; 0 where one of them has no length."""
    import numpy as np

    if not hits:
        return np.zeros((0, len(vectors)))
    stored = np.asarray([hit.dense for hit in hits], dtype=np.float64)
    asked = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(stored, axis=1)[:, None] * np.linalg.norm(asked, axis=1)[None, :]
    cosines: Matrix = np.zeros_like(lengths)
    np.divide(stored @ asked.T, lengths, out=cosines, where=lengths > 0)
    return cosines
