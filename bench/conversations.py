"""Recall and nDCG of searches that follow a conversation, on MTRAG.

    python -m bench.conversations ../shared/data/mtrag/clapnq --home /tmp/askbook-bench

The folder has `passages.jsonl` and `turns.jsonl` of MTRAG (Katsis et al. 2025). Every passage becomes a page and is
ingested into the index in HOME, which is kept: the first run embeds for some ten minutes. Searches go through the
product's own ingestion, index and retriever. Prints recall and nDCG of the last turn alone, of a person's rewrite alone
and of the conversation, with 95% intervals by bootstrap over conversations, and the same for the turns whose rewrite
changes nothing. Then adds a rewrite to the conversation as one more query: a person's, which is about the best that a
model could write; one of another conversation; and the previous question, as a confused model would write it.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.product import open_book, start
from rag.conversation.turns import history, messages_from_json
from rag.evaluation.dataset import json_lines
from rag.search.retriever import HybridRetriever
from rag.types import AnsweredQuestion

K: Final = 5
CHUNKS: Final = 20  # hits requested, since a passage may be several chunks
SAMPLES: Final = 2_000  # of the bootstrap


@dataclass(frozen=True)
class Turn:
    """A question, a person's rewrite of it, the earlier turns, and the ids of the passages that answer it."""

    conversation: str
    question: str
    rewrite: str
    past: list[AnsweredQuestion]
    relevant: frozenset[str]


def read_turns(folder: Path) -> list[Turn]:
    """The turns that at least one passage answers."""
    found = []
    turn: Mapping[str, Any]
    for _, turn in json_lines((folder / "turns.jsonl").read_text(encoding="utf-8")):
        if turn["relevant_passages"]:
            question, past = turn["question"].strip(), history(messages_from_json(turn["history"]))
            rewrite = (turn["standalone_question"] or question).strip()
            relevant = frozenset(turn["relevant_passages"])
            found.append(Turn(turn["id"].partition("<")[0], question, rewrite, past, relevant))
    return found


def write_pages(folder: Path, pages: Path) -> None:
    """Write each passage as a Markdown page, named by its id and with its title as heading."""
    pages.mkdir(parents=True, exist_ok=True)
    for _, passage in json_lines((folder / "passages.jsonl").read_text(encoding="utf-8")):
        text = passage["text"].removeprefix(passage["title"]).lstrip()
        page = f"# {passage['title']}\n\n{text}\n" if passage["title"] else f"{text}\n"
        path = pages / f"{passage['_id']}.md"
        if not path.is_file():
            path.write_text(page, "utf-8")


async def measure(
    retriever: HybridRetriever, turn: Turn, question: str, past: Sequence[AnsweredQuestion], rewrite: str = ""
) -> tuple[float, float]:
    """Recall and nDCG with binary gains of the first `K` passages."""
    found = await retriever.retrieve(question, k=CHUNKS, threshold=0.0, history=past, rewrite=rewrite)
    best = list(dict.fromkeys(Path(passage.source_file_path).stem for passage in found.passages))[:K]
    gains = [float(name in turn.relevant) for name in best]
    discounts = [1 / math.log2(rank + 2) for rank in range(K)]
    dcg = sum(gain * discount for gain, discount in zip(gains, discounts, strict=False))
    return sum(gains) / len(turn.relevant), dcg / sum(discounts[: len(turn.relevant)])


def interval(values: NDArray[np.float64], conversations: Sequence[str]) -> tuple[float, float]:
    """The 95% bootstrap interval of the mean. Draws whole conversations, since turns of one are not independent."""
    names = sorted(set(conversations))
    groups = [values[[name == one for one in conversations]] for name in names]
    draws = np.random.default_rng(0).integers(0, len(groups), (SAMPLES, len(groups)))
    means = [np.concatenate([groups[i] for i in draw]).mean() for draw in draws]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def show(name: str, scores: NDArray[np.float64], base: NDArray[np.float64], conversations: Sequence[str]) -> None:
    print(f"{name:34s} recall@5 {scores[:, 0].mean():.3f}  nDCG@5 {scores[:, 1].mean():.3f}", end="")
    if scores is not base:
        differences = scores - base
        for column, what in enumerate(("recall", "nDCG")):
            low, high = interval(differences[:, column], conversations)
            print(f"  {what} {differences[:, column].mean():+.3f} [{low:+.3f}, {high:+.3f}]", end="")
    print()


def same(turn: Turn) -> bool:
    """Whether a later turn's rewrite equals its question but for case and punctuation."""
    bare = [re.sub(r"\W+", " ", text.lower()).strip() for text in (turn.question, turn.rewrite)]
    return bool(turn.past) and bare[0] == bare[1]


def strangers(turns: Sequence[Turn]) -> list[str]:
    """For each later turn the rewrite of a later turn of another conversation, drawn by a fixed seed."""
    rng, later = random.Random(7), [turn for turn in turns if turn.past]
    others = [[other for other in later if other.conversation != turn.conversation] for turn in turns]
    return [rng.choice(choices).rewrite if turn.past else "" for turn, choices in zip(turns, others, strict=True)]


async def run(folder: Path, home: Path) -> None:
    pages = home / "pages" / folder.name
    await asyncio.to_thread(write_pages, folder, pages)
    retriever = await open_book(pages, home, folder.name)
    turns = read_turns(folder)
    raw = np.array([await measure(retriever, t, t.question, []) for t in turns])
    rewritten = np.array([await measure(retriever, t, t.rewrite, []) for t in turns])
    talked = np.array([await measure(retriever, t, t.question, t.past) for t in turns])
    rewrites = (
        ("conversation, a person's rewrite", [t.rewrite if t.past else "" for t in turns]),
        ("conversation, another's rewrite", strangers(turns)),
        ("conversation, the question before", [t.past[-1].question if t.past else "" for t in turns]),
    )
    added = [
        (
            name,
            np.array([await measure(retriever, t, t.question, t.past, r) for t, r in zip(turns, texts, strict=True)]),
        )
        for name, texts in rewrites
    ]
    for title, chosen in (
        ("all", [True for _ in turns]),
        ("later turns", [bool(t.past) for t in turns]),
        ("rewrite changes nothing", [same(t) for t in turns]),
    ):
        those = np.array(chosen)
        names = [t.conversation for t, one in zip(turns, chosen, strict=True) if one]
        print(f"\n{title}: {those.sum()} turns, {len(set(names))} conversations")
        for name, scores in (("last turn", raw), ("a person's rewrite", rewritten), ("conversation", talked)):
            show(name, scores[those], raw[those] if scores is not raw else scores[those], names)
        print("beside the conversation:")
        for name, scores in added:
            show(name, scores[those], talked[those], names)
    print(f"\nconversation / rewrite: {talked[:, 0].mean() / rewritten[:, 0].mean():.3f} of recall, ", end="")
    print(f"{talked[:, 1].mean() / rewritten[:, 1].mean():.3f} of nDCG")


if __name__ == "__main__":
    start(run, __doc__)
