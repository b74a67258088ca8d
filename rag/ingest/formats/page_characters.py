"""The characters of a page, as PDFium tells of them: their places, sizes and fonts, and spaces that it does not see."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from math import hypot
from typing import Any, Final

_FIXED_PITCH: Final = 1  # a flag of a font, PDF 32000-1:2008, table 123
FIXED: Final = " (one width)"  # added to the name of a font that says so itself
_NARROW: Final = frozenset("ijlt.,:;!|'1")
_WIDE: Final = frozenset("mwMW@%")
TELLING: Final = _NARROW | _WIDE
_KNOWN: Final = ("mono", "courier", "consol", "menlo", "typewriter", "cmtt", "inconsolata")
_SAME: Final = 0.01  # of the size of type
RAISED: Final = 0.2  # sizes of type by which a power is above its line
SMALLER: Final = 0.9  # of the size of type, which that of a power does not reach
# What a power may follow: a variable, a number or a bracket. The power begins with a digit or a minus sign.
_TO_A_POWER: Final = re.compile(r"(?:(?<![^\W_])[^\W\d_]|\d|[)\]])(?=[-\u2212\u2013]?\d)")


class PageCharacters:
    """The text of an open page of pypdfium2. Places are those in `text`, as PDFium counts them (`units`).

    PDFium gives places as if no page were turned; here they are turned as the page says.
    """

    def __init__(self, page: Any) -> None:
        from pypdfium2 import raw

        self._raw = raw
        self._page = page.get_textpage()
        self._turn = page.get_rotation()
        width, height = page.get_size()
        self._width, self._height = (width, height) if self._turn % 180 == 0 else (height, width)  # before the turn
        self._box, self._matrix = raw.FS_RECTF(), raw.FS_MATRIX()
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._name, self._flags = ctypes.create_string_buffer(200), ctypes.c_int()
        self.text: str = self._page.get_text_range(errors="replace")

    def close(self) -> None:
        self._page.close()

    def index(self, place: int) -> int:
        """The number of the character at a place of the text; negative for one that is not on the page."""
        return int(self._raw.FPDFText_GetCharIndexFromTextIndex(self._page, place))

    def ends(self, index: int) -> tuple[float, float]:
        """The left and the right end of a character with the space around it."""
        box = self._box
        self._raw.FPDFText_GetLooseCharBox(self._page, index, box)
        one, other = self._turned(box.left, box.bottom)[0], self._turned(box.right, box.top)[0]
        return min(one, other), max(one, other)

    def base(self, index: int) -> float:
        """The height of the line that a character stands on, counted from below."""
        self._raw.FPDFText_GetCharOrigin(self._page, index, self._x, self._y)
        return self._turned(self._x.value, self._y.value)[1]

    def size(self, index: int) -> float:
        """The size of type of a character as it is drawn: many programs choose a font of size 1 and enlarge it."""
        size = float(self._raw.FPDFText_GetFontSize(self._page, index))
        matrix = self._matrix
        if self._raw.FPDFText_GetMatrix(self._page, index, matrix) and (scale := hypot(matrix.c, matrix.d)) > 0:
            return size * scale
        return size

    def font(self, index: int) -> str:
        """The name of a character's font; a sign is added to one that calls itself a font of a single width."""
        name, flags = self._name, self._flags
        self._raw.FPDFText_GetFontInfo(self._page, index, name, len(name), flags)
        return name.value.decode("utf-8", "replace") + (FIXED if flags.value & _FIXED_PITCH else "")

    def _turned(self, x: float, y: float) -> tuple[float, float]:
        if self._turn == 90:
            return y, self._width - x
        if self._turn == 180:
            return self._width - x, self._height - y
        if self._turn == 270:
            return self._height - y, x
        return x, y


def units(text: str) -> int:
    """How many places PDFium counts for a text: two for a letter beyond U+FFFF, such as those of formulas."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class FontWidths:
    """The widths of characters, as parts of the size of type, by the name of their font.

    Few programs say that a font is one of code, with one width for all. So characters that differ in every other font
    are compared.
    """

    def __init__(self) -> None:
        self._narrow: dict[str, float] = {}
        self._wide: dict[str, float] = {}

    def add(self, font: str, character: str, width: float) -> None:
        """Remember the width of one of the characters `TELLING`."""
        (self._narrow if character in _NARROW else self._wide).setdefault(font, width)

    def is_known(self, font: str) -> bool:
        """Whether more characters would tell nothing new."""
        return _named(font) or (font in self._narrow and font in self._wide)

    def is_fixed(self, font: str) -> bool:
        """Whether all characters have one width; False for a font of which too little is known."""
        if _named(font):
            return True
        narrow, wide = self._narrow.get(font), self._wide.get(font)
        return narrow is not None and wide is not None and abs(narrow - wide) < _SAME


def _named(font: str) -> bool:
    return font.endswith(FIXED) or any(sign in font.lower() for sign in _KNOWN)


def raised_numbers(page: PageCharacters, line: str, begin: int) -> list[int]:
    """The places in a line at which a power begins: 2^32 is not 232. `begin` is that of the line in its page."""
    places = (found.end() for found in _TO_A_POWER.finditer(line))
    return [n for n in places if _is_raised(page, *(page.index(begin + units(line[:at])) for at in (n - 1, n)))]


def _is_raised(page: PageCharacters, base: int, power: int) -> bool:
    """Whether one character stands above another one as a power does."""
    if base < 0 or power < 0:
        return False
    size = page.size(base)
    return page.size(power) < SMALLER * size and page.base(power) - page.base(base) > RAISED * size


def with_signs(line: str, signs: Mapping[int, str]) -> str:
    """A line with signs put in at places of it.

    >>> with_signs("stafflies 232", {5: " ", 11: "^"})
    'staff lies 2^32'
    """
    return "".join(signs.get(n, "") + character for n, character in enumerate(line))
