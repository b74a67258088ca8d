"""Markdown as units: sentences, rows, code and headings with their places in the source."""

from __future__ import annotations

import pytest

from rag.answer.units import units
from rag.text.sentences import sentence_spans


def kinds(text: str) -> list[tuple[str, str]]:
    return [(unit.kind, text[unit.start : unit.end]) for unit in units(text)]


def test_paragraphs_items_rows_code_and_headings_are_units() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    text = "\n\n".join(["# Title", "One. Two.", "To do:", "- A\n  - B", "```sh\nls -l\n```", table, "> Said. So."])
    assert kinds(text) == [
        ("heading", "Title"),
        ("sentence", "One."),
        ("sentence", "Two."),
        ("lead", "To do:"),
        ("sentence", "A"),
        ("sentence", "B"),
        ("code", "```sh\nls -l\n```"),
        ("head", "| a | b |\n|---|---|"),
        ("row", "| 1 | 2 |"),
        ("sentence", "Said."),
        ("sentence", "So."),
    ]


@pytest.mark.parametrize("text", ["A claim\n---\nmore", "    indented text", "[1]: It runs.", "<div>It runs.</div>"])
def test_text_that_markdown_would_hide_or_restyle_is_a_sentence(text: str) -> None:
    assert {kind for kind, _ in kinds(text)} <= {"sentence", "rule"}
    assert "".join(said for _, said in kinds(text)).replace("-", "") in text.replace("\n", "").replace("-", "").strip()


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It runs. It stops.", ["It runs.", "It stops."]),
        ("It runs. [1] It stops. [2]", ["It runs. [1]", "It stops. [2]"]),
        ("[1] It runs. [2] It stops.", ["[1] It runs.", "[2] It stops."]),
        ("It runs. (see Chapter 2) It stops.", ["It runs. (see Chapter 2)", "It stops."]),
        ("Use e.g. Fig. 3 of v1.2. Then stop.", ["Use e.g. Fig. 3 of v1.2.", "Then stop."]),
        ("Set `a. B`. Then **go. Now** on.", ["Set `a. B`.", "Then **go. Now** on."]),
        ("It is so (from What is ROS? A guide). Yes.", ["It is so (from What is ROS? A guide).", "Yes."]),
        ("**Updating.** Run it again.", ["**Updating.** Run it again."]),
        ("安装它。然后运行。", ["安装它。", "然后运行。"]),
        ("at evil。com today", ["at evil。com today"]),
    ],
)
def test_a_sentence_ends_where_a_reader_sees_its_end(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


def test_lists_that_nest_too_deep_for_the_parser_lose_no_text() -> None:
    text = "- " * 5000 + "A widget has teeth."
    assert kinds(text)[-1][1].endswith("A widget has teeth.")


def test_a_text_that_begins_inside_a_paragraph_begins_no_list() -> None:
    found = units("1. The rest\n- an item", inside=True)
    assert [unit.level for unit in found] == [0, 0, 1]
