"""Words one by one: how rare a word is, its stem, the language it is in, and its right spelling.

The vocabulary of the embedding model lists whole words roughly by frequency from line 1,997 ("the") on. A word that it
lacks is rare. The answerer that quotes also knows other languages, by Qdrant's stop words and Snowball's stemmers.
"""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from rag.quoting.english.word_forms import AMERICAN, BRITISH, FUNCTION_WORDS

VOCABULARY: Final = Path(__file__).parent.parent / "data" / "vocab.txt"
_NAMES_FILE: Final = VOCABULARY.with_name("names.txt")  # words of the vocabulary that English has with a capital only
_FIRST_WORD: Final = 1996  # lines before the first word: special tokens, punctuation, single characters
_COMMON, _RARE = 30, 10_000  # the weight of a word rises between these ranks
MIN_WEIGHT: Final = 0.2
_STEMMING: Final = threading.Lock()  # a stemmer keeps the word that it works on in itself

# Languages that both libraries know.
_LANGUAGES: Final = """
arabic basque catalan danish dutch finnish french german greek hungarian indonesian italian nepali norwegian portuguese
romanian russian spanish swedish turkish
"""
LANGUAGES: Final = tuple(_LANGUAGES.split())
# Words that ask for a measure or a fact and are no stop words: an answer has the measure in their place.
_ASKED_WITH: Final = {
    "dutch": "hoeveel hoelang hoe vaak lang groot hoog zwaar geldt duurt",
    "french": "combien comment quel quelle quels quelles souvent longtemps temps dure",
    "german": "oft häufig lange hoch groß schwer weit alt wieviel gilt gelten dauert",
    "italian": "quanto quanta quanti quante quale quali spesso tempo dura come",
    "portuguese": "quanto quanta quantos quantas qual quais frequência tempo dura como",
    "spanish": "cuánto cuánta cuántos cuántas cuál cuáles frecuencia tiempo dura",
}
FREQUENT: Final = 0.2  # least share of stop words in a text by which its language is told
_SPOKEN_WORD: Final = re.compile(r"(?<!\w)[^\W\d_]{2,}(?:['’][^\W\d_]+)?(?!\w)")  # "r0b0t" has none
# Fenced blocks, inline code, addresses of links and rows of tables: they are no sentences of a language.
_CODE: Final = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\]\([^)\n]*\)|^[ \t]*\|[^\n]*\|[ \t]*$|^[^|\n]*\|[^|\n]*\|[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_ACCENTED: Final = 0.02  # share of letters beyond ASCII by which a language other than English is told
_FEWEST: Final = 3  # words, and letters of another script; fewer prove nothing
_SHORT: Final = 6  # words of a sentence whose language is also told by the stop words of others
_LONGEST: Final = 4000  # code points that are examined

SHORTEST: Final = 4  # letters of a word that is corrected or unscrambled; shorter words are too close to others
ONE_EDIT: Final = 7  # letters up to which one edit is allowed; longer words may have two
FEWEST_JOINED: Final = 4  # words run together; fewer of them are a compound
_WRITTEN_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_PART: Final = re.compile(r"[A-Z][a-z]{2,}")  # of a name such as RedirectResponse
_LETTERS: Final = re.compile(r"[^\W\d_]+")


def rarity(word: str) -> float:
    """How rare a lower-case English word is: log(rank / 30) / log(10,000 / 30), at least 0.2, and 1 if unknown."""
    ranks = _ranks()
    rank = min((ranks[form] for form in (word, stem(word), word.removesuffix("s")) if form in ranks), default=_RARE)
    scaled = math.log(max(rank, 1) / _COMMON) / math.log(_RARE / _COMMON)
    return min(1.0, max(MIN_WEIGHT, scaled))


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The Snowball (Porter 2) stem of a lower-case word, with American spelling."""
    american = BRITISH.sub(lambda match: AMERICAN[match[0]], word)
    with _STEMMING:
        return str(_stemmer("english").stemWord(american))


@cache
def common_words() -> frozenset[str]:
    """The words of four letters and more that the vocabulary has in lower case, without names."""
    return frozenset(word for word in _ranks() if len(word) >= SHORTEST and word.isalpha()) - names()


def is_common(word: str) -> bool:
    """Whether the vocabulary has a lower-case word as it is written."""
    return word in _ranks()


def is_english(word: str) -> bool:
    """Whether the vocabulary has a lower-case word or its stem."""
    return is_common(word) or is_common(stem(word))


@cache
def names() -> frozenset[str]:
    """The words of the vocabulary, in lower case, that are names and nothing else: "darwin", but not "mark"."""
    return frozenset(_NAMES_FILE.read_text(encoding="utf-8").split())


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
    words = [word.casefold() for word in _SPOKEN_WORD.findall(prose)]
    if len(set(words)) < fewest:
        return False
    small = sum(word in FUNCTION_WORDS for word in words) / len(words)
    told = sum(word in known or is_english(word) for word in words) / len(words)
    if (small < 0.2 and told < 0.6) or (small < 0.1 and told < 0.8 and len(words) > _FEWEST + 1):
        return True
    # A few words of another language may all be names somewhere: "Der Roboter".
    strange = [word for word in words if word not in known]
    return (
        small == 0 and told < 1 and len(strange) > 1 and len(words) <= _SHORT and language_of(" ".join(strange)) != ""
    )


def is_spoken(text: str) -> bool:
    """Whether a text with few English words is in another language: code and lists of Latin names are in none.

    >>> is_spoken("Taraxacum officinale, Bellis perennis, Plantago major"), is_spoken("Ein Knoten ist ein Prozess.")
    (False, True)
    """
    prose = _CODE.sub(" ", text[:_LONGEST])
    accented = sum(letter.isalpha() and not letter.isascii() for letter in prose)
    return accented > _ACCENTED * len(prose) or language_of(text) != ""


@lru_cache(maxsize=64)
def language_of(text: str) -> str:
    """The one of `LANGUAGES` whose stop words are most frequent in a text; "" if none is frequent enough.

    >>> language_of("Die Sperrdatei enthält die genauen Versionen, die in der Umgebung installiert sind.")
    'german'
    """
    words = Counter(word.casefold() for word in _SPOKEN_WORD.findall(_CODE.sub(" ", text[:_LONGEST])))
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


def asks_in(language: str, word: str) -> bool:
    """Whether questions in a language are asked with a lower-case word: a stop word, or one for a measure."""
    return is_stop_word(word, language) or word in _ASKED_WITH.get(language, "").split()


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


def words_of_text(text: str) -> frozenset[str]:
    """The words of a text in lower case."""
    return frozenset(word.casefold() for word in _SPOKEN_WORD.findall(text))


@lru_cache(maxsize=2000)
def _is_latin(letter: str) -> bool:
    return letter.isascii() or unicodedata.name(letter, "").startswith("LATIN")


def vocabulary(texts: Iterable[str]) -> Counter[str]:
    """How often some texts have each word and each part of a name, in lower case; none of one or two letters."""
    written = Counter(word for text in texts for word in _WRITTEN_WORD.findall(text))
    words = Counter[str]()
    for word, count in written.items():
        for part in {word, *_PART.findall(word)}:
            words[part.lower()] += count
    return words


def has_unknown_words(question: str, words: Collection[str]) -> bool:
    """Whether a word of the question is neither in the vocabulary nor common."""
    typed = (word.lower() for word in _WRITTEN_WORD.findall(question) if len(word) >= SHORTEST)
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
        same = stem(found) == stem(word) if is_english(word) else False
        return match[0] if not found or same or _are_two_words(word, found) else found

    written = _WRITTEN_WORD.sub(corrected, question)
    return "" if written == question else written


def _are_two_words(word: str, other: str) -> bool:
    """Whether both are English words: "oven" is not "over", but "dose" may be "does", with its letters swapped."""
    return is_common(word) and is_common(other) and sorted(word) != sorted(other)


def _is_rare(word: str) -> bool:
    """Whether a word is not among the ten thousand commonest, which include few misspelt words."""
    return rarity(word) == 1.0


def nearest(word: str, vocabulary: Collection[str], *, most: int = 2) -> str:
    """The word of the vocabulary that is closest to a lower-case word; "" if none is close or the word has a digit.

    Distance counts insertions, deletions, replacements and swaps of neighbours: one in a word of up to seven letters,
    `most` in a longer one. The first letter must be right, which it is in most slips of a finger.

    A letter left out or typed twice is likelier than a wrong one: "decending" is "descending" rather than "defending".
    Among words that are equally close, the one that the text has most often wins, if the vocabulary counts them, and
    then the commonest in English.

    >>> nearest("speciffic", {"special", "specific"}), nearest("vuex", {"redux"})
    ('specific', '')
    >>> nearest("decending", {"defending", "descending"}), nearest("pyton", {"pyston": 1, "python": 9})
    ('descending', 'python')
    """
    from rapidfuzz.distance import OSA, LCSseq
    from rapidfuzz.process import extract

    if len(word) < SHORTEST or not word.isalpha() or word in vocabulary:
        return ""
    most = 1 if len(word) <= ONE_EDIT else most
    alike = [other for other in vocabulary if other[0] == word[0] and abs(len(other) - len(word)) <= most]
    found = extract(word, sorted(alike), scorer=OSA.distance, score_cutoff=most, limit=None)
    closest = [other for other, distance, _ in found if distance == found[0][1]]
    counts: Mapping[str, int] = vocabulary if isinstance(vocabulary, Mapping) else {}

    def rank(other: str) -> tuple[bool, int, float]:
        wrong_letter = LCSseq.distance(word, other) > abs(len(word) - len(other))
        return wrong_letter, -counts.get(other, 0), rarity(other)

    return min(closest, key=rank, default="")


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


@cache
def _ranks() -> dict[str, int]:
    """Rank by frequency of every whole word of the vocabulary, from 1."""
    lines = VOCABULARY.read_text(encoding="utf-8").splitlines()[_FIRST_WORD:]
    return {word: rank for rank, word in enumerate(lines, 1) if not word.startswith("##")}


@cache
def _stemmer(language: str) -> Any:
    import Stemmer

    return Stemmer.Stemmer(language, 0)  # without a cache of its own: `stem` and `stem_in` have one
