"""What the grounding check says of labelled claims: true ones, and fluent falsehoods by kind.

    python -m bench.claims ../shared/data

Reads the answers of `bench.claims_data` and the summaries of SummEdits. A claim is checked alone against the passages
that it cites, beside the other passages of its turn and the question; the true answers are also written as a turn
writes them. SummEdits' summaries are checked sentence by sentence; a summary is as good as its worst sentence. The
weights of `rag.answer.check` were fitted on the first set; SummEdits, and the sets `looked_at` and `held_out`, whose
books may be absent, were not used.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from bench.claims_data import answers
from bench.table import Row
from rag.answer.check import check
from rag.answer.evidence import Source
from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.grounding import prove
from rag.types import Standing

STANDINGS: Final[tuple[Standing, ...]] = ("contradicted", "unconfirmed", "supported")
RELATIONAL: Final = frozenset(
    {"swapped_roles", "wrong_cause", "overgeneralised", "merged_facts", "negated", "foreign_clause", "wrong_order"}
)
REFUSAL: Final = "I don't have information about that in the book content"
BESIDE: Final = "true, beside a falsehood"
TRUE: Final = "true, natural answers"


def judged(books: Path, suffix: str = "") -> Iterator[tuple[str, Standing]]:
    """Kind and standing of every claim on which writer and second reader agree, if there was a second reader."""
    for name in ("natural", "falsehoods"):
        for answer in answers(f"{name}{suffix}.jsonl", books):
            turn = [Source(chunk.passage(place, 1.0)) for place, chunk in enumerate(answer.chunks, 1)]
            for claim in answer.claims:
                if claim.agreed and claim.cites:
                    found = check(claim.text, [turn[number - 1] for number in claim.cites], turn, answer.question)
                    kind = answer.kind if not claim.true else TRUE if answer.kind == "natural" else BESIDE
                    yield kind, found.standing


def shown_in_strict(books: Path, suffix: str = "") -> str:
    """How many of the true answers lose text when they are written in `strict`, and how many sentences are marked."""
    number = lost = marked = sentences = 0
    for answer in answers(f"natural{suffix}.jsonl", books):
        passages = [chunk.passage(place, 1.0) for place, chunk in enumerate(answer.chunks, 1)]
        manner = AnswerOptions(refusal=REFUSAL, question=answer.question, footer="none", mode="strict")
        writer = AnswerWriter(passages, manner)
        writer.feed(answer.answer)
        writer.close()
        number += 1
        lost += _letters(writer.shown.plain) != _letters(answer.answer)
        marked += writer.grounding.unconfirmed
        sentences += writer.grounding.sentences
    return f"{lost} of {number} true answers lose text; {marked} of their {sentences} sentences are marked"


def _letters(text: str) -> str:
    """The letters and digits, without markers and marks."""
    return re.sub(r"\W+", "", re.sub(r"\[(?:\d+|\?)\]", "", text))


def summedits(file: Path) -> tuple[int, float]:
    """The number of summaries, and the balanced accuracy of "every sentence is supported" as "consistent"."""
    hits: dict[bool, list[bool]] = defaultdict(list)
    for line in file.read_text(encoding="utf-8").split("\n"):
        if line:
            row = json.loads(line)
            found = prove(row["summary"], [row["document"]]).sentences
            kept = all(one.standing in ("supported", "frame") for one in found)
            hits[bool(row["consistent"])].append(kept == bool(row["consistent"]))
    shares = [sum(found) / len(found) for found in hits.values()]
    return sum(map(len, hits.values())), sum(shares) / len(shares)


def table(found: Iterable[tuple[str, Standing]]) -> str:
    """A row for each kind: how many claims, and the share of each standing."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, standing in found:
        counts[kind][standing] += 1
        if kind not in (TRUE, BESIDE):
            counts["all falsehoods"][standing] += 1
            if kind in RELATIONAL:
                counts["relational falsehoods"][standing] += 1
    rows = [f"{'':28}{'claims':>7}" + "".join(f"{name:>14}" for name in STANDINGS)]
    for kind, row in counts.items():
        shares = "".join(f"{row[name] / row.total():>14.1%}" for name in STANDINGS)
        rows.append(f"{kind:28}{row.total():>7}{shares}")
    return "\n".join(rows)


def rows(data: Path) -> Iterator[Row]:
    """The share of true claims that are removed and marked, and of falsehoods that are either; none without books."""
    found = list(judged(data / "books"))
    true = [standing for kind, standing in found if kind == TRUE]
    false = [standing for kind, standing in found if kind not in (TRUE, BESIDE)]
    relational = [standing for kind, standing in found if kind in RELATIONAL]
    for name, standings, wanted in (
        ("true claims removed", true, STANDINGS[:1]),
        ("true claims marked", true, STANDINGS[1:2]),
        ("falsehoods removed or marked", false, STANDINGS[:2]),
        ("relational falsehoods removed or marked", relational, STANDINGS[:2]),
    ):
        if standings:
            yield Row(name, "%", [100 * sum(one in wanted for one in standings) / len(standings)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    for suffix in ("", "_looked_at", "_held_out"):
        if found := list(judged(data / "books", suffix)):
            print(f"{suffix.strip('_').replace('_', ' ')}\n{table(found)}".strip())
            print(shown_in_strict(data / "books", suffix))
    for file in sorted((data / "claims").glob("summedits_*.jsonl")):
        number, accuracy = summedits(file)
        print(f"{file.stem:28}{number:>7}  balanced accuracy {accuracy:.1%}")


if __name__ == "__main__":
    main()
