"""Tokens of a text, the same of tokenized text ("did n't", "world 's") and running text, in linear time."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rag.text.english.word_forms import CLITICS, FUNCTION_WORDS, NAMES_IN_CAPITALS, NEGATED_FORMS, WORLD_WARS, irregular
from rag.text.english.word_lists import COMMON_ENDINGS, MONTHS, SHORT_DATES, TITLES
from rag.text.vocabulary import is_english, rarity, stem

_DATE: Final = r"\d{4}-\d\d-\d\d(?!\d)|\d\d?(?:/\d\d?/|\.\d\d?\.)\d{4}(?!\d)"  # 2020-07-31  31/7/2020  31.7.2020
_IS_DATE: Final = re.compile(_DATE)
_GROUPS: Final = re.compile(r"[ '](?=\d{3}\b)")  # between thousands; of a narrow space only a space is left
_SIGNED: Final = r"[-−–+]?\d{1,2}"
_POWER_OF_TEN: Final = (  # 1.8×10⁻⁵  1.8 x 10^-5  10<sup>6</sup>  1.8e-5
    r"(?:(?P<factor>\d+(?:\.\d+)?)\s?(?:[×x·*⋅]|\\times)\s?)?"
    rf"10(?:\s?(?:\^\s?\{{?|\*\*\s?)(?P<power>{_SIGNED})\b\}}?|<sup>(?P<raised>{_SIGNED})</sup>|(?P<high>[⁻⁺]?[⁰¹²³⁴-⁹]{{1,2}}))"
    rf"|(?P<mantissa>\d+(?:\.\d+)?)[eE](?P<exponent>{_SIGNED})\b"
)
_IS_POWER_OF_TEN: Final = re.compile(_POWER_OF_TEN)
_PLAIN_POWERS: Final = str.maketrans("⁻−–⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "---+0123456789")
_TOKEN: Final = re.compile(
    r"(?:[^\W\d_]\.){2,}"  # U.S.
    r"|[vV]\d+(?:\.\d+)+"  # v1.2.3
    rf"|{_DATE}|{_POWER_OF_TEN}"
    r"|(?<![\w)\]}%°/.+−–-])(?P<sign>[−–-])(?=[$€£¥₹]?\d)"  # of -5; not of 2-5, a-5 and --5
    r"|\d{1,3}(?:[\u00a0\u2009\u202f'’]\d{3})+(?!\d)"  # 1 000 with a narrow space
    r"|\d{1,3}(?: \d{3})* 000(?!\d)"  # with a plain one, if nothing but a thousand ends so
    r"|\d+(?:[.,:]\d+)*(?:[^\W\d_]+(?:\d|[^\W\d_])*)?"  # 1,000  2.6  10:30  3rd  5km
    r"|(?:counter|anti)-(?=[a-z])[^\W\d_]+"
    r"|[^\W\d_](?:[^\W_]|['’ʼ](?=[^\W\d_]))*"  # word  don't  H1N1
    r"|(?<=[\s\d])\*(?=[\s\d])|[^\w\s*]"  # an asterisk is no word in "**bold**"
)
_HYPHEN: Final = re.compile(r"(?<=\w)-")  # of "anti-clockwise"
_ONE_FORM: Final = str.maketrans({"’": "'", "ʼ": "'", "‘": "'", "−": "-"})
_OF_MONTH: Final = 0.6  # weight of the month of May
UNCOMMON: Final = 0.8  # least weight of a name at the beginning of a sentence
_BREAKS: Final = frozenset(',;:()[]{}–—.!?"“”«»|')
MINUS: Final = "−"  # the word of the sign of a number; that of a hyphen is "-"


class Token(NamedTuple):
    """A token at `text[start:end]`, in code points.

    `word` is its lower-case form without accents, `key` the stem that it is compared by. `weight` is 0 for function
    words and punctuation, else 0.2 to 1 by rarity. `capital`: it begins with a capital letter. `first`: it begins a
    sentence or a cell of a table, so that a capital says nothing. `digits`: it begins with a digit. `raw` is the token
    as it is written.
    """

    start: int
    end: int
    word: str
    key: str
    weight: float
    capital: bool
    first: bool
    digits: bool
    raw: str

    @property
    def breaks(self) -> bool:
        """Whether it ends a clause."""
        return self.word in _BREAKS

    @property
    def content(self) -> bool:
        """Whether it is a content word or a number."""
        return self.weight > 0

    @property
    def is_name(self) -> bool:
        """Whether it is taken for a name: a capitalized content word, and uncommon if it begins a sentence."""
        if not self.capital or self.digits or not self.content or len(self.word) < 2 or self.word in TITLES:
            return False
        if not self.first or self.weight < UNCOMMON:
            return not self.first
        return not self.word.endswith(COMMON_ENDINGS) and not (self.word.endswith("s") and is_english(self.word[:-1]))


def tokens(text: str, start: int = 0, end: int | None = None) -> tuple[Token, ...]:
    """The tokens of `text[start:end]`, with offsets in `text`.

    >>> [token.word for token in tokens("Pam didn't lift 1,000 kg.")]
    ['pam', 'did', 'not', 'lift', '1,000', 'kg', '.']
    """
    found: list[Token] = []
    first = True
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        raw = match[0]
        parts = _numeral(raw) if raw[0].isdigit() else [(0, 1, MINUS)] if match["sign"] else _split(raw)
        for left, right, word in parts:
            begin, stop = match.start() + left, match.start() + right
            part = raw[left:right]
            found.append(Token(begin, stop, word, *_measure(word), part[:1].isupper(), first, word[:1].isdigit(), part))
        if raw[0].isalnum():
            first = False
        elif raw in ".!?:|":
            first = True
    return tuple(_in_date(found, at) if token.word in SHORT_DATES else token for at, token in enumerate(found))


def _in_date(found: Sequence[Token], at: int) -> Token:
    """The token with the whole name of its day or month, and May as a name, next to a number: "Mon, 3 Mar 2025"."""
    token, before, behind = found[at], found[max(0, at - 1) : at], found[at + 1 : at + 3]
    numbered = any(number.digits and token.start - number.end < len("3 ") for number in before) or any(
        number.digits and number.start - token.end < len(", 3rd") for number in behind
    )
    if not (token.capital and numbered):
        return token
    if token.word in MONTHS:  # "May", which is also a verb
        return token._replace(key=f"={token.word}", weight=_OF_MONTH)
    word = SHORT_DATES[token.word]
    return token._replace(word=word, key=key_of(word))


_Parts = Sequence[tuple[int, int, str]]  # the words of a match of `_TOKEN`, each with its start and end in it


def _numeral(raw: str) -> _Parts:
    """The parts of a match that begins with a digit."""
    if _IS_DATE.fullmatch(raw):
        return _date(raw)
    if found := _IS_POWER_OF_TEN.fullmatch(raw):
        power = found["power"] or found["raised"] or found["high"] or found["exponent"]
        return [(0, len(raw), f"{found['factor'] or found['mantissa'] or 1}e{int(power.translate(_PLAIN_POWERS))}")]
    return _split(raw)


@lru_cache(maxsize=50_000)
def _split(raw: str) -> _Parts:
    """The parts of a match that is no date and no power of ten."""
    word = _HYPHEN.sub("", raw.lower() if raw.isascii() else _plain(raw))
    if word[0].isdigit():
        return [(0, len(raw), _GROUPS.sub("", word))]
    if word[0] == "v" and word[1:2].isdigit() and "." in word:
        return [(0, len(raw), word[1:])]
    if "." in word and word[0].isalpha():
        raw, word = raw.upper(), word.replace(".", "")
    if raw.isupper() and word in WORLD_WARS | NAMES_IN_CAPITALS:
        war = [(0, 1, "world"), (1, 2, "war"), (2, len(raw), word[2:])]
        return war if word in WORLD_WARS else [(0, len(raw), f"={word}")]
    if word == "n't":
        return [(0, len(raw), "not")]
    if word == "cannot":
        return [(0, 3, "can"), (3, 6, "not")]
    if word.endswith("n't"):
        base = word[:-3]
        return [(0, len(base), NEGATED_FORMS.get(base, base)), (len(base), len(raw), "not")]
    for clitic in CLITICS:
        if word.endswith(clitic) and len(word) > len(clitic):
            return [(0, len(raw), word.removesuffix(clitic))]
    return [(0, len(raw), word)]


def _date(raw: str) -> list[tuple[int, int, str]]:
    """Day, month and year of a date in digits; the month by its name. Either part may be it in 7/8/2020."""
    parts = [(*found.span(), found[0]) for found in re.finditer(r"\d+", raw)]
    months = [
        (start, end, MONTHS[int(digits) - 1])
        for start, end, digits in (parts[1:2] if raw[4:5] == "-" else parts[:2])
        if 0 < int(digits) <= len(MONTHS)
    ]
    return sorted(
        [part for part in parts if len(months) > 1 or part[:2] not in [month[:2] for month in months]] + months
    )


def _plain(raw: str) -> str:
    """The text in lower case without accents: "Perú" is "peru"."""
    parts = unicodedata.normalize("NFKD", raw.translate(_ONE_FORM).lower())
    return "".join(c for c in parts if not unicodedata.combining(c)) or raw


def key_of(word: str) -> str:
    """The key of a lower-case word."""
    return _measure(word)[0]


@lru_cache(maxsize=50_000)
def _measure(word: str) -> tuple[str, float]:
    """The key and the weight of a lower-case word."""
    if word[0] == "=":
        return word, 0.6
    if not word[0].isalnum():
        return word, 0.0
    if word[0].isdigit():
        return word, 1.0
    key = stem(irregular().get(word, word))
    return key, 0.0 if word in FUNCTION_WORDS else rarity(word)
