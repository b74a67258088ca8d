"""Keywords of good answers in the best passages, with and without their neighbours.

    python -m bench.neighbours ../shared/data/books/physical-ai --home /tmp/askbook-bench

The folder has `docs/` and `labelled_queries.json`, whose questions have keywords of a good answer. The book is ingested
into the index in HOME. Prints the share of keywords found in the passages, the number of questions with all keywords
found, and the length of the passages: for the best k, and for the best k with neighbours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.product import open_book, start
from rag.search.retriever import HybridRetriever
from rag.types import Passage


def holds(passages: list[Passage], keywords: list[str]) -> list[bool]:
    """For each keyword, whether it is in a passage or its heading."""
    text = "\n".join(f"{passage.heading}\n{passage.text}" for passage in passages).lower()
    return [keyword.lower() in text for keyword in keywords]


async def row(retriever: HybridRetriever, questions: list[dict[str, Any]], k: int, neighbours: int) -> None:
    shares, whole, length, count = 0.0, 0, 0, 0
    for question in questions:
        found = await retriever.retrieve(question["query"], k=k, threshold=0.2, neighbours=neighbours)
        hits = holds(found.passages, question["keywords"])
        shares += sum(hits) / len(hits) / len(questions)
        whole += all(hits)
        length += sum(len(passage.text) for passage in found.passages)
        count += len(found.passages)
    print(f"best {k:2}, {neighbours} neighbours at most:  keywords {shares:.3f}, all of them {whole:2}", end="")
    print(f"  passages {count / len(questions):.2f}, characters {length / len(questions):,.0f}")


async def run(folder: Path, home: Path) -> None:
    questions = json.loads((folder / "labelled_queries.json").read_text("utf-8"))["test_queries"]
    retriever = await open_book(folder / "docs", home, folder.name)
    for k in (3, 4, 5, 6, 7, 8, 10):
        await row(retriever, questions, k, 0)
    for k in (3, 5):
        for neighbours in (1, 2, 3, 4):
            await row(retriever, questions, k, neighbours)


if __name__ == "__main__":
    start(run, __doc__)
