"""Graded answers for tests of figures, reports and comparisons."""

from __future__ import annotations

from typing import Any

from rag.evaluation.grading import GradedAnswer, RankedPassage


def hit(*relevant: int, chunk_id: str = "c", score: float = 0.5, **fields: Any) -> RankedPassage:
    given = {"page": "a.md", "title": "A", "heading": "", "outcome": "shown"} | fields
    return RankedPassage(chunk_id=chunk_id, score=score, relevant=list(relevant), **given)


def graded(conversation: str = "one", **fields: Any) -> GradedAnswer:
    """An answerable question, asked alone and answered right, unless the fields say otherwise."""
    usual: dict[str, Any] = {
        "conversation": conversation,
        "line": 1,
        "turn": 1,
        "kind": "question",
        "question": f"What is {conversation}?",
        "answerable": True,
        "follow_up": False,
        "status": "success",
        "fallback_reason": None,
        "refused": False,
        "right": True,
        "page_cited": None,
        "citation_precision": None,
        "citation_recall": None,
        "answer_matches": None,
        "overlap": None,
        "threshold": 0.2,
        "best_score": 0.5,
        "ranking": [],
        "wanted": 0,
        "standalone_relevant": None,
        "sentences": 0,
        "supported": 0,
        "unconfirmed": 0,
        "contradicted": 0,
        "tokens": 0,
        "llm_calls": 0,
        "first_sentence_ms": None,
        "total_ms": 0.0,
        "answer": "An answer. [1]",
    }
    return GradedAnswer(**usual | fields)
