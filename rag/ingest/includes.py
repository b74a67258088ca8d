"""Text that a page includes from other files, and the lines of a file that it names.

Only files inside a root are read, wherever links point, and no hidden files, such as the `.env` of the folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Final

from rag.ingest.source_files import is_inside, read_inside, resolved

INCLUDED: Final = 2_000_000  # characters of all files that a page includes
USE: Final = 1_000
DEPTH: Final = 4  # levels of included files; a file that includes itself ends here
_TEXTS: Final = (".md", ".markdown", ".txt")
_SPAN: Final = re.compile(r"(-?\d*)(:?)(-?\d*)")


class Includes:
    """The files that one page includes. All parts of a page share how much they may include: parts multiply.

    Files are read in `roots`. A folder in `named`, by the configuration, may be hidden; only texts are read from it,
    since it could be `.git`. `refused` has the names of files that may not be read: they lie outside, are hidden or no
    texts. A generator adds missing ones of which it tells itself.
    """

    def __init__(self, *roots: Path, named: Sequence[Path] = ()) -> None:
        self.refused: set[str] = set()
        self._roots = roots
        self._named = named
        self._level = 0
        self._used = [0]

    def below(self) -> Includes:
        """The same for an included file, which may include others down to `DEPTH`."""
        inner = copy(self)
        inner._level += 1
        return inner

    def read(self, name: str, *folders: Path) -> str | None:
        """The text of a file from the first folder that has it; None where there is none that may be read.

        Each use counts, since also an empty file has to be read. Raises `ValueError` if a page includes too much.
        """
        if not name or self._level > DEPTH:
            return None
        for folder in folders:
            if (text := self._read(name, folder)) is not None:
                self._used[0] += len(text) + USE
                if self._used[0] > INCLUDED:
                    raise ValueError(f"the files that it includes add up to more than {INCLUDED:,} characters")
                return text
        if not any(_is_missing(root, folder / name) for root in self._roots for folder in folders):
            self.refused.add(name)
        return None

    def _read(self, name: str, folder: Path) -> str | None:
        for root in self._roots:
            text = read_inside(root, folder / name)
            if text is None and folder in self._named and Path(name).suffix in _TEXTS:
                text = read_inside(folder, folder / name) if resolved(folder).is_relative_to(resolved(root)) else None
            if text is not None:
                return text
        return None


def _is_missing(root: Path, path: Path) -> bool:
    """Whether a file that could not be read would be allowed, if it were there."""
    try:
        return is_inside(root, path) and not path.is_file()
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that no file can have
        return True


def line_span(lines: Sequence[str], span: str) -> list[str]:
    """The lines of a span, counted from 1, both ends included. `-1` is the last line.

    >>> [line_span(["a", "b", "c"], span) for span in ("2", "2:", ":2", "-1", "2:3", "x")]
    [['b'], ['b', 'c'], ['a', 'b'], ['c'], ['b', 'c'], []]
    """
    found = _SPAN.fullmatch(span.strip())
    if found is None or not found[0]:
        return []

    def place(text: str, usual: int) -> int:
        number = int(text) if text.strip("-") else usual
        return max(number if number >= 0 else len(lines) + number + 1, 1)

    begin = place(found[1], 1)
    return list(lines[begin - 1 : place(found[3], len(lines)) if found[2] else begin])


def section(lines: Sequence[str], mark: re.Pattern[str], name: str = "") -> list[str]:
    """The lines between the marks of a section, or all without a name. `mark` has the groups `name` and `end`."""
    found: list[str] = []
    inside = not name
    for line in lines:
        if begins := mark.search(line):
            inside = begins["end"] is None if begins["name"] == name else inside
        elif inside:
            found.append(line)
    return found
