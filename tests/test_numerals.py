"""Words that are a unit after a number and something else elsewhere: "1 second" and "the second step"."""

from __future__ import annotations

import pytest

from rag.grounding import check


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("It takes 1 second.", "It takes 1 minute."),
        ("The delay is 0.5 second.", "The delay is 0.5 minute."),
        ("A 10-second timer starts.", "A 10-minute timer starts."),
        ("It lasts 1 quarter.", "It lasts 1 year."),
    ],
)
def test_another_unit_is_noticed_in_the_singular(claim: str, passage: str) -> None:
    assert [reason.split(":")[0] for reason in check(claim, [passage]).reasons] == ["unit"]


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("It takes 5 seconds.", "It takes 5 second."),
        ("A 10 second timer starts.", "A 10-second timer starts."),
        ("The second step takes 3 hours.", "The second step takes 3 hours."),
        ("One quarter of the robots failed.", "A quarter of the robots failed."),
    ],
)
def test_the_same_unit_and_the_ordinal_are_accepted(claim: str, passage: str) -> None:
    assert check(claim, [passage]).supported
