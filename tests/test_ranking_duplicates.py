from __future__ import annotations

import pytest

from rag.search.ranking import Fingerprint

TEXT = (
    "A launch file starts several nodes at once, sets their parameters, and connects their topics, so that a whole"
    " robot comes up with one command. Install it with apt on Ubuntu 22.04."
)


@pytest.mark.parametrize(
    "other",
    [
        TEXT,
        TEXT.replace(", and", " and"),
        TEXT.upper().lower(),
        f"  **{TEXT}**\n",
        TEXT.replace("A launch file", "The launch file"),
    ],
)
def test_marks_case_and_a_word_make_no_other_text(other: str) -> None:
    assert Fingerprint(TEXT).same(Fingerprint(other))


@pytest.mark.parametrize(
    "other",
    [
        TEXT.replace("22.04", "24.04"),
        TEXT.replace("Ubuntu", "RHEL"),
        TEXT + " Without it every node is started by hand, in a terminal of its own, which nobody likes to do twice.",
        "Something else.",
        "",
    ],
)
def test_another_number_name_or_sentence_makes_another_text(other: str) -> None:
    assert not Fingerprint(TEXT).same(Fingerprint(other))


@pytest.mark.parametrize(("one", "other", "same"), [("Yes.", "yes", True), ("Yes.", "No.", False), ("", "", True)])
def test_texts_shorter_than_a_run_of_words_are_compared_too(one: str, other: str, same: bool) -> None:
    assert Fingerprint(one).same(Fingerprint(other)) is same
