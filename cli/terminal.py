"""What every command shares of the terminal: where output goes, how failures and progress look."""

from __future__ import annotations

import errno
import json
import logging
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rag.errors import AskbookError, UsageError
from rag.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console


def printable(text: str, instead: str = "") -> str:
    """The text without what would repaint a screen or hide on it; with `instead`, one for each such character."""
    return visible(text, instead)


def print_json(data: Any) -> None:
    text = json.dumps(data, ensure_ascii=False, indent=2)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:  # a narrow locale, or bytes that were no text: JSON has its own way to write them
        text = json.dumps(data, indent=2)
    print(text)


def one_line(text: str, taken: int) -> str:
    """The text on what is left of a terminal line, in which `taken` columns are used."""
    flat = " ".join(printable(text).split())
    room = max(20, shutil.get_terminal_size().columns - taken)
    return flat if len(flat) <= room else flat[: room - 1] + "…"


def say(text: str) -> None:
    """A remark to the person, never to the program that reads the results; on a terminal it is cut between words."""
    text = printable(text)
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        text = "\n".join(textwrap.fill(line, width, break_long_words=False) for line in text.split("\n"))
    print(text, file=sys.stderr)


def waiting(data: Mapping[str, Any]) -> str:
    """The line for an event `waiting`."""
    what = "is busy" if "rate_limit" in data["reason"] else "failed"
    return f"The service {what} and asks to wait. Trying again in {counted(data['seconds'], 'second')}."


def counted(number: int, noun: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def console(*, stderr: bool = False) -> Console:
    """A rich console: colour only on a terminal, and not where NO_COLOR is set."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def report(error: Exception) -> int:
    """Tell a failure in one line, with what to do; return the exit code. Unknown failures go to the log whole."""
    if isinstance(error, AskbookError):
        if not isinstance(error, UsageError):
            say(error.info().user_message)
        say(" ".join(part for part in (error.message, error.hint) if part))
        return 2 if isinstance(error, UsageError) else 1
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        say("There is no room on the disk. Make room, then try again.")
        return 1
    logging.getLogger("askbook").debug("unexpected", exc_info=error)
    say(f"Something went wrong inside askbook ({type(error).__name__}). Please report it.")
    return 1


def number(text: str | None, name: str, low: float, high: float, *, whole: bool) -> float | None:
    """The number that an option names. Raises `UsageError` when it is none or out of range."""
    if text is None:
        return None
    kind = "whole number" if whole else "number"
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise UsageError(f"{name} must be a {kind} from {low:g} to {high:g}, not {text!r}.", code="out_of_range")
    return value


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error, there only while something is reported and only on a terminal.

    Elsewhere it is one line at the beginning. Yields the function to report to: (done, total).
    """
    if not sys.stderr.isatty():
        said = False

        def once(_done: int, total: int) -> None:
            nonlocal said
            if not said and total:
                say(f"{label}: {total} passages")
                said = True

        yield once
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=total > 0)
