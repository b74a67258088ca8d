"""Questions that a score threshold leaves without passages, on two books.

    python -m bench.threshold ../shared/data/books --home /tmp/askbook-bench

The questions of `bench/data/refusal_questions.json` are searched with the product's retriever: questions that a page
answers, near misses (same field, not in the book) and far-off questions. Prints for each threshold the share of the
answered questions that lose every passage of the right page, and of the others that keep no passage at all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.product import BOOKS, open_book, start
from rag.search.retriever import HybridRetriever

TITLES: Final = ("physical-ai", "rust")
THRESHOLDS: Final = (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
K: Final = 5


async def best(retriever: HybridRetriever, question: str, page: str | None = None) -> float | None:
    """The largest score among the first passages, of any page or of `page`; None when there is none."""
    found = await retriever.retrieve(question, k=K, threshold=0.0)
    places = [(p.source_file_path, p.source_file_path.rpartition("/")[2], p.score) for p in found.passages]
    scores = [score for path, name, score in places if page is None or path.startswith(page) or name.startswith(page)]
    return max(scores, default=None)


def row(name: str, scores: Sequence[float]) -> None:
    shares = [float(np.mean([score < threshold for score in scores])) for threshold in THRESHOLDS]
    print(f"{name:22s} {len(scores):4d}  " + "  ".join(f"{share:5.1%}" for share in shares))


async def run(books: Path, home: Path) -> None:
    data = Path(__file__).parent / "data" / "refusal_questions.json"
    written: dict[str, Any] = json.loads(data.read_text("utf-8"))
    print(f"{'':22s}  of   " + "  ".join(f"{threshold:5.2f}" for threshold in THRESHOLDS))
    for book in TITLES:
        retriever = await open_book(books / BOOKS[book], home, book)
        asked = [(entry["q"], entry["expects"]) for entry in written[book]["answerable"]]
        right = [await best(retriever, question, page) for question, page in asked]
        row(f"{book}: answered", [score for score in right if score is not None])
        for kind, questions in (("near miss", written[book]["near"]), ("far away", written["far"])):
            row(f"{book}: {kind}", [await best(retriever, question) or 0.0 for question in questions])


if __name__ == "__main__":
    start(run, __doc__)
