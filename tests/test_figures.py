"""Figures of runs, compared with cases that were computed by hand."""

from __future__ import annotations

import math

import pytest

from rag.evaluation.evaluation_run import EvaluationRun, Setup, compared
from rag.evaluation.figures import Figure, changes, figures, measures
from rag.evaluation.grading import GradedAnswer
from tests.graded import graded, hit

SETUP = Setup(
    dataset="d.jsonl", dataset_sha256="0", conversations=2, collection="book", passages=9, profile="default",
    model="m", searched_with="e", top_k=5, threshold=0.2,
)  # fmt: skip


def by_name(answers: list[GradedAnswer]) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures(answers)}


def test_recall_ndcg_and_reciprocal_rank_are_those_computed_by_hand() -> None:
    # Two labels. The first is at rank 2, the second at rank 4 of the passages; rank 3 repeats the first label, and
    # is dropped, so that the second label counts at rank 3.
    found = measures({"q": ([[], [0], [0], [1]], 2)})["q"]
    ideal = 1 / math.log2(2) + 1 / math.log2(3)
    assert found["recall@1"] == 0
    assert found["recall@2"] == 0.5
    assert found["recall@3"] == found["recall@20"] == 1
    assert found["mrr"] == 0.5
    assert found["ndcg@5"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(4)) / ideal)


def test_nothing_found_measures_zero() -> None:
    assert set(measures({"q": ([], 1)})["q"].values()) == {0.0}


def test_a_share_of_sentences_weighs_questions_by_their_sentences() -> None:
    found = by_name([graded("a", sentences=1, supported=1), graded("b", sentences=3, supported=1, unconfirmed=2)])
    assert (found["supported"].value, found["unconfirmed"].value, found["contradicted"].value) == (0.5, 0.5, 0)


def test_refusals_are_counted_apart_for_questions_with_and_without_an_answer() -> None:
    answers = [
        graded("a", refused=True, right=False),
        graded("b"),
        graded("c", answerable=False, refused=True),
        graded("d", answerable=False, right=False),
        graded("e", answerable=False, right=False),
    ]
    found = by_name(answers)
    assert (found["false_refusals"].value, found["false_refusals"].n) == (0.5, 2)
    assert found["exact_refusals"].value == pytest.approx(1 / 3)
    assert found["right"].value == 0.5


def test_a_follow_up_is_compared_with_itself_written_out() -> None:
    first = graded("a", ranking=[hit(0)], wanted=1)
    lost = graded("b", follow_up=True, ranking=[hit()], wanted=1, standalone_relevant=[[0]])
    kept = graded("c", follow_up=True, ranking=[hit(0)], wanted=1, standalone_relevant=[[0]])
    assert by_name([first, lost, kept])["followup_ratio"].value == 0.5


def test_the_interval_draws_whole_conversations() -> None:
    # Ten questions of one conversation are as one: the interval of two conversations spans everything.
    answers = [graded("a", turn=turn) for turn in range(1, 11)] + [graded("b", right=False)]
    found = by_name(answers)["right"]
    assert (found.low, found.high) == (0, 1)


def test_a_figure_about_no_question_has_no_value() -> None:
    found = by_name([graded("a")])["exact_refusals"]
    assert (found.value, found.low, found.n) == (None, None, 0)


def test_the_time_to_the_first_sentence_is_a_median() -> None:
    answers = [graded(name, first_sentence_ms=ms) for name, ms in (("a", 10.0), ("b", 20.0), ("c", 900.0))]
    assert by_name(answers)["first_sentence_ms"].value == 20


def test_a_change_is_told_only_when_its_interval_excludes_zero() -> None:
    before = [graded(str(n), right=False, refused=True) for n in range(20)]
    all_right = [graded(str(n)) for n in range(20)]
    one_right = [graded("0"), *before[1:]]
    assert {c.name: c.verdict for c in changes(before, all_right)}["right"] == "better"
    assert {c.name: c.verdict for c in changes(before, all_right)}["false_refusals"] == "better"
    assert {c.name: c.verdict for c in changes(all_right, before)}["right"] == "worse"
    assert {c.name: c.verdict for c in changes(before, one_right)}["right"] == "same"


def test_two_runs_are_compared_over_the_questions_of_both() -> None:
    before = EvaluationRun.of(SETUP, [graded("a"), graded("gone")])
    found = compared(before, [graded("new"), graded("a", right=False, answer="Nothing.")])
    assert (found.common, found.only_before, found.only_now) == (1, 1, 1)
    assert [(one.question, one.right_now, one.now) for one in found.turned] == [("What is a?", False, "Nothing.")]
