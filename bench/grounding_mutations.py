"""Make sentences false by changing one number, name, unit, negation or comparison.

A change must change the meaning: a name is not replaced by one that the passages list beside it, nor a number by one
that the sentence holds. Nothing here calls the check that is measured.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_NUMBER: Final = re.compile(r"(?<![\w.,:])\d+(?:[.,]\d+)*(?![\w]|[.,:]\d)")
_SPELT: Final = "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty fifty hundred"
_WORDS: Final = _SPELT.split()
_NUMBER_WORD: Final = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_NAME: Final = re.compile(
    r"(?<=[a-z,;] )[A-Z][^\W\d_]{2,}(?: (?:of |the )?[A-Z][^\W\d_]{2,}){0,2}"
)  # not at the beginning of a sentence
_NOT_NAMES: Final = """
the a an in on at for but and however while although after before when since this that these those it he she they his
her its their there if as by from to with some many most both also yes no according during january february march april
may june july august september october november december monday tuesday wednesday thursday friday saturday sunday i
"""
_NO_NAMES: Final = frozenset(_NOT_NAMES.split())
_UNIT_PAIRS: Final = """
years months|year month|days weeks|day week|hours minutes|minutes seconds|centuries decades|century decade|
months weeks|km miles|kilometres miles|kilometers miles|miles kilometres|metres feet|meters feet|feet metres|ft m|
cm inches|mm cm|inches centimetres|kg tonnes|lb kg|pounds kilograms|grams ounces|tons pounds|million billion|
billion million|thousand million|percent million|% _million|dollars euros|$ €|£ $|€ $|GB MB|MB GB|Hz kHz|ms s|
seconds minutes|weeks days|decades centuries|acres hectares|bytes bits|bits bytes|bit byte|degrees radians|GHz MHz|
TOPS GB
"""
_AUXILIARY: Final = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|will|would|should|may|might|must|did|does|do)\b(?! not\b| n't|n't)",
    re.IGNORECASE,
)
_PAST: Final = re.compile(r"(?<=[a-z]) ((?!need|speed|indeed|exceed|hundred|feed|seed|breed)[a-z]{3,}ed)\b(?! by\b)")
_BEFORE_NO_VERB: Final = """
is are was were be been being has have had a an the of and or to by in on at with for from as very most more well highly
also not than that which newly so called now often first then its his her their this these those some all no
"""
_NO_SUBJECT: Final = frozenset(_BEFORE_NO_VERB.split())
_VERBS: Final = "is|are|was|were|has|have|had|can|could|will|would|should|may|might|must|did|does|do"
_DROPS: Final = [
    (re.compile(rf"\b({_VERBS})( ?n't| not)\b(?! only| just| merely)", re.IGNORECASE), r"\1"),
    (re.compile(r"\bcannot\b"), "can"),
    (re.compile(r"\bnever "), ""),
    (re.compile(r"\bnot (?!only|just|merely)"), ""),
    (re.compile(r"\bwithout\b"), "with"),
    (re.compile(r"\bno (?=[a-z])(?!longer|more|matter)"), "a "),
]
_PAIRS: Final = """
more less|most least|before after|earlier later|first last|higher lower|highest lowest|larger smaller|
largest smallest|greater lesser|increase decrease|increases decreases|increased decreased|increasing decreasing|
always never|all none of the|above below|over under|north south|northern southern|east west|eastern western|
oldest youngest|older younger|longer shorter|longest shortest|early late|best worst|better worse|many few|
maximum minimum|rise fall|rose fell|won lost|begin end|began ended|with without|allow forbid|allows forbids|
allowed forbade|faster slower|fast slow|high low|large small|long short|strong weak|often rarely|inside outside|
internal external|upper lower|majority minority|positive negative|public private|support oppose|supports opposes|
supported opposed|same different|easy difficult|major minor|left right|hot cold|include exclude|includes excludes|
included excluded|wide narrow|start stop|started stopped|accepted rejected|success failure|modern ancient|
possible impossible|legal illegal|necessary unnecessary|enable disable|enables disables|enabled disabled|every no|
each no|until after|top bottom|static dynamic|mutable immutable|true false|synchronous asynchronous|local global|
safe unsafe|valid invalid
"""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A false sentence and the kind of change that made it so."""

    kind: str
    text: str


def mutants(sentence: str, passages: Sequence[str], others: Sequence[str], rng: random.Random) -> Iterator[Mutant]:
    """At most one mutant of each kind. `others` are names from other texts."""
    makers = (
        ("number", _number(sentence, passages, rng)),
        ("number of the passages", _number_near(sentence, passages, rng)),
        ("name", _name(sentence, passages, others, rng)),
        ("name of the passages", _name(sentence, passages, [n for p in passages for n in names(p)], rng)),
        ("names exchanged", _exchanged(sentence, passages)),
        ("unit", _unit(sentence, rng)),
        ("negation put in", _negate(sentence, rng)),
        ("negation left out", _affirm(sentence, rng)),
        ("comparison", _compare(sentence, rng)),
    )
    for kind, text in makers:
        if text and text != sentence:
            yield Mutant(kind, text)


def names(text: str) -> list[str]:
    """The names in a text, but not those at the beginning of a sentence."""
    return [match[0] for match in _names(text)]


def _names(text: str) -> list[re.Match[str]]:
    return [m for m in _NAME.finditer(text) if not _NO_NAMES & set(m[0].lower().split())]


def _numbers(sentence: str) -> list[re.Match[str]]:
    return [*_NUMBER.finditer(sentence), *_NUMBER_WORD.finditer(sentence)]


def _number(sentence: str, passages: Sequence[str], rng: random.Random) -> str:
    """The sentence with a number that is not in the passages; empty when it has no number to change."""
    found = _numbers(sentence)
    if not found:
        return ""
    match = rng.choice(found)
    whole = " ".join(passages).lower()
    for _ in range(20):
        new = _changed(match[0], rng)
        if new != match[0].lower() and not re.search(
            rf"(?<![\w.,]){re.escape(new)}(?!\w|[.,]\d)", f"{sentence} {whole}"
        ):
            return _put(sentence, match, new)
    return ""


def _changed(number: str, rng: random.Random) -> str:
    if number.isalpha():
        return rng.choice(_WORDS)
    if len(number) == 4 and number.isdigit():
        return str(int(number) + rng.choice([-30, -11, -7, -2, -1, 1, 2, 3, 10, 20]))
    if len(number) <= 2:
        return str(max(2, int(number) + rng.choice([-5, -3, -2, -1, 1, 2, 3, 4, 7, 20])))
    places = [i for i, c in enumerate(number) if c.isdigit()]
    at = rng.choice(places)
    return number[:at] + str((int(number[at]) + rng.randint(1, 8)) % 9 + 1) + number[at + 1 :]


def _number_near(sentence: str, passages: Sequence[str], rng: random.Random) -> str:
    """The sentence with another number of the same shape from the passages; empty when there is none."""
    found = _numbers(sentence)
    rng.shuffle(found)
    for match in found:
        shape = _shape(match[0])
        stock = sorted({m[0] for p in passages for m in _numbers(p) if _shape(m[0]) == shape})
        stock = [n for n in stock if n.lower() not in sentence.lower()]
        stock = [n for n in stock if not _beside(match[0], n, passages)]
        if stock:
            return _put(sentence, match, rng.choice(stock))
    return ""


def _shape(number: str) -> str:
    if number.isalpha():
        return "word"
    return "year" if re.fullmatch(r"1[0-9]{3}|20[0-9]{2}", number) else "number"


def _name(sentence: str, passages: Sequence[str], stock: Sequence[str], rng: random.Random) -> str:
    found = _names(sentence)
    if not found:
        return ""
    match = rng.choice(found)
    lower = sentence.lower()
    fresh = [n for n in sorted(set(stock)) if not set(n.lower().split()) & set(lower.split())]
    rng.shuffle(fresh)
    for name in fresh[:30]:
        if not _beside(match[0], name, passages) and not _same(match[0], name, passages):
            return _put(sentence, match, name)
    return ""


def _exchanged(sentence: str, passages: Sequence[str]) -> str:
    """The sentence with two successive names exchanged, unless the passages list them together; else empty."""
    for one, other in pairwise(_names(sentence)):
        apart = sentence[one.end() : other.start()].split()
        if len([word for word in apart if word.isalpha()]) < 2 or _same(one[0], other[0], passages):
            continue
        if not _beside(one[0], other[0], passages):
            middle = sentence[one.end() : other.start()]
            return f"{sentence[: one.start()]}{other[0]}{middle}{one[0]}{sentence[other.end() :]}"
    return ""


def _beside(one: str, other: str, passages: Sequence[str]) -> bool:
    """Whether the passages list the two together, as in "Erie, Huron and Ontario"."""
    link = r"(?:[\s,;()&/]|\b(?:and|or|the|of|also|to|in|is)\b|--?|[A-Z]\w*|``|''|\")*"
    for a, b in ((one, other), (other, one)):
        if any(re.search(rf"\b{re.escape(a)}\b{link}\b{re.escape(b)}\b", p) for p in passages):
            return True
    return False


def _same(one: str, other: str, passages: Sequence[str]) -> bool:
    """Whether the names share a word, or a title has both."""
    title = " ".join(p.split("\n")[0] for p in passages).lower()
    both = one.lower() in title and other.lower() in title
    return both or bool(set(one.lower().split()) & set(other.lower().split()))


def _put(sentence: str, match: re.Match[str], new: str) -> str:
    if match[0][0].isupper() and new[0].islower():
        new = new.capitalize()
    return sentence[: match.start()] + new + sentence[match.end() :]


def _unit(sentence: str, rng: random.Random) -> str:
    places = []
    for pair in _UNIT_PAIRS.replace("\n", "").split("|"):
        unit, other = pair.replace("_", " ").split(" ", 1)
        if unit in "$€£":
            places += [(m.start(1), m.end(1), other) for m in re.finditer(rf"({re.escape(unit)}) ?\d", sentence)]
        else:
            tail = r"" if unit == "%" else r"\b"
            number = rf"(?:\d|\b(?:{'|'.join(_WORDS)}|one|million))[ -]?({re.escape(unit)}){tail}"
            places += [(m.start(1), m.end(1), other) for m in re.finditer(number, sentence)]
    if not places:
        return ""
    start, end, other = rng.choice(places)
    return sentence[:start] + other + sentence[end:]


def _negate(sentence: str, rng: random.Random) -> str:
    if found := list(_AUXILIARY.finditer(sentence)):
        match = found[0] if rng.random() < 0.7 else rng.choice(found)
        before = sentence[: match.start()].lower().split()
        if match[0].lower() in ("do", "does", "did", "have", "has", "had", "may") and before[-1:] == ["to"]:
            return ""
        word = rng.choice(["not", "not", "never"])
        after = sentence[match.end() :]
        if after.strip().lower().startswith(("not", "only", "never", "no ")):
            return ""
        return f"{sentence[: match.end()]} {word}{after}"
    for match in _PAST.finditer(sentence):
        before = sentence[: match.start()].split()
        if before and before[-1].lower() not in _NO_SUBJECT and not before[-1].endswith("ly"):
            return f"{sentence[: match.start()]} never {match[1]}{sentence[match.end() :]}"
    return ""


def _affirm(sentence: str, rng: random.Random) -> str:
    options = [(m, pattern, new) for pattern, new in _DROPS for m in pattern.finditer(sentence)]
    if not options:
        return ""
    match, _, new = rng.choice(options)
    return sentence[: match.start()] + match.expand(new) + sentence[match.end() :]


def _pairs() -> list[tuple[str, str]]:
    pairs = []
    for entry in _PAIRS.replace("\n", "").split("|"):
        one, _, other = entry.strip().partition(" ")
        pairs.append((one, other))
        if " " not in other:
            pairs.append((other, one))
    return pairs


def _compare(sentence: str, rng: random.Random) -> str:
    options = [(m, new) for old, new in _pairs() for m in re.finditer(rf"\b{old}\b", sentence, re.IGNORECASE)]
    names_at = [m.span() for m in _NAME.finditer(sentence)]  # "North Carolina" is a name
    options = [
        (m, new)
        for m, new in options
        if not any(a <= m.start() < b for a, b in names_at)
        and not re.match(r"\W*than\b.*\bother", sentence[m.end() :])
        and not re.match(r" (?:one|time) of", sentence[m.end() :])
    ]
    if not options:
        return ""
    match, new = rng.choice(options)
    return _put(sentence, match, new)
