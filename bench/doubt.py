"""Fit the weights of the doubt about a claim, and try them on books that they were not fitted on.

    python -m bench.doubt ../shared/data

Takes the claims of `bench.claims` that no other rule marks: true ones and falsehoods, with the signals of
`rag.evidence.doubts`. A logistic regression is fitted on all books but one, and scores the claims of that one. The
bias is the one that marks `MARKED` of the true natural claims of the first set, all rules together. `held_out` takes no
part in the fit. Prints the weights of a fit on all other books, and what they and the weights of the program mark;
those are fitted on more sentences (decision 0152).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from bench.claims import BESIDE, RELATIONAL, TRUE
from bench.claims_data import LabelledAnswer, LabelledClaim, answers
from bench.logistic import Floats, fit_logistic
from rag.evidence.analyzed_text import read
from rag.evidence.doubts import BIAS, WEIGHTS, signals
from rag.evidence.verdict import SCATTERED, check, claim_of
from rag.evidence.word_contexts import Sources, WordContexts

MARKED: Final = 0.195
RIDGE: Final = 1.0
FALSE: Final = 2.0  # weight of a falsehood, of which there are fewer
BESIDE_WEIGHT: Final = 0.7  # of a true claim that stands beside a falsehood
HELD_OUT: Final = "_held_out"
SETS: Final = ("", "_looked_at", HELD_OUT)


@dataclass(frozen=True, slots=True)
class Row:
    """A claim: whether another rule marks it, and its signals, None if it is not scored."""

    set: str
    book: str
    kind: str
    marked: bool
    signals: dict[str, float] | None


def row(answer: LabelledAnswer, claim: LabelledClaim, suffix: str) -> Row:
    cited = [number - 1 for number in claim.cites]
    passages, known = [answer.passages[i] for i in cited], "\n".join(answer.known[i] for i in cited)
    beside = [*answer.passages, *answer.known, answer.question]
    verdict = check(claim.text, passages, known=known, beside=beside)
    sort, text = claim_of(claim.text)
    marked = any(reason != SCATTERED for reason in verdict.reasons)
    contexts = WordContexts(read(text).whole, Sources(passages, known))
    scored = signals(contexts) if sort == "claim" and not marked else None
    kind = answer.kind if not claim.true else TRUE if answer.kind == "natural" else BESIDE
    return Row(suffix, answer.book, kind, marked, scored)


def rows(books: Path) -> Iterator[Row]:
    for suffix in SETS:
        for name in ("natural", "falsehoods"):
            for answer in answers(f"{name}{suffix}.jsonl", books):
                yield from (row(answer, one, suffix) for one in answer.claims if one.agreed and one.cites)


def fit(found: Sequence[Row]) -> Floats:
    """The weights of the signals, and the bias."""
    scored = [one for one in found if one.signals]
    false = np.array([one.kind not in (TRUE, BESIDE) for one in scored])
    weight = np.array([BESIDE_WEIGHT if one.kind == BESIDE else 1.0 for one in scored]) * np.where(false, FALSE, 1.0)
    x = np.array([[*(one.signals or {}).values(), 1.0] for one in scored])
    spread = np.append(x.std(axis=0)[:-1], 1.0)
    ridge = np.array([*[RIDGE] * len(WEIGHTS), 0.0])
    found_weights: Floats = fit_logistic(x / spread, false.astype(float), weight, ridge) / spread
    return found_weights


def scores(found: Sequence[Row], weights: Floats) -> Floats:
    """The log odds of each claim: infinite for one that another rule marks, and minus infinity if it is not scored."""
    rest = [np.inf if one.marked else -np.inf for one in found]
    return np.array(
        [weights @ [*one.signals.values(), 1.0] if one.signals else r for one, r in zip(found, rest, strict=True)]
    )


def report(title: str, found: Sequence[Row], score: Floats, limit: float) -> None:
    print(title)
    for suffix in dict.fromkeys(one.set for one in found):
        shares = []
        for kinds in ((TRUE,), (BESIDE,), RELATIONAL, {one.kind for one in found} - {TRUE, BESIDE}):
            marks = [
                at > limit for one, at in zip(found, score, strict=True) if one.set == suffix and one.kind in kinds
            ]
            shares.append(f"{np.mean(marks):6.1%} of {len(marks):3}")
        name = suffix.strip("_").replace("_", " ") or "first set"
        print(
            f"  {name:12}"
            + "  ".join(f"{n} {s}" for n, s in zip(("true", "beside", "relational", "false"), shares, strict=True))
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    found = list(rows(parser.parse_args().data / "books"))
    fitted_on = [one for one in found if one.set != HELD_OUT]
    weights = fit(fitted_on)
    score = scores(found, weights)
    for book in {one.book for one in fitted_on}:
        inside = np.array([one.book == book for one in found])
        score[inside] = scores(found, fit([one for one in fitted_on if one.book != book]))[inside]
    true = [at for one, at in zip(found, score, strict=True) if one.kind == TRUE and not one.set]
    limit = float(np.quantile(true, 1 - MARKED))
    names = [*WEIGHTS, "bias"]
    print(
        "fitted: "
        + ", ".join(f"{name} {w:.2f}" for name, w in zip(names, [*weights[:-1], weights[-1] - limit], strict=True))
    )
    report("one book left out at a time", found, score, limit)
    report("weights of the program", found, scores(found, np.array([*WEIGHTS.values(), BIAS])), 0.0)
    report("without the score", found, np.array([np.inf if one.marked else -np.inf for one in found]), 0.0)


if __name__ == "__main__":
    main()
