"""Whether the passages hold every number, unit and name of a sentence, and in the same place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Final

from rag.evidence.evidence import Sources
from rag.evidence.names import Name, names_of, other_names
from rag.evidence.numbers import Quantity
from rag.evidence.passages import SourceLine
from rag.evidence.slots import Slots
from rag.evidence.words import Token
from rag.text.english.numerals import LIST_SEPARATORS
from rag.text.english.word_lists import DATES

MOST_ITEMS: Final = 12  # of a list that a number may count
OF_ANOTHER: Final = 0.4  # share of the usual fit from which another number of the passages stands in this place


@dataclass(frozen=True, slots=True)
class PlaceFit:
    """Fits of one place of the sentence, 0 to 1 each (see `rag.evidence.slots`).

    `own`: the best place of the same word in the passages. `rival`: the best place of another word of its kind.
    `usual`: the best places of the words around it. `titled`: a heading of the passages holds it.
    """

    own: float
    rival: float
    usual: float
    titled: bool = False

    def features(self) -> tuple[float, ...]:
        """The values that the weights multiply, in the order of `DoubtWeights`."""
        ahead = self.rival - self.own
        return (1.0, self.own, self.rival, max(0.0, ahead), self.usual, max(0.0, self.usual - self.own), self.titled)


@dataclass(frozen=True, slots=True)
class DoubtWeights:
    """Weights of a logistic regression, fitted by `bench/grounding_fit.py`."""

    constant: float
    own: float
    rival: float
    ahead: float
    usual: float
    short: float
    titled: float


NAME: Final = DoubtWeights(-0.97, -4.84, 4.69, 3.19, -1.39, 5.08, -0.81)
NUMBER: Final = DoubtWeights(-1.57, -5.88, 3.85, 3.86, -0.07, 4.68, 0.0)
TURNED: Final = DoubtWeights(0.12, -2.7, 1.44, 3.48, -0.7, 2.73, 0.0)  # the passages have an opposite there
AFFIRMED: Final = DoubtWeights(-2.18, -2.57, 1.62, 2.67, 0.35, 2.62, 0.0)  # the passages deny it
DENIED: Final = DoubtWeights(0.69, -5.84, 3.84, 0.94, -0.12, 3.82, 0.0)  # the sentence denies it


def doubt(standing: PlaceFit, weights: DoubtWeights) -> float:
    """The log odds that the sentence differs from the passages in this place; above 0 it probably does."""
    weighed = zip(standing.features(), astuple(weights), strict=True)
    return float(sum(feature * weight for feature, weight in weighed))


@dataclass(frozen=True, slots=True)
class Fact:
    """A number or a name of the sentence. `sort` is "number" or "name".

    `fault` is "number", "unit" or "name" if the passages do not hold that at all; such a fact has no standing.
    """

    sort: str
    text: str
    fault: str
    standing: PlaceFit | None


def doubtful_facts(sentence: SourceLine, sources: Sources, slots: Slots) -> Iterator[str]:
    """Reasons of `rag.evidence.verdict.Verdict`: facts that the passages do not hold, or hold in another place."""
    for fact in [*numbers(sentence, sources, slots), *names(sentence, sources, slots)]:
        if fact.fault:
            yield f"{fact.fault}: {fact.text} is not in the passages"
        elif fact.standing and doubt(fact.standing, NAME if fact.sort == "name" else NUMBER) > 0:
            yield f"{fact.sort}: {fact.text} stands in the passages for something else"


def absent_numbers(sentence: SourceLine, sources: Sources) -> Iterator[str]:
    """Reasons of `rag.evidence.verdict.Verdict`: numbers that the passages do not hold."""
    for quantity in sentence.quantities:
        if not quantity.vague and not any(quantity.same(q) for site in sources.sites for q in site.line.quantities):
            yield f"number: {sentence.text_of(quantity)} is not in the passages"


def numbers(sentence: SourceLine, sources: Sources, slots: Slots) -> Iterator[Fact]:
    """The numbers of the sentence, in order, except vague ones."""
    for quantity in sentence.quantities:
        if not quantity.vague:
            yield _number(quantity, sentence, sources, slots)


def _number(quantity: Quantity, sentence: SourceLine, sources: Sources, slots: Slots) -> Fact:
    text = sentence.text_of(quantity)
    same = [(site.number, q) for site in sources.sites for q in site.line.quantities if quantity.same(q)]
    fitting = [(number, q.first) for number, q in same if _units_fit(quantity, q)]
    others = [
        (number, q.first)
        for number in slots.lines
        for q in sources.sites[number].line.quantities
        if not q.vague and _comparable(quantity, q) and not any(q.same(own) for own in sentence.quantities)
    ]
    rival = slots.best(quantity.first, quantity.last, others)
    if not fitting:
        counted = rival < OF_ANOTHER * slots.usual(quantity.first) and counts_items(quantity, sentence, sources)
        return Fact("number", text, "" if counted else "unit" if same else "number", None)
    own = slots.best(quantity.first, quantity.last, fitting)
    return Fact("number", text, "", PlaceFit(own, rival, slots.usual(quantity.first)))


def _units_fit(quantity: Quantity, other: Quantity) -> bool:
    return not quantity.unit or not other.unit or quantity.unit == other.unit


def _comparable(quantity: Quantity, other: Quantity) -> bool:
    return quantity.unit == other.unit and _is_year(quantity) == _is_year(other)


def _is_year(quantity: Quantity) -> bool:
    return any(len(v) == 4 and v.isdigit() and "1000" <= v <= "2099" for v in quantity.values)


def counts_items(quantity: Quantity, sentence: SourceLine, sources: Sources) -> bool:
    """Whether the number counts a list after a colon: "three systems: Linux, Windows and macOS".

    The passages must hold every content word of the list.
    """
    after = range(quantity.last + 1, len(sentence.tokens))
    colon = next((index for index in after if sentence.tokens[index].word == ":"), None)
    if colon is None or quantity.unit:
        return False
    listed = sentence.tokens[colon + 1 :]
    count = _item_count(listed)
    known = all(sources.forms(token.key) for token in listed if token.content)
    return known and 2 <= count <= MOST_ITEMS and str(count) in quantity.values


def _item_count(tokens: Sequence[Token]) -> int:
    """How many things are listed: "A, B, and C" are three."""
    count = 0
    in_item = False
    for token in tokens:
        if token.word in LIST_SEPARATORS:
            in_item = False
        elif token.content and not in_item:
            count += 1
            in_item = True
    return count


def names(sentence: SourceLine, sources: Sources, slots: Slots) -> Iterator[Fact]:
    """The names of the sentence, in order."""
    found = names_of(sentence, sources)
    rivals = other_names(sentence, sources, slots) if found else []
    for name in found:
        if name.missing:
            yield Fact("name", name.missing, "name", None)
        else:
            yield Fact("name", name.text, "", _standing(name, rivals, sources, slots))


def _standing(name: Name, rivals: Sequence[tuple[int, int]], sources: Sources, slots: Slots) -> PlaceFit:
    """The standing of a name. Only a month or a day is the rival of one, and never of another name."""
    own = max(slots.best(name.first, name.last, slots.sites(forms)) for forms in name.forms)
    others = [
        (number, at) for number, at in rivals if (sources.sites[number].line.tokens[at].word in DATES) == name.dated
    ]
    rival = slots.best(name.first, name.last, others)
    return PlaceFit(own, rival, slots.usual(name.first), name.known)
