"""What a printed page is read as: lines with their places, and the entries of the outline."""

from __future__ import annotations

from dataclasses import dataclass


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
