"""Questions whose first passage is from the right chapter, alone and after a change of subject.

    python -m bench.labelled ../shared/data/books/physical-ai --home /tmp/askbook-bench

The folder has `docs/` and `labelled_queries.json`. The book is ingested into the index in HOME. Every question is
searched alone, after five turns about something else, and after five turns about other chapters of the same book, which
are drawn four times by a fixed seed.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.product import open_book, start
from rag.search.retriever import HybridRetriever
from rag.types import AnsweredQuestion

DRAWS: Final = 4
ELSEWHERE: Final = [
    AnsweredQuestion("How long do I boil an egg?", "Six minutes for a soft yolk, ten for a hard one."),
    AnsweredQuestion("Does salt in the water matter?", "It keeps the white together if the shell cracks."),
    AnsweredQuestion("Which cheese goes with pears?", "Blue cheese: its salt and the fruit go together."),
    AnsweredQuestion(
        "When was the Eiffel Tower built?", "It was built from 1887 to 1889 for the World's Fair in Paris."
    ),
    AnsweredQuestion("And how high is it?", "The tower is 330 metres high with its antennas."),
]


@dataclass(frozen=True)
class Label:
    question: str
    chapter: int


async def chapter(retriever: HybridRetriever, question: str, past: list[AnsweredQuestion]) -> tuple[int, str]:
    """The chapter of the first passage, a number at the start of its folder's name, and the passage's text."""
    found = await retriever.retrieve(question, k=1, threshold=0.0, history=past)
    first = found.passages[0]
    return int(first.source_file_path[:2]), first.text


async def run(folder: Path, home: Path) -> None:
    entries = json.loads((folder / "labelled_queries.json").read_text("utf-8"))["test_queries"]
    labels = [Label(entry["query"], entry["expected_chapter"]) for entry in entries]
    retriever = await open_book(folder / "docs", home, folder.name)
    answers = {label: (await chapter(retriever, label.question, []))[1] for label in labels}
    rng = random.Random(1)
    talks: list[tuple[str, list[list[AnsweredQuestion]]]] = [
        ("alone", [[] for _ in labels]),
        ("after five turns on something else", [ELSEWHERE for _ in labels]),
    ]
    for draw in range(1, DRAWS + 1):
        others = [[other for other in labels if other.chapter != label.chapter] for label in labels]
        picked = [rng.sample(choices, 5) for choices in others]
        talk = [[AnsweredQuestion(earlier.question, answers[earlier]) for earlier in five] for five in picked]
        talks.append((f"after five turns on other chapters ({draw})", talk))
    for name, pasts in talks:
        missed = []
        for label, past in zip(labels, pasts, strict=True):
            found, _ = await chapter(retriever, label.question, past)
            if found != label.chapter:
                missed.append(f"{label.question} ({found} instead of {label.chapter})")
        print(f"{name:40s} {len(labels) - len(missed)} of {len(labels)}  {'; '.join(missed)}")


if __name__ == "__main__":
    start(run, __doc__)
