"""Numerals, and units of measure with the one name that each is compared by."""

from collections.abc import Collection
from fractions import Fraction
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
FRACTIONS: Final = {"half": Fraction(1, 2), "quarter": Fraction(1, 4)}
# Denominators: "two thirds", "one twentieth".
_DENOMINATORS: Final = {"half": 2, "halve": 2, "quarter": 4} | {w: n for w, n in ORDINALS.items() if n > 2}
PARTS: Final = _DENOMINATORS | {f"{word}s": n for word, n in _DENOMINATORS.items()}
TENS: Final = (10, 100)  # of "four in ten"
SCALES: Final = {"hundred": 100, "dozen": 12}
# Powers of ten. The short forms count only directly after digits: 5k, 3bn.
MULTIPLIERS: Final = {
    "thousand": 3, "thousands": 3, "million": 6, "millions": 6, "billion": 9, "billions": 9, "trillion": 12,
    "trillions": 12, "lakh": 5, "crore": 7, "k": 3, "bn": 9, "mn": 6,
}  # fmt: skip
DENOMINATORS: Final = frozenset({2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 32, 64, 100})  # of a fraction in digits
# Behind a name. Those of one letter are vague.
_ROMAN: Final = """
i ii iii iv v vi vii viii ix x xi xii xiii xiv xv
"""
ROMAN: Final = {word: value for value, word in enumerate(_ROMAN.split(), 1)}
BEFORE_DECADE: Final = frozenset(
    {"the", "his", "her", "their", "my", "our", "your", "its", "early", "late", "mid", "-"}
)  # "in his 30s"
TIMES: Final = {"once": 1, "twice": 2, "thrice": 3}  # before "a day" and the like
# The first words of numbers in words; "a" and "an" begin "a year and a half".
FIRST_WORDS: Final = frozenset({"a", "an", "fortnight", *SMALL, *ORDINALS, *FRACTIONS, *SCALES, *ROMAN, *TIMES})
NEGATIVE: Final = frozenset({"minus", "negative"})  # before a number
ZERO: Final = frozenset({"zero", "freezing", "0"})  # "5 °C below zero"
PER: Final = frozenset({"a", "an", "per", "every", "each", "/"})  # before a unit of time
TO: Final = frozenset({"-", "‑", "–", "—", "to", "or"})  # between the two numbers of a range
# Before a number that may be rounded: "about", "more than".
ROUNDED: Final = frozenset({
    "about", "around", "roughly", "approximately", "nearly", "almost", "over", "under", "above", "below", "circa", "ca",
    "more", "less", "fewer", "least", "most", "some", "~", "≈", ">", "<",
})  # fmt: skip
PART: Final = frozenset({"part", "parts"})  # of a mixture
TO_PART: Final = frozenset({"to", "and", "with", ","})  # before the second part
RATIOS: Final = frozenset({"ratio", "ratios", "proportion", "proportions", "scale", "odds"})  # before "1 to 2"
ESTIMATED: Final = frozenset({"about", "around", "roughly", "approximately", "circa", "ca", "~", "≈"})
SUMMED: Final = frozenset({"total", "totals", "totalling", "sum", "altogether", "combined"})  # a reader can add it up
BEFORE_LIST: Final = frozenset(":,(–—")
# What separates the items of a list within a sentence.
LIST_SEPARATORS: Final = frozenset({",", ";", "and", "or"})
POINTERS: Final = frozenset({"the", "these", "those"})  # before a number that counts what was named: "the two"
ORDINAL_SUFFIXES: Final = ("st", "nd", "rd", "th")
AREAS_AND_VOLUMES: Final = {"square": "square ", "sq": "square ", "cubic": "cubic "}
SMALLER: Final = {"foot": "inch", "metre": "centimetre"}  # unit of the second number of "5 ft 11"
CURRENCIES: Final = {"$": "dollar", "€": "euro", "£": "sterling", "¥": "yen", "₹": "rupee"}

# A unit, its size in the basic unit of its kind, and its forms. A temperature has its zero as well.
_UNITS: Final = """
% = 1/100 part: percent percentage pct; dollar: dollars usd; euro: euros eur; sterling: gbp;
pound = 453.59237 gram: pounds lb lbs; yen; rupee: rupees; cent: cents;
nanometre = 1/1000000000 metre: nm nanometer nanometers nanometres;
micrometre = 1/1000000 metre: μm um micron microns micrometer micrometers;
millimetre = 1/1000 metre: mm millimeter millimeters millimetres;
centimetre = 1/100 metre: cm centimeter centimeters centimetres; metre: m meter meters metres;
kilometre = 1000 metre: km kilometer kilometers kilometres kms; inch = 0.0254 metre: in inches;
foot = 0.3048 metre: feet ft; yard = 0.9144 metre: yards yd; mile = 1609.344 metre: miles mi;
hectare = 10000 square metre: hectares ha; acre = 4046.8564224 square metre: acres;
milligram = 1/1000 gram: mg milligrams; microgram = 1/1000000 gram: mcg μg ug micrograms;
gram: g grams gramme grammes; kilogram = 1000 gram: kg kilograms kilo kilos kgs;
ton = 1000000 gram: tons tonne tonnes; ounce = 28.349523125 gram: oz ounces;
millilitre = 1/1000 litre: ml milliliter milliliters millilitres;
microlitre = 1/1000000 litre: μl ul microliter microliters microlitres;
decilitre = 1/10 litre: dl deciliters decilitres; centilitre = 1/100 litre: cl centiliters centilitres;
litre: l liter liters litres; teaspoon = 0.005 litre: teaspoons tsp; tablespoon = 0.015 litre: tablespoons tbsp;
gallon = 3.785411784 litre: gallons gal; pint = 0.473176473 litre: pints; barrel: barrels;
nanosecond = 1/1000000000 second: ns nanoseconds; microsecond = 1/1000000 second: μs us microseconds;
millisecond = 1/1000 second: ms milliseconds; second: seconds sec secs s; minute = 60 second: minutes min mins;
hour = 3600 second: hours hr hrs h; day = 86400 second: days; night: nights; week = 604800 second: weeks;
fortnight = 1209600 second: fortnights; month = 2629800 second: months; quarter: quarters;
year = 31557600 second: years yr yrs; decade: decades; century: centuries; millennium: millennia; hertz: hz;
kilohertz = 1000 hertz: khz; megahertz = 1000000 hertz: mhz; gigahertz = 1000000000 hertz: ghz; bit: bits;
byte: bytes; kilobyte = 1024 byte: kb kib kilobytes; megabyte = 1048576 byte: mb mib megabytes;
gigabyte = 1073741824 byte: gb gib gigabytes; terabyte = 1099511627776 byte: tb tib terabytes; pixel: px pixels;
watt: w watts; kilowatt = 1000 watt: kw kilowatts; megawatt = 1000000 watt: mw megawatts;
gigawatt = 1000000000 watt: gw gigawatts; horsepower = 745.7 watt: hp bhp; kilowatthour: kwh; watthour: wh;
volt: v volts; millivolt = 1/1000 volt: mv millivolts; kilovolt = 1000 volt: kv kilovolts; amp: amps ampere amperes;
mah; newton: newtons; joule: joules; kilojoule = 1000 joule: kj kilojoules; mole: mol moles;
millimole = 1/1000 mole: mmol; calorie: calories cal; kilocalorie = 1000 calorie: kcal; pascal: pascals pa;
kilopascal = 1000 pascal: kpa; megapascal = 1000000 pascal: mpa; bar: bars; psi; ppm; lux; decibel: db decibels;
degree: degrees deg; celsius: °c centigrade; fahrenheit = 5/9 celsius 32: °f; kelvin = 1 celsius 273.15: °k;
radian: rad radians; mph; kmh: kph; rpm; rps; fps; dof; fold: folds
"""
# Forms that are other words more often than they are units.
_AMBIGUOUS: Final = frozenset({"in", "s", "us", "x", "l", "pa", "min"})


# Units that a text need not name: 1991 is in "the 1990s", "half" is a part.
UNNAMED: Final = frozenset({"decade", "century", "part", "fold"})
DEGREES: Final = frozenset({"degree", "celsius", "fahrenheit", "kelvin"})


@cache
def units() -> dict[str, str]:
    """The name of each unit by each of its forms: "kilometres" and "km" are both "kilometre"."""
    names: dict[str, str] = {"%": "%", "min": "minute", "s": "second"}
    for entry in _UNITS.split(";"):
        definition, _, forms = entry.partition(":")
        name = definition.partition("=")[0].strip()
        names |= {form: name for form in (name, *forms.split()) if form not in _AMBIGUOUS}
    return names


@cache
def sizes() -> dict[str, tuple[Fraction, Fraction, str]]:
    """The size of each unit in the basic unit of its kind, its zero on its own scale, and the basic unit."""
    found = {"second": (Fraction(1), Fraction(0), "second")}
    for entry in _UNITS.split(";"):
        name, _, size = entry.partition(":")[0].partition("=")
        if size:
            factor, basic, *zero = size.replace("square metre", "square_metre").split()
            found[name.strip()] = Fraction(factor), Fraction(zero[0] if zero else 0), basic.replace("_", " ")
    return found


def named(words: Collection[str]) -> frozenset[str]:
    """The units that words of a text name, behind a number or elsewhere, as in the head of a table."""
    found = {name for word in words if (name := units().get(word) or CURRENCIES.get(word))}
    return frozenset(found | (DEGREES if "°" in words else frozenset()))
