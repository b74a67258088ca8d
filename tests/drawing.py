"""The drawing of the machine in README.md, generated from the graph.

`python -m tests.drawing` prints it; `python -m tests.drawing --write` updates README.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from graph.build import build_graph
from rag.errors import UsageError
from rag.ports import ChunkIndex, Parts

README: Final = Path(__file__).parent.parent / "README.md"
BEGIN: Final = "<!-- machine -->\n"
END: Final = "<!-- /machine -->"


class _Unused:
    """Services that are never called: the machine is drawn, not run."""

    @property
    def index(self) -> ChunkIndex:
        raise AssertionError("a drawing searches nothing")

    def parts(self, profile: str | None) -> Parts:
        raise AssertionError(f"a drawing answers nothing, whatever the profile: {profile}")


def draw() -> str:
    """The machine as a Mermaid flowchart without styles."""
    mermaid = re.sub(r":::\w+", "", build_graph(_Unused()).compile().get_graph().draw_mermaid())
    lines = mermaid[mermaid.index("graph TD;") :].splitlines()
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("classDef"))


def in_page(page: str) -> str:
    """The page with an up-to-date drawing. Raises `UsageError` when the lines around the drawing are missing."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise UsageError(f"README.md has no lines {BEGIN.strip()} and {END} to draw between.")
    return f"{before}{BEGIN}```mermaid\n{draw()}\n```\n{END}{after}"


def main(arguments: Sequence[str]) -> int:
    """Print the drawing, or write it into README.md."""
    if "--write" in arguments:
        README.write_text(in_page(README.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        sys.stdout.write(draw() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
