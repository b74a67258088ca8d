"""Every number, unit and name that a sentence states must stand in the passages, and stand for the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Final

from rag.grounding.evidence import Sources
from rag.grounding.names import DATES, Name, names_of, other_names
from rag.grounding.numbers import Quantity
from rag.grounding.passages import SourceLine
from rag.grounding.slots import Slots
from rag.grounding.words import Token


@dataclass(frozen=True, slots=True)
class Standing:
    """Fits of one place of the sentence, 0..1 each (`rag.grounding.slots`): `own` where the passages have the same,
    `rival` where they have another of its kind, `usual` of the words around it at their own best places. `titled`:
    a heading of the passages names it."""

    own: float
    rival: float
    usual: float
    titled: bool = False

    def features(self) -> tuple[float, ...]:
        """1, then what the weights are for, in the order of `DoubtWeights`."""
        ahead = self.rival - self.own
        return (1.0, self.own, self.rival, max(0.0, ahead), self.usual, max(0.0, self.usual - self.own), self.titled)


@dataclass(frozen=True, slots=True)
class DoubtWeights:
    constant: float
    own: float
    rival: float
    ahead: float
    usual: float
    short: float
    titled: float


NAME: Final = DoubtWeights(-1.27, -4.84, 4.69, 3.19, -1.39, 5.08, -0.81)
NUMBER: Final = DoubtWeights(-1.57, -5.88, 3.85, 3.86, -0.07, 4.68, 0.0)
TURNED: Final = DoubtWeights(-0.48, -2.7, 1.44, 3.48, -0.7, 2.73, 0.0)  # an opposite stands there
AFFIRMED: Final = DoubtWeights(-1.88, -2.57, 1.62, 2.67, 0.35, 2.62, 0.0)  # the passages deny it
DENIED: Final = DoubtWeights(1.69, -5.84, 3.84, 0.94, -0.12, 3.82, 0.0)  # the sentence denies it


def doubt(standing: Standing, weights: DoubtWeights) -> float:
    """The log odds that it was changed."""
    weighed = zip(standing.features(), astuple(weights), strict=True)
    return float(sum(feature * weight for feature, weight in weighed))


_MOST: Final = 12  # things that a sentence lists
_APART: Final = frozenset({",", ";"})
_LAST: Final = frozenset({"and", "or"})


def counts_items(quantity: Quantity, said: SourceLine, sources: Sources) -> bool:
    """Does the number say how many things follow the colon behind it, every word of which the passages have?"""
    colon = next((i for i in range(quantity.last + 1, len(said.tokens)) if said.tokens[i].word == ":"), None)
    if colon is None or quantity.unit:
        return False
    listed = said.tokens[colon + 1 :]
    count = len(_items(listed))
    known = all(sources.forms(token.key) for token in listed if token.content)
    return known and 2 <= count <= _MOST and str(count) in quantity.values


def _items(tokens: Sequence[Token]) -> list[int]:
    """The words of each thing listed, in number: "A, B, and C" are three."""
    items = [0]
    for token in tokens:
        if token.word in _APART or token.word in _LAST:
            items.append(0)
        elif token.content:
            items[-1] += 1
    return [words for words in items if words]


OF_ANOTHER: Final = (
    0.4  # fit of another number, as a share of the words' around, from which on it is that of the passages
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A number or a name of the sentence. `fault` says what is wrong with it whatever its standing: "number", "unit",
    "name" for what is not in the passages at all."""

    sort: str
    text: str
    fault: str
    standing: Standing | None


def doubtful_facts(said: SourceLine, sources: Sources, slots: Slots) -> Iterator[str]:
    """The reasons, as `rag.grounding.Verdict` has them."""
    for fact in [*numbers(said, sources, slots), *names(said, sources, slots)]:
        if fact.fault:
            yield f"{fact.fault}: {fact.text} is not in the passages"
        elif fact.standing and doubt(fact.standing, NAME if fact.sort == "name" else NUMBER) > 0:
            yield f"{fact.sort}: {fact.text} stands in the passages for something else"


def numbers(said: SourceLine, sources: Sources, slots: Slots) -> Iterator[Fact]:
    for quantity in said.quantities:
        if not quantity.vague:
            yield _number(quantity, said, sources, slots)


def absent_numbers(said: SourceLine, sources: Sources) -> Iterator[str]:
    """Numbers that stand nowhere in the passages, as reasons."""
    for quantity in said.quantities:
        if not quantity.vague and not any(quantity.same(q) for s in sources.sites for q in s.line.quantities):
            yield f"number: {_text(quantity, said)} is not in the passages"


def _text(quantity: Quantity, said: SourceLine) -> str:
    return " ".join(token.word for token in said.tokens[quantity.first : quantity.last + 1])


def _number(quantity: Quantity, said: SourceLine, sources: Sources, slots: Slots) -> Fact:
    text = _text(quantity, said)
    same = [(site.number, q) for site in sources.sites for q in site.line.quantities if quantity.same(q)]
    fitting = [(number, q.first) for number, q in same if _units_fit(quantity, q)]
    others = [
        (number, q.first)
        for number in slots.lines
        for q in sources.sites[number].line.quantities
        if not q.vague and _comparable(quantity, q) and not any(q.same(mine) for mine in said.quantities)
    ]
    rival = slots.best(quantity.first, quantity.last, others)
    if not fitting:
        counted = rival < OF_ANOTHER * slots.usual(quantity.first) and counts_items(quantity, said, sources)
        return Fact("number", text, "" if counted else "unit" if same else "number", None)
    own = slots.best(quantity.first, quantity.last, fitting)
    return Fact("number", text, "", Standing(own, rival, slots.usual(quantity.first)))


def _units_fit(quantity: Quantity, other: Quantity) -> bool:
    return not quantity.unit or not other.unit or quantity.unit == other.unit


def _comparable(quantity: Quantity, other: Quantity) -> bool:
    return quantity.unit == other.unit and _is_year(quantity) == _is_year(other)


def _is_year(quantity: Quantity) -> bool:
    return any(len(v) == 4 and v.isdigit() and "1000" <= v <= "2099" for v in quantity.values)


def names(said: SourceLine, sources: Sources, slots: Slots) -> Iterator[Fact]:
    found = names_of(said, sources)
    rivals = other_names(said, sources, slots) if found else []
    for name in found:
        if name.missing:
            yield Fact("name", name.missing, "name", None)
        else:
            yield Fact("name", name.text, "", _standing(name, rivals, sources, slots))


def _standing(name: Name, rivals: Sequence[tuple[int, int]], sources: Sources, slots: Slots) -> Standing:
    """A month is no rival of a person, nor a person of a month."""
    own = max(slots.best(name.first, name.last, slots.sites(forms)) for forms in name.forms)
    others = [
        (number, at) for number, at in rivals if (sources.sites[number].line.tokens[at].word in DATES) == name.dated
    ]
    rival = slots.best(name.first, name.last, others)
    return Standing(own, rival, slots.usual(name.first), name.known)
