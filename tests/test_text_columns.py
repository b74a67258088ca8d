"""Plain text in two columns is a list, and nothing else of it changes."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from rag.ingest.formats import text_columns
from rag.ingest.formats.text_columns import with_lists

OPTIONS = """\
names = (none | enemy)
        Which gears have names.
            none  - turns off all names.
            enemy - shows the names of gears
                    that are not ours.
        Ghosts have none.
"""


def test_entries_with_dashes_are_items_and_go_on_below_their_text() -> None:
    found = with_lists(OPTIONS)
    assert (
        "names.\n\n- **none**: turns off all names.\n- **enemy**: shows the names of gears that are not ours.\n\n"
        in found
    )
    assert found.startswith("names = (none | enemy)\n        Which gears have names.\n")
    assert found.endswith("\n\n        Ghosts have none.\n")


def test_three_entries_that_blanks_part_are_items() -> None:
    options = "  -h, --help  show help\n  -v          say more\n  --oil=<n>   oil the gear"
    assert with_lists(options) == "- **-h, --help**: show help\n- **-v**: say more\n- `--oil=<n>`: oil the gear"


@pytest.mark.parametrize(
    "text",
    [
        "A gear turns.  It has teeth.\nThe teeth are of iron.  They rust.\nOil it daily.  Then wait.",  # typed prose
        "packet:   push\npacket:   pull\npacket:   done",  # a log
        "$ gear show 1  # the first\n$ gear show 2  # the second\n$ gear show 3  # the third",
        "name   kind   size\ngear   iron   12\nwheel  wood   40",  # more columns than two
        "```\nnone  - no names\nenemy - names\n```",
        "- none  - no names\n- enemy - names",  # a list already
        "one - two",
        "",
    ],
)
def test_everything_else_stays_as_it_is(text: str) -> None:
    assert with_lists(text) == text


def test_the_lines_of_a_long_log_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Mock(wraps=text_columns._entry)
    monkeypatch.setattr(text_columns, "_entry", reader)
    log = "packet:   push\npacket:   pull\n" * 500
    assert with_lists(log) == log
    assert reader.call_count == 1000
