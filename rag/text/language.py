"""Whether a text is in another language than English, by its script, its small words and its known words.

The rules that compare sentences know English only. Which other language it is does not matter to them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final

from rag.text.english.word_forms import FUNCTION_WORDS
from rag.text.terms import is_english

_WORD: Final = re.compile(r"[^\W\d_]{2,}(?:['’][^\W\d_]+)?")
# Fenced blocks, inline code, addresses of links and rows of tables: they are no sentences of a language.
_CODE: Final = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\]\([^)\n]*\)|^[ \t]*\|[^\n]*\|[ \t]*$|^[^|\n]*\|[^|\n]*\|[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_FEWEST: Final = 3  # words, and letters of another script; fewer prove nothing
_LONGEST: Final = 4000  # code points that are examined


def is_foreign(text: str, known: AbstractSet[str] = frozenset(), *, fewest: int = _FEWEST) -> bool:
    """Whether the text is in another language than English; False if it has fewer different words than `fewest`.

    Words of `known`, in lower case, prove nothing: names and terms are the same in every language. Code and rows of
    tables are in no language.

    >>> is_foreign("Ein Knoten ist ein Prozess, der etwas berechnet."), is_foreign("A node is a process.")
    (True, False)
    """
    prose = _CODE.sub(" ", text[:_LONGEST])
    letters = [letter for letter in prose if letter.isalpha()]
    if len(letters) >= _FEWEST and 2 * sum(not _is_latin(letter) for letter in letters) > len(letters):
        return True
    words = [word.casefold() for word in _WORD.findall(prose)]
    if len(set(words)) < fewest:
        return False
    small = sum(word in FUNCTION_WORDS for word in words) / len(words)
    told = sum(word in known or is_english(word) for word in words) / len(words)
    return (small < 0.2 and told < 0.6) or (small < 0.1 and told < 0.8 and len(words) > _FEWEST + 1)


def words_of_text(text: str) -> frozenset[str]:
    """The words of a text in lower case."""
    return frozenset(word.casefold() for word in _WORD.findall(text))


@lru_cache(maxsize=2000)
def _is_latin(letter: str) -> bool:
    return letter.isascii() or unicodedata.name(letter, "").startswith("LATIN")
