"""Misspelt words: the word of a vocabulary that is spelt almost the same."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

SHORTEST: Final = 4  # letters of a word that is corrected; shorter words are too close to others
ONE_EDIT: Final = 7  # letters up to which one edit is allowed; longer words may have two


def nearest(word: str, vocabulary: Collection[str]) -> str:
    """The word of the vocabulary that is closest to a lower-case word; "" if none is close or the word has a digit.

    Distance counts insertions, deletions, replacements and swaps of neighbours: one in a word of up to seven letters,
    two in a longer one. The first letter must be right, which it is in most slips of a finger.

    >>> nearest("speciffic", {"special", "specific"}), nearest("vuex", {"redux"})
    ('specific', '')
    """
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import extract

    if len(word) < SHORTEST or not word.isalpha() or word in vocabulary:
        return ""
    most = 1 if len(word) <= ONE_EDIT else 2
    alike = [other for other in vocabulary if other[0] == word[0] and abs(len(other) - len(word)) <= most]
    found = extract(word, sorted(alike), scorer=OSA.distance, score_cutoff=most, limit=1)
    return str(found[0][0]) if found else ""
