"""The characters of a page, as PDFium tells of them, with places and sizes as a reader sees the page."""

from __future__ import annotations

import ctypes
from math import hypot
from typing import Any

from rag.ingest.formats.font_widths import FIXED

_FIXED_PITCH = 1  # a flag of a font, PDF 32000-1:2008, table 123


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
        """The size of type of a character as it is drawn.

        Many programs, such as those of Adobe, Apple and cairo, choose a font of size 1 and enlarge it.
        """
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
