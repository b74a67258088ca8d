"""Shows a turn while it runs: on a terminal block by block above a line of progress, in a pipe as one text."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Final

from cli.terminal import console, printable, say, say_failure, say_remarks, waited_for, waiting, without_echo
from rag.text.counting import counted
from rag.types import Event, Response

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.text import Text

    from cli.blocks import AnswerBlock

# What an answer is drawn with. Loaded at the start, so that Enter is answered at once.
DRAWING: Final = ("rich.live", f"{__package__}.sources")
_PER_SECOND: Final = 10  # redraws


class TurnView:
    """Takes the events of one turn. `close` gives the cursor back, whatever happened.

    Without `stream` the answer is shown when it is complete; without `hints` no command of the chat is named.
    """

    def __init__(self, *, stream: bool = True, hints: bool = True) -> None:
        self._terminal = _Terminal(stream=stream) if sys.stdout.isatty() else None
        self._hints = hints

    def take(self, event: Event) -> None:
        if self._terminal is not None:
            self._terminal.take(event)
        elif event.type == "waiting":
            say(waiting(event.data))
        if event.response is not None:
            self._finish(event.response)

    def _finish(self, response: Response) -> None:
        self.close()
        if response.error is not None:
            say_failure(response.error, in_chat=self._hints)
        elif self._terminal is not None:
            self._terminal.finish(response)
        else:
            print(printable(response.content) + ("\n" if self._hints else ""), flush=True)
        if self._terminal is None:
            say_remarks(response)
            return
        remarks = console(stderr=True)
        for notice in response.notices:
            remarks.print(printable(notice), style="dim", markup=False)
        print()

    def close(self) -> None:
        if self._terminal is not None:
            self._terminal.close()


class _Terminal:
    """The answer on a terminal. Finished blocks are printed; the rest is redrawn in place, with the progress below it.

    A terminal that cannot move its cursor gets the finished blocks only.
    """

    def __init__(self, *, stream: bool) -> None:
        from rich.live import Live

        from cli.blocks import BlockReader
        from cli.markdown import links_work

        self._screen: Console = console()
        self._stream = stream
        self._progress = StepLine()
        self._reader = BlockReader()
        self._links: dict[int, str] | None = {} if links_work(self._screen) else None
        self._trace: Mapping[str, Any] | None = None  # of the first search
        self._printed = False
        self._ready: list[AnswerBlock] = []  # finished blocks that wait for the end
        self._held = ""  # the last piece, if it may be the sources
        self._live: Live | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._echo = ExitStack()
        if self._screen.is_dumb_terminal:
            self._screen.print(self._progress.line, style="dim")
            return
        self._echo.enter_context(without_echo())
        # The event loop's thread does all drawing: rich's own thread could draw just before a block is printed, and
        # leave lines behind.
        self._live = Live(self, console=self._screen, transient=True, auto_refresh=False)
        self._live.start(refresh=True)
        with suppress(RuntimeError):  # without a loop nothing moves
            self._ticking = asyncio.get_running_loop().create_task(self._tick(self._live))

    async def _tick(self, live: Live) -> None:
        """Move the sign of the progress, and count its seconds."""
        while self._live is live:
            await asyncio.sleep(1 / _PER_SECOND)
            live.refresh()

    def __rich__(self) -> RenderableType:
        """The unfinished blocks and the progress."""
        from rich.console import Group
        from rich.text import Text

        blocks = [self._rendered(block) for block in self._reader.open()] if self._stream else []
        gap = [Text()] if blocks or self._printed else []
        return Group(*([Text()] if blocks and self._printed else []), *blocks, *gap, self._progress)

    def take(self, event: Event) -> None:
        self._progress.take(event)
        self._trace = event.data.get("trace", self._trace)
        if event.type == "retract":
            self._retract()
        elif event.type == "sentence":
            if self._links is not None:
                self._links |= {int(number): url for number, url in event.data.get("links", {}).items()}
            self._feed(event.data["text"])
        if self._live is not None:
            self._live.refresh()

    def _feed(self, text: str) -> None:
        """Take in a piece. One that may be the sources waits: they are shown in another form at the end."""
        piece, self._held = self._held + text, ""
        if text.startswith("\n\n---\n"):
            piece, self._held = piece.removesuffix(text), text
        self._print(self._reader.feed(printable(piece)))

    def _print(self, blocks: list[AnswerBlock]) -> None:
        """Print finished blocks above the progress, or keep them until the answer is complete."""
        if not self._stream and self._live is not None:
            self._ready += blocks
            return
        for block in blocks:
            if self._printed:
                self._screen.print()
            self._screen.print(self._rendered(block))
            self._printed = True

    def _rendered(self, block: AnswerBlock) -> RenderableType:
        from cli.markdown import rendered

        return rendered(block, self._links, self._screen.width)

    def _retract(self) -> None:
        """Drop the unfinished blocks and mark those above as withdrawn."""
        from cli.blocks import BlockReader

        self._reader, self._held, self._ready = BlockReader(), "", []
        if self._printed:
            self._screen.print("(withdrawn)\n", style="dim italic")
            self._printed = False

    def close(self) -> None:
        """Stop drawing, and print what has arrived: all of the answer, or what was shown of one that was stopped."""
        live, self._live = self._live, None
        if live is not None:
            if self._ticking is not None:
                self._ticking.cancel()
            live.stop()
            self._echo.close()
        ready, self._ready = self._ready, []
        self._print([*ready, *self._reader.close()])

    def finish(self, response: Response) -> None:
        """Below the answer, print its sources and what its marks mean."""
        from cli.sources import closest_in, form_of, print_closest, print_compact

        held, self._held = self._held, ""
        form = form_of(held, response.citations)
        if form is None:
            self._print([*self._reader.feed(printable(held)), *self._reader.close()])
        else:
            self._screen.print()
            print_compact(self._screen, response.citations, form)
        pages = response.closest_pages or (closest_in(self._trace) if response.fallback_reason == "no_passage" else [])
        if pages:
            self._screen.print()
            print_closest(self._screen, pages)


_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SLOW: Final = 3.0  # seconds after which a step shows how long it has taken


class StepLine:
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
