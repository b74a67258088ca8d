"""Streams an answer to a terminal: finished blocks as Markdown, the unfinished block redrawn in place."""

from __future__ import annotations

from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown

from cli.terminal import printable


class MarkdownStream:
    """Shows Markdown that arrives in pieces. A block ends at an empty line outside a fence."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tail = ""
        self._live: Live | None = None

    def feed(self, piece: str) -> None:
        self._tail += printable(piece)
        while (end := self._block_end()) is not None:
            self._settle(self._tail[:end])
            self._tail = self._tail[end:].lstrip("\n")
        if self._tail.strip():
            self._draw()

    def close(self) -> None:
        """Print the rest as finished."""
        self._settle(self._tail)
        self._tail = ""

    def retract(self) -> None:
        """Drop the unfinished block and mark the text above as withdrawn."""
        self._stop()
        self._tail = ""
        self._console.print("(withdrawn)", style="dim italic")

    def _block_end(self) -> int | None:
        position, in_fence = 0, False
        for line in self._tail.splitlines(keepends=True):
            if line.lstrip().startswith(("```", "~~~")):
                in_fence = not in_fence
            if not line.strip() and not in_fence and self._tail[:position].strip():
                return position
            position += len(line)
        return None

    def _draw(self) -> None:
        if self._live is None:
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(Markdown(self._tail), refresh=True)

    def _settle(self, block: str) -> None:
        self._stop()
        if block.strip():
            self._console.print(Markdown(block))
            self._console.print()

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
