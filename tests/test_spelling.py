"""A misspelt word is searched as the book spells it, in addition to what was typed."""

from __future__ import annotations

import pytest

from rag.text.spelling import nearest, respelt, vocabulary
from tests.fakes import passage
from tests.machine import ANSWER, Machine

WORDS = vocabulary(["Install a specific Python version with Immer, and update the dependencies."])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("how to instal a speciffic pyton version", "how to install a specific python version"),
        ("use imer to updte it", "use immer to update it"),
        ("How do I install Python?", ""),
        ("the vuex plugin", ""),
        ("What does UV_INDX do?", ""),
        ("3.12.1", ""),
    ],
)
def test_only_words_that_nobody_knows_are_respelt(typed: str, meant: str) -> None:
    assert respelt(typed, WORDS) == meant


def test_a_word_that_the_vocabulary_has_in_another_form_is_left_alone() -> None:
    assert nearest("cat", {"car"}) == ""
    assert nearest("python", {"python", "pythons"}) == ""
    assert nearest("konfigurieren", {"konfiguriert"}) == "konfiguriert"


async def test_the_corrected_question_is_one_more_query() -> None:
    machine = Machine(ANSWER, ANSWER, passages=[passage(1, "Install the widget with its installer.")])
    await machine.ask("How do I instal the widget?")
    assert [question for question, *_ in machine.searcher.asked] == ["How do I instal the widget?"] * 2
    assert machine.searcher.rewrites == ["", "How do I install the widget?"]
    await machine.ask("How do I install the widget?")
    assert machine.searcher.rewrites[2:] == [""]
