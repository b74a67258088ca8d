from __future__ import annotations

import pytest

from rag.search.ranking import (
    ALONE,
    ANSWER_WORDS,
    CONTEXT,
    LOST,
    MOST_LIFT,
    REWRITE,
    context_weight,
    contexts,
    rewrite_weight,
)
from rag.types import AnsweredQuestion

TALK = [
    AnsweredQuestion("How do I install ROS 2?", "Use the Debian packages."),
    AnsweredQuestion("Which ones?", "Install ros-humble-desktop."),
]


def test_a_first_question_has_no_context() -> None:
    assert contexts("Why?", []) == []


def test_of_a_long_answer_only_the_beginning_is_a_context() -> None:
    words = [f"word{number}" for number in range(500)]
    (context,) = contexts("Why?", [AnsweredQuestion("Why?", "\n\n".join(words))])
    assert context == " ".join(["Why?", *words[:ANSWER_WORDS]])
    (context,) = contexts("Why?", [AnsweredQuestion("Why?", " ".join(words[:ANSWER_WORDS]))])
    assert context == " ".join(["Why?", *words[:ANSWER_WORDS]])


def test_an_answer_in_a_script_without_spaces_is_a_context_as_it_stands() -> None:
    answer = "节点是一个进程。" * 200
    assert contexts("Why?", [AnsweredQuestion("Why?", answer)]) == [f"Why? {answer}"]


def test_the_contexts_are_the_first_question_and_the_last_answer() -> None:
    assert contexts("and on Windows?", TALK) == [
        "and on Windows? How do I install ROS 2?",
        "and on Windows? Install ros-humble-desktop.",
    ]


def test_the_question_stands_first_so_that_no_window_cuts_it_off() -> None:
    assert all(text.startswith("Why? ") for text in contexts("Why?", TALK))


@pytest.mark.parametrize(
    ("talk", "count"),
    [
        ([AnsweredQuestion("Why?", "")], 0),
        ([AnsweredQuestion("Why?", "Because.")], 1),
        ([AnsweredQuestion("Echo", "Echo")], 1),
    ],
)
def test_what_would_say_nothing_new_is_no_context(talk: list[AnsweredQuestion], count: int) -> None:
    assert len(contexts("Why?", talk)) == count


def test_a_question_alone_gives_its_context_no_weight() -> None:
    assert context_weight([], [0.5]) == 0.0


def test_the_further_a_question_is_from_its_contexts_the_more_it_needs_them() -> None:
    near, between, far = (context_weight([cosine], [0.5, 0.5]) for cosine in (ALONE, 0.8, LOST))
    assert (near, far) == (0.0, CONTEXT)
    assert near < between < far
    assert context_weight([0.1], [0.5, 0.5]) == CONTEXT


def test_a_context_that_comes_closer_to_the_book_counts_more() -> None:
    lower, same, higher = (context_weight([0.6], [0.5, best]) for best in (0.4, 0.5, 0.55))
    assert 0 < lower < same < higher


def test_a_context_that_leads_away_from_the_book_counts_nothing() -> None:
    assert context_weight([0.1], [0.7, 0.4]) == 0.0


def test_an_answer_that_is_in_the_book_word_for_word_counts_no_more_than_one_that_is_close() -> None:
    weights = [context_weight([0.5, 0.5], [0.5, 0.5, best]) for best in (0.6, 0.9)]
    assert weights == [pytest.approx(CONTEXT * (1 + MOST_LIFT) / 2)] * 2


@pytest.mark.parametrize(
    ("closeness", "lift", "weight"),
    [(0.9, 0.0, REWRITE), (0.6, 0.0, REWRITE / 2), (0.3, 0.5, 0.0), (0.9, -0.2, 0.0), (0.9, 0.9, REWRITE * MOST_LIFT)],
)
def test_a_rewrite_counts_as_far_as_it_means_what_is_asked_and_comes_closer_to_the_book(
    closeness: float, lift: float, weight: float
) -> None:
    assert rewrite_weight(closeness, lift) == pytest.approx(weight)
