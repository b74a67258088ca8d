"""Whether a text is in another language than English, and which: its stop words and its stems.

The rules that compare sentences know English only. Which other language it is does not matter to them. The answerer
that quotes needs to know it: Qdrant's BM25 has the stop words of some thirty languages, Snowball the stemmers of most.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from typing import Any, Final

from rag.text.english.word_forms import FUNCTION_WORDS
from rag.text.terms import is_english

# Languages that both libraries know.
_NAMES: Final = """
arabic basque catalan danish dutch finnish french german greek hungarian indonesian italian nepali norwegian portuguese
romanian russian spanish swedish turkish
"""
LANGUAGES: Final = tuple(_NAMES.split())
FREQUENT: Final = 0.2  # least share of stop words in a text by which its language is told

_STEMMING: Final = threading.Lock()  # a stemmer keeps the word that it works on in itself
_WORD: Final = re.compile(r"(?<!\w)[^\W\d_]{2,}(?:['’][^\W\d_]+)?(?!\w)")  # "r0b0t" has none
# Fenced blocks, inline code, addresses of links and rows of tables: they are no sentences of a language.
_CODE: Final = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\]\([^)\n]*\)|^[ \t]*\|[^\n]*\|[ \t]*$|^[^|\n]*\|[^|\n]*\|[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_FEWEST: Final = 3  # words, and letters of another script; fewer prove nothing
_SHORT: Final = 6  # words of a sentence whose language is also told by the stop words of others
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
    if (small < 0.2 and told < 0.6) or (small < 0.1 and told < 0.8 and len(words) > _FEWEST + 1):
        return True
    # A few words of another language may all be names somewhere: "Der Roboter".
    strange = [word for word in words if word not in known]
    return small == 0 and len(strange) > 1 and len(words) <= _SHORT and language_of(" ".join(strange)) != ""


@lru_cache(maxsize=64)
def language_of(text: str) -> str:
    """The one of `LANGUAGES` whose stop words are most frequent in a text; "" if none is frequent enough.

    >>> language_of("Die Sperrdatei enthält die genauen Versionen, die in der Umgebung installiert sind.")
    'german'
    """
    words = Counter(word.casefold() for word in _WORD.findall(_CODE.sub(" ", text[:_LONGEST])))
    counted = {
        language: sum(count for word, count in words.items() if is_stop_word(word, language)) for language in LANGUAGES
    }
    best = max(LANGUAGES, key=lambda language: counted[language])
    return best if counted[best] >= FREQUENT * max(1, words.total()) else ""


@lru_cache(maxsize=50_000)
def is_stop_word(word: str, language: str) -> bool:
    """Whether a lower-case word is a stop word of one of `LANGUAGES`. Accents do not count: "cómo" is "como"."""
    engine = _engine(language)
    return not engine.embed_query(word).indices or not engine.embed_query(_bare(word)).indices


@lru_cache(maxsize=50_000)
def stem_in(language: str, word: str) -> str:
    """The Snowball stem of a lower-case word in one of `LANGUAGES`, without accents."""
    with _STEMMING:
        return _bare(_stemmer(language).stemWord(word))


def _bare(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


@cache
def _engine(language: str) -> Any:
    import qdrant_edge

    return qdrant_edge.Bm25(qdrant_edge.Bm25Config(language=language))


@cache
def _stemmer(language: str) -> Any:
    import Stemmer

    return Stemmer.Stemmer(language, 0)  # without a cache of its own: `stem_in` has one


def words_of_text(text: str) -> frozenset[str]:
    """The words of a text in lower case."""
    return frozenset(word.casefold() for word in _WORD.findall(text))


@lru_cache(maxsize=2000)
def _is_latin(letter: str) -> bool:
    return letter.isascii() or unicodedata.name(letter, "").startswith("LATIN")
