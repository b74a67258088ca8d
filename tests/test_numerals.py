"""Words that are a unit after a number and something else elsewhere: "1 second" and "the second step"."""

from __future__ import annotations

import pytest

from rag.evidence.verdict import check


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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("150 minutes", "2 hours 30 minutes"),
        ("1.5 hours", "1 hour and 30 minutes"),
        ("1 h 30 min", "90 minutes"),
        ("1 m 83 cm", "1.83 m"),
        ("3 kg 500 g", "3.5 kg"),
        ("5 ft 11", "5 feet 11 inches"),
        ("18 months", "a year and a half"),
        ("14 days", "a fortnight"),
        ("15 minutes", "a quarter of an hour"),
    ],
)
def test_an_amount_in_several_parts_or_words_is_the_same_amount(one: str, other: str) -> None:
    for said, passage in ((one, other), (other, one)):
        assert check(f"The robot needs {said} for the way.", [f"For the way, the robot needs {passage}."]).supported
    assert not check(
        f"The robot needs {one} for the way.", ["For the way, the robot needs 4 days, 7 kg or 9 m."]
    ).supported


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5%", "one twentieth"),
        ("12.5%", "one eighth"),
        ("1%", "a hundredth"),
        ("40%", "four in ten"),
        ("80%", "8 in 10"),
        ("150%", "one and a half times"),
    ],
)
def test_a_share_in_words_is_a_percentage(one: str, other: str) -> None:
    for said, passage in ((one, other), (other, one)):
        assert check(f"The fee was {said} of the rent.", [f"The fee was {passage} of the rent."]).supported
    assert not check("The fee was 20% of the rent.", [f"The fee was {other} of the rent."]).supported


FLOUR = "Mix 300 g of rye flour with 400 g of wheat flour and wait for two months."


@pytest.mark.parametrize(
    ("sentence", "standing"),
    [
        ("Mix 700 g of flour in total.", "unconfirmed"),
        ("Mix roughly 350 g of rye flour.", "unconfirmed"),
        ("Mix 700 g of flour.", "contradicted"),
        ("Mix 12 litres of flour in total.", "contradicted"),
        ("Wait for 3 months.", "contradicted"),
        ("Wait for three months.", "contradicted"),
        ("Wait for three weeks.", "contradicted"),
        ("Mix the flour in three bowls.", "unconfirmed"),
    ],
)
def test_a_computed_number_and_a_count_of_nothing_there_are_doubted_only(sentence: str, standing: str) -> None:
    assert check(sentence, [FLOUR]).standing == standing


def test_number_words_of_what_the_passages_count_come_from_nowhere() -> None:
    passage = "A team has nine players. The hostel has five rooms."
    assert check("A team has eleven players.", [passage]).standing == "contradicted"
    assert check("A team has five players.", [passage]).standing == "unconfirmed"
    assert check("A team has two sides and nine players.", [passage]).standing == "unconfirmed"
    beside = ["A football team has eleven players."]
    assert check("A team has eleven players.", [passage], beside=beside).standing == "unconfirmed"


@pytest.mark.parametrize("said", ["It is free until 1 pm", "Open at 7 am"])
def test_a_time_of_day_may_end_a_text(said: str) -> None:
    assert check(said, ["It is free on Sundays."]).standing == "contradicted"
