"""Style is a test too, as types are, so that the one test command is all that has to be run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.rooms import ROOT


@pytest.mark.parametrize("command", ["ruff check .", "ruff format --check ."])
def test_the_checkers_find_nothing(command: str) -> None:
    name, *arguments = command.split()
    done = subprocess.run(
        [sys.executable, "-m", name, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
