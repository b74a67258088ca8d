"""The words of a question and of a text, made comparable: stems, compounds, code words, and how rare each is.

Nothing here knows a book. How common a word is in English is read off the vocabulary of the embedding model, whose
whole words stand roughly in order of frequency from line 1,996 ("the") on; a word that is not in it is rare.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from rag.text.english.stopwords import FACTS, IDLE, LIGHT, SAYS_ALSO, SOFT

VOCABULARY: Final = Path(__file__).parent.parent / "data" / "vocab.txt"
_FIRST_WORD: Final = 1996  # the lines above hold special tokens, punctuation and single characters
_COMMON, _RARE = 30, 10_000  # ranks between which the weight of a word rises
MIN_WEIGHT: Final = 0.2
LIGHT_WEIGHT: Final = 0.35
NAME_WEIGHT: Final = 0.8  # a name or a code word says what a question is about, however common its letters are

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?(?:(?:[-_./#]|::)[^\W_]+)*")
_PIECE: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+|\d+")
_NUMBERED: Final = re.compile(r"\b([A-Za-z]{2,10})[ \-](\d{1,2})(?![\w.]*\d)\b")  # "ROS 2", "RT-2", "phase 1"
_SPOKEN_CODE: Final = re.compile(  # "the use keyword", "the move operator"
    r"\bthe (\w+) (?:keyword|operator|macro|command|function|method|statement|attribute|flag|hook|prop|expression)\b"
)
_CODE: Final = re.compile(r"`([^`]+)`")
_FOLLOW_UP: Final = re.compile(r"\W*(?:and|but|or|so|also|what about|how about|why not|then)\b", re.IGNORECASE)
_BACK: Final = re.compile(
    r"\b(?:it|its|they|them|their|those|these|this one|that one|the same|the (?:first|second|last) one)\b|"
    r"\b(?:is|about|of|do|does|with|for|like) (?:that|this)\W*$",
    re.IGNORECASE,
)
_BRITISH: Final = re.compile(
    r"(?<=\w{3})is(?=(?:e|es|ed|er|ers|ing|ation|ations)$)|(?<=^col|^fav)our|(?<=^behavi|^neighb)our|(?<=^cen)tre"
)
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that a question asks about.

    `forms` are the keys of which any one in a text means that the text speaks of it; `parts`, if any, are keys that
    mean the same when all are there. `weight` is from 0.2 (as common as "world") to 1; `named` marks proper names,
    code words and anything with a digit, `soft` words so general that to find them proves little.
    """

    word: str
    forms: frozenset[str]
    parts: frozenset[str]
    weight: float
    named: bool
    soft: bool = False

    def within(self, keys: frozenset[str] | set[str]) -> bool:
        return not self.forms.isdisjoint(keys) or bool(self.parts and self.parts <= keys)


def keys(text: str) -> frozenset[str]:
    """Everything a text can be found under: stems of its words, of the parts of its compounds, and compounds joined.

    "the FlatList of ROS 2" gives the, flatlist, flat, list, of, ros, 2 and ros2; and, with an equals sign in front, the
    words as they are written, which is how names are looked for.
    """
    found: set[str] = set()
    for match in _WORD.finditer(text):
        found.update(_keys_of(match[0]))
    for word, number in _NUMBERED.findall(text):
        found.update(_keys_of(word + number))
    return frozenset(found)


def terms(question: str) -> list[Term]:
    """What a question asks about, each thing once, in order; words that carry no meaning alone are left out."""
    code = {word for span in _CODE.findall(question) for word in _WORD.findall(span)} | set(
        _SPOKEN_CODE.findall(question)
    )
    text = _NUMBERED.sub(_join_numbered, question)
    words = list(_WORD.finditer(text))
    telling = [m[0] for m in words if m[0].lower() not in IDLE]
    shouting = len(telling) > 3 and all(word[0].isupper() for word in telling)
    found: dict[frozenset[str], Term] = {}
    soft: list[Term] = []
    for index, match in enumerate(words):
        word = re.sub(r"['’]s$", "", match[0])
        plain = word.lower().replace("’", "'")
        if plain in IDLE and word not in code:
            soft += [replace(_term(plain, named=False), soft=True)] if plain in SOFT else []
            continue
        capital = index > 0 and word[0].isupper() and not shouting
        named = capital or word in code or _looks_like_code(word)
        for part in _characters(word) if _CJK.search(word) else (word,):
            term = _term(part, named)
            found.setdefault(term.forms, term)
    return list(found.values()) or list({term.forms: term for term in soft}.values())


def weigh(wanted: Sequence[Term]) -> float:
    """The weight of all terms together. Soft terms weigh as if there were one more that is never found."""
    doubt = LIGHT_WEIGHT if wanted and all(term.soft for term in wanted) else 0.0
    return sum(term.weight for term in wanted) + doubt


def rarity(word: str) -> float:
    """How rare a word is in English, from 0.2 (the first few dozen) to 1 (rank 10,000 and beyond, or unknown)."""
    ranks = _ranks()
    rank = min((ranks[form] for form in (word, stem(word), word.removesuffix("s")) if form in ranks), default=_RARE)
    scaled = math.log(max(rank, 1) / _COMMON) / math.log(_RARE / _COMMON)
    return min(1.0, max(MIN_WEIGHT, scaled))


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The Snowball (Porter 2) stem of a word in small letters, British spellings read as American ones."""
    return str(_stemmer().stemWord(_BRITISH.sub(_american, word)))


@lru_cache(maxsize=50_000)
def _keys_of(word: str) -> frozenset[str]:
    """The keys of one word or compound."""
    small = word.lower().replace("’", "'").removesuffix("'s")
    pieces = _pieces(word)
    joined = "".join(_PIECE.findall(small))
    found = {stem(small), stem(joined), joined, f"={joined}", *pieces}
    for piece in _PIECE.findall(small):
        found.update((stem(piece), f"={piece}"))
    if _CJK.search(word):  # no spaces between words there: pairs of characters stand in for them
        found.update(a + b for a, b in pairwise(joined))
    return frozenset(found)


def _pieces(word: str) -> list[str]:
    """Stems of the parts of a compound: "base_link", "sim-to-real", "useNativeDriver"; a plain word has one."""
    return [stem(part.lower()) for piece in _PIECE.findall(word) for part in _CAMEL.findall(piece)]


def _characters(word: str) -> list[str]:
    """Pairs of neighbouring characters, for scripts that put no space between words."""
    return [a + b for a, b in pairwise(word)] or [word]


def _american(match: re.Match[str]) -> str:
    return {"our": "or", "tre": "ter"}.get(match[0], match[0].replace("s", "z"))


def _term(word: str, named: bool) -> Term:
    small = word.lower().replace("’", "'")
    joined = "".join(_PIECE.findall(small))
    pieces = [piece for piece in _pieces(word) if piece not in IDLE]
    # "sim-to-real" is also "sim" and "real", but FlatList is not a flat list.
    split = len(pieces) > 1 and not word.isalnum() and not any(piece.isdigit() for piece in pieces)
    weight = max((rarity(piece) for piece in pieces), default=MIN_WEIGHT) if split else rarity(small)
    if any(character.isdigit() for character in word):
        weight = 1.0
    if small in FACTS:
        weight = 1.0
    elif small in LIGHT or small in SOFT:
        weight = min(weight, LIGHT_WEIGHT)
    if named:
        weight = max(weight, NAME_WEIGHT)
    forms = {joined, stem(joined), stem(small)}
    if named and not split:  # the robot Digit is nothing digital
        forms = {f"={joined}", f"={joined}s", f"={joined.removesuffix('s')}"}
    return Term(
        word, frozenset(forms | _also().get(stem(small), set())), frozenset(pieces if split else ()), weight, named
    )


def _looks_like_code(word: str) -> bool:
    inner = word[1:]
    return any(c.isupper() for c in inner) or any(c.isdigit() or c in "_./#:" for c in word)


def _join_numbered(match: re.Match[str]) -> str:
    """ "ROS 2" and "RT-2" are one word each; "move 5 metres" and "top 10" are not."""
    is_name = any(c.isupper() for c in match[1][1:]) or match[1].lower() not in _ranks()
    return f"{match[1]}{match[2]}" if is_name else match[0]


def is_english(word: str) -> bool:
    """Whether a word in small letters, or its stem, is one of the vocabulary's."""
    ranks = _ranks()
    return word in ranks or stem(word) in ranks


@cache
def _also() -> dict[str, set[str]]:
    return {stem(word): {stem(other) for other in others.split()} - IDLE for word, others in SAYS_ALSO.items()}


@cache
def _ranks() -> dict[str, int]:
    lines = VOCABULARY.read_text(encoding="utf-8").splitlines()[_FIRST_WORD:]
    return {word: rank for rank, word in enumerate(lines, 1) if not word.startswith("##")}


@cache
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


def refers_back(question: str) -> bool:
    """Does the question lean on the one before it: "tell me more", "and on Windows?", "why is that?"?"""
    return bool(_FOLLOW_UP.match(question) or _BACK.search(question)) or not terms(question)
