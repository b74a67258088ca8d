"""A number in brackets that is the book's own stays in an answer, and is not taken for a citation."""

from __future__ import annotations

import pytest

from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.grounding import prove
from rag.quoting.answerer import QuotingAnswerer
from tests.fakes import passage


def quoted(question: str, *texts: str) -> AnswerWriter:
    """What a reader sees of the answer without a model."""
    passages = [passage(number, text) for number, text in enumerate(texts, 1)]
    writer = AnswerWriter(passages, AnswerOptions("No.", footer="none", question=question))
    for piece in QuotingAnswerer().quote(question, passages):
        writer.feed(piece)
    writer.close()
    return writer


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the interval of the grape scale?", "The interval of the grape scale is [0, 1] and it is closed."),
        ("How tall do orange trees grow?", "Orange trees grow 6 metres tall [12]."),
        ("How long do orange trees live?", "Orange trees live for fifty years [1]."),
        ("What is the first lemon?", "The first lemon is lemons[0] in the list."),
        ("Which cell of the matrix is the last?", "The last cell of the matrix is matrix[2][3] here."),
        ("Which item is the lemon?", "The item [2] of the list is the lemon."),
        ("Which digits match?", "The class [0-9] matches all the digits."),
        ("What is the matrix?", "The matrix is [[1, 2], [3, 4]] in this chapter."),
    ],
)
def test_a_quotation_keeps_the_brackets_of_the_book(question: str, text: str) -> None:
    writer = quoted(question, text, "Pears are green.", "Plums are blue.")
    assert writer.shown.plain == writer.shown.content == f"{text} [1]"
    assert writer.notices == []


def test_the_rows_of_a_quoted_table_keep_their_brackets() -> None:
    rows = "| Lemon | Place |\n|---|---|\n| yellow lemon | lemons[0] |\n| green lemon | [1] |\n| blue lemon | [2] |"
    writer = quoted("Which lemons are there?", f"There are these lemons:\n\n{rows}\n", "Pears are green.")
    assert f"{rows}\n\nSource: [1]" in writer.shown.plain


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("The score was [10].", "The score was [10] [1]."),
        ("The score was [10] [1].", "The score was [10] [1]."),
        ("The class [0-9] is for digits [1].", "The class [0-9] is for digits [1]."),
        ("Take lemons[0] for the first [1].", "Take lemons[0] for the first [1]."),
        ("The cell is matrix[1][2] [1].", "The cell is matrix[1][2] [1]."),
        ("Trees live for fifty years [1].", "Trees live for fifty years [1]."),  # cites, whatever the book's [1] means
        ("Trees need a lot of water [2].", "Trees need a lot of water [2] [1]."),  # the book's own reference
        ("The scale is closed [2].", "The scale is closed [2]."),
        ("The scale is closed [7].", ""),  # neither a passage nor the book's
    ],
)
def test_a_model_s_bracket_is_the_book_s_if_the_same_words_stand_around_it(answer: str, shown: str) -> None:
    book = (
        "The score was [10]. The class [0-9] is for digits. For the first take lemons[0] from it. "
        "The cell is matrix[1][2]. Trees live for fifty years [1]. Trees need a lot of water [2]."
    )
    proof = prove(answer, [book, "The scale is closed."])
    assert proof.text == shown if shown else not proof.answered


def test_an_invented_bracket_is_no_part_of_the_book() -> None:
    proof = prove("The scale [7] is closed [1].", ["The scale is closed. The score was [7]."])
    assert proof.text == "The scale is closed [1]."
    assert proof.notices == ("1 citation was taken out: it names no passage of this turn.",)
