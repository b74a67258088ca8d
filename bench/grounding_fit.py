"""Weights of `rag.evidence.facts`, fitted by logistic regression.

    python -m bench.grounding_fit ../shared/data

Fits on the cases that `bench.grounding` calls "tuned" and "paraphrases": facts of true sentences against the changed
facts of false ones. `LOWERED` is then subtracted from the constants, since sentences of real answers are true more
often than those of this test.
"""

from __future__ import annotations

import argparse
import difflib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.grounding import AS_IS, SEPARATE, Case, cases
from bench.logistic import fit_logistic
from rag.evidence.evidence import Sources, words_of
from rag.evidence.facts import PlaceFit, names, numbers
from rag.evidence.names import names_of
from rag.evidence.passages import SourceLine, line, read
from rag.evidence.polarity import denials, turns
from rag.evidence.slots import Slots
from rag.evidence.verdict import claim_of

RIDGE = 0.3
LOWERED = {"name": 0.2, "number": 0.5, "comparison": 0.8, "negation": 0.9, "denial": 0.8}
SIDE = 2  # tokens; a change this close to a turning word may belong to it


def standings(claim: SourceLine, passages: tuple[str, ...]) -> Iterator[tuple[str, int, int, PlaceFit]]:
    """Kind, first token, last token and standing of every fact in the sentence that has a standing."""
    sources = Sources([read(passage) for passage in passages], frozenset())
    words = words_of(claim, sources)
    slots = Slots(claim, words, sources)
    for name, fact in zip(names_of(claim, sources), names(claim, sources, slots), strict=True):
        if fact.standing:
            yield "name", name.first, name.last, fact.standing
    stated = [quantity for quantity in claim.quantities if not quantity.vague]
    for quantity, fact in zip(stated, numbers(claim, sources, slots), strict=True):
        if fact.standing:
            yield "number", quantity.first, quantity.last, fact.standing
    for turn in turns(claim, words, slots):
        yield turn.sort, turn.index - SIDE, turn.index + 1, turn.standing
    for turn in denials(claim, words, slots):
        yield "denial", turn.index, turn.index, turn.standing


def changed(before: SourceLine, after: SourceLine) -> set[int]:
    """The indices of the tokens in `after` that differ from `before`; for a deletion, its two neighbours."""
    old, new = [token.word for token in before.tokens], [token.word for token in after.tokens]
    found: set[int] = set()
    for tag, _, _, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            found |= set(range(start, end)) if end > start else {start - 1, start}
    return found


def examples(found: Iterator[Case]) -> dict[str, list[tuple[tuple[float, ...], bool]]]:
    rows: dict[str, list[tuple[tuple[float, ...], bool]]] = defaultdict(list)
    true = line("", 0, 0)
    for case in found:
        sort, text = claim_of(case.sentence)
        if case.part not in ("tuned", "paraphrases") or case.kind in SEPARATE:
            continue
        claim = line(text, 0, len(text))
        if case.kind == AS_IS:
            true = claim
        if sort != "claim":
            continue
        touched = changed(true, claim) if case.kind != AS_IS else set()
        for kind, first, last, standing in standings(claim, case.passages):
            false = not touched.isdisjoint(range(first, last + 1))
            if false or case.kind == AS_IS:
                rows[kind].append((standing.features(), false))
    return rows


def fit(rows: list[tuple[tuple[float, ...], bool]]) -> list[float]:
    """The weights of one kind of fact, in the order of `PlaceFit.features`."""
    x = np.array([features for features, _ in rows], dtype=float)
    y = np.array([false for _, false in rows], dtype=float)
    weights = fit_logistic(x, y, np.ones(len(y)), np.full(x.shape[1], RIDGE))
    return [round(float(weight), 2) for weight in weights]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path)
    for kind, rows in examples(cases(parser.parse_args().data)).items():
        weights = fit(rows)
        weights[0] = round(weights[0] - LOWERED[kind], 2)
        print(f"{kind:10} {weights}  of {len(rows)}, {sum(false for _, false in rows)} changed")


if __name__ == "__main__":
    main()
