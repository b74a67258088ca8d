"""Lines of a printed page with their places. A PDF holds some pieces of a line apart, such as a mark and its item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

AROUND: Final = 40  # lines above and below one by which its margin is known


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line of a page, which is counted from 0, and its place in points; `y` is its base line, counted from below.

    `size` is the size of type and `width` the width of the first character. `fixed` says that the font is one of code.
    `hang` is where the text of an item of a list begins, after its mark. `level` is that of a heading, 0 for others.
    `fonts` names those of the first, the middle and the last character.
    """

    text: str
    page: int
    left: float
    right: float
    y: float
    size: float
    width: float
    fixed: bool = False
    hang: float | None = None
    level: int = 0
    fonts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the outline: its level, counted from 0, its page, and where on it, if it says so: `left` and `y`."""

    level: int
    title: str
    page: int
    left: float = 0.0
    y: float = 0.0


def usual_size(lines: Sequence[PrintedLine]) -> float:
    """The size of type in which most of the text is set; 0 for no lines."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def whole_lines(lines: Sequence[PrintedLine]) -> list[PrintedLine]:
    """The lines with the raised, lowered and following pieces that the file holds apart, such as those of a formula."""
    found: list[PrintedLine] = []
    for line in lines:
        base = found[-1] if found else None
        if base is not None and _continues(base, line):
            level = abs(line.y - base.y) < 0.1 * base.size
            text, right = f"{base.text} {line.text}", line.right if level else base.right
            found[-1] = replace(base, text=text, right=right, fonts=base.fonts | line.fonts)
        else:
            found.append(line)
    return found


def _continues(base: PrintedLine, line: PrintedLine) -> bool:
    near = abs(line.y - base.y) < 0.9 * base.size and line.left > base.right - 5 * base.size
    return near and base.page == line.page and base.size >= line.size and not (base.fixed or line.fixed)


def right_margins(lines: Sequence[PrintedLine]) -> list[float]:
    """For each line, how far the lines of text around it reach in its column. Code may run over the margin."""
    columns: list[int] = []
    for n, line in enumerate(lines):  # the next column begins where the text goes on further up
        before = lines[n - 1] if n else line
        goes_up = line.page != before.page or line.y > before.y + 3 * line.size
        columns.append(columns[-1] + goes_up if columns else 0)
    margins: list[float] = []
    for n, line in enumerate(lines):
        near = range(max(0, n - AROUND), min(len(lines), n + AROUND + 1))
        beside = [lines[m] for m in near if columns[m] == columns[n]]
        margins.append(max((one.right for one in beside if not one.level and not one.fixed), default=line.right))
    return margins
