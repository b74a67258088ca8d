"""Numerals, and units of measure with the one name that each is compared by."""

from functools import cache
from typing import Final

_ONES: Final = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen
"""
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS: Final = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
sixteenth seventeenth eighteenth nineteenth twentieth
"""
SMALL: Final = {word: value for value, word in enumerate(_ONES.split())} | {
    word: 10 * tens for tens, word in enumerate(_TENS.split(), 2)
}
ORDINALS: Final = {word: value for value, word in enumerate(_ORDINALS.split(), 1)} | {
    "thirtieth": 30,
    "fortieth": 40,
    "fiftieth": 50,
    "hundredth": 100,
}
# Ordinals that often count nothing: "at first", "a second".
VAGUE_ORDINALS: Final = frozenset({"first", "second"})
FRACTIONS: Final = {"half": "1/2", "quarter": "1/4"}
# Denominators: "two thirds".
PARTS: Final = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourths": 4, "fifth": 5, "fifths": 5,
    "sixths": 6, "eighths": 8, "tenth": 10, "tenths": 10,
}  # fmt: skip
SCALES: Final = {"hundred": 100, "dozen": 12}
# Powers of ten. The short forms count only directly after digits: 5k, 3bn.
MULTIPLIERS: Final = {
    "thousand": 3, "thousands": 3, "million": 6, "millions": 6, "billion": 9, "billions": 9, "trillion": 12,
    "trillions": 12, "lakh": 5, "crore": 7, "k": 3, "bn": 9, "mn": 6,
}  # fmt: skip
# What separates the items of a list within a sentence.
LIST_SEPARATORS: Final = frozenset({",", ";", "and", "or"})
POINTERS: Final = frozenset({"the", "these", "those"})  # before a number that counts what was named: "the two"
ORDINAL_SUFFIXES: Final = ("st", "nd", "rd", "th")
AREAS_AND_VOLUMES: Final = {"square": "square ", "sq": "square ", "cubic": "cubic "}
CURRENCIES: Final = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "₹": "rupee"}

_UNITS: Final = """
%: percent percentage pct; dollar: dollars usd; euro: euros eur; pound: pounds lb lbs gbp; yen; rupee: rupees;
cent: cents;
nanometre: nm nanometer nanometers nanometres; micrometre: µm um micron microns micrometer micrometers;
millimetre: mm millimeter millimeters millimetres; centimetre: cm centimeter centimeters centimetres;
metre: m meter meters metres; kilometre: km kilometer kilometers kilometres kms; inch: in inches; foot: feet ft;
yard: yards yd; mile: miles mi; hectare: hectares ha; acre: acres;
milligram: mg milligrams; gram: g grams gramme grammes; kilogram: kg kilograms kilo kilos kgs; ton: tons tonne tonnes;
ounce: oz ounces; millilitre: ml milliliter milliliters millilitres; litre: l liter liters litres; gallon: gallons gal;
pint: pints; barrel: barrels;
nanosecond: ns nanoseconds; microsecond: µs us microseconds; millisecond: ms milliseconds; second: seconds sec secs s;
minute: minutes min mins; hour: hours hr hrs h; day: days; night: nights; week: weeks; fortnight: fortnights;
month: months; quarter: quarters; year: years yr yrs; decade: decades; century: centuries; millennium: millennia;
hertz: hz; kilohertz: khz; megahertz: mhz; gigahertz: ghz; bit: bits; byte: bytes; kilobyte: kb kib kilobytes;
megabyte: mb mib megabytes; gigabyte: gb gib gigabytes; terabyte: tb tib terabytes; pixel: px pixels;
watt: w watts; kilowatt: kw kilowatts; megawatt: mw megawatts; gigawatt: gw gigawatts; volt: v volts; amp: amps ampere
amperes; newton: newtons; joule: joules; calorie: calories cal; kilocalorie: kcal; pascal: pascals pa; bar: bars;
decibel: db decibels; degree: degrees deg; celsius: °c centigrade; fahrenheit: °f; kelvin: °k; radian: rad radians;
mph; kmh: kph; rpm; fps; dof; fold: folds
"""
# Forms that are other words more often than they are units.
_AMBIGUOUS: Final = frozenset({"in", "s", "us", "x", "l", "pa", "min"})


@cache
def units() -> dict[str, str]:
    """The name of each unit by each of its forms: "kilometres" and "km" are both "kilometre"."""
    names: dict[str, str] = {"%": "%", "min": "minute"}
    for entry in _UNITS.split(";"):
        name, _, forms = entry.partition(":")
        for form in (name.strip(), *forms.split()):
            if form not in _AMBIGUOUS:
                names[form] = name.strip()
    return names
