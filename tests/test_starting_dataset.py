from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag.book import Chunk
from rag.evaluation.dataset import read_dataset
from rag.evaluation.starting_dataset import heading_words, misspelt, question_of, question_of_sentence, starting_dataset
from tests.command_line import CommandLine

TEXT = "The gearbox of the lathe has {n} speeds and a clutch that protects the motor. " * 3


def chunk(page: str, heading: str, n: int = 0, text: str = TEXT) -> Chunk:
    return Chunk(
        id=f"{page}-{n}", text=text.format(n=n), title=page.title(), heading=heading, breadcrumb=heading, url=page,
        anchor="", source="s", source_file_path=f"{page}.md", chunk_index=n, sha256="",
    )  # fmt: skip


BOOK = [
    chunk("lathe", "Mounting the chuck", 0),
    chunk("lathe", "Changing the gears", 1),
    chunk("lathe", "Overview", 2),
    chunk("mill", "How to align the spindle", 3, "A collet is a sleeve that holds the cutter in the spindle. " + TEXT),
    chunk("mill", "Same heading", 4),
    chunk("drill", "Same heading", 5),
]
OTHER = [chunk("router", "Configuring the OSPF protocol"), chunk("gears", "Changing the gears")]


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("1.2 Mounting the chuck", "What should I know about mounting the chuck?"),
        ("**Git** hooks {#hooks}", "What should I know about Git hooks?"),
        ("Redux Essentials", "What should I know about Redux Essentials?"),
        ("`add` a member", "How do I add a member?"),
    ],
)
def test_a_heading_becomes_a_question_without_its_numbering_and_markup(heading: str, question: str) -> None:
    assert question_of(heading_words(heading)) in (question, question.replace("Git", "git"))


@pytest.mark.parametrize("heading", ["Overview", "Next steps", "", "Chapter 3", "x" * 100, "日本", "\x1b[31m"])
def test_a_heading_that_could_stand_anywhere_makes_no_question(heading: str) -> None:
    assert heading_words(heading) == ""


@pytest.mark.parametrize("sentence", ["It has four teeth and a bracket of steel.", "A guide to gears.", "See [x](y)."])
def test_a_sentence_that_says_nothing_by_itself_makes_no_question(sentence: str) -> None:
    assert question_of_sentence(sentence) == ""


def test_a_word_too_short_to_be_recognised_is_not_misspelt() -> None:
    assert misspelt("How do I add it?") == ""


def test_every_kind_of_question_is_made_and_points_to_its_page() -> None:
    rows = starting_dataset(BOOK, OTHER, 20, ids=True)
    by_kind = {row["kind"]: row for row in rows}
    assert set(by_kind) == {"heading", "sentence", "followup", "misspelt", "unanswerable"}
    assert by_kind["followup"]["questions"][1] == "And what about changing the gears?"
    assert by_kind["followup"]["standalone"] == "What should I know about changing the gears?"
    assert by_kind["sentence"]["question"] == "What is a collet?"
    assert by_kind["sentence"]["relevant"] == ["mill-3"]
    assert by_kind["sentence"]["pages"] == r"^mill\.md$"


def test_a_question_of_another_book_is_unanswerable_only_if_this_book_lacks_its_words() -> None:
    rows = starting_dataset(BOOK, OTHER, 20, ids=False)
    asked = [row["question"] for row in rows if row["kind"] == "unanswerable"]
    assert asked == ["What should I know about configuring the OSPF protocol?"]


def test_a_heading_of_several_pages_is_not_asked_about() -> None:
    assert "Same heading" not in json.dumps(starting_dataset(BOOK, OTHER, 50, ids=False))


def test_the_order_of_the_passages_does_not_matter() -> None:
    assert starting_dataset(BOOK, OTHER, 5, ids=True) == starting_dataset(BOOK[::-1], OTHER[::-1], 5, ids=True)


def test_the_command_prints_a_dataset_that_eval_reads(run: CommandLine, tiny_source: Path) -> None:
    for book in ("book", str(tiny_source)):
        made = run("eval", "--make", "4", book)
        assert made.code == 0
        file = run.folder / "made.jsonl"
        file.write_text(made.out, encoding="utf-8")
        assert read_dataset(file).questions >= 1
    assert run("eval", "--make", "4", "book").out == run("eval", "--make", "4", "book").out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [(("--make", "0", "book"), "--make must be"), (("--make", "3", "nothing"), 'no book and no folder "nothing"')],
)
def test_wrong_usage_is_one_line_and_code_2(run: CommandLine, arguments: tuple[str, ...], problem: str) -> None:
    done = run("eval", *arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert problem in done.err
