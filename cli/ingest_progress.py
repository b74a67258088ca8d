"""The progress of an ingestion: a bar with the time that is left on a terminal, elsewhere a line every ten seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from cli.terminal import EVERY, animated, console, counted, how_far, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag.ingest.report import IngestProgress

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
    if not animated():
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
            if progress.pages is None or progress.known is None:
                doing, done, total = _DOING[progress.step][0], progress.done, progress.total
            else:
                doing, done, total = "Fetching", progress.pages, progress.known
            bar.update(tasks[progress.step], description=doing, completed=done, total=total)

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
                say(self._line(progress, moment))

    def _line(self, progress: IngestProgress, moment: float) -> str:
        if progress.pages is None or progress.known is None:
            return how_far(*_DOING[progress.step], progress.done, progress.total, moment - self._begun)
        # No time left is shown: each page may lead to pages that are not known yet.
        return f"Fetching: {counted(progress.pages, 'page')}, {progress.known - progress.pages:,} more known so far."


def _waiting(seconds: int) -> str:
    return f"The embedding service cannot answer now. Going on in {counted(seconds, 'second')}."
