"""A number of a text with its unit, and how it relates to other numbers: the same, of one kind, rounded, computed."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from rag.evidence.words import Token
from rag.text.english import numerals
from rag.text.english.units import DEGREES, differ_in_base, size_of

LONGEST_PART: Final = 5  # tokens between the numbers of "one part of slaked lime to two parts"
NEARLY: Final = Fraction(1, 10)  # share by which a rounded number may differ
DECADE: Final = "the decade"  # unit of "the 1990s", with the value 1990
CENTURY: Final = "the century"  # unit of "the 13th century", with the value 1200
AS_WRITTEN: Final = "="  # begins the name of a unit that no table has
UNNAMED: Final = frozenset({DECADE, CENTURY, "part", "fold"})  # units that a text need not name: half is a part
_PERIODS: Final = {DECADE: 10, CENTURY: 100}
_YEAR: Final = re.compile(r"1\d{3}|20\d{2}")
_YEARS: Final = re.compile(r"(1\d|20)(\d\d)[-‐‑–—](\d\d)")
_POUNDS: Final = {"pound", "sterling"}  # "89 pounds" may be either
_TINY: Final = frozenset("0123456")
_HUNDREDTHS: Final = {"cent": ("dollar", "euro"), "penny": ("sterling", "pound")}  # and of which unit


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, or "", at tokens `first..last`, and with the unit that it is counted `per`, or "".

    `vague` marks "one" and the like, which often are no numbers. `size` is the number in the basic unit of its kind,
    (1800, "second") for half an hour; None for a version. `rounded`: "about" or the like comes before it. `parts` are
    the two numbers that it may be instead: "five years and nine months".
    """

    first: int
    last: int
    value: str
    unit: str
    vague: bool
    size: tuple[Fraction, str] | None = None
    rounded: bool = False
    per: str = ""
    parts: tuple[Quantity, ...] = ()

    def same(self, other: Quantity) -> bool:
        """Whether the values or the sizes are the same, or the other is a year in this decade or century."""
        if self.value == other.value or self.size == other.size is not None:
            return True
        if (self.share is not None and self.share == other.share) or self._in_hundredths(other):
            return True
        length = _PERIODS.get(self.unit)
        if not length or other.unit or not other.is_year:
            return False
        year = int(other.value)
        return self.value in {str(counted // length * length) for counted in (year, year - (self.unit == CENTURY))}

    def fits(self, other: Quantity) -> bool:
        """Whether the units are the same, or one has none, and the periods likewise; or the sizes are the same.

        GB for GiB does not fit: a gigabyte may be 7% less.
        """
        if self.size == other.size is not None or self._in_hundredths(other):
            return not self.differs_in_base(other)
        named = {self.unit, other.unit} - {""}
        alike = len(named) < 2 or named in (_POUNDS, _PERIODS.keys()) or ("degree" in named and named <= DEGREES)
        return alike and (not self.per or not other.per or self.per == other.per)

    def differs_in_base(self, other: Quantity) -> bool:
        """Whether one is in a unit such as GiB and the other in one such as GB."""
        return differ_in_base(self.unit, other.unit)

    def _in_hundredths(self, other: Quantity) -> bool:
        """Whether both are one amount of money: 60 cents and €0.60."""
        small, large = (self, other) if self.unit in _HUNDREDTHS else (other, self)
        if not small.size or not large.size or large.unit not in _HUNDREDTHS.get(small.unit, ()):
            return False
        return Fraction(small.value) == 100 * Fraction(large.value) and small.per == large.per

    def measures_as(self, other: Quantity) -> bool:
        """Whether both have units of one kind, such as kilograms and pounds."""
        return bool(self.unit and other.unit and self.size and other.size and self.size[1] == other.size[1])

    def counts_like(self, other: Quantity) -> bool:
        """Whether both count the same unit in the same time, or have units of one kind."""
        alike = self.unit == other.unit and bool(self.per) == bool(other.per)
        return not other.vague and (alike or self.measures_as(other))

    def nearly(self, other: Quantity) -> bool:
        """Whether the other, rounded or converted to another unit, may be this number."""
        if not self.size or not other.size or self.size[1] != other.size[1]:
            return False
        differs = abs(self.size[0] - other.size[0])
        return (self.rounded or other.rounded or self.unit != other.unit) and differs <= NEARLY * abs(other.size[0])

    @property
    def share(self) -> Fraction | None:
        """What part of a whole it may be: 4/5 for 80% and for 0.8."""
        if self.size is None or not 0 < self.size[0] < 1:
            return None
        return self.size[0] if self.size[1] in ("part", "") else None

    @property
    def amount(self) -> Fraction | None:
        """The number, 7/10 for 70%; None for a version, and for a small number, which is the sum of any."""
        if self.size is None or self.vague or self.value in _TINY:
            return None
        return self.size[0] if self.size[1] == "part" else Fraction(self.value)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys by which its lines are found."""
        if self.size is None:
            return (f"#{self.value}",)
        basic = "part" if self.share else self.size[1]
        money = [f"#{Fraction(self.value) / 100} {unit}" for unit in _HUNDREDTHS.get(self.unit, ())]
        return f"#{self.value}", f"#{self.size[0]} {basic}", *money

    @property
    def is_year(self) -> bool:
        return _YEAR.fullmatch(self.value) is not None


def readings(quantities: Iterable[Quantity], held: Container[str]) -> Iterator[Quantity]:
    """The quantities, each as the two that it may be instead, unless a key of the whole is `held`."""
    for quantity in quantities:
        yield from (quantity,) if not quantity.parts or any(key in held for key in quantity.keys) else quantity.parts


def sum_of(large: Quantity, small: Quantity, tokens: Sequence[Token]) -> Quantity | None:
    """Both as one amount, in the unit of the first: "2 hours 30 minutes", "2 hours and 30 minutes", "5 ft 11".

    With an "and" they may also be two: "for five years and nine months' notice ends it".
    """
    between = [token.word for token in tokens[large.last + 1 : small.first]]
    unit = small.unit or ("" if between else numerals.SMALLER.get(large.unit, ""))
    (factor, _, basic), (part, _, same) = size_of(large.unit), size_of(unit)
    is_whole = large.value.isdigit() and large.size == (int(large.value) * factor, basic)
    if between not in ([], ["and"]) or not (unit and is_whole and small.size and basic == same and part < factor):
        return None
    size = small.size[0] if small.unit else small.size[0] * part
    if size >= factor:
        return None
    total = int(large.value) * factor + size
    whole = replace(large, last=small.last, value=str(total / factor), vague=False, size=(total, basic))
    return replace(whole, parts=(large, small) if between else ())


def ratio_of(first: Quantity, second: Quantity, tokens: Sequence[Token]) -> Quantity | None:
    """Both as one ratio such as 1:2: "one part lime to two parts of sand", "in a ratio of 1 to 2"."""
    between = [token.word for token in tokens[first.last + 1 : second.first]]
    nouns = [*between[:1], *(token.word for token in tokens[second.last + 1 : second.last + 2])]
    counts_parts = len(nouns) > 1 and numerals.PART.issuperset(nouns) and len(between) <= LONGEST_PART
    before = {token.word for token in tokens[max(0, first.first - 2) : first.first]}
    called = between == ["to"] and not before.isdisjoint(numerals.RATIOS)
    whole = first.value.isdigit() and second.value.isdigit()
    if not whole or not (called or (counts_parts and between[-1] in numerals.TO_PART)):
        return None
    return Quantity(first.first, second.last, f"{first.value}:{second.value}", "", False)


def end_of_years(tokens: Sequence[Token], at: int) -> int:
    """The second year of two as in "1697-98"; 0 for none."""
    three = tokens[max(0, at - 2) : at + 1]
    written = _YEARS.fullmatch("".join(token.raw for token in three))
    close = written is not None and three[-1].end - three[0].start == len(written[0])
    return int(written[1] + written[3]) if close and written and written[3] > written[2] else 0
