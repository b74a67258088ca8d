"""Misspelt words of a question, corrected by the words of the book.

The vocabulary of the embedding model lists whole words roughly by frequency from line 1,997 ("the") on. A word that is
frequent in English is never corrected.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from rag.text.words import stem

VOCABULARY: Final = Path(__file__).parent.parent / "data" / "vocab.txt"
_FIRST_WORD: Final = 1996  # lines before the first word: special tokens, punctuation, single characters
_RARE: Final = 10_000  # rank from which a word is rare
_SHORTEST: Final = 4  # letters of a word that is corrected; shorter words are too close to others
_ONE_EDIT: Final = 7  # letters up to which one edit is allowed; longer words may have two
_WRITTEN: Final = re.compile(r"[^\W\d_]{3,}")
_PART: Final = re.compile(r"[A-Z][a-z]{2,}")  # of a name such as RedirectResponse


def vocabulary(texts: Iterable[str]) -> Counter[str]:
    """How often some texts have each word and each part of a name, in lower case; none of one or two letters."""
    written = Counter(word for text in texts for word in _WRITTEN.findall(text))
    words = Counter[str]()
    for word, count in written.items():
        for part in {word, *_PART.findall(word)}:
            words[part.lower()] += count
    return words


def has_unknown_words(question: str, words: Collection[str]) -> bool:
    """Whether a word of the question is neither in the vocabulary nor common."""
    typed = (word.lower() for word in _WRITTEN.findall(question) if len(word) >= _SHORTEST)
    return any(word not in words and _is_rare(word) for word in typed)


def correct_spelling(question: str, words: Collection[str]) -> str:
    """The question with each misspelt word as the vocabulary spells it; "" if no word changes.

    A word is misspelt if it is rare ("jupiter"), the vocabulary lacks it and has one that is spelt almost so.

    >>> correct_spelling("How do I instal it?", {"install"}), correct_spelling("How do I install it?", {"installs"})
    ('How do I install it?', '')

    A capital may begin a name that the text does not have, so such a word is corrected in one letter alone.

    >>> correct_spelling("Can I open a Simulink model?", {"symlink"}), correct_spelling("on Andriod?", {"android"})
    ('', 'on android?')
    """

    def corrected(match: re.Match[str]) -> str:
        word = match[0].lower()
        found = nearest(word, words, most=1 if match[0][0].isupper() else 2) if _is_rare(word) else ""
        english = word in _ranks() or stem(word) in _ranks()
        same = english and stem(found) == stem(word)
        two = word in _ranks() and found in _ranks() and sorted(word) != sorted(found)  # "oven" is not "over"
        return match[0] if not found or same or two else found

    written = _WRITTEN.sub(corrected, question)
    return "" if written == question else written


def nearest(word: str, words: Collection[str], *, most: int = 2) -> str:
    """The word of the vocabulary that is closest to a lower-case word; "" if none is close or the word has a digit.

    Distance counts insertions, deletions, replacements and swaps of neighbours: one in a word of up to seven letters,
    `most` in a longer one. The first letter must be right. A letter left out or typed twice is likelier than a wrong
    one; of words that are equally close, the one that the text has most often wins, then the commonest in English.

    >>> nearest("speciffic", {"special", "specific"}), nearest("vuex", {"redux"})
    ('specific', '')
    >>> nearest("decending", {"defending", "descending"}), nearest("pyton", {"pyston": 1, "python": 9})
    ('descending', 'python')
    """
    from rapidfuzz.distance import OSA, LCSseq
    from rapidfuzz.process import extract

    if len(word) < _SHORTEST or not word.isalpha() or word in words:
        return ""
    most = 1 if len(word) <= _ONE_EDIT else most
    alike = [other for other in words if other[0] == word[0] and abs(len(other) - len(word)) <= most]
    found = extract(word, sorted(alike), scorer=OSA.distance, score_cutoff=most, limit=None)
    closest = [other for other, distance, _ in found if distance == found[0][1]]
    counts: Mapping[str, int] = words if isinstance(words, Mapping) else {}

    def rank(other: str) -> tuple[bool, int, float]:
        wrong_letter = LCSseq.distance(word, other) > abs(len(word) - len(other))
        return wrong_letter, -counts.get(other, 0), _ranks().get(other, math.inf)

    return min(closest, key=rank, default="")


def _is_rare(word: str) -> bool:
    """Whether a word is not among the ten thousand commonest, which include few misspelt words."""
    forms = (word, stem(word), word.removesuffix("s"))
    return min(_ranks().get(form, _RARE) for form in forms) >= _RARE


@cache
def _ranks() -> dict[str, int]:
    """Rank by frequency of every whole word of the vocabulary, from 1."""
    lines = VOCABULARY.read_text(encoding="utf-8").splitlines()[_FIRST_WORD:]
    return {word: rank for rank, word in enumerate(lines, 1) if not word.startswith("##")}
