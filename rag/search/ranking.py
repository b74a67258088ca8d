"""From the hits of several searches to one order: fusion of the scores, duplicates, neighbours on the page."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rag.book import Chunk, Hit
from rag.search.followups import context_weight, rewrite_weight
from rag.types import Candidate, Kind

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    Matrix = NDArray[float64]


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


SHINGLE: Final = 3  # words
RESEMBLANCE: Final = 0.9
_ANY_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A text's runs of three words, and its words that hold a digit or more than one capital."""

    shingles: frozenset[tuple[str, ...]]
    marks: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Fingerprint:
        words = _ANY_WORD.findall(text)
        small = [word.lower() for word in words]
        runs = zip(*(small[start:] for start in range(min(SHINGLE, len(small)))), strict=False)
        return cls(frozenset(runs), frozenset(word for word in words if _is_mark(word)))

    def same(self, other: Fingerprint) -> bool:
        """Whether two texts resemble each other (Broder 1997) and differ in no number, version or name in capitals.

        The instructions for two versions of a program may differ in one digit, and that digit is what is asked for.
        """
        if self.marks != other.marks:
            return False
        joint = len(self.shingles & other.shingles)
        return joint >= RESEMBLANCE * len(self.shingles | other.shingles)


def _is_mark(word: str) -> bool:
    return any(c.isdigit() for c in word) or sum(c.isupper() for c in word) > 1


BESIDE: Final = 2  # of the passages that are kept, how many may bring a neighbour
AMONG: Final = 20  # candidates among which it must be


def joined(candidates: Sequence[Candidate], chunks: Mapping[str, Chunk], most: int) -> list[Candidate]:
    """The candidates with the outcome "neighbour" for `most` of those beyond `k` at most, the better ones first.

    `chunks` holds each candidate's, by id. A neighbour has passed the threshold and says nothing that a kept one says.
    """
    kept = [chunks[one.chunk_id] for one in candidates if one.outcome == "kept"]
    places = {place for chunk in kept[:BESIDE] for place in _beside(chunk)} if most else set()
    prints = [Fingerprint.of(chunk.text) for chunk in kept] if places else []
    found = list(candidates)
    for number, one in enumerate(candidates[:AMONG]):
        chunk = chunks[one.chunk_id]
        if len(prints) - len(kept) < most and one.outcome == "beyond_k" and _place(chunk) in places:
            mine = Fingerprint.of(chunk.text)
            if not any(mine.same(other) for other in prints):
                prints.append(mine)
                found[number] = replace(one, outcome="neighbour")
    return found


def _place(chunk: Chunk) -> tuple[str, str, str, int]:
    """Where a chunk stands: its page, and its number there."""
    return chunk.source, chunk.source_file_path, chunk.url, chunk.chunk_index


def _beside(chunk: Chunk) -> list[tuple[str, str, str, int]]:
    return [_place(replace(chunk, chunk_index=chunk.chunk_index + step)) for step in (-1, 1)]
