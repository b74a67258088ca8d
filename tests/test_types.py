"""Types, in the repository and where the package is used.

What pyrefly finds in the code and mypy does not is in `data/pyrefly-baseline.json`, which `pyrefly check
--update-baseline` writes: keywords unpacked from a dictionary, and types of libraries that it reads more narrowly.
"""

from __future__ import annotations

import subprocess
import sys
from textwrap import indent

import pytest

from tests.manual import DOCS, examples
from tests.package import PROGRAM, PYREFLY, ROOT, Package, Stranger, project


def test_pyrefly_finds_nothing_new_in_the_repository() -> None:
    command = [PYREFLY, "check", "--python-interpreter-path", sys.executable, "--output-format", "min-text"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def stranger(package: Package, tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    return project(package, tmp_path_factory.mktemp("typed"))


def test_pyrefly_finds_the_types_of_the_package(stranger: Stranger) -> None:
    (stranger.folder / "wrong.py").write_text(PROGRAM.replace("response.content", "response.text"))
    done = stranger.types("mine.py", "wrong.py")
    assert done.stdout.splitlines() == [
        "ERROR wrong.py:11:29-42: Object of class `Response` has no attribute `text` [missing-attribute]"
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
    done = stranger.types("lines.py", *names)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    assert len(head) > 8


def test_the_tests_of_the_page_about_testing_have_the_right_types(stranger: Stranger) -> None:
    names = []
    for number, block in enumerate(examples(DOCS / "testing.md")):
        names.append(f"test_{number}.py")
        (stranger.folder / names[-1]).write_text(block)
    done = stranger.types(*names)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
