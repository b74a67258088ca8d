"""The tables in `profile_rules.md` name files and tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
ROW: Final = re.compile(r"\| (?P<rule>[^|]+) \| `(?P<place>[^`]+)` \| `(?P<file>[^:`]+)::(?P<test>\w+)` \|")
RULES: Final = (ROOT / "tests" / "profile_rules.md").read_text(encoding="utf-8")
ROWS: Final = [match.groupdict() for match in ROW.finditer(RULES)]
TABLE_LINES: Final = [line for line in RULES.splitlines() if line.startswith("| ") and "::" in line]


def test_every_row_of_the_table_is_understood() -> None:
    assert len(ROWS) == len(TABLE_LINES) > 100


@cache
def functions(file: Path) -> set[str]:
    tree = ast.parse(file.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("row", ROWS, ids=[row["rule"][:50] for row in ROWS])
def test_a_rule_names_a_file_and_a_test_that_exist(row: dict[str, str]) -> None:
    assert (ROOT / row["place"]).is_file()
    assert row["test"] in functions(ROOT / "tests" / row["file"])


@pytest.mark.parametrize(
    "name",
    ["sources", "tokens_used", "tool_calls[].tool", "execute_retrieval_tool", "format_tool_response", "Message.name"],
)
def test_a_name_of_a_design_is_in_the_list_of_names(name: str) -> None:
    names = RULES.partition("## Field names")[2].partition("## Functions")[0]
    assert [line for line in names.splitlines() if f"`{name}`" in line.split(" | ")[0]]
