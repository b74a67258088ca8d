"""Quantities of a text in a comparable form: 1,000 is 1000, "three" is 3, "the 1990s" 1990 with the unit "decade".

Equal sizes are equal however they are written: 0.5 m and 50 cm, 25% and a quarter, "twice a day" and "every 12 hours",
2 hours 30 minutes and 150 minutes.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from rag.evidence.words import MINUS, Token
from rag.text.english import numerals

MOST_ITEMS: Final = 12  # of a list that a number may count
LARGEST_PART: Final = 100  # of "one in N"
LONGEST_SPELT: Final = 12  # tokens of a number in words
LONGEST_PART: Final = 5  # tokens between the numbers of "one part of slaked lime to two parts"
NEARLY: Final = Fraction(1, 10)  # share by which a rounded number may differ
_DIGITS: Final = re.compile(r"(\d+(?:[.,:]\d+)*)(.*)", re.DOTALL)
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_PLAIN: Final = re.compile(r"\d{1,18}(?:\.\d{1,18})?")  # a longer number is compared as written
_YEAR: Final = re.compile(r"1\d{3}|20\d{2}")
_VULGAR: Final = re.compile(r"(\d*?)(\d)⁄(\d{1,2})")  # 1½, made plain
_CLOCK: Final = re.compile(r"(\d{1,2})(?::([0-5]\d))?(am|pm)?")
_SCIENTIFIC: Final = re.compile(r"\d+(?:\.\d+)?e-?\d{1,2}")
_Number = tuple[Fraction | str, int, str, bool]  # value, number of tokens, unit, vague
_SECOND: Final = "second"
_POUNDS: Final = {"pound", "sterling"}  # "89 pounds" may be either


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, or "", at tokens `first..last`.

    `vague` marks "one" and the like, which often are no numbers. `size` is the number in the basic unit of its kind,
    (1800, "second") for half an hour; None for a version. `rounded`: "about" or the like stands before it.
    """

    first: int
    last: int
    value: str
    unit: str
    vague: bool
    size: tuple[Fraction, str] | None = None
    rounded: bool = False

    def same(self, other: Quantity) -> bool:
        """Whether the values or the sizes are the same, or the other is a year in this decade or century."""
        if self.unit not in ("decade", "century") or other.unit or not other.is_year:
            return self.value == other.value or self.size == other.size is not None
        year = int(other.value)
        return self.value == str(year // 10 * 10 if self.unit == "decade" else (year + 99) // 100)

    def fits(self, other: Quantity) -> bool:
        """Whether the units are the same, or one has none, or the sizes are the same."""
        alike = self.unit == other.unit or {self.unit, other.unit} == _POUNDS
        return not self.unit or not other.unit or alike or self.size == other.size is not None

    def measures_as(self, other: Quantity) -> bool:
        """Whether both have units of one kind, such as kilograms and pounds."""
        return bool(self.unit and other.unit and self.size and other.size and self.size[1] == other.size[1])

    def counts_like(self, other: Quantity) -> bool:
        """Whether both count the same unit, or have units of one kind."""
        return not other.vague and (self.unit == other.unit or self.measures_as(other))

    def nearly(self, other: Quantity) -> bool:
        """Whether the other, rounded or converted to another unit, may be this number."""
        if not self.size or not other.size or self.size[1] != other.size[1]:
            return False
        differs = abs(self.size[0] - other.size[0])
        return (self.rounded or other.rounded or self.unit != other.unit) and differs <= NEARLY * abs(other.size[0])

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys by which its lines are found."""
        return (f"#{self.value}", f"#{self.size[0]} {self.size[1]}") if self.size else (f"#{self.value}",)

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
        may_begin = tokens[at].digits or tokens[at].word in numerals.FIRST_WORDS
        if may_begin and (quantity := _quantity(tokens, at)):
            joined = (_joined(found[-1], quantity, tokens) or _ratio(found[-1], quantity, tokens)) if found else None
            found[-1:] = [joined] if joined else [*found[-1:], quantity]
            at = quantity.last
        at += 1
    return tuple(found)


def _joined(large: Quantity, small: Quantity, tokens: Sequence[Token]) -> Quantity | None:
    """Both as one amount, in the unit of the first: "2 hours 30 minutes", "2 hours and 30 minutes", "5 ft 11"."""
    between = [token.word for token in tokens[large.last + 1 : small.first]]
    unit = small.unit or ("" if between else numerals.SMALLER.get(large.unit, ""))
    sizes = numerals.sizes()
    factor, _, basic = sizes.get(large.unit, (Fraction(1), 0, large.unit))
    part, _, same = sizes.get(unit, (Fraction(1), 0, unit))
    whole = large.value.isdigit() and large.size == (int(large.value) * factor, basic)
    if between not in ([], ["and"]) or not (unit and whole and small.size and basic == same and part < factor):
        return None
    size = small.size[0] if small.unit else small.size[0] * part
    if size >= factor:
        return None
    total = int(large.value) * factor + size
    return Quantity(large.first, small.last, str(total / factor), large.unit, False, (total, basic), large.rounded)


def _ratio(one: Quantity, other: Quantity, tokens: Sequence[Token]) -> Quantity | None:
    """Both as one ratio such as 1:2: "one part lime to two parts of sand", "in a ratio of 1 to 2"."""
    between = [token.word for token in tokens[one.last + 1 : other.first]]
    parts = (
        between[:1] and {between[0], _word(tokens, other.last + 1)} <= numerals.PART and len(between) <= LONGEST_PART
    )
    called = between == ["to"] and any(_word(tokens, one.first - step) in numerals.RATIOS for step in (1, 2))
    whole = one.value.isdigit() and other.value.isdigit()
    if not whole or not (called or (parts and between[-1] in numerals.TO_PART)):
        return None
    return Quantity(one.first, other.last, f"{one.value}:{other.value}", "", False)


def _word(tokens: Sequence[Token], index: int) -> str:
    """The word of the token at an index; " " beyond the end."""
    return tokens[index].word if 0 <= index < len(tokens) else " "


def _read(tokens: Sequence[Token], at: int) -> _Number | None:
    word, before = _word(tokens, at), _word(tokens, at - 1)
    if share := _share(tokens, at):
        return share
    if word in numerals.ROMAN and at and tokens[at].capital and tokens[at - 1].capital:
        return Fraction(numerals.ROMAN[word]), 1, "", len(word) == 1
    if word[0].isdigit():
        is_age = before in numerals.BEFORE_DECADE or len(word) > len("30s")
        return _digits(word if is_age or not word.endswith("0s") else f"{word}ec")
    return _spelt(tokens, at)


def _share(tokens: Sequence[Token], at: int) -> _Number | None:
    """A part in two numbers: 1/2 and 1 1/2, "one in four", "three out of four"."""
    upper, next_word = _small(tokens, at), _word(tokens, at + 1)
    if not upper:
        return None
    if next_word.isdecimal() and (part := _stroked(tokens, at + 1)):
        return upper + part, 4, "part", False
    if part := _stroked(tokens, at):
        return part, 3, "part", False
    of_ten = upper == 1 or _small(tokens, at + 2) in numerals.TENS
    step = 1 if next_word == "in" and of_ten else 2 * (next_word == "out")
    lower = _small(tokens, at + step + 1) if step else 0
    measured = _word(tokens, at + step + 2) in numerals.units()
    is_part = 2 < lower <= LARGEST_PART and upper < lower and not measured
    return (Fraction(upper, lower), step + 2, "part", False) if is_part else None


def _stroked(tokens: Sequence[Token], at: int) -> Fraction | None:
    """A fraction with a stroke and without spaces; dates and "24/7" are none."""
    three = tokens[at : at + 3]
    if "".join(one.word for one in three[1:2]) != "/" or len(three) < 3 or three[2].start - three[0].end != 1:
        return None
    upper, lower = _small(three, 0), _small(three, 2)
    alone = "/" not in (_word(tokens, at - 1), _word(tokens, at + 3))
    return Fraction(upper, lower) if lower in numerals.DENOMINATORS and 0 < upper < lower and alone else None


def _quantity(tokens: Sequence[Token], at: int) -> Quantity | None:
    if clock := _clock(tokens, at):
        return Quantity(at, clock[1], clock[0], "", False)
    read = _read(tokens, at)
    if read is None:
        return None
    number, length, unit, vague = read
    power, last = _power(tokens, at + length - 1)
    if unit in ("", "part"):
        last, measure = _unit(tokens, at, last)
        measure = measure or _unit_of_range(tokens, last)
        vague, unit = vague and not (unit and measure), measure or unit
    if isinstance(number, str):
        return Quantity(at, last, number, unit, vague)
    number *= 10**power
    if not unit and number.denominator > 1 and _word(tokens, last + 1) == "times":
        unit = "part"  # 150%
    rounded = any(_word(tokens, at - step) in numerals.ROUNDED for step in (1, 2))
    first, end = _minus(tokens, at, last) or (at, last)
    number *= 1 if (first, end) == (at, last) else -1
    size = _size(number, unit, _per(tokens, last))
    return Quantity(first, end, str(number), unit, vague and not power, size, rounded)


def _minus(tokens: Sequence[Token], at: int, last: int) -> tuple[int, int] | None:
    """First and last token of a negative number: -5, -$5, minus 5, 5 °C below zero. None for any other."""
    before = at - 1 - (_word(tokens, at - 1) in numerals.CURRENCIES)
    spelt = _word(tokens, before) in numerals.NEGATIVE and not _word(tokens, before - 1)[0].isdigit()
    if spelt or _word(tokens, before) == MINUS:
        return before, last
    below = _word(tokens, last + 1) == "below" and _word(tokens, last + 2) in numerals.ZERO
    return (at, last + 2) if below else None


def _small(tokens: Sequence[Token], at: int) -> int:
    """A whole number of one token, in digits or in words; 0 for none."""
    word = _word(tokens, at)
    return int(word) if word.isdecimal() and len(word) < len("1000") else numerals.SMALL.get(word, 0)


def _clock(tokens: Sequence[Token], at: int) -> tuple[str, int] | None:
    """A time of day and its last token: 3 pm, 3:00 p.m. and 15:00 are "15:00"."""
    found = _CLOCK.fullmatch(_word(tokens, at))
    if not found:
        return None
    hour, minute, half = int(found[1]), found[2], found[3]
    last = at + (not half and _word(tokens, at + 1) in ("am", "pm"))
    half = half or (tokens[last].word if last > at else "")
    if hour > (12 if half else 23) or not (half or minute):
        return None
    return f"{hour % 12 + 12 * (half == 'pm') if half else hour}:{minute or '00'}", last


def _size(number: Fraction, unit: str, per: str) -> tuple[Fraction, str]:
    """The number in the basic unit, or with `per`, that of a time, in a second; "twice a day" is every 12 hours."""
    factor, zero, basic = numerals.sizes().get(unit, (Fraction(1), 0, unit))
    size = (number - zero) * factor
    if not per:
        return size, basic
    time = numerals.sizes()[per][0]
    return (size / time, f"{basic}/{_SECOND}") if basic or not size else (time / size, _SECOND)


def _per(tokens: Sequence[Token], last: int) -> str:
    """The unit of time behind "a", "per" or "/", or behind "times a"; else ""."""
    at = last + 1 + (_word(tokens, last + 1) == "times")
    unit = numerals.units().get(_word(tokens, at + 1), "") if _word(tokens, at) in numerals.PER else ""
    return unit if numerals.sizes().get(unit, (0, 0, ""))[2] == _SECOND else ""


def _digits(word: str) -> _Number | None:
    """A number in digits. None for a name, such as 3D or 4k60."""
    if vulgar := _VULGAR.fullmatch(word):
        return int(vulgar[1] or 0) + Fraction(int(vulgar[2]), int(vulgar[3]) or 1), 1, "part", False
    if _SCIENTIFIC.fullmatch(word):
        return Fraction(word), 1, "", False
    match = _DIGITS.fullmatch(word)
    if match is None:
        return None
    digits, suffix = match[1].replace(",", "") if _GROUPED.fullmatch(match[1]) else match[1], match[2]
    number = Fraction(digits) if _PLAIN.fullmatch(digits) else digits.lstrip("0")
    if suffix in numerals.MULTIPLIERS and isinstance(number, Fraction):
        return number * 10 ** numerals.MULTIPLIERS[suffix], 1, "", False
    unit = "decade" if suffix in ("s", "'s") else numerals.units().get(suffix, "")
    return (number, 1, unit, False) if unit or not suffix or suffix in numerals.ORDINAL_SUFFIXES else None


def _spelt(tokens: Sequence[Token], at: int) -> _Number | None:
    """A number in words, such as "twenty-five", "third", "half an", "a year and a half" or "twice" before "a day"."""
    word, next_word = _word(tokens, at), _word(tokens, at + 1)
    behind = [_word(tokens, at + step) for step in (2, 3, 4)]
    if word in ("a", "an") and next_word in numerals.units() and behind == ["and", "a", "half"]:
        return Fraction(3, 2), 5, numerals.units()[next_word], False
    if word == "fortnight":
        return Fraction(1), 1, word, False
    if word in numerals.PARTS and _word(tokens, at - 1) == "a" and next_word == "of" and word in numerals.ORDINALS:
        return Fraction(1, numerals.PARTS[word]), 1, "part", True
    if word in numerals.ORDINALS:
        return Fraction(numerals.ORDINALS[word]), 1, "", word in numerals.VAGUE_ORDINALS
    if word in numerals.FRACTIONS:
        of_a = 2 * (next_word == "of" and behind[0] in ("a", "an"))
        return numerals.FRACTIONS[word], 1 + (of_a or next_word in ("a", "an")), "part", True
    if word in numerals.TIMES and _per(tokens, at):
        return Fraction(numerals.TIMES[word]), 1, "", False
    if word not in numerals.SMALL and not (word in numerals.SCALES and _word(tokens, at - 1) == "a"):
        return None
    value, last = _summed(tokens, at)
    if [_word(tokens, last + step) for step in (1, 2, 3)] == ["and", "a", "half"]:
        return value + Fraction(1, 2), last + 4 - at, "", False
    after = last + 1 + (_word(tokens, last + 1) == "-")
    if last == at and (part := numerals.PARTS.get(_word(tokens, after))):
        return Fraction(value, part), after + 1 - at, "part", False
    return Fraction(value), last + 1 - at, "", word == "one" and last == at


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
        elif word in ("-", "and") and current and current % 10 == 0 and _word(tokens, index + 1) in numerals.SMALL:
            continue
        else:
            break
        last = index
    return total + current, last


def _power(tokens: Sequence[Token], last: int) -> tuple[int, int]:
    """The power of ten of the multiplier after a number ("1.2 million", "5-billion"), and its last token."""
    at = last + 1 + (_word(tokens, last + 1) == "-")
    word = _word(tokens, at)
    return (numerals.MULTIPLIERS[word], at) if word in numerals.MULTIPLIERS and len(word) > 2 else (0, last)


def _unit_of_range(tokens: Sequence[Token], last: int) -> str:
    """The unit of the second number of a range, which the first has too: "4 to 6 hours"; "" for none."""
    if _word(tokens, last + 1) not in numerals.TO:
        return ""
    at = last + 2 + (_word(tokens, last + 2) == MINUS)
    read = _read(tokens, at)
    return _unit(tokens, at, at - 1 + read[1])[1] or read[2] if read else ""


def _unit(tokens: Sequence[Token], first: int, last: int) -> tuple[int, str]:
    """The last token of the quantity at `first..last`, and its unit of measure, "" without one."""
    if unit := numerals.CURRENCIES.get(_word(tokens, first - 1)):
        return last, unit
    at = last + 1 + (_word(tokens, last + 1) in ("-", "‑", "–"))
    dimension = numerals.AREAS_AND_VOLUMES.get(_word(tokens, at), "")
    at += bool(dimension)
    if _word(tokens, at) in ("°", "degrees"):
        scale = numerals.units().get("°" + _word(tokens, at + 1)[:1], "")
        return (at + 1, scale) if scale and _word(tokens, at + 1) in (scale, scale[0]) else (at, "degree")
    if _word(tokens, at) == "per" and _word(tokens, at + 1) == "cent":
        return at + 1, "%"
    unit = numerals.units().get(_word(tokens, at))
    return (at, dimension + unit) if unit else (last, "")


def is_ratio_of(quantity: Quantity, others: Sequence[Quantity]) -> bool:
    """Whether it is a ratio such as 1:2, and the others have both of its numbers."""
    parts = quantity.value.split(":")
    return len(parts) > 1 and {one.value for one in others}.issuperset(parts)


def points_back(quantity: Quantity, tokens: Sequence[Token]) -> bool:
    """Whether the number counts a few things that were named before: "the two", "one of these three steps"."""
    is_few = quantity.value in ("2", "3") and not tokens[quantity.first].digits and not quantity.unit
    return is_few and _word(tokens, quantity.first - 1) in numerals.POINTERS


def years_apart(quantity: Quantity, others: Sequence[Quantity]) -> bool:
    """Whether it is a number of years, and two years of the others are about so far apart."""
    if quantity.unit != "year" or not quantity.value.isdigit():
        return False
    apart, years = int(quantity.value), [int(other.value) for other in others if other.is_year]
    allowed = NEARLY * apart if quantity.rounded else 0
    return any(abs(one - other - apart) <= allowed for one in years for other in years)


def counts_items(quantity: Quantity, tokens: Sequence[Token], known: Container[str]) -> bool:
    """Whether it counts a list behind it, "two systems, A and B", each content word of which is in `known`."""
    begin = next((at for at in range(quantity.last + 1, len(tokens)) if tokens[at].word in numerals.BEFORE_LIST), None)
    if begin is None or quantity.unit:
        return False
    listed = tokens[begin + 1 :]
    items = "".join("|" if one.word in numerals.LIST_SEPARATORS else "x" * one.content for one in listed).split("|")
    count = sum(map(bool, items))
    return (
        2 <= count <= MOST_ITEMS and quantity.value == str(count) and all(t.key in known for t in listed if t.content)
    )
