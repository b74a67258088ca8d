"""`run.py` as a person or a script starts it, in an environment that holds nothing.

A call runs it in the process of the tests, which costs no start. `process` is for what only a process shows, and
`python` for what only the start of Python shows.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from run import main
from tests.fork_server import Forked, fork_server
from tests.homes import copied

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
        assert self.out, f"nothing was printed; exit code {self.code}: {self.err}"
        return json.loads(self.out)


class CommandLine:
    """A folder to work in, with its home beside it: a copy of `book`, a home folder, where one is given."""

    def __init__(self, folder: Path, book: Path | None = None) -> None:
        self.folder = folder
        self.home = folder / "askbook-home"
        if book is not None:
            copied(book, self.home)

    def __call__(self, *arguments: str, stdin: str | bytes = "", **environment: str) -> Done:
        """The command in this process. Not inside a running event loop: a command starts its own."""
        return self.call(main, arguments, stdin, **environment)

    def call(
        self,
        program: Callable[[Sequence[str]], int],
        arguments: Sequence[str],
        stdin: str | bytes = "",
        **environment: str,
    ) -> Done:
        """A program's `main` in this process, with the folder, the environment and the streams of a process."""
        with _place(self.folder, self._environment(environment)), _streams(_bytes(stdin)) as (out, err):
            try:
                code = program(arguments)
            except SystemExit as leaving:  # argparse leaves so, for --help and for wrong usage
                code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
            sys.stdout.flush()
            return Done(code, out.getvalue().decode(), err.getvalue().decode())

    def process(self, *arguments: str, stdin: str | bytes = "", **environment: str) -> Done:
        """The same in a process of its own, without the time that importing takes."""
        with self.fork(*arguments, **environment) as forked:
            return _done(forked, stdin)

    def python(self, *arguments: str, stdin: str | bytes = "", script: str = "run.py", **environment: str) -> Done:
        """The same in a process that starts Python."""
        with self.start(*arguments, script=script, **environment) as started:
            return _done(started, stdin)

    def start(self, *arguments: str, script: str = "run.py", **environment: str) -> subprocess.Popen[bytes]:
        """The process of `python` as it runs, each of its streams a pipe."""
        return subprocess.Popen(
            [sys.executable, str(ROOT / script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=self._environment(environment),
        )

    def fork(self, *arguments: str, **environment: str) -> Forked:
        """The process of `process` as it runs, each of its streams a pipe."""
        return fork_server().start(*arguments, cwd=self.folder, env=self._environment(environment))

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "SSL_CERT_FILE") if name in os.environ}
        # Scripts of endpoints hold the answers only, so no judge is asked unless a test wants one.
        usual = {"HOME": str(self.folder), "ASKBOOK_HOME": str(self.home), "ASKBOOK_JUDGE": "none"}
        return kept | usual | more


def _done(process: Forked | subprocess.Popen[bytes], stdin: str | bytes) -> Done:
    out, err = process.communicate(_bytes(stdin), timeout=120)
    return Done(process.wait(), out.decode(), err.decode())


def _bytes(stdin: str | bytes) -> bytes:
    return stdin if isinstance(stdin, bytes) else stdin.encode()


@contextmanager
def _place(folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """The working folder and the whole environment, until the block ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in [*os.environ]:
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        yield


@contextmanager
def _streams(stdin: bytes) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """The standard streams as pipes are: bytes below, UTF-8 text above, and no terminal. Yields what is written."""
    out, err = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        patch.setattr(sys, "stdout", io.TextIOWrapper(out, "utf-8"))
        patch.setattr(sys, "stderr", io.TextIOWrapper(err, "utf-8", "backslashreplace", write_through=True))
        yield out, err
