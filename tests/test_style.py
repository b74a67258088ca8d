"""Style is a test too, as types are, so that the one test command is all that has to be run."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.rooms import ROOT, product_files

MOST_LINES = 40  # of a function, with its signature and its docstring


@pytest.mark.parametrize("command", ["ruff check .", "ruff format --check ."])
def test_the_checkers_find_nothing(command: str) -> None:
    name, *arguments = command.split()
    done = subprocess.run(
        [sys.executable, "-m", name, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_function_of_the_product_has_more_than_forty_lines() -> None:
    long = [
        f"{path}:{node.lineno} {node.name} has {(node.end_lineno or 0) - node.lineno + 1} lines"
        for path in product_files()
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (node.end_lineno or 0) - node.lineno >= MOST_LINES
    ]
    assert long == [], "cut each where one of its parts can have a name"
