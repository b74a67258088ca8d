"""Units of measure, each with the one name that it is compared by and its size in the basic unit of its kind.

A symbol is read as it is written, since mW is no MW; a word in any case. Both are made of prefixes and basic units.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import cache, lru_cache
from typing import Final

from rag.text.english.numerals import CURRENCIES

_PREFIXES: Final = {
    "": ("", 0), "k": ("kilo", 3), "M": ("mega", 6), "G": ("giga", 9), "T": ("tera", 12), "P": ("peta", 15),
    "h": ("hecto", 2), "d": ("deci", -1), "c": ("centi", -2), "m": ("milli", -3), "µ": ("micro", -6), "n": ("nano", -9),
    "p": ("pico", -12), "f": ("femto", -15),
}  # fmt: skip

# A unit, its symbols, and the prefixes that go before a symbol, "-" for none: A alone is an ampere, but H a letter.
# Then other words for it.
_SCALED: Final = """
gram g -kmµn gramme; metre m -kdcmµn meter; litre l,L -hdcmµn liter; second s -mµnp; tonne t -kMG;
ampere A -kmµnp amp; volt V -kMmµn; watt W -kMGTmµnp; ohm Ω,ohm,Ohm -kMGmµ; farad F mµnp; henry H mµn;
hertz Hz -kMGT; joule J -kMGTmµ; newton N -kMmµ; pascal Pa -hkMGm; mole mol -kmµnpf; molar M mµnp; tesla T mµn;
sievert Sv -mµn; gray Gy -kcmµ; becquerel Bq -kMGT; siemens S mµn; electronvolt eV -kMGTm; bar bar -mµ; calorie cal -k;
bit bit -kMGT; byte B -kMGTP; watthour Wh -kMGTm; amperehour Ah -km amphour; voltampere VA -kM; lumen lm -; lux lx -k;
candela cd -; osmole Osm mµ; equivalent Eq mµ; iu IU -mkMµ; bps bps -kMGT; parsec pc kMG; gauss Gs -kmµ
"""
# Other units: a name, its size where it has one, and its symbols or words. A temperature has its zero as well.
_UNITS: Final = """
% = 1/100 part: percent percentage pct; permille = 1/1000 part: ‰; ppm; ppb;
dollar: usd; euro: eur; sterling: gbp quid; pound = 453.59237 gram: lb lbs; yen: jpy; rupee: inr; yuan: cny rmb;
franc: chf; cent; penny: pence;
micron = 1/1000000 metre; inch = 0.0254 metre: inches; foot = 0.3048 metre: feet ft; yard = 0.9144 metre: yd;
mile = 1609.344 metre: mi; nauticalmile = 1852 metre: nmi; angstrom = 1/10000000000 metre: Å;
hectare = 10000 square_metre: ha;
acre = 4046.8564224 square_metre; kilometre: kms; microgram: mcg ug; microsecond: usec;
second: sec secs; minute = 60 second: min mins;
kilogram: kilo kilos kgs; ton = 1000000 gram; ounce = 28.349523125 gram: oz;
stone = 6350.29318 gram: st;
fluidounce = 0.0295735295625 litre: floz; cup = 0.2365882365 litre; quart = 0.946352946 litre: qt; cc = 1/1000 litre;
teaspoon = 0.005 litre: tsp; tablespoon = 0.015 litre: tbsp; gallon = 3.785411784 litre: gal; pint = 0.473176473 litre;
barrel; hour = 3600 second: hr hrs h; day = 86400 second; night; week = 604800 second: wk wks;
fortnight = 1209600 second; month = 2629800 second; quarter; year = 31557600 second: yr yrs;
decade = 315576000 second; century = 3155760000 second: centuries; millennium = 31557600000 second: millennia;
pixel: px; horsepower = 745.7 watt: hp bhp; btu = 1055.06 joule: btus; iu: internationalunit internationalunits;
mmhg = 133.322 pascal; cmh2o = 98.0665 pascal; inhg = 3386.39 pascal; psi = 6894.757 pascal; torr = 133.322 pascal;
atm = 101325 pascal: atmosphere; decibel: dB; dbm: dBm; dba: dBA; dbi: dBi; dbw: dBW;
degree: deg; celsius: centigrade °c; fahrenheit = 5/9 celsius 32: °f; kelvin = 1 celsius 273.15: K °k;
radian: rad; mph = 1397/3125 metre/second; kmh = 5/18 metre/second: kph kmph; knot = 463/900 metre/second: kn kt kts;
rpm; rps; fps; dpi; dof; fold; kilohm = 1000 ohm; megohm = 1000000 ohm
"""
_RELATED: Final[dict[str, tuple[int | Fraction, str]]] = {  # basic units that are measured by another
    "byte": (8, "bit"), "tonne": (1_000_000, "gram"), "calorie": (Fraction("4.184"), "joule"),
    "watthour": (3600, "joule"), "bar": (100_000, "pascal"), "bps": (1, "bit/second"),
}  # fmt: skip
_OTHERS_MORE_OFTEN: Final = frozenset({"in", "us", "pa", "unit", "units", "ma", "mole", "st"})
_BASE: Final = {"byte": 1024}  # of its prefixes, since many texts write GB for GiB
_BINARY: Final = {"kilo": "kibi", "mega": "mebi", "giga": "gibi", "tera": "tebi", "peta": "pebi"}
_SIGNS: Final = str.maketrans({"μ": "µ", "\u2126": "Ω", "²": "2", "³": "3"})
_POWERS: Final = {"2": "square ", "3": "cubic "}
Size = tuple[Fraction, Fraction, str]
DEGREES: Final = frozenset({"degree", "celsius", "fahrenheit", "kelvin"})
MONEY: Final = frozenset({"dollar", "euro", "sterling", "yen", "rupee", "yuan", "franc"})


@cache
def _tables() -> tuple[dict[str, str], dict[str, str], dict[str, Size]]:
    """The name of each unit by symbol, and by word in lower case; the sizes by name."""
    symbols: dict[str, str] = {}
    words: dict[str, str] = {}
    sizes: dict[str, Size] = {}
    for entry in _SCALED.split(";"):
        base, written, before, *others = entry.split()
        factor, basic = _RELATED.get(base, (Fraction(1), base))
        for sign, (prefix, power) in _PREFIXES.items():
            name = prefix + base
            scale = Fraction(_BASE[base]) ** (power // 3) if base in _BASE else Fraction(10) ** power
            sizes[name] = factor * scale, Fraction(0), basic
            words |= {prefix + form + plural: name for form in (base, *others) for plural in ("", "s")}
            if (sign or "-") in before:
                symbols |= {sign + symbol: name for symbol in written.split(",")}
    symbols |= {"KB": "kilobyte", "K": "kelvin", "d": "day"}
    for sign in "KkMGTP":
        prefix = _PREFIXES[sign.replace("K", "k")][0]
        name = f"{_BINARY[prefix]}byte"
        symbols[f"{sign}iB"], sizes[name] = name, sizes[f"{prefix}byte"]
        words |= {name: name, f"{name}s": name}
    for entry in _UNITS.split(";"):
        definition, _, forms = entry.partition(":")
        name, _, size = (part.strip() for part in definition.partition("="))
        if size:
            amount, basic, *zero = size.split()
            sizes[name] = Fraction(amount), Fraction(zero[0] if zero else 0), basic.replace("_", " ")
        words |= {form.lower(): name for form in (name, f"{name}s", *forms.split()) if len(form) > 1 or form == "%"}
        symbols |= {form: name for form in forms.split()}
    return symbols, words | _in_small_letters(symbols, words), sizes


def _in_small_letters(symbols: dict[str, str], words: dict[str, str]) -> dict[str, str]:
    """The symbols in small letters, as in "5 mhz" and "5 KG", but for those that are then two units: mW and MW."""
    small: dict[str, set[str]] = {}
    for symbol, name in symbols.items():
        if len(symbol) > 1:
            small.setdefault(symbol.lower(), set()).add(name)
    small |= {f"{sign}b": {f"{_PREFIXES[sign.upper() if sign != 'k' else sign][0]}byte"} for sign in "kmgt"}
    return {form: min(names) for form, names in small.items() if len(names) == 1 and form not in words}


@lru_cache(maxsize=50_000)
def unit_of(form: str) -> str:
    """The name of the unit that a word or symbol stands for; "" for none: "km" and "Kilometers" are "kilometre".

    >>> unit_of("mW"), unit_of("MW"), unit_of("Kilometers"), unit_of("cm²"), unit_of("robots")
    ('milliwatt', 'megawatt', 'kilometre', 'square centimetre', '')
    """
    form = form.translate(_SIGNS)
    symbols, words, _ = _tables()
    if form in symbols or form.lower() in _OTHERS_MORE_OFTEN:
        return symbols.get(form, "")
    if found := words.get(form.lower(), "") or (symbols.get(f"µ{form[1:]}", "") if form[:1] == "u" else ""):
        return found
    length = unit_of(form[:-1]) if form[-1:] in _POWERS and form[:-1].isalpha() else ""
    return _POWERS[form[-1]] + length if size_of(length)[2] == "metre" else ""


def differ_in_base(first: str, second: str) -> bool:
    """Whether one of two units counts bytes in powers of 1024, and the other may count them in powers of 1000.

    >>> differ_in_base("gigabyte", "gibibyte"), differ_in_base("byte", "gibibyte")
    (True, False)
    """
    prefixes = {name.removesuffix("byte") for name in (first, second) if name.endswith("byte")}
    return len(prefixes - _BINARY.keys()) == len(prefixes & _BINARY.keys()) == 1 and "" not in prefixes


def named(words: Iterable[str]) -> frozenset[str]:
    """The units that words of a text name, behind a number or elsewhere, as in the head of a table."""
    found = set(words)
    units = {unit for word in found if (unit := unit_of(word) or CURRENCIES.get(word))}
    return frozenset(units | (DEGREES if "°" in found else frozenset()))


@cache
def size_of(unit: str) -> Size:
    """The size of a unit in the basic unit of its kind, its zero on its own scale, and the basic unit."""
    dimension, _, length = unit.partition(" ")
    if length and dimension in ("square", "cubic"):
        factor, _, basic = size_of(length)
        metric = basic == "metre"
        if dimension == "cubic":
            return (factor**3 * 1000, Fraction(0), "litre") if metric else (factor**3, Fraction(0), f"cubic {basic}")
        return factor**2, Fraction(0), f"square {basic}"
    return _tables()[2].get(unit, (Fraction(1), Fraction(0), unit))
