"""Workers that are forked after the collection run every test once, and report what happened in each."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.package import ROOT

CONFTEST = """
import pytest


@pytest.fixture(scope="session", autouse=True)
def session(tmp_path_factory):
    yield tmp_path_factory.mktemp("of")
    with open({log!r}, "a") as file:
        file.write("down ")
"""
FILE = """
import os

import pytest


@pytest.mark.parametrize("number", range(5))
def test_passes(number, tmp_path):
    assert not list(tmp_path.iterdir())


def test_fails(capfd):
    print("written before")
    assert 1 + 1 == 3


@pytest.mark.skip(reason="not now")
def test_skipped():
    pass
"""


def run(folder: Path, *options: str, more: str = "") -> tuple[subprocess.CompletedProcess[str], Counter[str]]:
    """Two workers on four files, of which the last has `more`; with the outcomes that are reported."""
    (folder / "conftest.py").write_text(CONFTEST.format(log=str(folder / "log")))
    for number in range(4):
        (folder / f"test_{number}.py").write_text(FILE + (more if number == 3 else ""))
    plain = ["-q", "-c", "/dev/null", "--rootdir", ".", "-p", "no:cacheprovider", "-p", "tests.workers"]
    command = [sys.executable, "-m", "pytest", *plain, "--workers", "2", "--junitxml", "report.xml", *options, "."]
    environment = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    cases = ElementTree.parse(folder / "report.xml").getroot().iter("testcase")
    return done, Counter((*(child.tag for child in case), "passed")[0] for case in cases)


def test_every_test_is_run_once_and_reported(tmp_path: Path) -> None:
    done, outcomes = run(tmp_path)
    assert outcomes == {"passed": 20, "failure": 4, "skipped": 4}
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "4 failed, 20 passed, 4 skipped" in done.stdout
    assert "assert (1 + 1) == 3" in done.stdout
    assert done.stdout.count("written before") == 8  # in the source and as captured, for each failure
    assert done.stderr == ""
    assert (tmp_path / "log").read_text() == "down down "


def test_after_the_first_failure_no_worker_begins_another_file(tmp_path: Path) -> None:
    done, outcomes = run(tmp_path, "-x")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert 1 <= outcomes["failure"] <= 2
    assert "stopping after" in done.stdout
    assert (tmp_path / "log").read_text() == "down down "


def test_a_worker_that_dies_fails_its_test_and_the_rest_counts_as_not_run(tmp_path: Path) -> None:
    more = "\n\ndef test_dies():\n    os._exit(7)\n\n\ndef test_after():\n    pass"
    done, _ = run(tmp_path, more=more)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "ended with code 7 in test_3.py::test_dies" in done.stdout
    assert "2 tests have not been run" in done.stdout
