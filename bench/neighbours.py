"""Do the neighbours of good passages say what is asked for, at the same length of text?

    python -m bench.neighbours ../shared/data/books/physical-ai --home /tmp/askbook-bench

The folder has `docs/` and `labelled_queries.json`, whose questions have keywords that a good answer holds. The book is
ingested into the index in HOME. Prints the share of the keywords that stand in the passages, for how many questions all
of them do, and how long the passages are: for the best k, and for the best k with neighbours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.product import open_book, start
from rag.search.retriever import Retriever
from rag.types import Passage


def said(passages: list[Passage], keywords: list[str]) -> list[bool]:
    """For each keyword whether it stands in the passages or above them."""
    text = "\n".join(f"{passage.heading}\n{passage.text}" for passage in passages).lower()
    return [keyword.lower() in text for keyword in keywords]


async def row(retriever: Retriever, questions: list[dict[str, Any]], k: int, neighbours: int) -> None:
    shares, whole, length, count = 0.0, 0, 0, 0
    for one in questions:
        found = await retriever.retrieve(one["query"], k=k, threshold=0.2, neighbours=neighbours)
        stand = said(found.passages, one["keywords"])
        shares += sum(stand) / len(stand) / len(questions)
        whole += all(stand)
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
