"""What does a threshold on the score turn away? Through the product's retriever, on two books.

    python -m bench.threshold ../shared/data/books --home /tmp/askbook-bench

Questions are those of `bench/data/refusal_questions.json`: some that a page of the book answers, near misses (the same
field, not in the book), and some that nobody would ask it. For each threshold: of the questions that are answered, the
share that loses every passage of the right page; of the others, the share that keeps no passage at all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.product import open_book, start
from rag.search.retriever import Retriever

BOOKS: Final = {"physical-ai": "physical-ai/docs", "rust": "rust/src"}
THRESHOLDS: Final = (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
K: Final = 5


async def best(retriever: Retriever, question: str, page: str | None = None) -> float | None:
    """The largest score among the first passages: of any page, or of the right one; None where none of it is there."""
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
    for book, folder in BOOKS.items():
        retriever = await open_book(books / folder, home, book)
        asked = [(entry["q"], entry["expects"]) for entry in written[book]["answerable"]]
        right = [await best(retriever, question, page) for question, page in asked]
        row(f"{book}: answered", [score for score in right if score is not None])
        for kind, questions in (("near miss", written[book]["near"]), ("far away", written["far"])):
            row(f"{book}: {kind}", [await best(retriever, question) or 0.0 for question in questions])


if __name__ == "__main__":
    start(run, __doc__)
