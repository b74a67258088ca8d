"""Whether a sentence is in another language than the passages, by its script and its share of known words.

The language is not identified. A sentence shares its small words with any few hundred words of text in its own
language, but only names with text in another.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Final

from rag.text.english.stopwords import STOP_WORDS
from rag.text.terms import is_english

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_FEWEST: Final = 4  # words, or letters of a script; fewer prove nothing
_KNOWN: Final = 0.3  # a sentence with a smaller share of known words is foreign
_KNOWN_IN_ENGLISH: Final = 0.7  # the same for English text, where the vocabulary's words are known too
_ENGLISH: Final = 0.2  # text with a larger share of small English words is English
_LONGEST: Final = 4000  # code points of a text that are examined for its script, and of a sentence for its words
_NO_SPACES: Final = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"})
_EAST_ASIAN: Final = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}


class Tongue:
    """The language of a text, to compare sentences with."""

    def __init__(self, text: str) -> None:
        words = _words(text)
        self._script = _script(text)
        self._known = frozenset(words)
        self._english = sum(word in STOP_WORDS for word in words) > _ENGLISH * len(words)

    def is_foreign(self, sentence: str) -> bool:
        """Whether the sentence is in another language; False if it or the text is too short to tell."""
        sentence = re.sub(r"`[^`]*`", " ", sentence[:_LONGEST])
        script = _script(sentence)
        if not self._script or not script:
            return False
        if script != self._script:
            return True
        if script in _NO_SPACES:
            return False
        words = _words(sentence)
        known = sum(self._knows(word) for word in words)
        return len(words) >= _FEWEST and known < (_KNOWN_IN_ENGLISH if self._english else _KNOWN) * len(words)

    def _knows(self, word: str) -> bool:
        return word in self._known or (self._english and (word in STOP_WORDS or is_english(word)))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _script(text: str) -> str:
    """The script of most letters, as Unicode names it; "" for fewer than four letters."""
    counts = Counter(_script_of(letter) for letter in text[:_LONGEST] if letter.isalpha())
    return counts.most_common(1)[0][0] if counts.total() >= _FEWEST else ""


@lru_cache(maxsize=5000)
def _script_of(letter: str) -> str:
    first = unicodedata.name(letter, "").partition(" ")[0]
    return _EAST_ASIAN.get(first, first)
