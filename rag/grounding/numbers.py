"""The quantities of a text, however they are written: 1,000 is 1000, "three" is 3, "50%" is "50 percent".

A quantity is a value and what it counts: "40 -- 50 million people" holds 40 million and 50 million, "$5" and "5
dollars" are the same, "the 1990s" is 1990 with the unit "decade".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag.grounding.words import Token
from rag.text.english.numerals import CURRENCIES, FRACTIONS, MULTIPLIERS, ORDINALS, SMALL, UNITS

_DIGITS: Final = re.compile(r"(\d+(?:[.,:]\d+)*)(.*)", re.DOTALL)
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_RANGE: Final = frozenset({"-", "–", "—", "to", "or", "and", "through", "until", "−", "‐", "‑"})
LONGEST_SPELT: Final = 12  # words of a number in words
_YEAR: Final = re.compile(r"1\d{3}|20\d{2}")
_LONGEST: Final = 18  # digits beyond which a number is compared as it is written


@dataclass(frozen=True, slots=True)
class Quantity:
    """Tokens `first..last`; any of `values` is what it may mean ("40" of "40 to 50 million": 40 and 40 million)."""

    first: int
    last: int
    values: frozenset[str]
    unit: str
    vague: bool  # "one", which is a pronoun as often as a number

    def same(self, other: Quantity) -> bool:
        """Is it the same number, or a decade or a century that the other is a year of?"""
        return not self.values.isdisjoint(other.values) or self._holds(other)

    def _holds(self, year: Quantity) -> bool:
        if self.unit not in ("decade", "century") or year.unit:
            return False
        years = [int(value) for value in year.values if _YEAR.fullmatch(value)]
        if self.unit == "decade":
            return any(str(value // 10 * 10) in self.values for value in years)
        return any(str((value - 1) // 100 + 1) in self.values for value in years)


def quantities(tokens: Sequence[Token]) -> tuple[Quantity, ...]:
    """All quantities of a text in order; each token belongs to one at most."""
    found: list[Quantity] = []
    at = 0
    while at < len(tokens):
        quantity = _quantity(tokens, at)
        if quantity is None:
            at += 1
            continue
        found.append(quantity)
        at = quantity.last + 1
    return tuple(_ranges(tokens, found))


def _quantity(tokens: Sequence[Token], at: int) -> Quantity | None:
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
    elif suffix and suffix not in ("st", "nd", "rd", "th"):
        unit = UNITS.get(suffix, "")
        if suffix in MULTIPLIERS:
            return _plain(digits, MULTIPLIERS[suffix]), at, "", False
        if not unit:
            return None  # 3D, 4k60: a name, not a quantity
    return digits.lstrip("0") or "0", at, unit, False


def _spelt(tokens: Sequence[Token], at: int) -> tuple[str, int, str, bool] | None:
    """Numbers in words: "twenty-five", "two hundred and six", "third", "one half"."""
    word = tokens[at].word
    if word in ORDINALS:
        return str(ORDINALS[word]), at, "", word in ("first", "second")
    if word in FRACTIONS:
        return FRACTIONS[word], at, "part", True
    if word not in SMALL and not (word in ("hundred", "dozen") and at and tokens[at - 1].word == "a"):
        return None
    value, last = _summed(tokens, at)
    after = last + 1
    if after < len(tokens) and tokens[after].word == "-":
        after += 1
    if last == at and after < len(tokens) and tokens[after].word in _PARTS:
        return f"{value}/{_PARTS[tokens[after].word]}", after, "part", False
    return str(value), last, "", word == "one" and last == at


def _summed(tokens: Sequence[Token], at: int) -> tuple[int, int]:
    """The value of the number words from `at` on, and the last of them."""
    total = current = 0
    last = at
    for index in range(at, min(len(tokens), at + LONGEST_SPELT)):
        word = tokens[index].word
        if word in _SCALES:
            current = (current or 1) * _SCALES[word]
        elif word == "thousand" and current:
            total, current = total + current * 1000, 0
        elif word in ORDINALS and index > at and current % 10 == 0 < current and ORDINALS[word] < 10:
            return total + current + ORDINALS[word], index
        elif word in SMALL and _adds(SMALL[word], current):
            current += SMALL[word]
        elif index > at and word in ("-", "and") and _continues(tokens, index, current):
            continue
        else:
            break
        last = index
    return total + current, last


def _adds(value: int, current: int) -> bool:
    """May a number word follow what was read: "two hundred" + "six", "twenty" + "five", not "six" + "six"?"""
    return current % 100 == 0 or (current % 10 == 0 and value < 10 and current % 100 >= 20)


_SCALES: Final = {"hundred": 100, "dozen": 12}
_PARTS: Final = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourths": 4, "fifth": 5, "fifths": 5,
    "sixths": 6, "eighths": 8, "tenth": 10, "tenths": 10,
}  # fmt: skip


def _continues(tokens: Sequence[Token], at: int, current: int) -> bool:
    """Does the number go on after this hyphen or "and": "twenty-five", "two hundred and six"?"""
    if at + 1 >= len(tokens):
        return False
    word = tokens[at + 1].word
    if tokens[at].word == "-":
        return 20 <= current % 100 < 100 and current % 10 == 0 and (0 < SMALL.get(word, 99) < 10 or word in ORDINALS)
    return current >= 100 and current % 100 == 0 and word in SMALL


def _scaled(tokens: Sequence[Token], last: int) -> tuple[int, int]:
    """The power of ten of the multipliers after a number: "1.2 million", "5-billion"."""
    power = 0
    while last + 1 < len(tokens) and power < _LONGEST:
        step = 2 if tokens[last + 1].word == "-" and last + 2 < len(tokens) else 1
        word = tokens[last + step].word
        if word not in MULTIPLIERS or len(word) < 3:
            break
        power += MULTIPLIERS[word]
        last += step
    return last, power


def _plain(value: str, power: int) -> str:
    """`value` times ten to the `power`, without an exponent: 1.2 and 6 give 1200000."""
    if not power or "/" in value or ":" in value or len(value) > _LONGEST:
        return value
    whole, _, part = value.partition(".")
    if not (whole + part).isdigit():
        return value
    part = part.ljust(power, "0")
    rest = part[power:].rstrip("0")
    return (((whole + part[:power]).lstrip("0")) or "0") + (f".{rest}" if rest else "")


def _unit(tokens: Sequence[Token], first: int, last: int) -> tuple[int, str]:
    """What the number at `first..last` counts, if that is a unit of measure, and where the quantity ends."""
    if first and tokens[first - 1].word in CURRENCIES:
        return last, CURRENCIES[tokens[first - 1].word]
    at = last + 1
    if at < len(tokens) and tokens[at].word in ("-", "‑", "–") and at + 1 < len(tokens):
        at += 1
    square = ""
    if at + 1 < len(tokens) and tokens[at].word in ("square", "sq", "cubic"):
        square = "cubic " if tokens[at].word == "cubic" else "square "
        at += 1
        if tokens[at].word == "." and at + 1 < len(tokens):
            at += 1
    if at < len(tokens) and tokens[at].word == "°" and at + 1 < len(tokens):
        at += 1
        return at, UNITS.get("°" + tokens[at].word, "degree")
    if at + 1 < len(tokens) and tokens[at].word == "per" and tokens[at + 1].word == "cent":
        return at + 1, "%"
    if at < len(tokens) and (unit := UNITS.get(tokens[at].word)):
        return at, square + unit
    return last, ""


def _ranges(tokens: Sequence[Token], found: list[Quantity]) -> list[Quantity]:
    """The first number of a range takes the unit and the multiplier of the second: "40 to 50 million", "1942-45"."""
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
            if left.unit and tokens[left.first - 1].word in CURRENCIES:
                unit = unit or left.unit
        result.append(Quantity(quantity.first, quantity.last, frozenset(values), unit, quantity.vague))
    return result


def _joined(tokens: Sequence[Token], left: Quantity, right: Quantity) -> bool:
    gap = [t.word for t in tokens[left.last + 1 : right.first]]
    gap = [word for word in gap if word not in CURRENCIES]
    return 1 <= len(gap) <= 2 and all(word in _RANGE for word in gap)


def _by_scale(quantity: Quantity, right: Quantity) -> set[str]:
    big = max(right.values, key=len)
    zeros = len(big) - len(big.rstrip("0"))
    if "." in big or zeros < 3:
        return set()
    return {_plain(value, power) for value in quantity.values for power in (3, 6, 9) if power <= zeros}


def _by_century(left: Quantity, right: Quantity) -> set[str]:
    """1942-45 names 1945."""
    year = next((v for v in left.values if len(v) == 4 and v.isdigit()), "")
    return {year[:2] + v for v in right.values if len(v) == 2 and v.isdigit()} if year else set()
