"""The citation marks of an answer, such as "[1]" and "[?]": quiet, linked, and beside the word that they follow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from markdown_it.token import Token
from rich.cells import cell_len

MARK: Final = re.compile(r"(\[(?:\d+|\?)\])")
# Stands for a space at which no line may end, since rich ends lines at every kind of space. One column wide.
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
    """Put `GLUE` for the spaces before marks, so that no line begins with a mark.

    A word that leaves no room for its mark in `width` columns keeps the space, since it would be broken itself. With
    `addresses`, the address of a link stands behind its text.
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
