"""What each rule of the check of a sentence is worth: the figures without it.

    python -m bench.ablation ../shared/data

A rule is known by the reasons that it gives. Every sentence is checked once; leaving a rule out means not to count its
reasons. "true" are the true claims of `bench.claims` that are removed or marked, "relational" and "others" its
falsehoods, "one word" the changed sentences of `bench.grounding`, each in percent. "SummEdits" is the mean balanced
accuracy over the five domains. A rule whose absence changes no column by a point is worth nothing here.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.claims import RELATIONAL
from bench.claims_data import answers
from bench.grounding import AS_IS, SEPARATE, cases
from rag.evidence.verdict import check
from rag.text.sentences import sentence_spans

COLUMNS: Final = ("true", "relational", "others", "one word", "reference answers", "SummEdits")
# Kinds of reasons that more than one rule gives, told apart by their words.
_PARTS: Final = {
    "one of its clauses": "a clause far from the passages",
    "its parts together": "a claim scattered over the passages",
    "nothing of": "strange words of a heading",
    "nothing like it": "a sentence far from the passages",
    "for something else": "{kind} in another's place",
    "do not say": "a denial that the passages lack",
    "say the opposite": "{kind} reversed",
}


@dataclass(frozen=True, slots=True)
class Checked:
    """The rules that object to a sentence or summary. `false` says whether they should."""

    column: str
    false: bool
    rules: frozenset[str]


def rule_of(reason: str) -> str:
    kind = reason.partition(":")[0]
    found = next((name for words, name in _PARTS.items() if words in reason), "{kind} absent")
    return found.format(kind=kind)


def rules_of(sentence: str, passages: Sequence[str], known: str = "") -> frozenset[str]:
    return frozenset(map(rule_of, check(sentence, passages, known=known).reasons))


def claims(books: Path) -> Iterator[Checked]:
    for name in ("natural.jsonl", "falsehoods.jsonl"):
        for answer in answers(name, books):
            for claim in answer.claims:
                if claim.agreed and claim.cites and not (claim.true and answer.kind != "natural"):
                    column = "true" if claim.true else "relational" if answer.kind in RELATIONAL else "others"
                    cited = [number - 1 for number in claim.cites]
                    known = "\n".join(answer.known[i] for i in cited)
                    passages = [answer.passages[i] for i in cited]
                    yield Checked(column, not claim.true, rules_of(claim.text, passages, known))


def changed(data: Path) -> Iterator[Checked]:
    for case in cases(data):
        if case.kind not in SEPARATE and (case.kind != AS_IS or case.source == "reference"):
            column = "reference answers" if case.kind == AS_IS else "one word"
            yield Checked(column, case.kind != AS_IS, rules_of(case.sentence, case.passages))


def summaries(folder: Path) -> Iterator[Checked]:
    for file in sorted(folder.glob("summedits_*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line:
                row = json.loads(line)
                text = row["summary"]
                found = [rules_of(text[a:b], [row["document"]]) for a, b in sentence_spans(text)]
                yield Checked(f"SummEdits {file.stem}", not row["consistent"], frozenset().union(*found))


def figures(checked: Sequence[Checked], without: str) -> list[float]:
    """The columns, in percent, when the reasons of one rule do not count."""
    found: dict[tuple[str, bool], list[bool]] = defaultdict(list)
    for one in checked:
        found[one.column, one.false].append(bool(one.rules - {without}))
    share = {key: 100 * sum(values) / len(values) for key, values in found.items()}
    domains = {column for column, _ in share if column.startswith("SummEdits")}
    accuracy = [(share[one, True] + 100 - share[one, False]) / 2 for one in domains]
    plain = [share[column, column not in ("true", "reference answers")] for column in COLUMNS[:-1]]
    return [*plain, sum(accuracy) / len(accuracy)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    checked = [*claims(data / "books"), *changed(data), *summaries(data / "claims")]
    whole = figures(checked, "")
    print("| without | " + " | ".join(COLUMNS) + " |\n|---|" + "---|" * len(COLUMNS))
    print("| nothing | " + " | ".join(f"{value:.1f}" for value in whole) + " |")
    for rule in sorted({rule for one in checked for rule in one.rules}):
        changes = [value - before for value, before in zip(figures(checked, rule), whole, strict=True)]
        print(f"| {rule} | " + " | ".join(f"{change:+.1f}" for change in changes) + " |")


if __name__ == "__main__":
    main()
