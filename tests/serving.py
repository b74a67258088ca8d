"""`run.py serve` as a process of its own, for tests that need a real server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fork_server import Forked, fork_server
from tests.homes import copied
from tests.rooms import ROOT

START_SECONDS = 120  # of a busy machine


@dataclass(frozen=True)
class Served:
    """A running server: its address, its process, and the file that its standard error goes to."""

    address: str
    process: Forked | subprocess.Popen[bytes]
    log: Path


@contextmanager
def served(
    home: Path, variables: Mapping[str, str] | None = None, *options: str, python: bool = False
) -> Iterator[Served]:
    """A server on this home folder, which it writes to. It is stopped as an operator would stop it.

    With `python` its process starts Python; otherwise it is forked.
    """
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "ASKBOOK_HOME": str(home), **(variables or {})}
    command = ["serve", "--port", "0", *options]
    log = home / f"serve-{time.monotonic_ns()}.log"
    with log.open("wb") as errors:
        made: Forked | subprocess.Popen[bytes]
        if python:
            whole = [sys.executable, str(ROOT / "run.py"), *command]
            made = subprocess.Popen(whole, env=environment, stderr=errors, cwd=home)
        else:
            made = fork_server().start(*command, env=environment, stdin=0, stdout=1, stderr=errors.fileno(), cwd=home)
        with made as process:
            try:
                yield Served(_address(process, log), process, log)
            finally:
                process.send_signal(signal.SIGTERM)
                code, said = process.wait(60), log.read_text(encoding="utf-8")
            assert code in (0, -signal.SIGTERM, -signal.SIGKILL)
            assert "Traceback" not in said


@contextmanager
def serving(home: Path, variables: Mapping[str, str] | None = None, *, python: bool = False) -> Iterator[str]:
    """The address of a server on a copy of the home folder."""
    with served(copied(home, home.parent / f"{home.name}-served"), variables, python=python) as server:
        yield server.address


def _address(process: Forked | subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text(encoding="utf-8")):
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"the server did not start: {log.read_text(encoding='utf-8')}")
