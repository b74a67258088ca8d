"""`run.py serve` as a process of its own, for tests that need a real server."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.rooms import ROOT


@contextmanager
def serving(home: Path, variables: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a server on a copy of the home folder. It is stopped as an operator would stop it."""
    copy = home.parent / f"{home.name}-served"
    shutil.copytree(home, copy, dirs_exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "ASKBOOK_HOME": str(copy), **(variables or {})}
    command = [sys.executable, str(ROOT / "run.py"), "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, cwd=copy) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found, line
        try:
            yield found[0]
        finally:
            process.send_signal(signal.SIGTERM)
            code, rest = process.wait(60), process.stderr.read()
        assert code in (0, -signal.SIGTERM)
        assert "Traceback" not in rest
