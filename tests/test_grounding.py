"""The support check by itself: plain strings in, a verdict out."""

from __future__ import annotations

from rag.grounding import check

PASSAGE = (
    "Aviation photography\n"
    "In ground-static photography, photos of 3 stationary aircraft are taken by photographers on the ground. "
    "The studio has 5 km of wires. It was not built by Henry."
)


def test_a_sentence_of_the_passage_is_supported_and_its_place_is_given() -> None:
    verdict = check("The studio has 5 km of wires.", [PASSAGE])
    assert verdict.supported
    assert verdict.reasons == ()
    assert verdict.passage == 0
    assert PASSAGE[verdict.start : verdict.end] == "The studio has 5 km of wires."


def test_a_number_may_be_written_in_words_and_a_unit_in_full() -> None:
    assert check("The studio has five kilometres of wires [1].", [PASSAGE]).supported


def test_a_number_that_no_passage_states_is_not_supported() -> None:
    assert check("The studio has 6 km of wires.", [PASSAGE]).kinds == ("number",)


def test_another_unit_is_not_supported() -> None:
    assert check("The studio has 5 miles of wires.", [PASSAGE]).kinds == ("unit",)


def test_without_passages_nothing_is_supported() -> None:
    assert "distant" in check("The studio has wires.", []).kinds
