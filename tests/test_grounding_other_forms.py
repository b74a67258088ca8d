"""A claim in another form than the passage: what follows from it, and what only looks like it."""

from __future__ import annotations

import pytest

from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.grounding import check, prove
from rag.types import REFUSAL
from tests.fakes import passage

LIGAMENT = "The anterior cruciate ligament is injured far more often than the posterior one."
TABLE = "On a 6 the richest player pays 3 coins to the bank. Each player has boats."


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("In 1618 a Bohemian revolt against Ferdinand II began.", "In 1618 a revolt of Bohemia began, Ferdinand II."),
        ("The Icelandic, Peruvian and Kenyan teams came.", "Iceland, Peru and Kenya sent teams."),
        ("Fight a small fire with a CO₂ extinguisher.", "Fight a small fire with a carbon dioxide extinguisher."),
        (f"{LIGAMENT[:-1]} (PCL).", LIGAMENT),
        ("`host::module` contacts a daemon on port 873.", "A double colon (`::`) contacts a daemon on port 873."),
    ],
)
def test_what_follows_from_the_passages_is_marked_and_not_removed(sentence: str, text: str) -> None:
    assert check(sentence, [text]).standing == "unconfirmed"


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("The Kenyan teams came.", "Iceland and Peru sent teams."),
        ("The company paid wages in 2019-24.", "The company paid wages in 2019 and 2020."),
        ("The filter is changed once a month.", "The filter is changed once a year."),
        ("Take the pill twice a week.", "Take the pill twice a day."),
        ("His eight wives lived in London.", "Henry VIII ruled England. His wives lived in London."),
    ],
)
def test_what_does_not_follow_is_contradicted(sentence: str, text: str) -> None:
    assert check(sentence, [text]).standing == "contradicted"


@pytest.mark.parametrize("years", ["1697–98", "1697-98", "1697—98"])
def test_a_short_second_year_is_read_with_the_century_of_the_first(years: str) -> None:
    assert check(f"He travelled west in {years}.", ["He travelled west in 1697 and 1698."]).supported


@pytest.mark.parametrize("chapter", ["Chapter 5", "chapter five", "Chapter V"])
def test_a_roman_numeral_is_the_number_of_the_same_name(chapter: str) -> None:
    text = "Frogs: Chapter V explains how frogs sleep."
    assert not any("five" in why or "5" in why for why in check(f"How frogs sleep is in {chapter}.", [text]).reasons)


@pytest.mark.parametrize(
    ("sentence", "text", "kind"),
    [
        ("On a 6 the richest player pays 3 boats to the bank.", TABLE, "unit"),
        ("Each player has 12 merchants and 3 boats.", "Each player has 12 boats and 3 merchants.", "unit"),
        ("All users may delete pages.", "Only admins may delete pages. Users may read pages.", "comparison"),
        ("Send exactly three files.", "Send up to three files.", "number"),
        ("Send at least three files.", "Send up to three files.", "number"),
        ("Play goes counter-clockwise around it.", "Play goes clockwise around it.", "comparison"),
    ],
)
def test_another_noun_scope_bound_or_direction_is_marked(sentence: str, text: str, kind: str) -> None:
    verdict = check(sentence, [text])
    assert (verdict.standing, kind in verdict.kinds) == ("unconfirmed", True)


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("On a 6 the richest player pays 3 coins to the bank.", TABLE),
        ("Send at most three files.", "Send up to three files."),
        ("Play goes anti-clockwise around the table.", "Play goes anticlockwise around the table."),
    ],
)
def test_the_same_noun_bound_or_direction_is_supported(sentence: str, text: str) -> None:
    assert check(sentence, [text]).supported


def test_only_the_passages_that_a_claim_needs_are_cited() -> None:
    texts = [
        "Ships sail north.",
        "Play one lantern card on a harbour in which you have at least one boat.",
        "The library is old.",
        "Each card in hand at the end: minus 1 point.",
    ]
    proof = prove("What counts against you:\n\n- 1 lantern card in hand = −1 point", texts)
    assert proof.sentences[1].passages == (2, 4)


@pytest.mark.parametrize("lead", ["Here is a short timeline:", "According to Chapter 6, the timeline is as follows:"])
def test_a_general_lead_is_no_claim(lead: str) -> None:
    text = "In 1618 the war began. In 1648 the war ended."
    proof = prove(
        f"{lead}\n\n- In 1618 the war began [1].\n- In 1648 the war ended [1].", [text], known=["Chapter 6: War"]
    )
    assert (proof.sentences[0].standing, "[?]" in proof.text) == ("frame", False)


@pytest.mark.parametrize("reply", ["Partly.", "Usually not.", "Not exactly.", "It depends."])
def test_a_short_reply_is_shown_beside_an_answer_and_not_alone(reply: str) -> None:
    assert prove(f"{reply} Cats sleep by day [1].", ["Cats sleep by day."]).text == f"{reply} Cats sleep by day [1]."
    assert not prove(reply, ["Cats sleep by day."]).answered


def test_a_lead_that_is_not_shown_counts_as_removed_only() -> None:
    writer = AnswerWriter([passage(1, "Cats sleep by day.")], AnswerOptions(REFUSAL, footer="none"))
    writer.feed("Cats by day sleep deeply, softly and quietly [1]:\n")
    writer.close()
    counts = writer.grounding
    assert (counts.sentences, counts.unconfirmed, counts.removed) == (1, 0, 1)
