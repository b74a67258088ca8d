"""Citations as models write them: by number, by chapter, page, file and title, and by link."""

from __future__ import annotations

import pytest

from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.types import CitationStyle, Passage
from tests.fakes import passage

REFUSAL = "I do not know."
SAID = "Before installing, get Python"
BOOK = [
    passage(
        1,
        f"{SAID}. The part has four teeth.",
        title="Chapter 2: Installation",
        heading="Prerequisites",
        breadcrumb="Chapter 2: Installation > Prerequisites",
        url="https://b.example/install",
        link="https://b.example/install#prerequisites",
        source_file_path="handbook.pdf",
        page_number=2,
    ),
    passage(
        2,
        "Start the robot. An interval such as [0, 1] and lemons[0] stand in a book.",
        title="Part II: Running",
        heading="",
        breadcrumb="Part II: Running",
    ),
]


def written(text: str, *, step: int = 7, book: list[Passage] = BOOK, style: CitationStyle = "numbered") -> AnswerWriter:
    writer = AnswerWriter(book, AnswerOptions(REFUSAL, style, footer="none"))
    pieces = [piece for at in range(0, len(text), step) for piece in writer.feed(text[at : at + step])]
    pieces += writer.close()
    assert "".join(pieces) == writer.shown.content
    return writer


@pytest.mark.parametrize(
    "form",
    [
        "[1]", "[1][1]", "[1, 1]", "【1】", r"\[1\]", "[^1]", "[Source 1]", "(source 1)", "【1†source】", "[1](https://b.example)",
        "(Chapter 2)", "[Chapter 2]", "(see Chapter 2)", "(Ch. 2, page 2)", "(handbook.pdf, page 2)", "(p. 2)",
        "(from Chapter 2: Installation)", "(from Chapter 2: Installation, Prerequisites)", "(Installation)",
        "[Chapter 2: Installation](https://b.example/install)", "[Source: Chapter 2: Installation](https://b.example/install)",
        "[Chapter 2: Installation - Prerequisites](https://b.example/install#prerequisites)", "[Source: Installation]",
        "(see the Installation chapter)", "<sup>1</sup>",
    ],
)  # fmt: skip
@pytest.mark.parametrize("step", [1, 500])
def test_every_natural_form_becomes_a_citation_of_its_passage(form: str, step: int) -> None:
    writer = written(f"{SAID} {form}.", step=step)
    assert (writer.shown.plain, writer.grounding.unknown_markers) == (f"{SAID} [1].", 0)
    assert [one.page_number for one in writer.shown.citations] == [2]


@pytest.mark.parametrize(
    "form", ["[7]", "(Chapter 9)", "(see page 77)", "(from Welding)", "[Source: Welding](https://x.example)"]
)
def test_a_citation_that_names_no_passage_is_removed_with_its_sentence(form: str) -> None:
    writer = written(f"{SAID} [1]. The part has four teeth {form}.")
    assert writer.shown.plain == f"{SAID} [1]."
    assert writer.grounding.unknown_markers == 1
    assert writer.grounding.checked[1].reasons == ["citation: it names no passage of this turn"]


@pytest.mark.parametrize("text", ["An interval such as [0, 1] stands in a book [2].", "It is lemons[0] of a book [2]."])
def test_brackets_of_the_book_are_no_citations(text: str) -> None:
    writer = written(text)
    assert writer.shown.plain.startswith(text.replace("[2].", "[1]."))
    assert writer.grounding.unknown_markers == 0


def test_a_link_in_the_words_of_a_sentence_keeps_its_words_and_cites_at_the_end() -> None:
    text = f"{SAID}, as [Installation](https://b.example/install) says."
    assert written(text).shown.plain.startswith(f"{SAID}, as Installation says [1].")


def test_a_page_of_several_passages_is_cited_by_those_that_support_the_sentence() -> None:
    book = [passage(n, text, title="Setup", url="s.md", link=f"s.md#{n}") for n, text in
            enumerate(["Open the wizard on Windows.", "Type the command on Ubuntu."], 1)]  # fmt: skip
    writer = written("Type the command (Setup).", book=book)
    assert [one.url for one in writer.shown.citations] == ["s.md#2"]


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        ("chapter", "(from Chapter 2: Installation, Prerequisites)"),
        ("source", "[Source: Chapter 2: Installation](https://b.example/install#prerequisites)"),
        ("title", "[Chapter 2: Installation - Prerequisites](https://b.example/install#prerequisites)"),
        ("numbered", "[1]"),
    ],
)
def test_a_citation_has_the_style_of_the_profile(style: CitationStyle, shown: str) -> None:
    writer = written(f"{SAID} [1].", style=style)
    assert writer.shown.content == f"{SAID} {shown}."
    assert writer.shown.plain == f"{SAID} [1]."


def test_numbers_are_given_in_the_order_of_appearance() -> None:
    writer = written(f"Start the robot [2]. {SAID} [1].")
    assert writer.shown.plain == f"Start the robot [1]. {SAID} [2]."
    assert [(one.marker, one.title) for one in writer.shown.citations] == [(1, "Part II: Running"), (2, BOOK[0].title)]


def test_a_train_of_markers_shows_three_and_keeps_the_rest_in_the_citations() -> None:
    book = [passage(n, f"{SAID}. Page {n}.") for n in range(1, 7)]
    writer = written(f"{SAID} [1][4][5][6][2].", book=book)
    assert writer.shown.plain.count("[") == 3
    assert [one.marker for one in writer.shown.citations] == [1, 2, 3, 4, 5]


def test_a_number_that_stands_in_another_passage_is_cited_there() -> None:
    book = [passage(1, "A node is a process."), passage(2, "The long arm of the robot weighs 89 kg in all.")]
    writer = written("The long arm of the robot weighs 89 kg [1].", book=book)
    assert [one.title for one in writer.shown.citations] == ["Page 2"]
    assert writer.grounding.repaired == 1
