"""Brackets with numbers that are the book's own, such as the interval [0, 1] or the reference [12], and no markers.

A bracket is the book's if a passage has it with the same words directly around it. It is written with signs that no
visible text has until it is shown, so nothing takes it for a marker in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from rag.text.markup import BOOK_BRACKETS, expand
from rag.types import Passage

_BRACKET: Final = re.compile(r"(?P<escape>\\?)\[(?=[^\[\]\n\d]{0,100}\d)(?P<inner>[^\[\]\n]{1,200})\](?!\()")
_WORD: Final = re.compile(r"\w+|[^\w\s*`|>#\\]")  # the words and signs around a bracket; markup does not count
_AFTER: Final = re.compile(r"(?:\\?\[[^\[\]\n]*\]|[^\w\[])*+(?P<word>\w*)")
_AROUND: Final = 200  # code points in which the words around a bracket stand
_CERTAIN: Final = 1  # words before a bracket that cannot be a marker
_DOUBTFUL: Final = 3  # words before a bracket that may be a marker of the answer


class _Place(NamedTuple):
    """A bracket with the words and signs before it, the last one first, and the word after it."""

    inner: str
    before: tuple[str, ...]
    after: str
    alone: bool  # no other bracket follows in its sentence
    escaped: bool


class BookBrackets:
    """The brackets with numbers in the passages of one turn."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages

    def hidden(self, text: str) -> str:
        """A sentence of the answer with the signs of `BOOK_BRACKETS` in place of the book's own brackets."""
        if "[" not in text or not self._places:
            return text
        parts, end = [], 0
        for bracket in _BRACKET.finditer(text):
            if self._is_the_book_s(_place(text, bracket)):
                inside = bracket["inner"].removesuffix("\\")
                parts += [text[end : bracket.start()], BOOK_BRACKETS[0], inside, BOOK_BRACKETS[1]]
                end = bracket.end()
        return "".join([*parts, text[end:]])

    @cached_property
    def _places(self) -> dict[str, list[tuple[int, _Place]]]:
        """The brackets of the passages and their titles, each with the number of its passage, by what is in them."""
        found: dict[str, list[tuple[int, _Place]]] = {}
        for passage in self._passages:
            for text in (passage.text, passage.title, passage.heading, passage.breadcrumb):
                for place in _places(text or ""):
                    found.setdefault(place.inner, []).append((passage.number, place))
        return found

    def _is_the_book_s(self, place: _Place) -> bool:
        standing = self._places.get(place.inner, ())
        numbers = expand(place.inner)
        known = {passage.number for passage in self._passages}.issuperset(numbers)
        words = _DOUBTFUL if numbers and known and not place.escaped else _CERTAIN
        by = [number for number, own in standing if _is_same(place, own, words)]
        # At the end of a sentence "[2]" cites passage 2, whether or not passage 2 ends its sentence so.
        cites = words == _DOUBTFUL and place.alone and not place.after and not set(by).isdisjoint(numbers)
        return bool(by) and not cites


def _places(text: str) -> Iterator[_Place]:
    return (_place(text, bracket) for bracket in _BRACKET.finditer(text)) if "[" in text else iter(())


def _place(text: str, bracket: re.Match[str]) -> _Place:
    before = _WORD.findall(text[max(0, bracket.start() - _AROUND) : bracket.start()])[-_DOUBTFUL:]
    rest = text[bracket.end() : bracket.end() + _AROUND]
    after = _AFTER.match(rest)
    return _Place(
        re.sub(r"\s|\\$", "", bracket["inner"]),
        tuple(word.casefold() for word in reversed(before)),
        after["word"].casefold() if after else "",
        "[" not in rest,
        bool(bracket["escape"]),
    )


def _is_same(place: _Place, own: _Place, most: int) -> bool:
    """Whether the words around two brackets are the same, up to `most` before them and, if there may be doubt, after.

    Near the beginning or the end of its sentence the first bracket has fewer words.
    """
    before = place.before[:most]
    if own.before[: len(before)] != before:
        return False
    if before and most == _CERTAIN:
        return True
    return len(before) + bool(place.after) >= min(most, 2) and place.after in ("", own.after)
