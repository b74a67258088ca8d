"""What a judge leaves of labelled claims, and what it costs: whole turns with the verdicts of a blind reader.

    python -m bench.claims_judge ../shared/data

Each answer of `bench.claims_data` is streamed word by word through a turn of the graph, in `strict`. At the port
`rag.ports.Judge` stands a replay: it gives the verdict of the second reader, who saw a claim and the passages that it
cites. No model is called. The true claims beside a falsehood were not read a second time; their labels are replayed.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.claims_data import LabelledAnswer, answers
from rag.profiles.profile import load_profile
from rag.types import Response, Standing
from tests.machine import Machine

RELATIONAL: Final = frozenset(
    {"swapped_roles", "wrong_cause", "overgeneralised", "merged_facts", "negated", "foreign_clause", "wrong_order"}
)


class Replay:
    """A `rag.ports.Judge` that gives the second reader's verdicts on the claims of one answer.

    A sentence with several claims is supported if all of them are. `strange` counts sentences without a label.
    """

    model_id = "replay"

    def __init__(self, answer: LabelledAnswer) -> None:
        self._verdicts = [(letters(claim.text), claim.true == claim.agreed) for claim in answer.claims]
        self.strange = 0

    def judge(self, claims: Sequence[tuple[str, Sequence[str]]]) -> list[bool | None]:
        """The verdicts; None for a sentence without a label."""
        found = [self._said(letters(text)) for text, _ in claims]
        self.strange += found.count(None)
        return found

    def _said(self, text: str) -> bool | None:
        verdicts = [verdict for claim, verdict in self._verdicts if claim in text or text in claim]
        return all(verdicts) if verdicts else None


@dataclass
class Tally:
    """What became of claims: their standings by kind, and the calls of the judge by answer."""

    standings: dict[str, Counter[Standing | None]]
    calls: Counter[int]
    strange: int = 0
    asked: int = 0


def letters(text: str) -> str:
    """The letters and digits of a text in lower case, without markers."""
    return re.sub(r"\W+", "", re.sub(r"\[(?:\d+|\?)\]", "", text)).lower()


async def tally(found: Iterable[LabelledAnswer], *, judged: bool) -> Tally:
    """Run a turn for each answer and look up what became of its claims. Fails where a stream was not the answer."""
    usual = load_profile("default")
    profile = usual.model_copy(update={"retrieval": usual.retrieval.model_copy(update={"top_k": 20, "neighbours": 0})})
    result = Tally(defaultdict(Counter), Counter())
    for answer in found:
        replay = Replay(answer)
        machine = Machine(
            re.findall(r"\s*\S+", answer.answer),
            passages=[chunk.passage(place, 1.0) for place, chunk in enumerate(answer.chunks, 1)],
            profile=profile,
            judged=judged,
            judge=replay,
        )
        response = await machine.ask(answer.question)
        if machine.shown != response.content:
            raise AssertionError(f"{answer.id}: the stream was not the answer")
        for claim in answer.claims:
            if claim.cites:
                result.standings[_kind(answer, true=claim.true)][_standing(claim.text, response)] += 1
        judge = response.grounding.judge
        result.calls[judge.calls if judge else 0] += 1
        result.asked += judge.sentences if judge else 0
        result.strange += replay.strange
    return result


def _kind(answer: LabelledAnswer, *, true: bool) -> str:
    return answer.kind if answer.kind == "natural" or not true else "beside a falsehood"


def _standing(claim: str, response: Response) -> Standing | None:
    """The worst standing of the lines that hold the claim; None if no line does."""
    lines = [one for one in response.grounding.checked if letters(claim) in letters(one.text)]
    lines = lines or [
        one for one in response.grounding.checked if letters(one.text) and letters(one.text) in letters(claim)
    ]
    standings = {one.standing for one in lines if one.standing != "frame"}
    order: tuple[Standing, ...] = ("contradicted", "unconfirmed", "supported")
    return next((standing for standing in order if standing in standings), "supported" if lines else None)


def table(result: Tally) -> str:
    """A row for each kind: how many claims, and which share was removed, marked, and shown plain."""
    rows = [f"{'':24}{'claims':>7}{'removed':>9}{'marked':>9}{'plain':>9}"]
    groups = dict(result.standings)
    false = [kind for kind in groups if kind not in ("natural", "beside a falsehood")]
    if false:
        groups["all falsehoods"] = sum((groups[kind] for kind in false), Counter())
        groups["relational falsehoods"] = sum((groups[kind] for kind in false if kind in RELATIONAL), Counter())
    for kind, counts in groups.items():
        shares = [counts[one] / counts.total() for one in ("contradicted", "unconfirmed", "supported")]
        rows.append(f"{kind:24}{counts.total():>7}" + "".join(f"{share:>9.1%}" for share in shares))
        if counts[None]:
            rows.append(f"{'':24}{counts[None]:>7} of them in no line")
    return "\n".join(rows)


async def report(books: Path) -> None:
    """Print the figures of the true answers and of the falsehoods, without and with the replayed judge."""
    for name in ("natural.jsonl", "falsehoods.jsonl"):
        found = list(answers(name, books))
        for judged in (False, True):
            result = await tally(found, judged=judged)
            print(f"\n{name}, {'with the replayed judge' if judged else 'no judge'}: {len(found)} answers")
            print(table(result))
            if judged:
                calls = sum(number * times for number, times in result.calls.items())
                print(f"{calls / len(found):.2f} calls an answer ({dict(sorted(result.calls.items()))}), ", end="")
                print(f"{result.asked} sentences asked about, {result.strange} without a label")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    asyncio.run(report(parser.parse_args().data / "books"))


if __name__ == "__main__":
    main()
