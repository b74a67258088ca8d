"""The support check on real text: sentences that passages state, and the same with one thing changed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bench.grounding import conversations, sentences, whole_sentences
from bench.grounding_mutations import mutants, names
from rag.evidence.verdict import check

TURNS = 8  # every so many turns one is looked at: the whole is the benchmark's


@pytest.fixture(scope="module")
def turns() -> list[tuple[str, str, list[str]]]:
    folder = Path(__file__).parents[2] / "shared" / "data" / "mtrag" / "clapnq"
    if not folder.is_dir():
        pytest.skip("the conversations of MTRAG are not here")
    return conversations(folder)


def _removed(found: list[tuple[str, list[str]]]) -> float:
    return sum(not check(sentence, passages).supported for sentence, passages in found) / len(found)


def _changed(found: list[tuple[str, list[str]]], stock: list[str]) -> list[tuple[str, list[str]]]:
    rng = random.Random(1)
    made = [(mutants(sentence, passages, stock, rng), passages) for sentence, passages in found]
    return [(one.text, passages) for each, passages in made for one in each if one.kind != "names exchanged"]


def test_what_a_passage_states_is_kept_and_what_was_changed_in_it_is_removed(
    turns: list[tuple[str, str, list[str]]],
) -> None:
    stock = [name for _, _, passages in turns[::7] for name in names(passages[0])]
    stated = [(s, passages) for _, _, passages in turns[::TURNS] for s in whole_sentences(passages[0])[:2]]
    assert _removed(stated) <= 0.03
    assert _removed(_changed(stated, stock)) >= 0.95


def test_most_of_what_people_wrote_from_passages_is_kept_and_what_was_changed_in_it_is_removed(
    turns: list[tuple[str, str, list[str]]],
) -> None:
    stock = [name for _, _, passages in turns[::7] for name in names(passages[0])]
    written = [(s, passages) for _, answer, passages in turns[::TURNS] for s in sentences(answer)]
    assert _removed(written) <= 0.2  # about half of these are not in the passages
    assert _removed(_changed(written, stock)) >= 0.9
