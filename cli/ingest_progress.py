"""The progress of an ingestion: a bar with the time that is left on a terminal, elsewhere a line every ten seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from cli.terminal import console, counted, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag.ingest.report import IngestProgress

EVERY: Final = 10.0  # seconds between two lines
_DOING: Final = {
    "load": ("Reading", "source"),
    "chunk": ("Reading", "page"),
    "embed": ("Indexing", "passage"),
    "write": ("Writing", "passage"),
    "verify": ("Checking", "passage"),
}


@contextmanager
def ingest_progress() -> Iterator[Callable[[IngestProgress], None]]:
    """Yields the function to tell about each step. It may be called from any thread."""
    if not sys.stderr.isatty():
        yield ProgressLines()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def show(progress: IngestProgress) -> None:
            if progress.waiting is not None:
                bar.console.print(_waiting(progress.waiting))
                return
            if progress.step not in tasks:
                for other in tasks.values():
                    bar.update(other, visible=False)
                tasks[progress.step] = bar.add_task(_DOING[progress.step][0], total=None)
            bar.update(tasks[progress.step], completed=progress.done, total=progress.total)

        yield show


class ProgressLines:
    """Prints how many texts will be embedded, then a line every ten seconds, with the time that is left."""

    def __init__(self, every: float = EVERY) -> None:
        self._every = every
        self._step = ""
        self._begun = self._said = time.monotonic()
        self._guard = threading.Lock()

    def __call__(self, progress: IngestProgress) -> None:
        with self._guard:
            moment = time.monotonic()
            if progress.step != self._step:
                self._step, self._begun = progress.step, moment
                if progress.step == "embed" and progress.total:
                    self._said = moment
                    say(f"Indexing: {counted(progress.total, 'passage')}.")
                    return
            if progress.waiting is not None:
                say(_waiting(progress.waiting))
            elif moment - self._said >= self._every and progress.total:
                self._said = moment
                say(self._line(progress, moment - self._begun))

    def _line(self, progress: IngestProgress, seconds: float) -> str:
        doing, noun = _DOING[progress.step]
        line = f"{doing}: {progress.done:,} of {counted(progress.total, noun)}"
        if not progress.done or progress.done == progress.total:
            return f"{line}."
        return f"{line}, {duration(seconds / progress.done * (progress.total - progress.done))} left."


def duration(seconds: float) -> str:
    """A time in words: "about 40 seconds", "about 3 minutes", "about 2.5 hours"."""
    if seconds < 90:
        return f"about {counted(max(1, round(seconds)), 'second')}"
    if seconds < 5400:
        return f"about {round(seconds / 60)} minutes"
    return f"about {seconds / 3600:.1f} hours"


def _waiting(seconds: int) -> str:
    return f"The embedding service asks to wait. Going on in {counted(seconds, 'second')}."
