"""Renders a block of an answer for a terminal: Markdown with quiet citation marks, and links that can be clicked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Final

from markdown_it.token import Token
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, ImageItem, Markdown, TableElement
from rich.padding import Padding
from rich.segment import Segment
from rich.syntax import Syntax
from rich.text import Text

from cli.blocks import AnswerBlock

_CELLS: Final = re.compile(r"(?<!\\)\|")
_INDENT: Final = 8  # columns that nested lists may take from the width
_MARGIN: Final = 2  # columns before code, and between the columns of a table
# Terminals that open OSC 8 links, by the variables that they set.
_LINKING: Final = ("VTE_VERSION", "KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "DOMTERM", "WEZTERM_PANE")
_LINKING_PROGRAMS: Final = ("iTerm.app", "WezTerm", "vscode", "Hyper", "ghostty", "Tabby", "rio", "zed")
_LINKING_TERMS: Final = ("kitty", "alacritty", "foot", "ghostty", "wezterm", "contour")


def links_work(console: Console) -> bool:
    """Whether the terminal opens OSC 8 links. FORCE_HYPERLINK=1 or 0 decides, as in many programs."""
    if not console.is_terminal or console.is_dumb_terminal or console.color_system is None:
        return False
    if (forced := os.environ.get("FORCE_HYPERLINK")) is not None:
        return forced not in ("", "0")
    term = os.environ.get("TERM", "")
    return (
        any(os.environ.get(name) for name in _LINKING)
        or os.environ.get("TERM_PROGRAM") in _LINKING_PROGRAMS
        or any(name in term for name in _LINKING_TERMS)
    )


def rendered(block: AnswerBlock, links: Mapping[int, str] | None, width: int) -> RenderableType:
    """The block for a terminal of `width` columns. `links` are the addresses of the passages by number; None if the
    terminal cannot open links, whose addresses then follow their texts.
    """
    text = block.text
    if block.is_table and (not block.has_head or not _fits(text, width)):
        text = _as_list(text)
    parts: list[RenderableType] = [_Answer(text, links, width)]
    if block.markers:
        indent = _MARGIN if block.is_code else 0
        parts.append(Padding(_Answer(block.markers, links, width), (0, 0, 0, indent)))
    return Group(*parts)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELLS.split(row.strip())[1:-1]]


def _fits(table: str, width: int) -> bool:
    """Whether every word of the table has room in its column."""
    rows = [_cells(line) for line in table.split("\n")]
    columns = max(map(len, rows))
    longest = [0] * columns
    for row in rows:
        for place, cell in enumerate(row):
            words = MARK.sub(rf"{GLUE}\1", re.sub(r"[`*]", "", cell)).replace(f" {GLUE}", GLUE).split()
            longest[place] = max([longest[place], *map(cell_len, words)])
    return sum(longest) + _MARGIN * (columns + 1) <= width


def _as_list(table: str) -> str:
    """The rows of a table as items of a list, the cells of each separated by a dot."""
    rows = [_cells(line) for line in table.split("\n")]
    has_head = len(rows) > 1 and all(re.fullmatch(r":?-+:?", cell) for cell in rows[1])
    items = []
    for row in rows[2:] if has_head else rows:
        marks = row.pop() if row and MARK.sub("", row[-1]).strip() == "" and row[-1] else ""
        items.append(f"- {' · '.join(filter(None, row))} {marks}".rstrip())
    return "\n".join(items)


class _Heading(Heading):
    """A heading on the left, in bold."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self.text.plain, style="bold")


class _Code(CodeBlock):
    """Code in the colours of the terminal, indented, without a background."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = Syntax(
            str(self.text).rstrip(), self.lexer_name, theme="ansi_dark", background_color="default", word_wrap=True
        )
        yield Padding(code, (0, 0, 0, _MARGIN))


class _Image(ImageItem):
    """The text of an image, since a terminal shows no picture."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text.assemble("(image: ", self.text or Text(self.destination), ")", end="")


class _Table(TableElement):
    """A table without lines around it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", border_style="dim")
        for column in self.header.row.cells if self.header and self.header.row else ():
            table.add_column(column.content.copy())
        for row in self.body.rows if self.body else ():
            table.add_row(*(cell.content for cell in row.cells))
        yield table


class _Answer(Markdown):
    """Markdown whose citation marks are quiet, and open the cited page where `links` has its address."""

    elements = {  # noqa: RUF012  # as in rich
        **Markdown.elements, "heading_open": _Heading, "fence": _Code, "code_block": _Code,
        "image": _Image, "table_open": _Table,
    }  # fmt: skip
    inlines = {*Markdown.inlines, "mark"}  # noqa: RUF012

    def __init__(self, text: str, links: Mapping[int, str] | None, width: int) -> None:
        super().__init__(text, hyperlinks=links is not None)
        for token in self.parsed:
            if token.children:
                token.children = with_marks(token.children, links or {})
                hold_marks(token.children, width - _INDENT, addresses=links is None)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The elements, without the empty line that rich puts before a table at the beginning."""
        began = False
        for part in super().__rich_console__(console, options):
            if began or part != Segment.line():
                began = True
                yield part._replace(text=part.text.replace(GLUE, " ")) if isinstance(part, Segment) else part


MARK: Final = re.compile(r"(\[(?:\d+|\?)\])")
# A space at which no line may end: rich ends lines at every kind of space. One column wide.
GLUE: Final = "\U0010fffd"
_AFTER: Final = 2  # columns for what may follow a mark, such as ")."


def is_web_address(url: str) -> bool:
    return url.startswith(("https://", "http://"))


def with_marks(tokens: Sequence[Token], links: Mapping[int, str]) -> list[Token]:
    """The tokens of a line of Markdown, with a token for each mark. `links` are the addresses of marks by number."""
    return [part for token in tokens for part in _parts(token, links)]


def _parts(token: Token, links: Mapping[int, str]) -> list[Token]:
    if token.type != "text" or not MARK.search(token.content):
        return [token]
    parts: list[Token] = []
    for piece in filter(None, MARK.split(token.content)):
        text = Token("text", "", 0, content=piece)
        if not MARK.fullmatch(piece):
            parts.append(text)
            continue
        shown = [Token("mark_open", "mark", 1), text, Token("mark_close", "mark", -1)]
        address = links.get(int(piece[1:-1]), "") if piece != "[?]" else ""
        if is_web_address(address):
            link = Token("link_open", "a", 1, attrs={"href": address})
            shown = [link, *shown, Token("link_close", "a", -1)]
        parts += shown
    return parts


def hold_marks(tokens: Sequence[Token], width: int, *, addresses: bool) -> None:
    """Put `GLUE` in place of spaces before marks, so that no line begins with a mark.

    A word that leaves no room for its mark in `width` columns keeps its space, or it would be broken. With `addresses`,
    the address of a link follows its text.
    """
    before, place = "", None  # the text so far, and the last token that shows any
    inside, address = False, ""  # inside a mark; the address of a link
    for token in tokens:
        if token.type in ("mark_open", "mark_close"):
            inside = token.type == "mark_open"
        elif token.type == "link_open":
            address = str(token.attrs.get("href", ""))
        elif token.type == "link_close" and addresses:
            before += f" ({address})"
        elif token.type in ("softbreak", "hardbreak"):
            before, place = f"{before} ", token
        elif token.content:
            if inside and place is not None and _has_room(before, token.content, width):
                _glue(place)
                before = before.rstrip() + GLUE
            before, place = before + token.content, token


def _has_room(before: str, mark: str, width: int) -> bool:
    """Whether a space is before the mark, and the word before the space fits on a line with it."""
    word = before.rstrip().rpartition(" ")[2]
    return bool(word) and before[-1:].isspace() and cell_len(word) + 1 + cell_len(mark) + _AFTER <= width


def _glue(token: Token) -> None:
    if token.type == "softbreak":
        token.type, token.content = "text", ""
    if token.type != "hardbreak":
        token.content = token.content.rstrip() + GLUE
