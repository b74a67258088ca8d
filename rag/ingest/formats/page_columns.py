"""How far the lines of a page reach: to the margin of the page, or of the column that they stand in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median
from typing import Final

from rag.ingest.formats.printed_line import PrintedLine

COLUMN: Final = 5  # least lines of text in a column


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
