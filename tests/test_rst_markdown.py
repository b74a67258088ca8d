"""Pages of reStructuredText as Markdown: terms with long descriptions are sections."""

from __future__ import annotations

import re
from pathlib import Path

from tests.books_on_disk import pages

SETTINGS = """
Settings
========

All of them.

Gears
-----

These are the settings.

``teeth``

  How many teeth a gear has.

  *Default*: 12

.. warning:: More teeth turn slowly.

``oil``

  What the gear runs in.

  *Default*: none

Example
-------

Words.
"""
LONG = """
T
=

One
  A first gear.

  It turns.

Two
  A second gear.

  It turns too.

{}
"""


def text_of(source: str, folder: Path) -> str:
    """The Markdown of a page without the anchors of its headings."""
    return re.sub(r" \{#[\w-]*\}", "", pages(folder, {"a.rst": source})["a.rst"].text)


def test_code_above_a_block_that_is_set_in_is_the_title_of_a_section(tmp_path: Path) -> None:
    written = text_of(SETTINGS, tmp_path)
    assert (
        "## Gears\n\nThese are the settings.\n\n### `teeth`\n\nHow many teeth a gear has.\n\n*Default*: 12" in written
    )
    assert "Warning:\n\nMore teeth turn slowly.\n\n### `oil`" in written
    assert "*Default*: none\n\n## Example" in written


def test_terms_with_several_blocks_are_sections_if_nothing_follows_them(tmp_path: Path) -> None:
    assert "## One\n\nA first gear.\n\nIt turns.\n\n## Two" in text_of(LONG.format(""), tmp_path)
    assert "- **One**: A first gear." in text_of(LONG.format("More words."), tmp_path)


def test_short_lines_above_blocks_that_are_set_in_are_terms(tmp_path: Path) -> None:
    three = "T\n=\n\nturn <n>\n\n  Turn a gear.\n\nstop\n\n  Stop it.\n\noil\n\n  Oil it.\n\nEnd.\n"
    assert "- **turn <n>**: Turn a gear.\n- **stop**: Stop it.\n- **oil**: Oil it.\n\nEnd." in text_of(three, tmp_path)
    assert "Bees say\n\n> We fly." in text_of("T\n=\n\nBees say\n\n  We fly.\n\nEnd.\n", tmp_path)


def test_terms_with_a_sentence_each_are_a_list(tmp_path: Path) -> None:
    assert "- **One**: A gear.\n- **Two**: A shaft." in text_of("T\n=\n\nOne\n  A gear.\nTwo\n  A shaft.\n", tmp_path)


def test_a_table_that_is_set_in_is_no_quotation(tmp_path: Path) -> None:
    table = "T\n=\n\nThey are:\n\n  == ======\n  a  b\n  == ======\n  1  A gear.\n  == ======\n\n  In short.\n"
    assert "They are:\n\n| a | b |\n| --- | --- |\n| 1 | A gear. |\n\nIn short." in text_of(table, tmp_path)
    assert "They say:\n\n> We turn." in text_of("T\n=\n\nThey say:\n\n  We turn.\n", tmp_path)


def test_a_setting_says_its_type_and_its_default(tmp_path: Path) -> None:
    setting = (
        "T\n=\n\n.. confval:: teeth\n   :type: int\n   :default: ``12`` (a dozen)\n   :no-index:\n\n   How many.\n"
    )
    assert "`teeth`\n\nType: int; Default: `12` (a dozen)\n\nHow many." in text_of(setting, tmp_path)


def test_a_term_that_is_bold_is_bold_once(tmp_path: Path) -> None:
    assert "- **basic**: A gear." in text_of("T\n=\n\n**basic**\n  A gear.\n", tmp_path)
