"""The records of a search: what was found, and the trace of how it was found."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, Literal

from rag.types import Passage, Retrieval

Outcome = Literal["kept", "neighbour", "below_threshold", "duplicate", "beyond_k"]
QueryKind = Literal["question", "context", "rewrite"]

SHOWN: Final = 20  # candidates of a trace that are printed


@dataclass(frozen=True, slots=True)
class Trace:
    """How a search went: its queries with their weights, its legs, and its candidates, best first.

    `queries`, `kinds` and `weights` are parallel. `legs` are "dense" and "sparse" for the raw question, then "dense"
    for each other query; a candidate's `scores` are in the same order.
    """

    queries: tuple[str, ...]
    kinds: tuple[QueryKind, ...]
    weights: tuple[float, ...]
    legs: tuple[str, ...]
    threshold: float
    candidates: tuple[Candidate, ...]

    def as_data(self, most: int = SHOWN) -> dict[str, Any]:
        """The trace as JSON data, with the best `most` candidates."""
        return {
            "queries": [
                {"kind": kind, "text": text, "weight": weight}
                for kind, text, weight in zip(self.kinds, self.queries, self.weights, strict=True)
            ],
            "legs": list(self.legs),
            "threshold": self.threshold,
            "candidates": [candidate.as_data() for candidate in self.candidates[:most]],
        }


@dataclass(frozen=True, slots=True)
class Found:
    """The passages found for a question, with the record and the trace of the search."""

    passages: list[Passage]
    retrieval: Retrieval
    trace: Trace

    def as_data(self, prefix: str | None) -> dict[str, Any]:
        """The object that `search --json` prints; `prefix` is the filter as it was given."""
        names = (
            "chunk_id", "chunk_index", "text", "title", "heading", "breadcrumb", "url", "source_file_path", "score",
        )  # fmt: skip
        results = [
            {"rank": passage.number} | {name: getattr(passage, name) for name in names} for passage in self.passages
        ]
        return nothing_found(self.retrieval.query, prefix) | {
            "total_results": len(results),
            "retrieval_time_ms": self.retrieval.retrieval_time_ms,
            "results": results,
            "trace": self.trace.as_data(),
        }


def nothing_found(query: str, prefix: str | None) -> dict[str, Any]:
    """The object that `search --json` prints when there is no result."""
    return {
        "query": query,
        "filter_applied": prefix,
        "total_results": 0,
        "error": None,
        "retrieval_time_ms": 0.0,
        "results": [],
        "trace": None,
    }


@dataclass(frozen=True, slots=True)
class Candidate:
    """One chunk found by a leg, and its outcome.

    `cosine` is compared with the threshold. `scores` has one score per leg: a cosine, or BM25 for the sparse leg, where
    0 means that no term matches. Candidates are ordered by `fused`.
    """

    chunk_id: str
    title: str
    heading: str
    cosine: float
    scores: tuple[float, ...]
    fused: float
    outcome: Outcome

    def as_data(self) -> dict[str, Any]:
        """The candidate as JSON data, without the copies of every value that `dataclasses.asdict` makes."""
        return {name: getattr(self, name) for name in _CANDIDATE}


_CANDIDATE: Final = tuple(field.name for field in fields(Candidate))
