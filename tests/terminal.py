"""A program on a terminal: a pseudo-terminal that types, and a screen that shows what a person would see."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pexpect
import pyte

ROOT = Path(__file__).parent.parent
PROMPT: Final = "› "
_PATIENCE: Final = 40.0  # seconds that a step may take on a busy machine
_QUIET: Final = 0.06  # seconds without output after which a screen is complete
_DIM: Final = b"\x1b[2m"
_REPORT: Final = b"\x1b[6n"  # the program asks where the cursor is
CTRL_C, CTRL_D, CTRL_R, CTRL_J, TAB, UP, ESCAPE = "\x03", "\x04", "\x12", "\n", "\t", "\x1b[A", "\x1b"


class Terminal:
    """A process of `run.py` on a terminal of `width` columns, or a line of the shell that uses `run.py`.

    It works in the folder of its home. Use it as a context manager: it ends the process.
    """

    def __init__(
        self,
        *arguments: str,
        home: Path,
        width: int = 80,
        height: int = 40,
        shell: str = "",
        **environment: str,
    ) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "SSL_CERT_FILE") if name in os.environ}
        usual = {"HOME": str(home.parent), "ASKBOOK_HOME": home.name, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        usual |= {"ASKBOOK_JUDGE": "none", "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(home.parent / "data")}
        self.screen = pyte.HistoryScreen(width, height, history=5000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self.dim_as_colour = False  # pyte does not know what is dim
        self.raw = b""  # everything that was written
        command = [str(ROOT / "run.py"), *arguments]
        self._process: Any = pexpect.spawn(
            "/bin/sh" if shell else sys.executable,
            ["-c", shell.replace("run.py", f"{sys.executable} {ROOT / 'run.py'}")] if shell else command,
            env=kept | usual | environment,
            cwd=str(home.parent),
            dimensions=(height, width),
            timeout=_PATIENCE,
        )
        self._process.delaybeforesend = None

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.close(force=True)

    # --- what is shown ----------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The screen with the lines above it that have scrolled out, without empty lines at the end."""
        above = ["".join(line[x].data for x in range(self.screen.columns)) for line in self.screen.history.top]
        return "\n".join(line.rstrip() for line in [*above, *self.screen.display]).rstrip()

    @property
    def cursor_hidden(self) -> bool:
        return bool(self.screen.cursor.hidden)

    def read(self, seconds: float = 0.02) -> bool:
        """Take in what the program writes within `seconds`. False when there was nothing."""
        try:
            data: bytes = self._process.read_nonblocking(65536, timeout=seconds)
        except pexpect.TIMEOUT:
            return False
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(data.replace(_DIM, b"\x1b[90m") if self.dim_as_colour else data)
        if _REPORT in data:  # prompt_toolkit waits for the answer of the terminal
            self._process.send(f"\x1b[{self.screen.cursor.y + 1};{self.screen.cursor.x + 1}R")
        return True

    def until(self, shown: str | Callable[[str], object]) -> str:
        """Read until the text is on the screen, however broken, or the condition on it holds; returns the screen."""
        holds = shown if callable(shown) else lambda text: flat(shown) in flat(text)
        end = time.monotonic() + _PATIENCE
        while not holds(self.text):
            assert time.monotonic() < end, f"not shown: {shown!r}\n{self.text}"
            if not self.read() and not self._process.isalive() and not self.read():
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
        self._process.send(keys)

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
        self._process.kill(signal.SIGTERM)

    def resize(self, width: int, height: int = 40) -> None:
        self._process.setwinsize(height, width)
        self.screen.resize(height, width)

    def end(self) -> int:
        """Wait for the program to end; its exit code, or 128 and the number of the signal that ended it."""
        end = time.monotonic() + _PATIENCE
        while self._process.isalive():
            assert time.monotonic() < end, self.text
            self.read()
        while self.read():
            pass
        self._process.close()
        if self._process.signalstatus is not None:
            return 128 + int(self._process.signalstatus)
        return int(self._process.exitstatus)


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
