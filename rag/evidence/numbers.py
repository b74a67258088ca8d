"""Quantities of a text in a comparable form: 1,000 is 1000, "three" is 3, "50%" is "50 percent".

A quantity is a value and its unit. "$5" and "5 dollars" are the same, and "the 1990s" is 1990 with the unit "decade".
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rag.evidence.words import Token
from rag.text.english import numerals

MOST_ITEMS: Final = 12  # of a list that a number may count
LONGEST_SPELT: Final = 12  # tokens of a number in words
_DIGITS: Final = re.compile(r"(\d+(?:[.,:]\d+)*)(.*)", re.DOTALL)
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_YEAR: Final = re.compile(r"1\d{3}|20\d{2}")
_LONGEST: Final = 18  # digits; a longer number is compared as written, without its multiplier
_BEFORE_LIST: Final = frozenset(":,(–—")
_NO_TOKEN: Final = Token(0, 0, " ", "", 0.0, False, False, False)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, at tokens `first..last`. `unit` is "" without one.

    `vague` marks "one" and the like, which often are no numbers.
    """

    first: int
    last: int
    value: str
    unit: str
    vague: bool

    def same(self, other: Quantity) -> bool:
        """Whether the values are the same, or the other is a year in this decade or century. Units do not count."""
        if self.unit not in ("decade", "century") or other.unit or not other.is_year:
            return self.value == other.value
        year = int(other.value)
        return self.value == str(year // 10 * 10 if self.unit == "decade" else (year + 99) // 100)

    def fits(self, other: Quantity) -> bool:
        """Whether the units are the same, or one has none."""
        return not self.unit or not other.unit or self.unit == other.unit

    def rivals(self, other: Quantity) -> bool:
        """Whether the other could stand in the place of this one."""
        return not other.vague and self.unit == other.unit and self.is_year == other.is_year

    @property
    def is_year(self) -> bool:
        return _YEAR.fullmatch(self.value) is not None


def quantities(tokens: Sequence[Token]) -> tuple[Quantity, ...]:
    """All quantities of a text, in order and without overlap.

    >>> from rag.evidence.words import tokens
    >>> [(q.value, q.unit) for q in quantities(tokens("two hundred and six km, $5 million"))]
    [('206', 'kilometre'), ('5000000', 'dollar')]
    """
    found: list[Quantity] = []
    at = 0
    while at < len(tokens):
        if quantity := _quantity(tokens, at):
            found.append(quantity)
            at = quantity.last
        at += 1
    return tuple(found)


def _at(tokens: Sequence[Token], index: int) -> Token:
    """The token at an index; one without a word beyond the end."""
    return tokens[index] if 0 <= index < len(tokens) else _NO_TOKEN


def _quantity(tokens: Sequence[Token], at: int) -> Quantity | None:
    read = _digits(tokens[at].word, at) if tokens[at].digits else _spelt(tokens, at)
    if read is None:
        return None
    value, last, unit, vague = read
    power, last = _power(tokens, last)
    if not unit:
        last, unit = _unit(tokens, at, last)
    return Quantity(at, last, _times(value, power), unit, vague and not power)


def _digits(word: str, at: int) -> tuple[str, int, str, bool] | None:
    """A number in digits: value, last token, unit, vague. None for a name, such as 3D or 4k60."""
    match = _DIGITS.fullmatch(word)
    if match is None:
        return None
    digits, suffix = match[1], match[2]
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    if digits.count(".") == 1 and "," not in digits and ":" not in digits:
        digits = digits.rstrip("0").rstrip(".")
    unit = "decade" if suffix in ("s", "'s") else ""
    if suffix in numerals.MULTIPLIERS:
        digits = _times(digits, numerals.MULTIPLIERS[suffix])
    elif suffix and not unit and suffix not in numerals.ORDINAL_SUFFIXES:
        unit = numerals.units().get(suffix, "")
        if not unit:
            return None
    return digits.lstrip("0") or "0", at, unit, False


def _spelt(tokens: Sequence[Token], at: int) -> tuple[str, int, str, bool] | None:
    """A number in words, such as "twenty-five", "third" or "one half": value, last token, unit, vague."""
    word = tokens[at].word
    if word in numerals.ORDINALS:
        return str(numerals.ORDINALS[word]), at, "", word in numerals.VAGUE_ORDINALS
    if word in numerals.FRACTIONS:
        return numerals.FRACTIONS[word], at, "part", True
    if word not in numerals.SMALL and not (word in numerals.SCALES and _at(tokens, at - 1).word == "a"):
        return None
    value, last = _summed(tokens, at)
    after = last + 1 + (_at(tokens, last + 1).word == "-")
    if last == at and (part := numerals.PARTS.get(_at(tokens, after).word)):
        return f"{value}/{part}", after, "part", False
    return str(value), last, "", word == "one" and last == at


def _summed(tokens: Sequence[Token], at: int) -> tuple[int, int]:
    """The value of the number words from `at` on, and the index of the last one: "two hundred and six"."""
    total = current = 0
    last = at
    for index in range(at, min(len(tokens), at + LONGEST_SPELT)):
        word = tokens[index].word
        value = numerals.SMALL.get(word)
        if word in numerals.SCALES:
            current = (current or 1) * numerals.SCALES[word]
        elif word == "thousand" and current:
            total, current = total + current * 1000, 0
        elif value is not None and (current % 100 == 0 or (current % 10 == 0 and value < 10 and current % 100 >= 20)):
            current += value
        elif word in ("-", "and") and current and current % 10 == 0 and _at(tokens, index + 1).word in numerals.SMALL:
            continue
        else:
            break
        last = index
    return total + current, last


def _power(tokens: Sequence[Token], last: int) -> tuple[int, int]:
    """The power of ten of the multipliers after a number ("1.2 million", "5-billion"), and their last token."""
    power = 0
    while power < _LONGEST:
        step = 1 + (_at(tokens, last + 1).word == "-")
        word = _at(tokens, last + step).word
        if word not in numerals.MULTIPLIERS or len(word) < 3:
            break
        power += numerals.MULTIPLIERS[word]
        last += step
    return power, last


def _times(value: str, power: int) -> str:
    """The value times ten to the power, in plain digits: "1.2" and 6 give "1200000"."""
    whole, _, decimals = value.partition(".")
    if not power or len(value) > _LONGEST or not (whole + decimals).isdigit():
        return value
    decimals = decimals.ljust(power, "0")
    rest = decimals[power:].rstrip("0")
    return ((whole + decimals[:power]).lstrip("0") or "0") + (f".{rest}" if rest else "")


def _unit(tokens: Sequence[Token], first: int, last: int) -> tuple[int, str]:
    """The last token of the quantity at `first..last`, and its unit of measure, "" without one."""
    if unit := numerals.CURRENCIES.get(_at(tokens, first - 1).word):
        return last, unit
    at = last + 1 + (_at(tokens, last + 1).word in ("-", "‑", "–"))
    dimension = numerals.AREAS_AND_VOLUMES.get(_at(tokens, at).word, "")
    at += bool(dimension)
    if _at(tokens, at).word == "°":
        return at + 1, numerals.units().get("°" + _at(tokens, at + 1).word, "degree")
    if _at(tokens, at).word == "per" and _at(tokens, at + 1).word == "cent":
        return at + 1, "%"
    unit = numerals.units().get(_at(tokens, at).word)
    return (at, dimension + unit) if unit else (last, "")


def points_back(quantity: Quantity, tokens: Sequence[Token]) -> bool:
    """Whether the number counts a few things that were named before: "the two", "one of these three steps"."""
    before = tokens[quantity.first - 1 : quantity.first]
    is_few = quantity.value in ("2", "3") and not tokens[quantity.first].digits and not quantity.unit
    return is_few and bool(before) and before[0].word in numerals.POINTERS


def counts_items(quantity: Quantity, tokens: Sequence[Token], known: Container[str]) -> bool:
    """Whether the number counts a list behind it: "three systems: Linux, Windows and macOS", "two systems, A and B".

    `known` are the keys of the passages; they must hold every content word of the list.
    """
    begin = next((at for at in range(quantity.last + 1, len(tokens)) if tokens[at].word in _BEFORE_LIST), None)
    if begin is None or quantity.unit:
        return False
    listed = tokens[begin + 1 :]
    count = sum(1 for _ in _items(listed))
    return (
        2 <= count <= MOST_ITEMS and quantity.value == str(count) and all(t.key in known for t in listed if t.content)
    )


def _items(tokens: Sequence[Token]) -> Iterator[Token]:
    """The first word of each thing that is listed: "A, B, and C" are three."""
    in_item = False
    for token in tokens:
        if token.word in numerals.LIST_SEPARATORS:
            in_item = False
        elif token.content and not in_item:
            in_item = True
            yield token
