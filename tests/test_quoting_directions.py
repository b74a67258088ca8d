"""An answer does to its subject what the question wants done: removing is not answered by adding."""

from __future__ import annotations

import pytest

from rag.quoting.english.directions import directions, leaves_out, wants_without
from tests.test_quoting import ask, section

ADD = "You can insert headers and footers on each page of the document, with a template for the headers and footers."
REMOVE = "The document may have headers and footers. Use the search panel to delete them from the text."
WITH = "To add a group of widgets to the install, name the group when you install the widgets."
WITHOUT = "The flag `--no-group` makes the tool install nothing of a group of widgets."


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How do I get rid of headers and footers on each page?", REMOVE),
        ("How do I insert headers and footers on each page?", ADD),
    ],
)
def test_the_opposite_direction_comes_later_or_not_at_all(question: str, wanted: str) -> None:
    found = ask(question, [section(1, ADD, "Pages > Templates"), section(2, REMOVE, "Pages > Search")])
    assert found.startswith(wanted[:40])


def test_what_is_to_be_left_out_is_answered_by_a_sentence_that_leaves_it_out() -> None:
    question = "How do I install the widgets without a group?"
    found = ask(question, [section(1, WITH, "Install > Groups"), section(2, WITHOUT, "Install > Flags")])
    assert found.startswith("The flag `--no-group`")


def test_not_to_show_is_to_hide() -> None:
    assert directions("Read it without showing the letters.") == directions("It hides the letters.")
    assert directions("Turn the cache off.") == directions("It disables the cache.")


@pytest.mark.parametrize("question", ["How do I turn it off?", "Can I list books that have no cover?", "Keep it out."])
def test_a_question_about_what_shall_not_be(question: str) -> None:
    assert wants_without(question)


@pytest.mark.parametrize("question", ["Why does it not work?", "How do I add a group?", "What is a node?"])
def test_other_questions(question: str) -> None:
    assert not wants_without(question)


def test_options_that_leave_something_out() -> None:
    assert leaves_out("Use `--no-cache`.")
    assert leaves_out("set `keep` to `false`")
    assert not leaves_out("There are notes on every page.")


def test_what_happens_by_itself_is_not_done_by_hand() -> None:
    passages = [
        section(1, "To start the pump by hand, run `pump start` in a terminal of the machine.", "Pump > Terminal"),
        section(2, "As a service, the pump is started automatically with the machine.", "Pump > Service"),
    ]
    answer = ask("How can I make the pump start by itself with the machine?", passages)
    assert answer.startswith("As a service, the pump is started automatically")
