"""Misspelt words: the word of a vocabulary that is spelt almost the same, and words that were garbled on purpose."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from rag.text.terms import is_english, rarity, stem

SHORTEST: Final = 4  # letters of a word that is corrected or unscrambled; shorter words are too close to others
ONE_EDIT: Final = 7  # letters up to which one edit is allowed; longer words may have two

FEWEST_JOINED: Final = 4  # words run together; fewer of them are a compound

_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_PART: Final = re.compile(r"[A-Z][a-z]{2,}")  # of a name such as RedirectResponse
_LETTERS: Final = re.compile(r"[^\W\d_]+")


def vocabulary(texts: Iterable[str]) -> set[str]:
    """The words of some texts and the parts of their names, in lower case, without those of one or two letters."""
    written = {word for text in texts for word in _WORD.findall(text)}
    return {part.lower() for word in written for part in (word, *_PART.findall(word))}


def is_strange(question: str, words: Collection[str]) -> bool:
    """Whether a word of the question is neither in the vocabulary nor common."""
    typed = (word.lower() for word in _WORD.findall(question) if len(word) >= SHORTEST)
    return any(word not in words and _is_rare(word) for word in typed)


def respelt(question: str, words: Collection[str]) -> str:
    """The question with each misspelt word as the vocabulary spells it; "" if no word changes.

    A word is misspelt if it is rare ("jupiter"), the vocabulary lacks it and has one that is spelt almost so.

    >>> respelt("How do I instal it?", {"install"}), respelt("How do I install it?", {"installs"})
    ('How do I install it?', '')
    """

    def corrected(match: re.Match[str]) -> str:
        word = match[0].lower()
        found = nearest(word, words) if _is_rare(word) else ""
        return found if found and not (is_english(word) and stem(found) == stem(word)) else match[0]

    written = _WORD.sub(corrected, question)
    return "" if written == question else written


def _is_rare(word: str) -> bool:
    """Whether a word is not among the ten thousand commonest, which include few misspelt words."""
    return rarity(word) == 1.0


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


def is_garbled(sentence: str, text: str) -> bool:
    """Whether the sentence holds a shuffled word of the text, or words of the text run together.

    A planted order may ask a model for such words. They are no paraphrase: neither the text nor English has them.

    >>> is_garbled("The edon runs.", "the node runs")
    True
    """
    strange = {
        word
        for word in _LETTERS.findall(sentence.casefold())
        if len(word) >= SHORTEST and word not in text and not is_english(word)
    }
    if not strange:
        return False
    words = set(_LETTERS.findall(text))
    shuffled = {"".join(sorted(word)) for word in words if len(word) >= SHORTEST}
    return any("".join(sorted(word)) in shuffled or _joined(word, words) >= FEWEST_JOINED for word in strange)


def _joined(word: str, words: Collection[str]) -> int:
    """How many of the words make up this one when joined; 0 when they do not."""
    fewest: dict[int, int] = {0: 0}
    for end in range(1, min(len(word), 400) + 1):
        counts = [fewest[begin] + 1 for begin in fewest if end - begin <= 40 and word[begin:end] in words]
        if counts:
            fewest[end] = min(counts)
    return fewest.get(len(word), 0)
