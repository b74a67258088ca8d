"""The passages as the support check reads them: their sentences, and where each word and each quantity stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rag.grounding.numbers import Quantity, quantities
from rag.grounding.words import Token, tokens
from rag.text.sentences import units

TITLE_WORDS: Final = 14
LONGEST_SHORT: Final = 6  # letters of an abbreviation


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One sentence, item, row or heading of a passage: `text[start:end]` of it. `places` are token indices by key,
    by `#` and a number, and by `~` and the first letters of a name."""

    start: int
    end: int
    heading: bool
    tokens: tuple[Token, ...]
    quantities: tuple[Quantity, ...]
    places: dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class ReadPassages:
    """One passage. `keys` are all its keys, `title` those of its headings."""

    text: str
    lines: tuple[SourceLine, ...]
    keys: frozenset[str]
    title: frozenset[str]


@lru_cache(maxsize=128)
def read(text: str) -> ReadPassages:
    """A passage, read once and remembered: an answer's sentences cite the same few."""
    lines = tuple(line for line in _lines(text) if line.tokens)
    keys = frozenset(key for line in lines for key in line.places)
    title = frozenset(key for line in lines if line.heading for key in line.places)
    return ReadPassages(text, lines, keys, title)


def line(text: str, start: int, end: int, heading: bool = False) -> SourceLine:
    found = tokens(text, start, end)
    places: dict[str, list[int]] = {}
    for index, token in enumerate(found):
        places.setdefault(token.key, []).append(index)
    counted = quantities(found)
    for quantity in counted:
        for value in quantity.values:
            places.setdefault(f"#{value}", []).append(quantity.first)
    for letters, index in _initials(found):
        places.setdefault(f"~{letters}", []).append(index)
    return SourceLine(start, end, heading, found, counted, {key: tuple(at) for key, at in places.items()})


def _initials(found: Sequence[Token]) -> Iterator[tuple[str, int]]:
    """What names of two to six words may be called for short, with the first token: "nfl", "dom" and "doma"."""
    capitals = [index for index, token in enumerate(found) if token.capital and not token.digits]
    for place, first in enumerate(capitals):
        letters, last = found[first].word[0], first
        for index in capitals[place + 1 : place + LONGEST_SHORT]:
            between = found[last + 1 : index]
            if len(between) > 1 or any(token.content or token.mark for token in between):
                break
            letters, last = letters + found[index].word[0], index
            yield letters, first


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
    """Where a title ends that stands, without a mark of its own, in the passage's first line; 0 without one."""
    first, newline, rest = text.partition("\n")
    words = first.split()
    if not newline or not words or len(words) > TITLE_WORDS or first.rstrip()[-1] in ".!?:;,|`-":
        return 0
    follows = rest.lstrip()[:1]
    return len(first) if follows.isupper() or follows.isdigit() or not follows.isalpha() else 0


def windows(lines: Sequence[SourceLine], width: int) -> Iterator[range]:
    """Stretches of up to `width` neighbouring lines."""
    for start in range(len(lines)):
        for size in range(1, min(width, len(lines) - start) + 1):
            yield range(start, start + size)
