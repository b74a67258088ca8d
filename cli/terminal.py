"""What all commands share: results, remarks, errors and progress on the terminal, and opening an agent."""

from __future__ import annotations

import argparse
import errno
import json
import logging
import re
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TextIO

from rag.errors import AskbookError, InvalidQuestionError, UsageError, told
from rag.text.counting import counted
from rag.text.visible import UNPRINTABLE, visible

EVERY: Final = 10.0  # seconds between two lines of progress where no bar can be drawn
_NEWS: Final = 0.25  # of a step that is done since the last line is worth one, even if the same time is left
_UNWRAPPED: Final = 10_000  # columns of a pipe
_FILLING: Final = re.compile(r"[ \t]+(?=\n)")
_PATH: Final = 200  # characters of a path in a message
_NAMES: Final = 9  # columns for the name of a field
# No colour has a background, so the text can be read on light and dark terminals.
_STYLES: Final = {
    "markdown.code": "cyan",
    "markdown.code_block": "none",
    "markdown.block_quote": "italic",
    "markdown.item.bullet": "dim",
    "markdown.item.number": "dim",
    "markdown.link": "underline",
    "markdown.link_url": "underline",
    "markdown.mark": "dim not underline",
}

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from graph.agent import Agent
    from rag.settings import Settings
    from rag.types import ErrorInfo, Response


def printable(text: str, instead: str = "") -> str:
    """The text with control and invisible characters removed, or each replaced by `instead`."""
    return visible(text, instead)


def in_line(text: str) -> str:
    """The printable text without line breaks, so that the name of a file cannot pretend to be further lines."""
    return " ".join(printable(text).splitlines())


def print_json(data: Any) -> None:
    """Print the data as JSON. Control and invisible characters are escaped, so the data stay what they are."""
    text = json.dumps(data, ensure_ascii=False, indent=2)
    text = UNPRINTABLE.sub(lambda found: json.dumps(found[0])[1:-1], text)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:  # the locale lacks a character, or there is a lone surrogate: use \u escapes
        text = json.dumps(data, indent=2)
    print(text)


def clipped(text: str, longest: int) -> str:
    """The text, cut to `longest` characters with an ellipsis at the end."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def one_line(text: str, taken: int) -> str:
    """The text on one line, cut to the width of the terminal minus `taken` columns, at least 20."""
    return clipped(" ".join(printable(text).split()), max(20, shutil.get_terminal_size().columns - taken))


def say(text: str) -> None:
    """Print a remark for the user to standard error, wrapped at the width of a terminal."""
    text = printable(text)
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        text = "\n".join(
            textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) for line in text.split("\n")
        )
    print(text, file=sys.stderr)


def say_field(name: str, text: str) -> None:
    """Print a remark with its name in a column on the left, to standard error."""
    if not sys.stderr.isatty():
        print(f"{name:<{_NAMES}}{in_line(text)}", file=sys.stderr)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table.grid()
    table.add_column(style="dim", width=_NAMES)
    table.add_column(overflow="fold")
    table.add_row(name, Text(in_line(text)))
    console(stderr=True).print(table)


def waiting(data: Mapping[str, Any]) -> str:
    """The line for the data of a `waiting` event."""
    return f"{waited_for(data)}. Trying again in {counted(data['seconds'], 'second')}."


def waited_for(data: Mapping[str, Any]) -> str:
    """What happened to the service that is tried again."""
    return f"The service {'is busy' if 'rate_limit' in data['reason'] else 'failed'}"


def by_rules(generator: str) -> str:
    """By which rules pages were read: "by the rules of mkdocs", or "as plain pages"."""
    if generator.startswith("plain"):
        return generator.replace("plain", "as plain pages", 1)
    return f"by the rules of {generator}"


def console(**options: Any) -> Console:
    """A rich console, with colour only on a terminal and unless NO_COLOR is set. `options` are those of rich."""
    from rich.console import Console
    from rich.theme import Theme

    file = sys.stderr if options.get("stderr") else sys.stdout
    if not file.isatty():  # a pipe gets lines as they are
        options = {"width": _UNWRAPPED, "file": _WithoutFilling(file)} | options
    return Console(highlight=False, theme=Theme(_STYLES), **options)


class _WithoutFilling:
    """A text file to which no spaces are written at the ends of lines. rich fills the columns of a table with them."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(_FILLING.sub("", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def without_echo() -> Iterator[None]:
    """Keep what is typed meanwhile off the screen. The next prompt gets it."""
    import termios

    try:
        file = sys.stdin.fileno()
        before = termios.tcgetattr(file)
    except (OSError, ValueError, termios.error):  # no terminal
        yield
        return
    quiet = termios.tcgetattr(file)
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(file, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(file, termios.TCSANOW, before)


def say_remarks(response: Response) -> None:
    """Print what goes with an answer to standard error: the pages closest to a refused question, and the notices."""
    if response.closest_pages:
        say("\n".join(["Closest pages:", *(f"- {title} ({url})" for title, url in response.closest_pages)]))
    for notice in response.notices:
        say(notice)


def say_failure(failure: ErrorInfo, *, in_chat: bool = False) -> None:
    """Print the sentence of a failure, then what happened and what to do, if known."""
    say(told(failure, in_chat=in_chat))
    if detail := " ".join(filter(None, (failure.message, failure.hint))):
        say(detail)


def report(error: Exception, *, as_json: bool = False) -> int:
    """Print a failure and what to do about it, and return the exit code. An unexpected one is logged with traceback.

    `as_json` also prints `{"error": ...}` to standard output, for a failure that has an error type.
    """
    if as_json and isinstance(error, AskbookError):
        print_json({"error": error.info().model_dump(mode="json")})
    if isinstance(error, UsageError):
        sentence = told(error.info()) if isinstance(error, InvalidQuestionError) else ""
        say(" ".join(filter(None, (sentence, error.message, error.hint))))
    elif isinstance(error, AskbookError):
        say_failure(error.info())
    elif isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        say("The disk is full. Free some space, then try again.")
    elif isinstance(error, OSError) and error.errno in (errno.ENAMETOOLONG, errno.EROFS, errno.EACCES, errno.EPERM):
        say(f"{clipped(in_line(str(error.filename or 'A file')), _PATH)} cannot be used: {error.strerror}.")
    else:
        logging.getLogger("askbook").debug("unexpected", exc_info=error)
        say(f"Something went wrong inside askbook ({type(error).__name__}). Please report it.")
    return error.exit_code if isinstance(error, AskbookError) else 1


def number(text: str | None, name: str, low: float, high: float, *, whole: bool) -> float | None:
    """The number given for the option `name`; None stays None. Raises `UsageError` if it is invalid or out of range."""
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


def duration(seconds: float) -> str:
    """A time in words: "about 40 seconds", "about 3 minutes", "about 2.5 hours"."""
    if seconds < 90:
        return f"about {counted(max(1, round(seconds)), 'second')}"
    if seconds < 5400:
        return f"about {round(seconds / 60)} minutes"
    return f"about {seconds / 3600:.1f} hours"


class ProgressLines:
    """How far a step is, where no bar can be drawn: its size if it is `announced`, then a line now and then."""

    def __init__(self, every: float = EVERY) -> None:
        self._every = every
        self._step: tuple[str, str] | None = None
        self._begun = self._said = time.monotonic()
        self._last = ("", 0)  # the time that was left by the last line, and how much was done
        self._guard = threading.Lock()

    def show(self, doing: str, noun: str, done: int, total: int, *, announced: bool = False, instead: str = "") -> None:
        """For example "Indexing: 640 of 2,000 passages, about 40 seconds left.", or the line `instead`."""
        with self._guard:
            moment = time.monotonic()
            if (doing, noun) != self._step and total:
                self._step, self._begun = (doing, noun), moment
                if announced:
                    self._said = moment
                    say(f"{doing}: {counted(total, noun)}.")
            elif moment - self._said >= self._every and total:
                left = (moment - self._begun) / done * (total - done) if 0 < done < total else 0.0
                time_left = f", {duration(left)} left" if left else ""
                if not instead and time_left == self._last[0] and done - self._last[1] < _NEWS * total:
                    return
                self._said, self._last = moment, (time_left, done)
                say(instead or f"{doing}: {done:,} of {counted(total, noun)}{time_left}.")

    def note(self, text: str) -> None:
        say(text)


class ProgressBar:
    """A moving bar on a terminal, with the interface of `ProgressLines`."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._tasks: dict[tuple[str, str], TaskID] = {}

    def show(self, doing: str, noun: str, done: int, total: int, **_: Any) -> None:
        if (doing, noun) not in self._tasks:
            for other in self._tasks.values():
                self._bar.update(other, visible=False)
            self._tasks[doing, noun] = self._bar.add_task(doing, total=None, visible=False)
        self._bar.update(self._tasks[doing, noun], completed=done, total=total, visible=total > 0)

    def note(self, text: str) -> None:
        self._bar.console.print(text)


@contextmanager
def progress_view() -> Iterator[ProgressLines | ProgressBar]:
    """What shows the progress of a command on standard error. It may be called from any thread."""
    if not sys.stderr.isatty() or console(stderr=True).is_dumb_terminal:
        yield ProgressLines()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        yield ProgressBar(bar)


@contextmanager
def progress_bar(doing: str, noun: str = "passage") -> Iterator[Callable[[int, int], None]]:
    """Yields the function that shows the progress of one step, with (done, total) as arguments."""
    with progress_view() as view:
        yield partial(view.show, doing, noun, announced=True)


def preload(*modules: str) -> None:
    """Load the libraries of the embedding model, `modules` and the vector store in a thread, during other imports."""
    threading.Thread(target=_import_libraries, args=modules, daemon=True).start()


def _import_libraries(*modules: str) -> None:
    import tokenizers  # noqa: F401

    from rag.system.process import onnx_runtime

    onnx_runtime()
    for module in (*modules, "langchain_qdrant.qdrant"):
        import_module(module)


def _check_addresses(settings: Settings) -> None:
    """Raise `UsageError` for an address of a service that is none, also if nothing is sent there now."""
    for variable, address in (
        ("OPENAI_BASE_URL", settings.openai_base_url),
        ("COHERE_BASE_URL", settings.cohere_base_url),
    ):
        if address is not None:
            from rag.system.network import checked_address

            checked_address(variable, address)


@asynccontextmanager
async def opened(options: argparse.Namespace, settings: Settings, **given: Any) -> AsyncIterator[Agent]:
    """The agent for the given options. If the manual has to be indexed, a progress bar is shown.

    `given` are parts in place of askbook's own, as `open_agent` takes them.
    """
    _check_addresses(settings)
    with progress_bar("Indexing the manual") as progress:
        from graph.agent import open_agent
        from rag.services import start_outputs

        start_outputs(settings)
        manager = open_agent(settings, options.profile, collection=options.collection, progress=progress, **given)
        agent = await manager.__aenter__()
    try:
        yield agent
    finally:
        await manager.__aexit__(None, None, None)
