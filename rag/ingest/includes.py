"""Text that a page includes from other files, and the lines of a file that it names.

Only files inside a root are read, wherever links point, and no hidden files, such as the `.env` of the folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Final

from rag.ingest.source_files import is_file, is_inside, read_inside, resolved

INCLUDED: Final = 2_000_000  # characters of all files that a page includes
USE: Final = 1_000
DEPTH: Final = 4  # levels of included files; a file that includes itself ends here
_TEXTS: Final = (".md", ".markdown", ".txt")
# Why a file is not read, the nearest reason first.
_NO_TEXT: Final = "not a text"
_MISSING: Final = "missing"
_HIDDEN: Final = "hidden"
_OUTSIDE: Final = "outside the source"
_REASONS: Final = (_NO_TEXT, _MISSING, _HIDDEN, _OUTSIDE)
_SPAN: Final = re.compile(r"(-?\d*)(:?)(-?\d*)")


class Includes:
    """The files that one page includes. All parts of a page share how much they may include: parts multiply.

    Files are read in `roots`. A folder in `named`, by the configuration, may be hidden; only texts are read from it,
    since it could be `.git`. `refused` says by the names of files why they are not read: they lie outside, are hidden
    or no texts, or are missing, if the generator `tells_missing` ones itself. Files just outside are in `outside`, and
    those that were read in `used`.
    """

    def __init__(self, *roots: Path, named: Sequence[Path] = (), tells_missing: bool = False) -> None:
        self.refused: dict[str, str] = {}
        self.outside: set[Path] = set()
        self.used: set[Path] = set()
        self._tells_missing = tells_missing
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
                self.used.add(resolved(folder / name))
                self._used[0] += len(text) + USE
                if self._used[0] > INCLUDED:
                    raise ValueError(f"the files that it includes add up to more than {INCLUDED:,} characters")
                return text
        self._tell(name, folders)
        return None

    def _tell(self, name: str, folders: Sequence[Path]) -> None:
        """Note why a file is not read. Of several places the one counts that comes nearest to being read."""
        places = [(root, folder / name) for root in self._roots for folder in folders]
        why = min((_why_unread(root, path) for root, path in places), key=_REASONS.index, default=_MISSING)
        if why != _MISSING or self._tells_missing:
            self.refused[name] = why
        if why == _OUTSIDE:
            self.outside |= {resolved(path) for root, path in places if _is_just_outside(root, path)}

    def _read(self, name: str, folder: Path) -> str | None:
        for root in self._roots:
            text = read_inside(root, folder / name)
            if text is None and folder in self._named and Path(name).suffix in _TEXTS:
                text = read_inside(folder, folder / name) if resolved(folder).is_relative_to(resolved(root)) else None
            if text is not None:
                return text
        return None


def _why_unread(root: Path, path: Path) -> str:
    """Why a file cannot be read. One that is missing would be allowed if it were there."""
    try:
        inside = is_inside(root, path)
        if not inside:
            return _HIDDEN if resolved(path).is_relative_to(resolved(root)) else _OUTSIDE
        return _NO_TEXT if path.is_file() else _MISSING
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that no file can have
        return _MISSING


def _is_just_outside(root: Path, path: Path) -> bool:
    """Whether there is such a file in one of the next two folders above."""
    near = [one for one in resolved(root).parents[:2] if one != one.parent]
    return any(resolved(path).is_relative_to(one) for one in near) and is_file(resolved(path))


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
