"""How many tokens a text has at most, for embedding models whose tokenizer is not at hand."""

from __future__ import annotations

import re
from typing import Final

_UNIT: Final = re.compile(r"[^\W\d_]+|[\d_]|[^\w\s]")
_WORD: Final = re.compile(r"\s*\S+")
_WIDE: Final = 0x2E7F  # beyond it stand the scripts that take about a token a letter


def most_tokens(text: str) -> int:
    """At least as many as a subword tokenizer makes of the text: three letters a token, two outside of ASCII.

    Digits, marks, and letters of scripts without spaces count one each. Of 2,112 pieces of 1,400 characters from three
    textbooks in Markdown, BERT's word pieces were 70 % of this in the middle and 97 % at most (see
    `bench/token_bound.py`). `rag.budget` has the estimate that is right on average, too low for one piece in ten.
    """
    total = 0
    for found in _UNIT.finditer(text):
        unit = found.group()
        if len(unit) == 1:
            total += 1
        elif unit.isascii():
            total += -(-len(unit) // (2 if unit.isupper() else 3))
        else:
            wide = sum(1 for letter in unit if ord(letter) > _WIDE)
            total += wide + -(-(len(unit) - wide) // 2)
    return total


def pieces(text: str, most: int) -> list[str]:
    """The text cut between words into pieces of at most `most` tokens; nothing is left out. One that fits is itself."""
    if most_tokens(text) <= most:
        return [text]
    found: list[str] = []
    room = 0
    for word in _WORD.findall(text):
        # A token is at least one character, so a slice of `most` characters always fits.
        whole = most_tokens(word) <= most
        for begin in range(0, len(word), len(word) if whole else most):
            part = word if whole else word[begin : begin + most]
            cost = most_tokens(part)
            if begin or cost > room or not found:  # two slices of one word may cost more together
                found.append("")
                room = most
            found[-1] += part
            room -= cost
    return found
