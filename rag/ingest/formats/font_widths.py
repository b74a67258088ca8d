"""Which fonts of a PDF are those of code: all of their characters have one width.

Few programs say so in the file, and TeX's fonts have names such as "t1xtt" and "NimbusMonL". So the widths of those
characters are compared that differ in every other font.
"""

from __future__ import annotations

from typing import Final

FIXED: Final = " (one width)"  # behind the name of a font that says so itself
_NARROW: Final = frozenset("ijlt.,:;!|'1")
_WIDE: Final = frozenset("mwMW@%")
TELLING: Final = _NARROW | _WIDE
_KNOWN: Final = ("mono", "courier", "consol", "menlo", "typewriter", "cmtt", "inconsolata")
_SAME: Final = 0.01  # of the size of type


class FontWidths:
    """The widths of characters, as parts of the size of type, by the name of their font."""

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
