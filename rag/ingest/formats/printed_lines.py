"""Lines of a printed page with their places. A PDF holds some pieces of a line apart, such as a mark and its item."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median
from typing import Final

from rag.ingest.formats.page_characters import RAISED, SMALLER

COLUMN: Final = 5  # least lines of text in a column
_MARK: Final = re.compile(r"[•‣▪▸●○◦·∙–]|\d{1,3}[.)]")
_TO_A_POWER: Final = re.compile(r"(?:(?<!\w)[^\W\d_]|\d|[)\]])$")  # a variable, a number or a bracket
_FAR: Final = 4  # sizes of type that may lie between a mark and the text of its item
_LARGEST: Final = 100  # points of a size of type in which marks of items are looked for
_LONGEST_PAGE: Final = 500  # lines up to which code is brought back to its place
_HIGH: Final = 0.9  # sizes of type by which a part of a formula is above or below its line
_UNDER: Final = 5  # sizes of type by which it may stand under what comes before, as below the bar of a fraction


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
    """The lines with their pieces joined."""
    return _joined(_in_place(_with_marks(lines)))


def _in_place(lines: Sequence[PrintedLine]) -> list[PrintedLine]:
    """The lines with code that the file holds after what stands below it: some programs draw boxes of code last."""
    found: list[PrintedLine] = []
    begin, lowest = 0, float("inf")  # of the page
    for line in lines:
        if found and found[-1].page != line.page:
            begin, lowest = len(found), float("inf")
        at = len(found)
        higher = line.y - line.size / 2  # pieces of one line differ by a little
        if line.fixed and lowest < higher:
            back = range(max(begin, at - _LONGEST_PAGE), at)
            at = next((n for n in back if found[n].y < higher and _overlap(found[n], line)), at)
        found.insert(at, line)
        lowest = min(lowest, line.y)
    return found


def _overlap(one: PrintedLine, other: PrintedLine) -> bool:
    return one.left < other.right and other.left < one.right


def _with_marks(lines: Sequence[PrintedLine]) -> list[PrintedLine]:
    """The lines with marks that are drawn apart, which some programs do at the end of a page, before their items."""
    marks = [n for n, line in enumerate(lines) if _MARK.fullmatch(line.text)]
    if not marks:
        return list(lines)
    rows: dict[tuple[int, int], list[int]] = defaultdict(list)  # by page and height
    for n in sorted(set(range(len(lines))) - set(marks)):
        rows[lines[n].page, round(lines[n].y)].append(n)
    found = dict(enumerate(lines))
    for n in marks:
        mark = lines[n]
        reach = round(min(mark.size, _LARGEST) / 2)
        near = range(round(mark.y) - reach, round(mark.y) + reach + 1)
        beside = [
            m
            for height in near
            for m in rows.get((mark.page, height), ())
            if 0 < lines[m].left - mark.left < _FAR * mark.size
        ]
        if beside:
            item = min(beside, key=lambda m: lines[m].left)
            text = f"{mark.text} {lines[item].text}"
            found[item] = replace(lines[item], text=text, left=mark.left, hang=lines[item].left)
            rows[mark.page, round(lines[item].y)].remove(item)
            del found[n]
    return [found[n] for n in sorted(found)]


def _joined(lines: Sequence[PrintedLine]) -> list[PrintedLine]:
    """The lines with the parts of formulas and raised letters, which stand to the right and a little above or below."""
    found: list[PrintedLine] = []
    for line in lines:
        base = found[-1] if found else None
        if base is not None and _continues(base, line):
            level = abs(line.y - base.y) < 0.1 * base.size
            right = line.right if level else base.right
            gap = "^" if _is_power(base, line) else " "
            found[-1] = replace(base, text=f"{base.text}{gap}{line.text}", right=right, fonts=base.fonts | line.fonts)
        else:
            found.append(line)
    return found


def _is_power(base: PrintedLine, line: PrintedLine) -> bool:
    """Whether a line begins with a power of what another one ends with: 2^32 is neither `2 32` nor `232`."""
    raised = line.y - base.y > RAISED * base.size and line.size < SMALLER * base.size
    return raised and line.left - base.right < 0.3 * base.size and bool(_TO_A_POWER.search(base.text))


def _continues(base: PrintedLine, line: PrintedLine) -> bool:
    return (
        base.page == line.page
        and not (base.fixed or line.fixed)
        and base.size >= line.size
        and abs(line.y - base.y) < _HIGH * base.size
        and line.left > base.right - _UNDER * base.size
    )


def right_margins(lines: Sequence[PrintedLine]) -> list[float]:
    """For each line, how far the lines of text reach that stand above and below it. Code may run over the margin."""
    margins: list[float] = []
    for _, group in groupby(lines, key=lambda line: line.page):
        page = list(group)
        text = [line for line in page if not line.level and not line.fixed] or page
        begins = _columns(text)
        reach = max(line.right for line in text)
        in_columns: dict[int, float] = {}
        for line in text:
            if (column := _column(line, begins)) is not None:
                in_columns[column] = max(in_columns.get(column, 0.0), line.right)
        for line in page:
            column = _column(line, begins)
            margins.append(reach if column is None else in_columns.get(column, reach))
    return margins


def _column(line: PrintedLine, begins: Sequence[float]) -> int | None:
    """The column that a line stands in; None on a page with one column, and for a line that reaches into the next."""
    if not begins:
        return None
    column = bisect_right(begins, line.left + 1)
    return None if column < len(begins) and line.right > begins[column] else column


def _columns(text: Sequence[PrintedLine]) -> list[float]:
    """Where the second column and those after it begin; empty for one column.

    A column begins where the text goes on further up, to the right of most of what came before.
    """
    begins: list[float] = []
    before: list[PrintedLine] = []
    for segment in _segments(text):
        left = min(line.left for line in segment)
        if len(before) >= COLUMN <= len(segment) and median(line.right for line in before) < left:
            begins.append(left)
        before = segment
    return sorted(set(begins))


def _segments(text: Sequence[PrintedLine]) -> Iterator[list[PrintedLine]]:
    """The lines in runs that go down the page."""
    run: list[PrintedLine] = []
    for line in text:
        if run and line.y > run[-1].y + 3 * line.size:
            yield run
            run = []
        run.append(line)
    if run:
        yield run
