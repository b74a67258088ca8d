"""Words for numbers, shares, times of day and periods, and the words around them by which they are read."""

import re
from fractions import Fraction
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
OF_MONEY: Final = {"m": 6, "b": 9, "t": 12}  # behind the digits of an amount of money
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
EVERY: Final = frozenset({"every", "each"})
COUPLES: Final = frozenset({"couple", "pair"})
LARGE: Final = frozenset({"thousand", "million", "billion"})  # after "a"
ADVERBS: Final = {
    "daily": "day", "nightly": "night", "weekly": "week", "monthly": "month", "hourly": "hour", "yearly": "year",
    "annually": "year", "fortnightly": "fortnight",
}  # fmt: skip
CLOCK_WORDS: Final = {"noon": "12:00", "midday": "12:00", "midnight": "0:00"}
# Minutes before an hour.
QUARTERS: Final[dict[tuple[str, ...], int]] = {("half", "past"): 30, ("quarter", "past"): 15, ("quarter", "to"): -15}
# Behind an hour: whether it is one of the second half of a day.
DAY_PARTS: Final = {
    ("am",): False, ("pm",): True, ("in", "the", "morning"): False, ("in", "the", "afternoon"): True,
    ("in", "the", "evening"): True, ("at", "night"): True,
}  # fmt: skip
CLOCK: Final = re.compile(r"(\d{1,2}):([0-5]\d)")
BEFORE_HOUR: Final = frozenset(
    {"at", "before", "after", "until", "till", "from", "by", "to", "between", "and", "past", "-", "–"}
)
NOTHING: Final = frozenset({"nothing", "none", "no", "without", "free", "zero"})  # where an answer may write 0
FIRST_WORDS: Final = frozenset({
    "a", "an", "fortnight", *SMALL, *ORDINALS, *FRACTIONS, *SCALES, *ROMAN, *TIMES, *EVERY, *ADVERBS,
    *CLOCK_WORDS, *COUPLES, *LARGE,
})  # fmt: skip
NEGATIVE: Final = frozenset({"minus", "negative"})  # before a number
ZERO: Final = frozenset({"zero", "freezing", "0"})  # "5 °C below zero"
PER: Final = frozenset({"a", "an", "per", "/", *EVERY})  # before a unit of time
PER_ANY: Final = frozenset({"per", "/"})  # before any unit
TO: Final = frozenset({"-", "‑", "–", "—", "to", "or"})  # between the two numbers of a range
# Before a number that may be rounded: "about", "more than".
ROUNDED: Final = frozenset({
    "about", "around", "roughly", "approximately", "nearly", "almost", "over", "under", "above", "below", "circa", "ca",
    "more", "less", "fewer", "least", "most", "some", "~", "≈", ">", "<",
})  # fmt: skip
# Directly or two words before a number, which is then a bound or is multiplied.
BOUNDS: Final = frozenset({
    "over", "under", "above", "below", "beyond", "more", "less", "fewer", "least", "most", "twice", "thrice", "double",
    "triple",
})  # fmt: skip
# What a word directly or two words before a number makes of it.
BOUND: Final = {
    **dict.fromkeys(("over", "above", "beyond", "more", "least", "minimum"), "lower"),
    **dict.fromkeys(("under", "below", "less", "fewer", "most", "up", "maximum"), "upper"),
    "exactly": "exact",
}
VERSIONS: Final = frozenset({"version", "versions", "release", "section", "chapter", "figure", "v"})  # before 3.10
DENYING: Final = frozenset({"no", "not"})  # "no less than"
REVERSED: Final = {"lower": "upper", "upper": "lower"}
# Anywhere in a sentence whose number may be such a bound.
BOUNDING: Final = BOUNDS | frozenset({
    "minimum", "maximum", "min", "max", "exceed", "exceeds", "exceeding", "exceeded", "up", "upwards", "limit",
    "limits", "limited", "within", "greater", "higher", "lower", "larger", "smaller", "longer", "shorter", "older",
    "younger", "between", "from", "only", "nearly", "almost", "until", "before", "after", "than",
    "+", ">", "<", "≥", "≤",
})  # fmt: skip
PART: Final = frozenset({"part", "parts"})  # of a mixture
OF_WHICH: Final = frozenset({"the", "every", "these", "those", "our", "its", "their"})  # in "three of the five"
TO_PART: Final = frozenset({"to", "and", "with", ","})  # before the second part
RATIOS: Final = frozenset({"ratio", "ratios", "proportion", "proportions", "scale", "odds"})  # before "1 to 2"
ESTIMATED: Final = frozenset({"about", "around", "roughly", "approximately", "circa", "ca", "~", "≈"})
SUMMED: Final = frozenset({"total", "totals", "totalling", "sum", "altogether", "combined"})  # a reader can add it up
BEFORE_LIST: Final = frozenset(":,(–—")
# What separates the items of a list within a sentence.
LIST_SEPARATORS: Final = frozenset({",", ";", "and", "or"})
BEFORE_PART: Final = BEFORE_LIST | LIST_SEPARATORS | {"", "."}  # before "(1)", which numbers a part of a sentence
AGES: Final = frozenset({"age", "aged", "old"})  # near a number of years
# Of an example or a conclusion, whose numbers a reader may have computed.
DERIVING: Final = frozenset({
    "eg", "ie", "→", "so", "thus", "hence", "therefore", "if", "suppose", "assuming", "imagine", "equals",
    "for example", "for instance", "that is", "that makes", "this makes", "which makes", "comes to", "adds up",
})  # fmt: skip
FORMULA: Final = frozenset("=≈×÷")
DERIVES: Final = re.compile(
    r"\W*(?:for (?:example|instance)|examples?(?=[*_]*:)|thus|therefore|hence|in other words|that is)\b", re.IGNORECASE
)
EXAMPLES: Final = frozenset(
    {"example", "case", "scenario", "day", "week", "month", "round"}
)  # before a number, as a label
# What an answer numbers by itself, as in "Step 1:".
_NUMBERED: Final = """
step option phase method approach way stage part tip point reason rule example case scenario question task fact
note day week month round level strategy alternative item idea lesson exercise benefit problem mistake move choice
variant route path principle action category group type kind
"""
_NOUN: Final = "|".join(_NUMBERED.split())
_NUMBER: Final = rf"(?:\d{{1,2}}|[A-Za-z]|[IVX]{{1,4}}|{'|'.join(_ONES.split()[1:13])})"
_SIGN_AND_SPACE: Final = r"[*_]{0,3}(?:\s+|$)"
_ENUMERATED: Final = "|".join(_ORDINALS.split()[:12])
# An answer's own number at the beginning: "**Step 1:** ", "Option A - ", "(1) ", "#1: ", "| 1 | ", "Third, ", "1️⃣ ".
OWN_NUMBER: Final = re.compile(
    r"[\s*_|#]*(?:"
    rf"(?P<noun>(?i:{_NOUN}))\s(?:#|no\.\s?)?{_NUMBER}(?:\sof\s\d+)?"
    rf"(?:[*_]{{0,3}}\s?[:.)\]|–—-]{_SIGN_AND_SPACE}|[*_]{{0,3}}$)"
    r"|(?<=\|)\s*\d{1,2}\s*\|\s*(?=[*_`]*[^\W\d_])"
    rf"|\(?(?:\d{{1,2}}|[a-z])\){_SIGN_AND_SPACE}|\d{{1,2}}[*_]{{0,3}}[:.]{_SIGN_AND_SPACE}"
    rf"|(?:\d\ufe0f?\u20e3|\U0001f51f|[①-⑳]){_SIGN_AND_SPACE}?"
    rf"|(?i:{_ENUMERATED})(?:ly)?(?:\sstep)?[*_]{{0,3}}[:,]{_SIGN_AND_SPACE})"
)
POINTERS: Final = frozenset({"the", "these", "those", "other"})  # before a number that counts what was named: "the two"
ORDINAL_SUFFIXES: Final = ("st", "nd", "rd", "th")
AREAS_AND_VOLUMES: Final = {"square": "square ", "sq": "square ", "cubic": "cubic "}
SMALLER: Final = {"foot": "inch", "metre": "centimetre"}  # unit of the second number of "5 ft 11"
CURRENCIES: Final = {"$": "dollar", "€": "euro", "£": "sterling", "¥": "yen", "₹": "rupee"}

# What stands between the digits of a number, in English and elsewhere, and a number with its thousands apart.
SEPARATORS: Final = re.compile(r"[.,'’ \u00a0\u2009\u202f]")
GROUPED: Final = re.compile(r"\d{1,3}(?:[.,'’ \u00a0\u2009\u202f]\d{3})+")
