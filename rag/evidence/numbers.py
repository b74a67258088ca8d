"""Quantities of a text in a comparable form: 1,000 is 1000, "three" is 3, "the 1990s" 1990 with the unit "decade".

Equal sizes are equal however they are written: 0.5 m and 50 cm, 25% and a quarter, "twice a day" and "every 12 hours",
2 hours 30 minutes and 150 minutes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from rag.evidence.quantity import AS_WRITTEN, CENTURY, DECADE, Quantity, end_of_years, ratio_of, sum_of
from rag.evidence.words import MINUS, Token
from rag.text.english import numerals
from rag.text.english.units import MONEY, size_of, unit_of
from rag.text.vocabulary import is_english

LARGEST_PART: Final = 100  # of "one in N"
ION_SIGNS: Final = "⁺⁻"
LONGEST_SPELT: Final = 12  # tokens of a number in words
_DIGITS: Final = re.compile(r"(\d+(?:[.,:]\d+)*)(.*)", re.DOTALL)
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_PLAIN: Final = re.compile(r"\d{1,18}(?:\.\d{1,18})?")  # a longer number is compared as written
_VULGAR: Final = re.compile(r"(\d*?)(\d)⁄(\d{1,2})")  # 1½, made plain
_CLOCK: Final = re.compile(r"(\d{1,2})(?::([0-5]\d))?(am|pm)?")
_HOURS: Final = 12  # of half a day
# A word that looks like a symbol, with a capital inside or without vowels: "cmHg", "gpm". It is compared as written.
_SYMBOL: Final = re.compile(r"(?=.{2,6}\Z)(?:[a-z]+[A-Z][^\W\d_]*|[b-df-hj-np-tv-xz]+)")
_SCIENTIFIC: Final = re.compile(r"\d+(?:\.\d+)?e-?\d{1,2}")
_Number = tuple[Fraction | str, int, str, bool]  # value, number of tokens, unit, vague
_ORDINAL: Final = "th"  # in place of a unit
_SECOND: Final = "second"


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
            joined = (sum_of(found[-1], quantity, tokens) or ratio_of(found[-1], quantity, tokens)) if found else None
            found[-1:] = [joined] if joined else [*found[-1:], quantity]
            at = max(quantity.last, _per(tokens, quantity.last)[1] if quantity.per else 0)
        at += 1
    return tuple(found)


def _word(tokens: Sequence[Token], index: int) -> str:
    """The word of the token at an index; " " beyond the end."""
    return tokens[index].word if 0 <= index < len(tokens) else " "


def _raw(tokens: Sequence[Token], index: int) -> str:
    """The token at an index as it is written; " " beyond the end."""
    return tokens[index].raw if 0 <= index < len(tokens) else " "


def _read(tokens: Sequence[Token], at: int) -> _Number | None:
    word, before = _word(tokens, at), _word(tokens, at - 1)
    if share := _share(tokens, at):
        return share
    if word in numerals.ROMAN and at and tokens[at].capital and tokens[at - 1].capital:
        return Fraction(numerals.ROMAN[word]), 1, "", len(word) == 1
    if word[0].isdigit():
        if year := end_of_years(tokens, at):
            return Fraction(year), 1, "", False
        is_age = word.endswith("0s") and len(word) <= len("30s") and before not in numerals.BEFORE_DECADE
        is_money = before in numerals.CURRENCIES or unit_of(_raw(tokens, at + 1)) in MONEY
        return (Fraction(word[:-1]), 1, "second", False) if is_age else _digits(tokens[at], is_money=is_money)
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
    return (Fraction(upper, lower), step + 2, "part", False) if _is_share(tokens, upper, at + step + 1, lower) else None


def _is_share(tokens: Sequence[Token], upper: int, at: int, lower: int) -> bool:
    return 2 < lower <= LARGEST_PART and upper < lower and not unit_of(_raw(tokens, at + 1))


def _part_of(tokens: Sequence[Token], at: int) -> Quantity | None:
    """A part that may be two numbers as well: "three of the five", "two of every three"."""
    upper, step = _small(tokens, at), 2 + (_word(tokens, at + 2) in numerals.OF_WHICH)
    lower = _small(tokens, at + step) if upper and _word(tokens, at + 1) == "of" else 0
    if not _is_share(tokens, upper, at + step, lower):
        return None
    share = Fraction(upper, lower)
    parts = (
        Quantity(at, at, str(upper), "", upper == 1, (Fraction(upper), "")),
        Quantity(at + step, at + step, str(lower), "", False, (Fraction(lower), "")),
    )
    return Quantity(at, at + step, str(share), "part", False, (share, "part"), parts=parts)


def _stroked(tokens: Sequence[Token], at: int) -> Fraction | None:
    """A fraction with a stroke and without spaces; dates and "24/7" are none."""
    three = tokens[at : at + 3]
    if "".join(token.word for token in three[1:2]) != "/" or len(three) < 3 or three[2].start - three[0].end != 1:
        return None
    upper, lower = _small(three, 0), _small(three, 2)
    alone = "/" not in (_word(tokens, at - 1), _word(tokens, at + 3))
    return Fraction(upper, lower) if lower in numerals.DENOMINATORS and 0 < upper < lower and alone else None


def _quantity(tokens: Sequence[Token], at: int) -> Quantity | None:
    if found := _clock(tokens, at) or _part_of(tokens, at):
        return found
    read = _read(tokens, at)
    if read is None:
        return None
    number, length, unit, vague = read
    if not unit and isinstance(number, Fraction) and (added := _added_part(tokens, at + length - 1)):
        number, length, vague = number + added[0], added[1] + 1 - at, False
    power, last = _power(tokens, at + length - 1)
    is_ordinal, unit = unit == _ORDINAL, unit.removesuffix(_ORDINAL)
    if unit in ("", "part"):
        last, measure = _unit(tokens, at, last)
        measure = measure or _unit_of_range(tokens, last, both=is_ordinal or _word(tokens, at - 1) == "between")
        vague, unit = vague and not (unit and measure), measure or unit
    per = _per(tokens, last)[0]
    if isinstance(number, str):
        return Quantity(at, last, number, unit, vague, per=per)
    if is_ordinal and unit == "century":
        return Quantity(at, last, str((number - 1) * 100), CENTURY, False)
    number *= 10**power
    if unit == "part" and number > 1:
        unit = ""  # 1 1/4 of a unit that a table may have in its head
    if not unit and number.denominator > 1 and _word(tokens, last + 1) == "times":
        unit = "part"  # 150%
    rounded = any(_word(tokens, at - step) in numerals.ROUNDED for step in (1, 2))
    first, end = _minus(tokens, at, last) or (at, last)
    number *= 1 if (first, end) == (at, last) else -1
    size = None if unit in (DECADE, CENTURY) else _size(number, unit, per)
    return Quantity(first, end, str(number), unit, vague and not power, size, rounded, per)


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


def _words(tokens: Sequence[Token], at: int, count: int) -> tuple[str, ...]:
    return tuple(token.word for token in tokens[at : at + count])


def _clock(tokens: Sequence[Token], at: int) -> Quantity | None:
    """A time of day: 3 pm, 3:00 p.m., 15:00, "three o'clock in the afternoon" and "half past two"."""
    if word := numerals.CLOCK_WORDS.get(_word(tokens, at)):
        return Quantity(at, at, word, "", vague=True)
    quarter = numerals.QUARTERS.get(_words(tokens, at, 2))
    last = at + 2 * (quarter is not None)
    found = _CLOCK.fullmatch(_word(tokens, last))
    hour = int(found[1]) if found else _small(tokens, last)
    minute = quarter or int((found and found[2]) or 0)
    named = quarter is not None or (found and (found[2] or found[3])) or _word(tokens, last + 1) == "o'clock"
    last += _word(tokens, last + 1) == "o'clock"
    after_hour = _day_part(tokens, last)
    if found and found[3]:
        half: bool | None = found[3] == "pm"
    else:
        half = numerals.DAY_PARTS[_words(tokens, last + 1, after_hour)] if after_hour else None
        last += after_hour
    if half is None and (of_range := _half_of_range(tokens, last)) is not None:
        half, named = of_range, True
    if not (hour or found) or hour > (23 if half is None else _HOURS) or not (named or after_hour):
        return None
    hour = hour if half is None else hour % _HOURS + _HOURS * half
    hour, minute = divmod(60 * hour + minute, 60)
    return Quantity(at, last, f"{hour % 24}:{minute:02}", "", vague=False)


def _day_part(tokens: Sequence[Token], last: int) -> int:
    """How many tokens behind an hour name the half of the day: "pm", "in the morning"; 0 for none."""
    parts = (len(part) for part in numerals.DAY_PARTS if _words(tokens, last + 1, len(part)) == part)
    return next(parts, 0)


def _half_of_range(tokens: Sequence[Token], last: int) -> bool | None:
    """Whether an hour is after noon by the second hour of its range, as in "from 5 to 6 pm"; None without one."""
    at = last + 2
    hour = _CLOCK.fullmatch(_word(tokens, at)) if _word(tokens, last + 1) in numerals.TO else None
    if hour is None:
        return None
    size = _day_part(tokens, at)
    return hour[3] == "pm" if hour[3] else numerals.DAY_PARTS[_words(tokens, at + 1, size)] if size else None


def _size(number: Fraction, unit: str, per: str) -> tuple[Fraction, str]:
    """The number in the basic unit, or with `per`, that of another; "twice a day" is every 12 hours."""
    factor, zero, basic = size_of(unit)
    size = (number - zero) * factor
    if not per:
        return size, basic
    whole, _, counted = size_of(per)
    rate = (whole / size, counted) if size and not basic and counted == _SECOND else None
    return rate or (size / whole, f"{basic}/{counted}")


def _per(tokens: Sequence[Token], last: int) -> tuple[str, int]:
    """The unit after "a", "per" or "/", or after "times a", or of "daily", with its token; else ""."""
    at = last + 1
    at += _word(tokens, at) in ("times", "-")
    if adverb := numerals.ADVERBS.get(_word(tokens, at)):
        return adverb, at
    unit = unit_of(_raw(tokens, at + 1)) if _word(tokens, at) in numerals.PER else ""
    fits = size_of(unit)[2] == _SECOND or _word(tokens, at) in numerals.PER_ANY
    return (unit, at + 1) if fits and unit else ("", last)


def _digits(token: Token, *, is_money: bool) -> _Number | None:
    """A number in digits. None for a name, such as 3D or 4k60."""
    word = token.word
    if vulgar := _VULGAR.fullmatch(word):
        return int(vulgar[1] or 0) + Fraction(int(vulgar[2]), int(vulgar[3]) or 1), 1, "part", False
    if _SCIENTIFIC.fullmatch(word):
        return Fraction(word), 1, "", False
    match = _DIGITS.fullmatch(word)
    if match is None:
        return None
    digits, suffix = match[1].replace(",", "") if _GROUPED.fullmatch(match[1]) else match[1], match[2]
    number = Fraction(digits) if _PLAIN.fullmatch(digits) else digits.lstrip("0")
    written = token.raw[len(token.raw) - len(suffix) :] if suffix else ""
    if isinstance(number, Fraction):
        is_large = is_money or written == "M" or (written == "B" and number.denominator > 1)
        if factor := numerals.MULTIPLIERS.get(suffix) or (numerals.OF_MONEY.get(suffix) if is_large else None):
            return number * 10**factor, 1, "", False
    if suffix in ("s", "'s"):
        if not isinstance(number, Fraction) or number % 10:
            return number, 1, _SECOND, False
        return number, 1, DECADE if number % 100 or not number else CENTURY, False
    if suffix in ("", "x"):
        return number, 1, "", False
    unit = _ORDINAL if suffix in numerals.ORDINAL_SUFFIXES else unit_of(written)
    return (number, 1, unit, False) if unit else None


def _spelt(tokens: Sequence[Token], at: int) -> _Number | None:
    """A number in words, such as "twenty-five", "third", "half an", "a year and a half" or "twice" before "a day"."""
    word, next_word = _word(tokens, at), _word(tokens, at + 1)
    following = [_word(tokens, at + step) for step in (2, 3, 4)]
    if found := _one(tokens, at):
        return found
    if word in numerals.ORDINALS:
        is_noun = at + 1 == len(tokens) or next_word == "of" or not tokens[at + 1].content  # "a third party"
        if word in numerals.PARTS and _word(tokens, at - 1) == "a" and is_noun:
            return Fraction(1, numerals.PARTS[word]), 1, "part", True
        return Fraction(numerals.ORDINALS[word]), 1, _ORDINAL, word in numerals.VAGUE_ORDINALS
    if word in numerals.FRACTIONS:
        of_a = 2 * (next_word == "of" and following[0] in ("a", "an"))
        return numerals.FRACTIONS[word], 1 + (of_a or next_word in ("a", "an")), "part", True
    if word in numerals.TIMES:
        return Fraction(numerals.TIMES[word]), 1, "", word == "once" and not _per(tokens, at)[0]
    if word not in numerals.SMALL and not (word in numerals.SCALES and _word(tokens, at - 1) == "a"):
        return None
    value, last = _summed(tokens, at)
    after = last + 1 + (_word(tokens, last + 1) == "-")
    if last == at and (part := numerals.PARTS.get(_word(tokens, after))):
        return Fraction(value, part), after + 1 - at, "part", False
    if value % 10 == 0 and numerals.ORDINALS.get(_word(tokens, after), 10) < 10:
        return Fraction(value + numerals.ORDINALS[_word(tokens, after)]), after + 1 - at, _ORDINAL, False
    return Fraction(value), last + 1 - at, "", word == "one" and last == at


def _one(tokens: Sequence[Token], at: int) -> _Number | None:
    """One of a unit without a number: "an hour", "daily", "every other week", which is two, "a year and a half"."""
    word, unit = _word(tokens, at), unit_of(_raw(tokens, at + 1))
    if word in ("a", "an") and unit and _words(tokens, at + 2, 3) == ("and", "a", "half"):
        return Fraction(3, 2), 5, unit, False
    if word == "fortnight":
        return Fraction(1), 1, word, False
    if word in numerals.LARGE and _word(tokens, at - 1) == "a":
        return Fraction(10 ** numerals.MULTIPLIERS[word]), 1, "", False
    if word in numerals.COUPLES:
        return Fraction(2), 1 + (_word(tokens, at + 1) == "of"), "", True
    if word in numerals.ADVERBS:
        return Fraction(1), 1, numerals.ADVERBS[word], True
    if word in numerals.EVERY and _word(tokens, at + 1) in ("other", "second") and unit_of(_raw(tokens, at + 2)):
        return Fraction(2), 2, "", False
    is_one = (word in ("a", "an") and unit != "fortnight") or (word in numerals.EVERY and size_of(unit)[2] == _SECOND)
    return (Fraction(1), 1, "", True) if unit not in ("", "quarter") and is_one else None


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
            if not _added_part(tokens, last):  # no "twenty-one" in "twenty and one-half"
                continue
            break
        else:
            break
        last = index
    return total + current, last


def _added_part(tokens: Sequence[Token], last: int) -> tuple[Fraction, int] | None:
    """The part that "and" adds to a whole number, and its last token: "and a half", "and two-thirds"."""
    if _word(tokens, last + 1) != "and":
        return None
    at = last + 3 + (_word(tokens, last + 3) == "-")
    lower, upper = numerals.PARTS.get(_word(tokens, at), 0), numerals.SMALL.get(_word(tokens, last + 2), 0)
    if _word(tokens, last + 2) == "a" and _word(tokens, at) in numerals.FRACTIONS:  # not "one and a third"
        upper = 1
    return (Fraction(upper, lower), at) if 0 < upper < lower else None


def _power(tokens: Sequence[Token], last: int) -> tuple[int, int]:
    """The power of ten of the multiplier after a number ("1.2 million", "5-billion"), and its last token."""
    at = last + 1 + (_word(tokens, last + 1) == "-")
    word = _word(tokens, at)
    return (numerals.MULTIPLIERS[word], at) if word in numerals.MULTIPLIERS and len(word) > 2 else (0, last)


def _unit_of_range(tokens: Sequence[Token], last: int, *, both: bool) -> str:
    """The unit of the second number of a range, which the first has too: "4 to 6 hours"; "" for none.

    With `both`, the two may be joined by "and": "between 3 and 5 km", "the 13th and 14th centuries".
    """
    if _word(tokens, last + 1) not in numerals.TO and not (both and _word(tokens, last + 1) == "and"):
        return ""
    at = last + 2 + (_word(tokens, last + 2) == MINUS)
    read = _read(tokens, at)
    unit = _unit(tokens, at, at - 1 + read[1])[1] or read[2] if read else ""
    return unit.removesuffix(_ORDINAL)


def _unit(tokens: Sequence[Token], first: int, last: int) -> tuple[int, str]:
    """The last token of the quantity at `first..last`, and its unit of measure, "" without one."""
    before = _word(tokens, first - 1)
    code = unit_of(before) if _raw(tokens, first - 1).isupper() else ""  # EUR 50
    if (unit := numerals.CURRENCIES.get(before, code)) in MONEY:
        return last, unit
    at = last + 1 + (_word(tokens, last + 1) in ("-", "‑", "–"))
    dimension = numerals.AREAS_AND_VOLUMES.get(_word(tokens, at), "")
    at += bool(dimension)
    if _word(tokens, at) in ("°", "degrees") and _word(tokens, at + 1) != "of":
        scale = unit_of("°" + _word(tokens, at + 1)[:1])
        return (at + 1, scale) if scale and _word(tokens, at + 1) in (scale, scale[0]) else (at, "degree")
    hyphen = _word(tokens, at + 1) == "-"
    is_word = len(_raw(tokens, at)) > 1  # "5 m in length" has no minutes
    if (hyphen or is_word) and (unit := unit_of(_raw(tokens, at) + _raw(tokens, at + 1 + hyphen))):
        return at + 1 + hyphen, unit  # kilowatt-hours
    unit = unit_of(_raw(tokens, at))
    is_ion = _raw(tokens, at + 1)[:1] in ION_SIGNS  # Na⁺, no nanoampere
    if unit and not is_ion and (unit != "degree" or _word(tokens, at + 1) != "of"):  # "7 degrees of freedom"
        return at, dimension + unit
    symbol = _raw(tokens, at)
    is_symbol = at == last + 1 and _SYMBOL.fullmatch(symbol) and not symbol.removesuffix("s").isupper()
    is_symbol = is_symbol and symbol != "vs"
    return (at, AS_WRITTEN + symbol) if is_symbol and not is_english(symbol.lower()) else (last, "")
