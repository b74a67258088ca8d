"""Rank the hits of several queries: fusion of scores, detection of duplicates, neighbours on the page."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rag.book import Chunk, Hit
from rag.embedding.vectors import cosines
from rag.search.followups import context_weight, rewrite_weight
from rag.types import Candidate, Kind

BM25: Final = 0.28  # weight of the best BM25 score of a search, in units of cosine
PROSE: Final = 0.36  # bonus of a passage with at least `ENOUGH` words of prose
ENOUGH: Final = 60  # words
SHINGLE: Final = 3  # words
RESEMBLANCE: Final = 0.9  # share of common shingles from which on two texts are duplicates
BESIDE: Final = 2  # best kept passages that may bring a neighbour
AMONG: Final = 20  # best candidates that may become a neighbour
_NOT_PROSE: Final = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)"  # code
    r"|^[^\n]{0,200}(?<!\()https?://\S*[^\w\n]*$"  # a short line that ends in an address only points elsewhere
    r"|https?://\S+",
    re.DOTALL | re.MULTILINE,
)
_POINTERS: Final = re.compile(
    r"\W*(?:\d+\.?\s*)?(?:references?|bibliography|literature|works cited|(?:further|suggested) reading|see also"
    r"|external links)\W*",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_ANY_WORD: Final = re.compile(r"\w+")


def fuse(similarities: Sequence[float], weights: Sequence[float], bm25: float, words: int) -> float:
    """The fused score that passages are ranked by; larger is better.

    `similarities` are the passage's cosines with the raw question and its other queries, `weights` those of the
    queries, the first of them 1. `bm25` is the passage's share of the best BM25 score of the search, 0 to 1; `words` is
    its `prose_words`. A passage of 30 words with a cosine of 0.5 and half of the best BM25 score:

    >>> round(fuse([0.5], [1.0], 0.5, 30), 6)  # 0.5 + 0.28 / 2 + 0.36 * 30 / 60
    0.82
    """
    meaning = math.fsum(weight * cosine for weight, cosine in zip(weights, similarities, strict=True))
    return meaning + BM25 * bm25 + PROSE * min(words, ENOUGH) / ENOUGH


def prose_words(text: str, heading: str = "") -> int:
    """The number of words outside code blocks and addresses; 0 under a heading such as "References".

    An embedding places short texts, such as a line of code, a label or the title of a cited paper, at least as close to
    a question as the paragraph that answers it. Those texts have little prose.
    """
    return 0 if _POINTERS.fullmatch(heading) else len(_WORD.findall(_NOT_PROSE.sub(" ", text)))


@dataclass(frozen=True, slots=True)
class Query:
    """A text that is searched for, its vector, and the weight of its cosine; the raw question has a weight of 1."""

    kind: Kind
    text: str
    vector: Sequence[float]
    weight: float = 1.0


def weighed(
    texts: Sequence[tuple[Kind, str]], vectors: Sequence[Sequence[float]], rankings: Sequence[Sequence[Hit]]
) -> list[Query]:
    """The queries with their weights, in the order of `texts`: the raw question, its contexts, its rewrite.

    `vectors` and `rankings` hold each text's vector and dense ranking.
    """
    best = [_largest(ranking, vector) for vector, ranking in zip(vectors, rankings, strict=True)]
    positions = [i for i, (kind, _) in enumerate(texts) if kind != "rewrite"]
    near = [_cosine(vectors[0], vectors[i]) for i in positions[1:]]
    context = context_weight(near, [best[i] for i in positions])
    queries: list[Query] = []
    for (kind, text), vector, largest in zip(texts, vectors, best, strict=True):
        weight = context if kind == "context" else 1.0
        if kind == "rewrite":  # the last one, compared with the sum of all others
            weight = rewrite_weight(_cosine(_sum(queries), vector), largest - best[0])
        queries.append(Query(kind, text, vector, weight))
    return queries


def ordered(
    queries: Sequence[Query], rankings: Sequence[Sequence[Hit]], bm25: Mapping[str, float]
) -> list[tuple[Chunk, Candidate]]:
    """Every chunk of the rankings, best first by fused score, ties by id. All have the outcome "beyond_k" so far.

    `bm25` holds BM25 scores by chunk id. A chunk's score is the cosine of its stored vector and the weighted sum of
    the queries' vectors, clipped to 0..1. A candidate's `scores` are its cosine with the question, its BM25 score, and
    its cosines with the other queries.
    """
    hits = list({hit.chunk.id: hit for ranking in rankings for hit in ranking}.values())
    if not hits:
        return []
    stored = [hit.dense for hit in hits]
    similarities = cosines(stored, [query.vector for query in queries])
    scores = cosines(stored, [_sum(queries)])[:, 0].clip(0.0, 1.0)
    weights = [query.weight for query in queries]
    most = max(bm25.values(), default=0.0) or 1.0
    found = []
    for hit, row, score in zip(hits, similarities.tolist(), scores.tolist(), strict=True):
        chunk, words = hit.chunk, bm25.get(hit.chunk.id, 0.0)
        fused = fuse(row, weights, words / most, prose_words(chunk.text, chunk.heading))
        each = tuple(round(value, 6) for value in (row[0], words, *row[1:]))
        found.append((chunk, Candidate(chunk.id, chunk.title, chunk.heading, round(score, 6), each, fused, "beyond_k")))
    return sorted(found, key=lambda pair: (-pair[1].fused, pair[1].chunk_id))


def _sum(queries: Sequence[Query]) -> list[float]:
    return [
        sum(query.weight * value for query, value in zip(queries, values, strict=True))
        for values in zip(*(query.vector for query in queries), strict=True)
    ]


def _largest(ranking: Sequence[Hit], vector: Sequence[float]) -> float:
    """The cosine of a query's vector and the first hit of its dense ranking; 0 for an empty ranking."""
    return float(cosines([hit.dense for hit in ranking[:1]], [vector]).max(initial=0.0))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    length = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / length if length else 0.0


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A text's shingles (runs of three words), and its marks: words with a digit or more than one capital."""

    shingles: frozenset[tuple[str, ...]]
    marks: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Fingerprint:
        words = _ANY_WORD.findall(text)
        small = [word.lower() for word in words]
        shingles = zip(*(small[start:] for start in range(min(SHINGLE, len(small)))), strict=False)
        return cls(frozenset(shingles), frozenset(word for word in words if _is_mark(word)))

    def same(self, other: Fingerprint) -> bool:
        """Whether two texts are duplicates: they resemble each other (Broder 1997) and have the same marks.

        Instructions for two versions of a program may differ in one digit, which is the one that was asked for.
        """
        if self.marks != other.marks:
            return False
        common = len(self.shingles & other.shingles)
        return common >= RESEMBLANCE * len(self.shingles | other.shingles)


def _is_mark(word: str) -> bool:
    return any(c.isdigit() for c in word) or sum(c.isupper() for c in word) > 1


def joined(candidates: Sequence[Candidate], chunks: Mapping[str, Chunk], most: int) -> list[Candidate]:
    """The candidates, with the outcome "neighbour" in place of "beyond_k" for at most `most`, the best first.

    `chunks` holds the candidates' chunks by id. A neighbour stands directly before or after a kept passage on its page,
    and is not a duplicate of a kept passage or of another neighbour.
    """
    kept = [chunks[candidate.chunk_id] for candidate in candidates if candidate.outcome == "kept"]
    places = {place for chunk in kept[:BESIDE] for place in _beside(chunk)} if most else set()
    prints = [Fingerprint.of(chunk.text) for chunk in kept] if places else []
    found = list(candidates)
    for i, candidate in enumerate(candidates[:AMONG]):
        chunk = chunks[candidate.chunk_id]
        if len(prints) - len(kept) < most and candidate.outcome == "beyond_k" and _place(chunk) in places:
            fingerprint = Fingerprint.of(chunk.text)
            if not any(fingerprint.same(other) for other in prints):
                prints.append(fingerprint)
                found[i] = replace(candidate, outcome="neighbour")
    return found


def _place(chunk: Chunk) -> tuple[str, str, str, int]:
    """The page of a chunk and its number on the page."""
    return chunk.source, chunk.source_file_path, chunk.url, chunk.chunk_index


def _beside(chunk: Chunk) -> list[tuple[str, str, str, int]]:
    return [_place(replace(chunk, chunk_index=chunk.chunk_index + step)) for step in (-1, 1)]
