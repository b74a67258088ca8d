"""Passages that say the same: a paragraph that stands on two pages, perhaps with another comma."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

SHINGLE: Final = 3  # words
RESEMBLANCE: Final = 0.9
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A text's runs of three words, and its words that hold a digit or more than one capital."""

    shingles: frozenset[tuple[str, ...]]
    marks: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Fingerprint:
        words = _WORD.findall(text)
        small = [word.lower() for word in words]
        runs = zip(*(small[start:] for start in range(min(SHINGLE, len(small)))), strict=False)
        return cls(frozenset(runs), frozenset(word for word in words if _is_mark(word)))

    def same(self, other: Fingerprint) -> bool:
        """Whether two texts resemble each other (Broder 1997) and differ in no number, version or name in capitals.

        The instructions for two versions of a program may differ in one digit, and that digit is what is asked for.
        """
        if self.marks != other.marks:
            return False
        joint = len(self.shingles & other.shingles)
        return joint >= RESEMBLANCE * len(self.shingles | other.shingles)


def _is_mark(word: str) -> bool:
    return any(c.isdigit() for c in word) or sum(c.isupper() for c in word) > 1
