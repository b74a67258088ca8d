"""Markdown is cut into the pieces one would quote, and every piece stands in the text as it is."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from rag.quoting.page_units import ITEM_LIMIT, TABLE_LIMIT, units
from tests.growth import is_linear

BOOKS = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "books"


def texts(markdown: str) -> list[str]:
    return [unit.text for unit in units(markdown)]


def kinds(markdown: str) -> list[tuple[str, str]]:
    return [(unit.kind, unit.text) for unit in units(markdown)]


@pytest.mark.parametrize(
    ("paragraph", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("ROS 2.0 came after 1.0. It is new.", ["ROS 2.0 came after 1.0.", "It is new."]),
        (
            "Use sensors, e.g. LIDAR, or cameras, i.e. RGB. Then go.",
            ["Use sensors, e.g. LIDAR, or cameras, i.e. RGB.", "Then go."],
        ),
        ("See Fig. 2 and Dr. Smith vs. Mr. Jones. Done.", ["See Fig. 2 and Dr. Smith vs. Mr. Jones.", "Done."]),
        (
            "Brooks, R. A. wrote it. So did others et al. in 1991.",
            ["Brooks, R. A. wrote it.", "So did others et al. in 1991."],
        ),
        ("It has wheels, arms, etc. It moves.", ["It has wheels, arms, etc.", "It moves."]),
        ("Run `a. B` now. Then `colcon` builds.", ["Run `a. B` now.", "Then `colcon` builds."]),
        ("`colcon` is a tool. `catkin` was one.", ["`colcon` is a tool.", "`catkin` was one."]),
        ("Read https://h.example/a.b?c=d. Or not.", ["Read https://h.example/a.b?c=d.", "Or not."]),
        ("Edit setup.py and package.xml. Build.", ["Edit setup.py and package.xml.", "Build."]),
        ("He said “Stop.” Then he left.", ["He said “Stop.”", "Then he left."]),
        ("**1. Reliability** comes first. Then speed.", ["**1. Reliability** comes first.", "Then speed."]),
        ("**It works.** **It is fast.**", ["**It works.**", "**It is fast.**"]),
        ("Wait... what? Well… yes.", ["Wait... what?", "Well… yes."]),
        ("这是一句话。这是另一句！", ["这是一句话。", "这是另一句！"]),
        ("**Figure 9.4. A hive** of bees. It hums.", ["**Figure 9.4. A hive** of bees.", "It hums."]),
        ("Type ^C. Then wait.", ["Type ^C.", "Then wait."]),
        ("See Table 16.1. Then go on.", ["See Table 16.1.", "Then go on."]),
        (
            "It closed on Jan. 1, 2005. It reopened in Feb. Bees left.",
            ["It closed on Jan. 1, 2005.", "It reopened in Feb.", "Bees left."],
        ),
        ("They hum . . . So . . . the hive lives.", ["They hum . . . So . . . the hive lives."]),
        ("Open the hive.\\\nThen look.", ["Open the hive.", "Then look."]),
        ("An open `tick. Then more. End.", ["An open `tick.", "Then more.", "End."]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(paragraph: str, sentences: list[str]) -> None:
    assert texts(paragraph) == sentences


def test_a_wrapped_line_does_not_end_a_sentence() -> None:
    assert texts("A sentence over\ntwo lines. Another.") == ["A sentence over\ntwo lines.", "Another."]


def test_a_label_in_bold_begins_a_new_piece() -> None:
    assert texts("**Developer**: DeepMind\n**Year**: 2022") == ["**Developer**: DeepMind", "**Year**: 2022"]


def test_items_come_without_their_bullets_and_nested_ones_apart() -> None:
    found = units("- Legs: 6 DOF\n  - Hip: 3 DOF\n  - Knee\n* Arms\n1. First\n2) Second")
    assert [(u.kind, u.text, u.depth) for u in found] == [
        ("item", "Legs: 6 DOF", 0),
        ("item", "Hip: 3 DOF", 2),
        ("item", "Knee", 2),
        ("item", "Arms", 0),
        ("item", "First", 0),
        ("item", "Second", 0),
    ]
    assert len({u.block for u in found}) == 1


def test_an_item_of_several_sentences_is_one_unit_unless_it_is_long() -> None:
    assert kinds("- One. Two.") == [("item", "One. Two.")]
    long = "A long sentence of the list. " * (ITEM_LIMIT // 20)
    assert [kind for kind, _ in kinds(f"- {long}")][:3] == ["item", "sentence", "sentence"]


def test_an_items_wrapped_lines_belong_to_it() -> None:
    assert texts("- first line\n  second line\n- other") == ["first line\n  second line", "other"]


def test_a_line_that_ends_in_a_colon_leads_to_the_next_block() -> None:
    found = units("ROS2 is not a system. It provides:\n\n- topics\n- services")
    assert [(u.kind, u.block) for u in found] == [("sentence", 0), ("lead", 0), ("item", 1), ("item", 1)]
    assert units("**Key facts:**\n- a")[0].kind == "lead"


def test_a_fenced_block_is_one_unit_whatever_it_holds() -> None:
    code = "```python\n# not a heading. Not a sentence.\n\n- not an item\n| a | b |\n|---|---|\n```"
    assert kinds(f"Look:\n{code}\nAfter.") == [("lead", "Look:"), ("code", code), ("sentence", "After.")]


def test_a_fence_closes_only_on_one_as_long() -> None:
    code = "````md\n```\ninner\n```\n````"
    assert kinds(f"{code}\nAfter.") == [("code", code), ("sentence", "After.")]


def test_a_fence_that_never_closes_reaches_to_the_end() -> None:
    assert kinds("~~~\nx = 1\n\ny = 2") == [("code", "~~~\nx = 1\n\ny = 2")]


def test_code_inside_an_item_keeps_the_list_together() -> None:
    found = units("1. Run:\n   ```bash\n   make\n   ```\n2. Wait.")
    assert [u.kind for u in found] == ["item", "code", "item"]
    assert found[0].block == found[2].block


def test_a_small_table_is_one_unit() -> None:
    table = "| a | b |\n|---|:-:|\n| 1 | 2 |"
    assert kinds(f"Before:\n\n{table}\n\nAfter.") == [("lead", "Before:"), ("table", table), ("sentence", "After.")]


def test_a_long_table_is_its_head_and_its_rows() -> None:
    rows = [f"| row {i} | {'x' * 40} |" for i in range(TABLE_LIMIT // 40)]
    found = units("\n".join(["| a | b |", "|---|---|", *rows]))
    assert [(u.kind, u.text) for u in found] == [("table", "| a | b |\n|---|---|"), *(("row", row) for row in rows)]
    assert len({u.block for u in found}) == 1


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Old title\n~~~~~~~~~\n\nWords. More.", ["heading", "sentence", "sentence"]),
        ("Old title\n~~~~~~~~~~~\nWords.", ["heading", "sentence"]),
        ("A long line of words above\n~~~~\ncode\n~~~~", ["sentence", "code"]),
        ("Run:\n~~~~\ncode\n~~~~", ["lead", "code"]),
        ("~~~~\ncode\n~~~~", ["code"]),
    ],
)
def test_tildes_underline_a_title_as_long_as_they_are(text: str, kinds: list[str]) -> None:
    assert [unit.kind for unit in units(text)] == kinds


def test_headings_are_told_apart_from_sentences() -> None:
    found = units("## A title ##\n\nText.\n\nOld style\n=========\n\nMore.")
    assert [(u.kind, u.text) for u in found] == [
        ("heading", "A title"),
        ("sentence", "Text."),
        ("heading", "Old style"),
        ("sentence", "More."),
    ]


def test_a_quotation_loses_its_mark_at_the_start() -> None:
    assert texts("> Said once. Said twice.") == ["Said once.", "Said twice."]
    assert texts("> Said once.\n> Said twice, and\n> more.") == ["Said once.", "Said twice, and\n> more."]


def test_rules_tags_and_admonition_fences_are_not_quoted() -> None:
    assert texts(":::note\nText.\n:::\n\n---\n\n<Tabs>\n\n<!-- no -->\n\n> [!NOTE]\n> Said.") == ["Text.", "Said."]


@pytest.mark.parametrize("markdown", ["", " \n\n\t", "\n" * 5])
def test_nothing_gives_nothing(markdown: str) -> None:
    assert units(markdown) == []


def test_every_unit_of_real_books_stands_in_the_text_in_order() -> None:
    if not BOOKS.is_dir():
        pytest.skip("needs the folder shared/data beside the repository")
    pages = sorted(BOOKS.rglob("*.md"))
    assert pages
    for page in pages:
        text = page.read_text(encoding="utf-8")
        found = units(text)
        assert all(text[u.start : u.end] == u.text and u.text == u.text.strip() for u in found), page
        assert all(a.end <= b.start for a, b in pairwise(found)), page
        assert all(a.block <= b.block or a.kind == "item" or b.kind == "item" for a, b in pairwise(found)), page


HOSTILE = {
    "full stops": "." * 200_000,
    "short sentences": "a. B" * 50_000,
    "backticks": "` `` " * 40_000,
    "one run of backticks": "`" * 200_000,
    "runs of growing length": "".join("`" * (1 + i % 500) + "\n" for i in range(1_000)),
    "table heads": "|a|\n|-|\n" * 28_000,
    "white space": "a." + " " * 200_000,
    "brackets": "](" * 100_000,
    "closing brackets": ".)" * 100_000,
    "open labels": "**a" * 66_000,
    "tags": "<a " * 66_000,
    "quotation marks": ">" * 200_000,
    "list items": "- a\n" * 50_000,
    "fences": "```\n" * 50_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_text_and_not_with_its_square(name: str) -> None:
    assert is_linear(units, HOSTILE[name])
