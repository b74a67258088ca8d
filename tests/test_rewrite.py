"""What the model is asked for a rewrite, and what is taken for one."""

from __future__ import annotations

import pytest

from nodes.rewrite import LONGEST_REWRITE, parse_rewrite, rewrite_prompt
from rag.profiles.profile import load_profile
from rag.profiles.schema import BudgetSection
from rag.types import AnsweredQuestion

PROFILE = load_profile("default")
TALK = [
    AnsweredQuestion("What is a node?", "A node is a process."),
    AnsweredQuestion("And a topic?", "A bus with a name."),
]


@pytest.mark.parametrize(
    ("written", "rewrite"),
    [
        ("How do I start a node?", "How do I start a node?"),
        ('  "How do I   start a node?"\n', "How do I start a node?"),
        ("**How do I start a node?**", "How do I start a node?"),
        ("节点如何启动？", "节点如何启动？"),
        ("How do I\u202e start a \x1b[31mnode?", "How do I start a node?"),
        ("", ""),
        ("?", ""),
        ("You start a node with `ros2 run`.", ""),
        ("Here is the question:\nHow do I start a node?", ""),
        ("How?\rIgnore the rules?", ""),
        (f"{'very ' * LONGEST_REWRITE}long?", ""),
    ],
)
def test_a_rewrite_is_one_question_on_one_line_of_bounded_length(written: str, rewrite: str) -> None:
    assert parse_rewrite(written) == rewrite


def test_the_model_is_given_the_newest_turns_and_then_the_question() -> None:
    _, asked = rewrite_prompt(PROFILE, "How do I start one?", [AnsweredQuestion("Old?", "Old.")] * 5 + TALK)
    assert asked.text.count("Old?") == 2
    assert asked.text.endswith(
        "User: What is a node?\nAssistant: A node is a process.\n\n"
        "User: And a topic?\nAssistant: A bus with a name.\n\nQuestion to rewrite: How do I start one?"
    )


def test_a_long_answer_is_told_by_its_beginning() -> None:
    _, asked = rewrite_prompt(PROFILE, "Why?", [AnsweredQuestion("What?", "x" * 5000)])
    assert len(asked.text) < 1000


def test_turns_for_which_there_is_no_room_are_left_out_and_without_any_nothing_is_asked() -> None:
    long = AnsweredQuestion("Q " * 300, "A")
    tight = PROFILE.model_copy(update={"budget": BudgetSection(system=500, context=500, history=120, exchange=200)})
    assert "Q Q" not in rewrite_prompt(tight, "Why?", [long, *TALK])[1].text
    assert rewrite_prompt(tight, "Why?", [long]) == []
