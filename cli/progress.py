"""The line that says what a turn is doing: searching, writing, checking, or waiting for a service."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from cli.terminal import counted, waited_for
from rag.types import Event

if TYPE_CHECKING:
    from rich.text import Text

_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PER_SECOND: Final = 10  # frames
SLOW: Final = 3.0  # seconds after which a step shows how long it has taken


class Progress:
    """The step of a turn, in words: a rich renderable with a moving sign and a counter of seconds."""

    def __init__(self) -> None:
        self._step = "Searching the book"
        self._passages = ""
        self._began = time.monotonic()
        self._until: float | None = None  # the end of a wait
        self._phase: tuple[str, str] | None = None

    def take(self, event: Event) -> None:
        """Follow an event of the turn."""
        if event.type == "retrieval":
            self._passages = f"{counted(event.data['results_count'], 'passage')} found"
            self._enter(self._passages)
        elif event.type == "phase":
            self._enter(self._step_of(event.data["phase"], event.data["processing_state"]))
        elif event.type == "checking":
            self._enter(f"Checking {counted(event.data['sentences'], 'sentence')}")
        elif event.type == "waiting":
            self._enter(waited_for(event.data))
            self._until = time.monotonic() + event.data["seconds"]
        elif event.type == "sentence":
            self._enter("Writing")

    def _step_of(self, phase: str, processing: str) -> str:
        """The words for a phase. A phase that comes twice in a row has failed and is tried again."""
        again, self._phase = (phase, processing) == self._phase, (phase, processing)
        if again:
            return "That failed, trying again"
        if phase == "RETRIEVING":
            return "Searching with the model's words" if processing == "tool_call_needed" else "Searching the book"
        return f"{self._passages}, writing" if phase == "GENERATING" and self._passages else self._step

    def _enter(self, step: str) -> None:
        if step != self._step:
            self._step, self._began = step, time.monotonic()
        self._until = None

    @property
    def line(self) -> str:
        """The step, with the seconds that are left of a wait, or that a slow step has taken."""
        if self._until is not None:
            left = math.ceil(self._until - time.monotonic())
            return f"{self._step}, trying again in {left} s" if left > 0 else "Trying again"
        taken = time.monotonic() - self._began
        return f"{self._step} ({taken:.0f} s)" if taken >= SLOW else self._step

    def __rich__(self) -> Text:
        from rich.text import Text

        frame = _FRAMES[int(time.monotonic() * _PER_SECOND) % len(_FRAMES)]
        return Text.assemble((frame, "cyan"), f" {self.line}", style="dim", no_wrap=True, overflow="ellipsis")
