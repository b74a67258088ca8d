"""What a judge leaves of labelled claims, and what it costs: whole answers with the verdicts of a blind reader.

    python -m bench.claims_judge ../shared/data

Each answer of `bench.claims_data` is streamed word by word through the writer of a turn, in `strict`. The judge is a
replay: it gives the verdict of the second reader, who saw a claim and the passages that it cites. No model is called.
The true claims beside a falsehood were not read a second time; their labels are replayed.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.claims_data import LabelledAnswer, answers
from rag.answer.judge import Claim
from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.types import REFUSAL, CheckedSentence, Standing

RELATIONAL: Final = frozenset(
    {"swapped_roles", "wrong_cause", "overgeneralised", "merged_facts", "negated", "foreign_clause", "wrong_order"}
)


class Replay:
    """Gives the second reader's verdicts on the claims of one answer.

    A sentence with several claims is supported if all of them are. `strange` counts sentences without a label.
    """

    def __init__(self, answer: LabelledAnswer) -> None:
        self._verdicts = [(letters(claim.text), claim.true == claim.agreed) for claim in answer.claims]
        self.strange = self.calls = self.asked = 0

    def judge(self, claims: dict[int, Claim]) -> dict[int, bool | None]:
        """The verdicts by key; None for a sentence without a label."""
        found = {key: self._said(letters(claim.text)) for key, claim in claims.items()}
        self.strange += list(found.values()).count(None)
        self.calls += bool(claims)
        self.asked += len(claims)
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


def tally(found: Iterable[LabelledAnswer], *, judged: bool) -> Tally:
    """Write each answer and look up what became of its claims. Fails where a stream was not the answer."""
    result = Tally(defaultdict(Counter), Counter())
    for answer in found:
        replay = Replay(answer)
        passages = [chunk.passage(place, 1.0) for place, chunk in enumerate(answer.chunks, 1)]
        writer = AnswerWriter(passages, AnswerOptions(REFUSAL, question=answer.question, judged=judged))
        pieces = []
        for word in re.findall(r"\s*\S+", answer.answer):
            pieces += writer.feed(word)
            pieces += writer.apply_verdicts(replay.judge(writer.take_claims()))
        pieces += writer.end_input()
        pieces += writer.apply_verdicts(replay.judge(writer.take_claims()))
        pieces += writer.close()
        if "".join(pieces) != writer.shown.content:
            raise AssertionError(f"{answer.id}: the stream was not the answer")
        for claim in answer.claims:
            if claim.cites:
                result.standings[_kind(answer, true=claim.true)][_standing(claim.text, writer.grounding.checked)] += 1
        result.calls[replay.calls] += 1
        result.asked += replay.asked
        result.strange += replay.strange
    return result


def _kind(answer: LabelledAnswer, *, true: bool) -> str:
    return answer.kind if answer.kind == "natural" or not true else "beside a falsehood"


def _standing(claim: str, checked: list[CheckedSentence]) -> Standing | None:
    """The worst standing of the lines that hold the claim; None if no line does."""
    lines = [one for one in checked if letters(claim) in letters(one.text)]
    lines = lines or [one for one in checked if letters(one.text) and letters(one.text) in letters(claim)]
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


def report(books: Path) -> None:
    """Print the figures of the true answers and of the falsehoods, without and with the replayed judge."""
    for name in ("natural.jsonl", "falsehoods.jsonl"):
        found = list(answers(name, books))
        for judged in (False, True):
            result = tally(found, judged=judged)
            print(f"\n{name}, {'with the replayed judge' if judged else 'no judge'}: {len(found)} answers")
            print(table(result))
            if judged:
                calls = sum(number * times for number, times in result.calls.items())
                print(f"{calls / len(found):.2f} calls an answer ({dict(sorted(result.calls.items()))}), ", end="")
                print(f"{result.asked} sentences asked about, {result.strange} without a label")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    report(parser.parse_args().data / "books")


if __name__ == "__main__":
    main()
