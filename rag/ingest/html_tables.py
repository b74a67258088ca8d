"""Tables of a page as Markdown can have them: rows of the same columns, and cells of one line."""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bs4.element import Tag

FILLED: Final = 10_000  # cells of a page that are put into further rows
REPEATED: Final = 200  # characters of a cell that stands in each of its rows; a longer one stands in the first
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS: Final = ("p", "ul", "ol", "dl", "pre")
_CELLS: Final = ("td", "th")
_SECTIONS: Final = ("thead", "tbody", "tfoot")
_NUMBERS: Final = re.compile(r"[\d\s]*")


def make_plain(element: Tag) -> None:
    """Change the tables in an element, so that none of their text is lost when they become Markdown."""
    left = FILLED
    for table in element.find_all("table"):
        rows = _rows(table)
        cells = [cell for row in rows for cell in row.find_all(_CELLS, recursive=False)]
        _drop_line_numbers(rows, cells)
        if len(cells) == 1 or table.find("table") is not None or any(map(_is_laid_out, cells)):
            for part in (table, *table.find_all(_SECTIONS, recursive=False), *rows, *cells):
                part.name = "div"  # a box, or columns of a page
            continue
        _put_above(table)
        left = _fill(rows, left)
        for block in table.find_all("pre"):
            _put_into_line(block)


def _rows(table: Tag) -> list[Tag]:
    """The rows of a table, without those of the tables in it."""
    sections = [table, *table.find_all(_SECTIONS, recursive=False)]
    return [row for section in sections for row in section.find_all("tr", recursive=False)]


def _drop_line_numbers(rows: list[Tag], cells: list[Tag]) -> None:
    """Remove the cell with the numbers of the lines from a row that is a block of code."""
    if len(rows) != 1 or len(cells) != 2 or cells[1].find("pre") is None:
        return
    if cells[0].find("pre") is not None and _NUMBERS.fullmatch(cells[0].get_text()):
        cells.pop(0).decompose()


def _put_above(table: Tag) -> None:
    """Move the caption above the table, and remove what has no text, so that the first row is the first element."""
    for part in table.find_all(["caption", "colgroup", "col", "thead"], recursive=False):
        if part.name == "caption":
            part.name = "p"
            table.insert_before(part)
        elif part.name != "thead" or part.find("tr") is None:
            part.decompose()


def _is_laid_out(cell: Tag) -> bool:
    """Whether a cell is a part of the page: a section with a heading."""
    return cell.find(_HEADINGS) is not None and cell.find(_BLOCKS) is not None


def _fill(rows: list[Tag], left: int) -> int:
    """Put each cell that spans several rows into all of them, and return how many more cells may be put."""
    hanging: dict[int, tuple[int, Tag]] = {}  # by its column, a cell from above and the rows that it still spans
    for row in rows:
        column = 0
        for cell in [*row.find_all(_CELLS, recursive=False), None]:
            while column in hanging and left > 0:
                rest, above = hanging.pop(column)
                if rest > 1:
                    hanging[column] = (rest - 1, above)
                if cell is None:
                    row.append(_repeated(above))
                else:
                    cell.insert_before(_repeated(above))
                left -= 1
                column += _number(above, "colspan")
            if cell is None:
                break
            if (spanned := _number(cell, "rowspan")) > 1:
                hanging[column] = (spanned - 1, cell)
                del cell["rowspan"]
            column += _number(cell, "colspan")
    return left


def _repeated(cell: Tag) -> Tag:
    one = copy(cell)
    if len(one.get_text()) > REPEATED:
        one.clear()
    return one


def _number(cell: Tag, name: str) -> int:
    """How many columns or rows a cell spans."""
    stated = str(cell.get(name) or "")
    return max(1, min(1_000, int(stated))) if stated.isascii() and stated.isdigit() and len(stated) < 9 else 1


def _put_into_line(block: Tag) -> None:
    """Make a piece of code of each line of a block of code."""
    from bs4.element import Tag

    for ending in block.find_all("br"):
        ending.replace_with("\n")
    lines = [line.strip() for line in block.get_text().split("\n") if line.strip()]
    block.clear()
    block.name = "span"
    for line in lines:
        code = Tag(name="code")
        code.string = line
        block.extend([" ", code])
