"""Types, in the repository and where the package is used: the first run of mypy reads the libraries for all of them."""

from __future__ import annotations

import subprocess
import sys
from textwrap import indent

import pytest

from tests.manual import DOCS, examples
from tests.package import PROGRAM, ROOT, Package, Stranger, project


def test_mypy_finds_nothing_in_the_repository() -> None:
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def stranger(package: Package, tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    return project(package, tmp_path_factory.mktemp("typed"))


def test_mypy_finds_the_types_of_the_package(stranger: Stranger) -> None:
    (stranger.folder / "wrong.py").write_text(PROGRAM.replace("response.content", "response.text"))
    done = stranger.mypy("mine.py", "wrong.py")
    assert done.stdout.splitlines() == [
        'wrong.py:11: error: "Response" has no attribute "text"  [attr-defined]',
        "Found 1 error in 1 file (checked 2 source files)",
    ]


def test_the_lines_of_the_manual_for_python_have_the_right_types(stranger: Stranger) -> None:
    """Each example stands in a function that has what the page has introduced before: an agent and the settings."""
    head = ["from collections.abc import AsyncIterator", "from askbook import Agent, Settings, open_agent"]
    names = []
    for number, code in enumerate(examples(DOCS / "python.md")):
        if "asyncio.run" in code:
            (stranger.folder / f"whole{number}.py").write_text(code)
            names.append(f"whole{number}.py")
        else:
            given = "" if "agent = " in code else "agent: Agent"
            head.append(f"async def example{number}({given}) -> None:\n{indent(code, '    ')}")
    (stranger.folder / "lines.py").write_text("\n".join(head))
    done = stranger.mypy("lines.py", *names)
    assert done.stdout.startswith("Success"), done.stdout
    assert len(head) > 8


def test_the_tests_of_the_page_about_testing_have_the_right_types(stranger: Stranger) -> None:
    names = []
    for number, block in enumerate(examples(DOCS / "testing.md")):
        names.append(f"test_{number}.py")
        (stranger.folder / names[-1]).write_text(block)
    done = stranger.mypy(*names)
    assert done.stdout.startswith("Success"), done.stdout
