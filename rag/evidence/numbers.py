"""Quantities of a text in a comparable form: 1,000 is 1000, "three" is 3, "50%" is "50 percent".

A quantity is a value and its unit. "$5" and "5 dollars" are the same, and "the 1990s" is 1990 with the unit "decade".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag.evidence.words import Token
from rag.text.english import numerals

_DIGITS: Final = re.compile(r"(\d+(?:[.,:]\d+)*)(.*)", re.DOTALL)
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
LONGEST_SPELT: Final = 12  # tokens of a number in words
_YEAR: Final = re.compile(r"1\d{3}|20\d{2}")
_LONGEST: Final = 18  # digits; a longer number is compared as written, without its multiplier


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, at tokens `first..last`.

    `values` are its possible values: 40 and 40 million for the "40" of "40 to 50 million". `unit` is "" without one.
    `vague` marks "one" and the like, which often are no numbers.
    """

    first: int
    last: int
    values: frozenset[str]
    unit: str
    vague: bool

    def same(self, other: Quantity) -> bool:
        """Whether the values are the same, or the other is a year in this decade or century. Units are not compared."""
        return not self.values.isdisjoint(other.values) or self._holds(other)

    def _holds(self, year: Quantity) -> bool:
        if self.unit not in ("decade", "century") or year.unit:
            return False
        years = [int(value) for value in year.values if _YEAR.fullmatch(value)]
        if self.unit == "decade":
            return any(str(value // 10 * 10) in self.values for value in years)
        return any(str((value - 1) // 100 + 1) in self.values for value in years)


def quantities(tokens: Sequence[Token]) -> tuple[Quantity, ...]:
    """All quantities of a text, in order and without overlap.

    >>> from rag.evidence.words import tokens
    >>> [(sorted(q.values), q.unit) for q in quantities(tokens("two hundred and six km, $40 to 50 million"))]
    [(['206'], 'kilometre'), (['40', '40000', '40000000'], 'dollar'), (['50000000'], 'dollar')]
    """
    found: list[Quantity] = []
    at = 0
    while at < len(tokens):
        if quantity := _quantity(tokens, at):
            found.append(quantity)
            at = quantity.last
        at += 1
    return tuple(_ranges(tokens, found))


def _quantity(tokens: Sequence[Token], at: int) -> Quantity | None:
    """The quantity that begins at a token, without regard to ranges."""
    read = _digits(tokens, at) if tokens[at].digits else _spelt(tokens, at)
    if read is None:
        return None
    value, last, unit, vague = read
    last, scale = _scaled(tokens, last)
    values = {_plain(value, scale)}
    if not unit:
        last, unit = _unit(tokens, at, last)
    if unit == "decade" and len(value) == 2:
        values |= {f"19{value}", f"20{value}"}
    return Quantity(at, last, frozenset(values), unit, vague and not scale)


def _digits(tokens: Sequence[Token], at: int) -> tuple[str, int, str, bool] | None:
    """A number in digits: value, last token, unit, vague."""
    match = _DIGITS.fullmatch(tokens[at].word)
    if match is None:
        return None
    digits, suffix = match[1], match[2]
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    if digits.count(".") == 1 and "," not in digits and ":" not in digits:
        digits = digits.rstrip("0").rstrip(".")
    unit = ""
    if suffix in ("s", "'s"):
        unit = "decade"
    elif suffix and suffix not in numerals.ORDINAL_SUFFIXES:
        unit = numerals.units().get(suffix, "")
        if suffix in numerals.MULTIPLIERS:
            return _plain(digits, numerals.MULTIPLIERS[suffix]), at, "", False
        if not unit:
            return None  # a name, such as 3D or 4k60
    return digits.lstrip("0") or "0", at, unit, False


def _spelt(tokens: Sequence[Token], at: int) -> tuple[str, int, str, bool] | None:
    """A number in words, such as "twenty-five", "third" or "one half": value, last token, unit, vague."""
    word = tokens[at].word
    if word in numerals.ORDINALS:
        return str(numerals.ORDINALS[word]), at, "", word in numerals.VAGUE_ORDINALS
    if word in numerals.FRACTIONS:
        return numerals.FRACTIONS[word], at, "part", True
    if word not in numerals.SMALL and not (word in numerals.SCALES and at and tokens[at - 1].word == "a"):
        return None
    value, last = _summed(tokens, at)
    after = last + 1
    if after < len(tokens) and tokens[after].word == "-":
        after += 1
    if last == at and after < len(tokens) and tokens[after].word in numerals.PARTS:
        return f"{value}/{numerals.PARTS[tokens[after].word]}", after, "part", False
    return str(value), last, "", word == "one" and last == at


def _summed(tokens: Sequence[Token], at: int) -> tuple[int, int]:
    """The value of the number words from `at` on, and the index of the last one."""
    total = current = 0
    last = at
    for index in range(at, min(len(tokens), at + LONGEST_SPELT)):
        word = tokens[index].word
        if word in numerals.SCALES:
            current = (current or 1) * numerals.SCALES[word]
        elif word == "thousand" and current:
            total, current = total + current * 1000, 0
        elif word in numerals.ORDINALS and index > at and current % 10 == 0 < current and numerals.ORDINALS[word] < 10:
            return total + current + numerals.ORDINALS[word], index
        elif word in numerals.SMALL and _adds(numerals.SMALL[word], current):
            current += numerals.SMALL[word]
        elif index > at and word in ("-", "and") and _continues(tokens, index, current):
            continue
        else:
            break
        last = index
    return total + current, last


def _adds(value: int, current: int) -> bool:
    """Whether a number word may follow: "two hundred" + "six", "twenty" + "five", but not "six" + "six"."""
    return current % 100 == 0 or (current % 10 == 0 and value < 10 and current % 100 >= 20)


def _continues(tokens: Sequence[Token], at: int, current: int) -> bool:
    """Whether the number continues after this hyphen or "and": "twenty-five", "two hundred and six"."""
    if at + 1 >= len(tokens):
        return False
    word = tokens[at + 1].word
    if tokens[at].word == "-":
        return (
            20 <= current % 100 < 100
            and current % 10 == 0
            and (0 < numerals.SMALL.get(word, 99) < 10 or word in numerals.ORDINALS)
        )
    return current >= 100 and current % 100 == 0 and word in numerals.SMALL


def _scaled(tokens: Sequence[Token], last: int) -> tuple[int, int]:
    """The last multiplier after a number ("1.2 million", "5-billion"), and the power of ten of all of them."""
    power = 0
    while last + 1 < len(tokens) and power < _LONGEST:
        step = 2 if tokens[last + 1].word == "-" and last + 2 < len(tokens) else 1
        word = tokens[last + step].word
        if word not in numerals.MULTIPLIERS or len(word) < 3:
            break
        power += numerals.MULTIPLIERS[word]
        last += step
    return last, power


def _plain(value: str, power: int) -> str:
    """The value times ten to the power, in plain digits: "1.2" and 6 give "1200000"."""
    if not power or "/" in value or ":" in value or len(value) > _LONGEST:
        return value
    whole, _, decimals = value.partition(".")
    if not (whole + decimals).isdigit():
        return value
    decimals = decimals.ljust(power, "0")
    rest = decimals[power:].rstrip("0")
    return ((whole + decimals[:power]).lstrip("0") or "0") + (f".{rest}" if rest else "")


def _unit(tokens: Sequence[Token], first: int, last: int) -> tuple[int, str]:
    """The last token of the quantity at `first..last`, and its unit of measure, "" without one."""
    if first and tokens[first - 1].word in numerals.CURRENCIES:
        return last, numerals.CURRENCIES[tokens[first - 1].word]
    at = last + 1
    if at < len(tokens) and tokens[at].word in ("-", "‑", "–") and at + 1 < len(tokens):
        at += 1
    dimension = ""
    if at + 1 < len(tokens) and tokens[at].word in numerals.AREAS_AND_VOLUMES:
        dimension = numerals.AREAS_AND_VOLUMES[tokens[at].word]
        at += 1
        if tokens[at].word == "." and at + 1 < len(tokens):
            at += 1
    if at < len(tokens) and tokens[at].word == "°" and at + 1 < len(tokens):
        at += 1
        return at, numerals.units().get("°" + tokens[at].word, "degree")
    if at + 1 < len(tokens) and tokens[at].word == "per" and tokens[at + 1].word == "cent":
        return at + 1, "%"
    if at < len(tokens) and (unit := numerals.units().get(tokens[at].word)):
        return at, dimension + unit
    return last, ""


def _ranges(tokens: Sequence[Token], found: list[Quantity]) -> list[Quantity]:
    """Complete the ranges: "40 to 50 million" has 40 million too, and "1942-45" has 1945."""
    result: list[Quantity] = []
    for index, quantity in enumerate(found):
        left = found[index - 1] if index else None
        right = found[index + 1] if index + 1 < len(found) else None
        values, unit = set(quantity.values), quantity.unit
        if right and _joined(tokens, quantity, right):
            unit = unit or right.unit
            values |= _by_scale(quantity, right)
        if left and _joined(tokens, left, quantity):
            values |= _by_century(left, quantity)
            if left.unit and tokens[left.first - 1].word in numerals.CURRENCIES:
                unit = unit or left.unit
        result.append(Quantity(quantity.first, quantity.last, frozenset(values), unit, quantity.vague))
    return result


def _joined(tokens: Sequence[Token], left: Quantity, right: Quantity) -> bool:
    """Whether two quantities are the ends of a range."""
    gap = [t.word for t in tokens[left.last + 1 : right.first]]
    gap = [word for word in gap if word not in numerals.CURRENCIES]
    return 1 <= len(gap) <= 2 and all(word in numerals.RANGE_WORDS for word in gap)


def _by_scale(quantity: Quantity, right: Quantity) -> set[str]:
    """The values of the left end, multiplied as the right end may be."""
    longest = max(right.values, key=len)
    zeros = len(longest) - len(longest.rstrip("0"))
    if "." in longest or zeros < 3:
        return set()
    return {_plain(value, power) for value in quantity.values for power in (3, 6, 9) if power <= zeros}


def _by_century(left: Quantity, right: Quantity) -> set[str]:
    """The values of the right end, with the century of the left: 1945 for "1942-45"."""
    year = next((v for v in left.values if len(v) == 4 and v.isdigit()), "")
    return {year[:2] + v for v in right.values if len(v) == 2 and v.isdigit()} if year else set()
