"""Words with shuffled letters or without spaces are told from words that the passage does not have."""

from __future__ import annotations

import pytest

from rag.quoting.vocabulary import is_garbled

TEXT = "mobile robots use wheels on flat floors, measured in metres. ein roboter hat räder und einen motor."


@pytest.mark.parametrize(
    "sentence",
    ["Mobile stobor use wheels on flat floors.", "Mobile robots use elsewh.", "Mobilerobotsusewheelsonflatfloors."],
)
def test_shuffled_and_run_together_words_are_garbled(sentence: str) -> None:
    assert is_garbled(sentence, TEXT)


@pytest.mark.parametrize(
    "sentence",
    [
        "Mobile robots use wheels on flat floors.",
        "Mobile machines roll on Mecanum wheels.",  # a word that the text does not have
        "They go ten meters.",  # the letters of "metres", and an English word
        "Der Robotermotor ist neu.",  # a compound of two
        "",
    ],
)
def test_other_words_are_not(sentence: str) -> None:
    assert not is_garbled(sentence, TEXT)
