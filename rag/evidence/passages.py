"""Passages, cut into lines, with an index of the words and numbers of each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rag.evidence.numbers import Quantity, quantities
from rag.evidence.words import Token, tokens
from rag.text.sentences import units

TITLE_WORDS: Final = 14  # at most, of a title without a mark


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A sentence, item, row or heading of a passage, at `text[start:end]` in code points.

    `places` maps a key to the indices of its tokens. "#" and a number is the key of a quantity.
    """

    start: int
    end: int
    heading: bool
    tokens: tuple[Token, ...]
    quantities: tuple[Quantity, ...]
    places: dict[str, tuple[int, ...]]

    def text_of(self, quantity: Quantity) -> str:
        """The words of one of its quantities."""
        return " ".join(token.word for token in self.tokens[quantity.first : quantity.last + 1])


@dataclass(frozen=True, slots=True)
class ReadPassages:
    """A passage. `keys` are those of all its lines, `title` those of its headings."""

    text: str
    lines: tuple[SourceLine, ...]
    keys: frozenset[str]
    title: frozenset[str]


@lru_cache(maxsize=128)
def read(text: str) -> ReadPassages:
    """Read a passage. The result is cached, since the sentences of an answer cite the same few passages."""
    lines = tuple(line for line in _lines(text) if line.tokens)
    keys = frozenset(key for line in lines for key in line.places)
    title = frozenset(key for line in lines if line.heading for key in line.places)
    return ReadPassages(text, lines, keys, title)


def line(text: str, start: int, end: int, heading: bool = False) -> SourceLine:
    """Read `text[start:end]` as one line."""
    found = tokens(text, start, end)
    places: dict[str, list[int]] = {}
    for index, token in enumerate(found):
        places.setdefault(token.key, []).append(index)
    counted = quantities(found)
    for quantity in counted:
        places.setdefault(f"#{quantity.value}", []).append(quantity.first)
    return SourceLine(start, end, heading, found, counted, {key: tuple(at) for key, at in places.items()})


@lru_cache(maxsize=128)
def whole_line(text: str) -> SourceLine:
    """Read the text as one line. The result is cached, since a sentence is compared with one passage after another."""
    return line(text, 0, len(text))


def _lines(text: str) -> Iterator[SourceLine]:
    begin = _title_end(text)
    if begin:
        yield line(text, 0, begin, heading=True)
    for unit in units(text):
        start = max(unit.start, begin)
        start += len(text[start : unit.end]) - len(text[start : unit.end].lstrip())
        if unit.end > start:
            yield line(text, start, unit.end, unit.kind == "heading")


def _title_end(text: str) -> int:
    """Where the title of a passage ends: a short first line without closing punctuation. 0 if there is none."""
    first, newline, rest = text.partition("\n")
    words = first.split()
    if not newline or not words or len(words) > TITLE_WORDS or first.rstrip()[-1] in ".!?:;,|`-":
        return 0
    following = rest.lstrip()[:1]
    return 0 if following.isalpha() and not following.isupper() else len(first)


def windows(lines: Sequence[SourceLine], width: int) -> Iterator[range]:
    """All stretches of up to `width` adjacent lines, as ranges of indices."""
    for start in range(len(lines)):
        for size in range(1, min(width, len(lines) - start) + 1):
            yield range(start, start + size)
