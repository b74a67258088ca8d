"""A number that counts what the sentence itself lists: "three systems: Linux, Windows and macOS"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rag.support.evidence import Sources
from rag.support.numbers import Quantity
from rag.support.reading import Line
from rag.support.words import Token

_MOST: Final = 12  # things that a sentence lists
_APART: Final = frozenset({",", ";"})
_LAST: Final = frozenset({"and", "or"})


def counts_items(quantity: Quantity, said: Line, sources: Sources) -> bool:
    """Does the number say how many things follow the colon behind it, every word of which the passages have?"""
    colon = next((i for i in range(quantity.last + 1, len(said.tokens)) if said.tokens[i].word == ":"), None)
    if colon is None or quantity.unit:
        return False
    listed = said.tokens[colon + 1 :]
    count = len(_items(listed))
    known = all(sources.forms(token.key) for token in listed if token.content)
    return known and 2 <= count <= _MOST and str(count) in quantity.values


def _items(tokens: Sequence[Token]) -> list[int]:
    """The words of each thing listed, in number: "A, B, and C" are three."""
    items = [0]
    for token in tokens:
        if token.word in _APART or token.word in _LAST:
            items.append(0)
        elif token.content:
            items[-1] += 1
    return [words for words in items if words]
