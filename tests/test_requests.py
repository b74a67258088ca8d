"""The shape of a question says what kind of answer it wants."""

from __future__ import annotations

import pytest

from rag.quoting.english.speech_acts import shape


@pytest.mark.parametrize(
    "question", ["What is a node?", "What are topics?", "define ROS", "QoS reliability", "What does colcon do?"]
)
def test_definitions(question: str) -> None:
    assert shape(question).definition


@pytest.mark.parametrize(
    "question", ["What is the difference between a node and a topic?", "How do I build?", "What is the default depth?"]
)
def test_no_definitions(question: str) -> None:
    assert not shape(question).definition


@pytest.mark.parametrize("question", ["ROS1 vs ROS2", "How does A differ from B?", "Compare Gazebo and Isaac Sim"])
def test_comparisons(question: str) -> None:
    assert shape(question).comparison


@pytest.mark.parametrize(
    "question",
    [
        "How do I install it?",
        "How to build a package",
        "How can I list nodes?",
        "A node is stuck. What do I type?",
        "Which flag do I set to stop it?",
        "I'd like a node to restart by itself.",
        "Install ROS on Windows",
        "find broken links in my package",
        "list the nodes that run",
    ],
)
def test_steps(question: str) -> None:
    assert shape(question).steps


@pytest.mark.parametrize(
    "question",
    [
        "Why does ROS not install my package?",
        "How do launch files work?",
        "Can I install two versions?",
        "error: could not find the package when I run ros install --system",
        "list comprehension syntax",
        "set theory",
    ],
)
def test_no_steps(question: str) -> None:
    assert not shape(question).steps


def test_a_question_that_does_not_say_that_it_asks_is_bare() -> None:
    bare = ["trash folder", "find broken links in my package"]
    asked = [
        "How do I start a node",
        "the trash folder?",
        "I want a node to restart",
        "fatal error: no such file or folder",
    ]
    assert [shape(question).bare for question in [*bare, *asked]] == [True] * 2 + [False] * 4


def test_what_stands_in_place_of_something_is_no_comparison_in_a_question_how() -> None:
    assert not shape("How do I send XML instead of JSON, or both?").comparison
    assert shape("Should I send XML or JSON?").comparison


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How many joints has it?", "number"),
        ("What is the weight of Atlas?", "number"),
        ("Who founded Open Robotics?", "name"),
        ("When was SLAM introduced?", "year"),
        ("In which year was it built?", "year"),
        ("When should I use a service?", ""),
        ("When is it better to wait?", ""),
        ("What is a node?", ""),
    ],
)
def test_what_must_stand_in_the_answer(question: str, wanted: str) -> None:
    assert shape(question).wanted == wanted
