"""Is a sentence in another language than the passages? Told by the script, else by the words that are nobody's topic.

Not which language it is: a sentence of the same language shares its small words with any few hundred words of text, one
of another language only names.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Final

from rag.text.english.stopwords import IDLE
from rag.text.terms import is_english

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_FEWEST: Final = 4  # words; fewer may all be names
_KNOWN: Final = 0.3  # share of a sentence's words that are known, below which it is of another language
_KNOWN_IN_ENGLISH: Final = 0.7  # the same where the vocabulary knows English words that the text does not have
_ENGLISH: Final = 0.2  # share of small English words that English text exceeds by far
_LONGEST: Final = 4000  # code points that are looked at of a sentence
_NO_SPACES: Final = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"})
_EAST_ASIAN: Final = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}


class Tongue:
    """The language of some text, as far as a sentence can be compared with it."""

    def __init__(self, text: str) -> None:
        found = [word.casefold() for word in _WORD.findall(text)]
        english = sum(word in IDLE for word in found) > _ENGLISH * len(found)
        self._script = _script(text)
        self._words = frozenset(found)
        self._english = english

    def is_foreign(self, sentence: str) -> bool:
        """Whether the sentence is of another language; False where it or the text is too short to say."""
        sentence = re.sub(r"`[^`]*`", " ", sentence[:_LONGEST])
        script = _script(sentence)
        if not self._script or not script or script != self._script:
            return bool(self._script and script)
        if script in _NO_SPACES:
            return False
        found = [word.casefold() for word in _WORD.findall(sentence)]
        known = sum(word in self._words or (self._english and _is_english(word)) for word in found)
        return len(found) >= _FEWEST and known < (_KNOWN_IN_ENGLISH if self._english else _KNOWN) * len(found)


def _is_english(word: str) -> bool:
    return word in IDLE or is_english(word)


def _script(text: str) -> str:
    """The script of most letters, by the names that Unicode gives them; empty where there are fewer than four."""
    counts = Counter(_script_of(letter) for letter in text[:_LONGEST] if letter.isalpha())
    return counts.most_common(1)[0][0] if counts.total() >= _FEWEST else ""


@lru_cache(maxsize=5000)
def _script_of(letter: str) -> str:
    first = unicodedata.name(letter, "").partition(" ")[0]
    return _EAST_ASIAN.get(first, first)
