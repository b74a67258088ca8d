"""`run.py` as a person or a script starts it: a process of its own, in an environment that holds nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
QUESTION = "How many teeth does a widget have?"


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """What was printed with --json."""
        return json.loads(self.out)


class CommandLine:
    """A folder to work in, with its home beside it: a copy of `book`, a home folder, where one is given."""

    def __init__(self, folder: Path, book: Path | None = None) -> None:
        self.folder = folder
        self.home = folder / "askbook-home"
        if book is not None:
            shutil.copytree(book, self.home)

    def __call__(self, *arguments: str, stdin: str | bytes = "", **environment: str) -> Done:
        clean = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, str(ROOT / "run.py"), *arguments],
            input=stdin if isinstance(stdin, bytes) else stdin.encode(),
            cwd=self.folder,
            env=clean | {"ASKBOOK_HOME": str(self.home)} | environment,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())
