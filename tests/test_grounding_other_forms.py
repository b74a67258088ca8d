"""A claim in another form than the passage: what follows from it, and what only looks like it."""

from __future__ import annotations

import pytest

from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.evidence.analyzed_text import read
from rag.evidence.doubts import Comparison
from rag.evidence.word_contexts import Sources
from rag.evidence.words import tokens
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


ITEM = """\
- Jobs are not run: The worker runs in UTC by default.
- Jobs run twice (or more): With several workers, only one worker should queue jobs. All other workers should be started
  with the flag. Without this, each worker will queue the same jobs.
"""
HEAT = "Heat the oven for at least 45 minutes. In 5 to 10 days it is dry, so keep it from rain outside."


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("All other workers should be started with the flag.", ITEM),
        ("Without this, each worker will queue the same jobs.", ITEM),
        ("Heat the oven for no less than 45 minutes.", HEAT),
        ("It is dry within 5 to 10 days.", HEAT),
        (
            "Molecules below roughly 5,000 daltons pass.",
            "Molecules below about 5,000 daltons pass. The wall is smooth.",
        ),
        ("Cut the branches back by one third.", "Cut the branches back by a third, just above a bud."),
        ("The pump moves 3 Na⁺ ions out.", "The pump moves three sodium ions out of the cell."),
        ("Discard the starter.", "If it is pink, throw the starter away."),
        ("Jupiter weighs 318 Earth masses.", "Jupiter has 318 times the mass of the planet Earth; it weighs most."),
        (
            "| Read Committed | Data of committed rows |",
            "In Read Committed a statement sees data of committed rows. Data stays in the table.",
        ),
    ],
)
def test_equal_words_are_not_doubted(sentence: str, text: str) -> None:
    assert check(sentence, [text]).reasons == ()


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("All other workers should be started.", ITEM),  # the sentence goes on
        ("Heat the oven for no more than 45 minutes.", HEAT),
        ("A third party pays the tax.", "The buyer pays a third of the tax."),
    ],
)
def test_other_words_are_doubted(sentence: str, text: str) -> None:
    assert not check(sentence, [text]).supported


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Python 3.1 is required.", "Python 3.10 is required."),
        ("Python 3.10 is required.", "Python 3.1 is required."),
        ("It came with version 1.20.", "It came with version 1.2."),
    ],
)
def test_versions_are_compared_as_written(said: str, text: str) -> None:
    assert check(said, [text]).standing == "contradicted"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Python 3.10 is required.", "It requires Python 3.9 or 3.10."),
        ("A ticket costs 1.5 euros.", "A ticket costs 1.50 euros."),
    ],
)
def test_other_numbers_are_compared_by_their_values(said: str, text: str) -> None:
    assert not any("is not in the passages" in reason for reason in check(said, [text]).reasons)


@pytest.mark.parametrize(
    ("said", "text", "supported"),
    [
        (
            "White flour absorbs more water than wholemeal.",
            "Wholemeal flour absorbs more water than white flour.",
            False,
        ),
        (
            "Wholemeal absorbs more water than white flour.",
            "Wholemeal flour absorbs more water than white flour.",
            True,
        ),
        ("Start the pump before you open the tap.", "Open the tap before you start the pump.", False),
        ("After you open the tap, start the pump.", "Start the pump after you open the tap.", True),
        ("After you start the pump, open the tap.", "Start the pump after you open the tap.", False),
        ("The leaves fall because the days get short.", "Because the days get short, the leaves fall.", True),
        ("The days get short because the leaves fall.", "Because the days get short, the leaves fall.", False),
    ],
)
def test_the_two_sides_of_a_comparison_cannot_be_exchanged(said: str, text: str, *, supported: bool) -> None:
    assert check(said, [text]).supported is supported


def test_the_capital_of_a_cell_makes_no_name() -> None:
    assert [token.first for token in tokens("| Level | Data committed") if token.content] == [True, True, False]


def test_roughly_is_not_the_opposite_of_smoothly() -> None:
    sources = Sources(["A smooth membrane lets molecules below about 5,000 daltons pass through its pores freely."], "")
    said = "It lets molecules of roughly 5,000 daltons pass through freely."
    assert list(Comparison(read(said).whole, sources).doubts()) == []


def test_the_numbers_of_a_supposition_are_marked_and_not_removed() -> None:
    text = "The elasticity of demand for petrol is -0.3, so demand reacts little to an increase in price."
    said = "With an elasticity of -0.3, a price increase of 10% would reduce the demand by about 3%."
    assert check(said, [text]).standing == "unconfirmed"


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
