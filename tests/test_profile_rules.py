"""The manual's table of the profiles' rules names files and tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
ROW: Final = re.compile(r"\| (?P<rule>[^|]+) \| `(?P<place>[^`]+)` \| `(?P<file>[^:`]+)::(?P<test>\w+)` \|")
ROWS: Final = [match.groupdict() for match in ROW.finditer((ROOT / "docs" / "profile-rules.md").read_text())]
TABLE_LINES: Final = [
    line
    for line in (ROOT / "docs" / "profile-rules.md").read_text().splitlines()
    if line.startswith("| ") and "::" in line
]


def test_every_row_of_the_table_is_understood() -> None:
    assert len(ROWS) == len(TABLE_LINES) > 100


@pytest.mark.parametrize("row", ROWS, ids=[row["rule"][:50] for row in ROWS])
def test_a_rule_names_a_file_and_a_test_that_exist(row: dict[str, str]) -> None:
    assert (ROOT / row["place"]).is_file()
    tree = ast.parse((ROOT / "tests" / row["file"]).read_text())
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert row["test"] in names
