from __future__ import annotations

import pytest

from rag.conversation import Exchange
from rag.retrieval.followup import leans, queries

TALK = [Exchange("How do I install ROS 2 on Ubuntu?", "Use the Debian packages [1].")]


@pytest.mark.parametrize(
    "question",
    [
        "How do I install it?",
        "and on Windows?",
        "Tell me more",
        "Why?",
        "What about Windows?",
        "Is there another way to do this on a robot?",
        "What are their main advantages for humanoid robots?",
        "But does Gazebo simulate cameras with noise?",
    ],
)
def test_a_question_that_points_back_continues_or_says_little_leans_on_its_context(question: str) -> None:
    assert leans(question)


@pytest.mark.parametrize(
    "question",
    [
        "How do I install ROS 2 on Ubuntu?",
        "Which sensors does a humanoid robot need for walking?",
        "What is the difference between ownership and borrowing in Rust?",
        "",
        "?!",
    ],
)
def test_a_question_with_a_subject_of_its_own_stands_alone(question: str) -> None:
    assert not leans(question)


def test_a_first_question_is_searched_as_it_is() -> None:
    assert queries("Why?", []) == ["Why?"]


def test_a_follow_up_is_searched_raw_and_in_its_context() -> None:
    assert queries("and on Windows?", TALK) == [
        "and on Windows?",
        "How do I install ROS 2 on Ubuntu? and on Windows?",
    ]


def test_a_question_that_stands_alone_is_not_mixed_with_the_one_before() -> None:
    question = "Which sensors does a humanoid robot need?"
    assert queries(question, TALK) == [question]


def test_follow_ups_in_a_row_reach_back_to_the_question_that_names_the_subject() -> None:
    talk = [
        Exchange("What is a quaternion in robotics software?", "A rotation [1]."),
        *TALK,
        Exchange("Tell me more", "There is more."),
        Exchange("and on Windows?", "Use the binaries [2]."),
    ]
    assert queries("Why?", talk)[1] == "How do I install ROS 2 on Ubuntu? and on Windows? Why?"


def test_where_no_question_names_a_subject_the_first_one_is_the_context() -> None:
    talk = [Exchange("ROS 2?", "Yes."), Exchange("And Gazebo?", "Yes.")]
    assert queries("Why?", talk)[1] == "ROS 2? And Gazebo? Why?"
