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

from tests.homes import copied
from tests.rooms import ROOT

START_SECONDS = 120  # of a busy machine


@dataclass(frozen=True)
class Served:
    """A running server: its address, its process, and the file that its standard error goes to."""

    address: str
    process: subprocess.Popen[bytes]
    log: Path


@contextmanager
def served(home: Path, variables: Mapping[str, str] | None = None) -> Iterator[Served]:
    """A server on this home folder, which it writes to. It is stopped as an operator would stop it."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "ASKBOOK_HOME": str(home), **(variables or {})}
    command = [sys.executable, str(ROOT / "run.py"), "serve", "--port", "0"]
    log = home / f"serve-{time.monotonic_ns()}.log"
    with log.open("wb") as errors, subprocess.Popen(command, env=environment, stderr=errors, cwd=home) as process:
        try:
            yield Served(_address(process, log), process, log)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            code, said = process.wait(60), log.read_text(encoding="utf-8")
        assert code in (0, -signal.SIGTERM, -signal.SIGKILL)
        assert "Traceback" not in said


@contextmanager
def serving(home: Path, variables: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a server on a copy of the home folder."""
    with served(copied(home, home.parent / f"{home.name}-served"), variables) as server:
        yield server.address


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text(encoding="utf-8")):
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"the server did not start: {log.read_text(encoding='utf-8')}")
