"""Words of a passage with their letters shuffled or their spaces left out: what a planted order may ask a model for.

A support check that allows other words than the passage's takes such a word for one of those. It is none: no text and
no vocabulary has it, and its letters are those of the passage.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from rag.terms import is_english

_SHORTEST: Final = 4  # letters; shorter words are each other's anagrams by chance
_FEWEST_JOINED: Final = 4  # words run together; fewer of them are a compound
_WORD: Final = re.compile(r"[^\W\d_]+")


def is_garbled(sentence: str, text: str) -> bool:
    """Whether a word of the sentence is a shuffled word of the text, or some of its words run together."""
    strange = {
        word
        for word in _WORD.findall(sentence.casefold())
        if len(word) >= _SHORTEST and word not in text and not is_english(word)
    }
    if not strange:
        return False
    words = set(_WORD.findall(text))
    shuffled = {"".join(sorted(word)) for word in words if len(word) >= _SHORTEST}
    return any("".join(sorted(word)) in shuffled or _joined(word, words) >= _FEWEST_JOINED for word in strange)


def _joined(word: str, words: Collection[str]) -> int:
    """How many of the words make up this one, set one after the other; 0 where they do not."""
    fewest: dict[int, int] = {0: 0}
    for end in range(1, min(len(word), 400) + 1):
        counts = [fewest[begin] + 1 for begin in fewest if end - begin <= 40 and word[begin:end] in words]
        if counts:
            fewest[end] = min(counts)
    return fewest.get(len(word), 0)
