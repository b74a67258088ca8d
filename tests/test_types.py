"""Types, in the repository and where the package is used: the first run of mypy reads the libraries for all of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from textwrap import indent

import pytest

from tests.manual import DOCS, examples
from tests.package import PROGRAM, ROOT, Package, Stranger, project


def test_mypy_finds_nothing_in_the_repository() -> None:
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def stranger(package: Package, tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    """A program that uses the package rightly, one that does not, and all examples of two pages of the manual."""
    made = project(package, tmp_path_factory.mktemp("typed"))
    (made.folder / "wrong.py").write_text(PROGRAM.replace("response.content", "response.text"))
    _write_lines(made.folder, examples(DOCS / "python.md"))
    for number, block in enumerate(examples(DOCS / "testing.md")):
        (made.folder / f"test_{number}.py").write_text(block)
    return made


def _write_lines(folder: Path, blocks: Iterable[str]) -> None:
    """Each example stands in a function that has what the page has introduced before: an agent and the settings."""
    head = ["from collections.abc import AsyncIterator", "from askbook import Agent, Settings, open_agent"]
    for number, code in enumerate(blocks):
        if "asyncio.run" in code:
            (folder / f"whole{number}.py").write_text(code)
        else:
            given = "" if "agent = " in code else "agent: Agent"
            head.append(f"async def example{number}({given}) -> None:\n{indent(code, '    ')}")
    assert len(head) > 8
    (folder / "lines.py").write_text("\n".join(head))


@pytest.fixture(scope="module")
def found(stranger: Stranger) -> list[str]:
    """What mypy finds, which reads what they all import once."""
    names = sorted(path.name for path in stranger.folder.glob("*.py") if path.name != "state.py")
    *found, total = stranger.mypy(*names).stdout.splitlines()
    assert total.endswith(f"(checked {len(names)} source files)"), (found, total)
    return found


def _of(found: list[str], *files: str) -> list[str]:
    return [line for line in found if line.startswith(files)]


def test_mypy_finds_the_types_of_the_package(found: list[str]) -> None:
    assert _of(found, "mine.py", "wrong.py") == [
        'wrong.py:11: error: "Response" has no attribute "text"  [attr-defined]'
    ]


def test_the_lines_of_the_manual_for_python_have_the_right_types(found: list[str], stranger: Stranger) -> None:
    assert list(stranger.folder.glob("whole*.py"))
    assert _of(found, "lines.py", "whole") == []


def test_the_tests_of_the_page_about_testing_have_the_right_types(found: list[str], stranger: Stranger) -> None:
    assert list(stranger.folder.glob("test_*.py"))
    assert _of(found, "test_") == []


def test_mypy_finds_nothing_else(found: list[str]) -> None:
    assert len(found) == 1
