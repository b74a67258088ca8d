"""A program on a terminal: a pseudo-terminal that types, and a screen that shows what a person would see."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pyte

from tests.fork_server import fork_server

ROOT = Path(__file__).parent.parent
PROMPT: Final = "› "
_PATIENCE: Final = 120.0  # seconds that a step may take on a busy machine
_QUIET: Final = 0.06  # seconds without output after which a screen is complete
_DIM: Final = b"\x1b[2m"
_REPORT: Final = b"\x1b[6n"  # the program asks where the cursor is
CTRL_C, CTRL_D, CTRL_R, CTRL_J, TAB, UP, ESCAPE = "\x03", "\x04", "\x12", "\n", "\t", "\x1b[A", "\x1b"


class Terminal:
    """A process of `run.py` on a terminal of `width` columns, or a line of the shell that uses `run.py`.

    With `stdin` or `stdout`, a file descriptor, that stream leads there instead, as in a pipe of the shell. The process
    works in the folder of its home. Use it as a context manager: it ends the process.
    """

    def __init__(
        self,
        *arguments: str,
        home: Path,
        width: int = 80,
        height: int = 40,
        shell: str = "",
        stdin: int | None = None,
        stdout: int | None = None,
        **environment: str,
    ) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "SSL_CERT_FILE") if name in os.environ}
        usual = {"HOME": str(home.parent), "ASKBOOK_HOME": home.name, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        usual |= {"ASKBOOK_JUDGE": "none", "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(home.parent / "data")}
        self.screen = pyte.HistoryScreen(width, height, history=5000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self._text: str | None = None  # of the screen as it is, if it was read
        self.dim_as_colour = False  # pyte does not know what is dim
        self.raw = b""  # everything that was written
        self._terminal, theirs = os.openpty()
        termios.tcsetwinsize(theirs, (height, width))
        self._process = fork_server().start(
            *arguments,
            shell=shell.replace("run.py", f"{sys.executable} {ROOT / 'run.py'}"),
            env=kept | usual | environment,
            cwd=home.parent,
            stdin=theirs if stdin is None else stdin,
            stdout=theirs if stdout is None else stdout,
            stderr=theirs,
            terminal=True,
        )
        os.close(theirs)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        os.close(self._terminal)
        self._process.wait()

    # --- what is shown ----------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The screen with the lines above it that have scrolled out, without empty lines at the end."""
        if self._text is None:
            above = ["".join(line[x].data for x in range(self.screen.columns)) for line in self.screen.history.top]
            self._text = "\n".join(line.rstrip() for line in [*above, *self.screen.display]).rstrip()
        return self._text

    @property
    def cursor_hidden(self) -> bool:
        return bool(self.screen.cursor.hidden)

    def read(self, seconds: float = 0.02) -> bool:
        """Take in what the program writes within `seconds`. False when there was nothing."""
        if not select.select([self._terminal], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._terminal, 65536)
        except OSError:  # the program has ended
            return False
        self.raw += data
        self._text = None
        self._stream.feed(data.replace(_DIM, b"\x1b[90m") if self.dim_as_colour else data)
        if _REPORT in data:  # prompt_toolkit waits for the answer of the terminal
            self.type(f"\x1b[{self.screen.cursor.y + 1};{self.screen.cursor.x + 1}R")
        return True

    def until(self, shown: str | Callable[[str], object]) -> str:
        """Read until the text is on the screen, however broken, or the condition on it holds; returns the screen."""
        holds = shown if callable(shown) else lambda text: flat(shown) in flat(text)
        end = time.monotonic() + _PATIENCE
        while not holds(self.text):
            assert time.monotonic() < end, f"not shown: {shown!r}\n{self.text}"
            if not self.read() and self._process.poll() is not None and not self.read():
                assert holds(self.text), f"ended without {shown!r}\n{self.text}"
        return self.text

    def settled(self) -> str:
        """Read until nothing new is written; returns the screen."""
        while self.read(_QUIET):
            pass
        return self.text

    def prompt(self) -> str:
        """Read until the chat waits for input after the last line that was typed; returns the screen."""
        self.until(lambda text: _waits(text))
        self.settled()
        return self.until(lambda text: _waits(text))

    # --- what is typed ----------------------------------------------------------------------------------------------

    def type(self, keys: str) -> None:
        left = keys.encode()
        while left:
            left = left[os.write(self._terminal, left) :]

    def enter(self, line: str) -> str:
        """Type a line at the prompt, press Enter and wait for the next prompt; returns what appeared since."""
        before = self.prompt().count("\n")
        self.type(line)
        if line:
            self.settled()
        self.type("\r")
        self.until(lambda text: text.count("\n") > before)
        return "\n".join(self.prompt().split("\n")[before + 1 :])

    def terminate(self) -> None:
        """End the program with SIGTERM, as a closing session does."""
        self._process.send_signal(signal.SIGTERM)

    def resize(self, width: int, height: int = 40) -> None:
        termios.tcsetwinsize(self._terminal, (height, width))
        self.screen.resize(height, width)
        self._text = None

    def end(self) -> int:
        """Wait for the program to end; its exit code, or 128 and the number of the signal that ended it."""
        end = time.monotonic() + _PATIENCE
        while (code := self._process.poll()) is None:
            assert time.monotonic() < end, self.text
            self.read()
        while self.read():
            pass
        return code if code >= 0 else 128 - code


def flat(text: str) -> str:
    """The text on one line, wherever a screen broke it."""
    return " ".join(text.split())


def _waits(text: str) -> bool:
    """Whether the last line is an empty prompt, with or without the hint in it."""
    last = text.rstrip().rpartition("\n")[2]
    return last.strip() == PROMPT.strip() or re.fullmatch(f"{PROMPT}Alt-Enter.*", last) is not None


def words_broken(screens: Sequence[str], words: Sequence[str]) -> list[str]:
    """The words of which a screen shows a piece at the end of a line and the rest on the next."""
    pieces = [(word, f"{word[:cut]}\n{word[cut:]}") for word in words for cut in range(3, len(word) - 2)]
    return [word for word, broken in pieces if any(broken in screen for screen in screens)]
