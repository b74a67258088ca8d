from __future__ import annotations

import pytest

from rag.conversation import Exchange
from rag.retrieval.followup import MOST_LIFT, MOST_NEED, REWRITE, SHARE, context_weight, contexts, need, rewrite_weight

TALK = [
    Exchange("How do I install ROS 2?", "Use the Debian packages."),
    Exchange("Which ones?", "Install ros-humble-desktop."),
]


def test_a_first_question_has_no_context() -> None:
    assert contexts("Why?", []) == []


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
        ([Exchange("Why?", "")], 0),
        ([Exchange("Why?", "Because.")], 1),
        ([Exchange("Echo", "Echo")], 1),
    ],
)
def test_what_would_say_nothing_new_is_no_context(talk: list[Exchange], count: int) -> None:
    assert len(contexts("Why?", talk)) == count


def test_the_fewer_words_of_its_own_a_question_has_the_more_it_needs() -> None:
    asked = ["Why?", "And the predators?", "Which animals eat guinea pigs in South America?"]
    assert [need(question) for question in asked] == [MOST_NEED, MOST_NEED, pytest.approx(0.5)]
    assert need("?!") == MOST_NEED


def test_a_question_alone_gives_its_context_no_weight() -> None:
    assert context_weight("Why?", [0.5]) == 0.0


def test_a_context_that_comes_closer_to_the_book_counts_more() -> None:
    question = "Which three animals hunt them?"
    lower, same, higher = (context_weight(question, [0.5, best]) for best in (0.4, 0.5, 0.6))
    assert 0 < lower < same < higher
    assert same == pytest.approx(SHARE * need(question))


def test_after_a_change_of_subject_the_context_counts_nothing() -> None:
    assert context_weight("What is domain randomization?", [0.7, 0.4, 0.4]) == 0.0


def test_the_weight_of_a_context_has_a_limit() -> None:
    most = pytest.approx(MOST_LIFT * SHARE * MOST_NEED)
    assert context_weight("Why?", [0.1, 0.9]) == context_weight("Why?", [0.0, 1.0]) == most


@pytest.mark.parametrize(
    ("closeness", "lift", "weight"),
    [(0.9, 0.0, REWRITE), (0.6, 0.0, REWRITE / 2), (0.3, 0.5, 0.0), (0.9, -0.2, 0.0), (0.9, 0.9, REWRITE * MOST_LIFT)],
)
def test_a_rewrite_counts_as_far_as_it_means_what_is_asked_and_comes_closer_to_the_book(
    closeness: float, lift: float, weight: float
) -> None:
    assert rewrite_weight(closeness, lift) == pytest.approx(weight)
