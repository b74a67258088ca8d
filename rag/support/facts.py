"""Every number, unit and name that a sentence states must stand in the passages, and stand for the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rag.support.counts import counts_items
from rag.support.doubt import NAME, NUMBER, Standing, doubt
from rag.support.evidence import Sources
from rag.support.names import DATES, Name, names_of, other_names
from rag.support.numbers import Quantity
from rag.support.reading import Line
from rag.support.slots import Slots

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


def doubtful_facts(said: Line, sources: Sources, slots: Slots) -> Iterator[str]:
    """The reasons, as `rag.grounding.Verdict` has them."""
    for fact in [*numbers(said, sources, slots), *names(said, sources, slots)]:
        if fact.fault:
            yield f"{fact.fault}: {fact.text} is not in the passages"
        elif fact.standing and doubt(fact.standing, NAME if fact.sort == "name" else NUMBER) > 0:
            yield f"{fact.sort}: {fact.text} stands in the passages for something else"


def numbers(said: Line, sources: Sources, slots: Slots) -> Iterator[Fact]:
    for quantity in said.quantities:
        if not quantity.vague:
            yield _number(quantity, said, sources, slots)


def absent_numbers(said: Line, sources: Sources) -> Iterator[str]:
    """Numbers that stand nowhere in the passages, as reasons."""
    for quantity in said.quantities:
        if not quantity.vague and not any(quantity.same(q) for s in sources.sites for q in s.line.quantities):
            yield f"number: {_text(quantity, said)} is not in the passages"


def _text(quantity: Quantity, said: Line) -> str:
    return " ".join(token.word for token in said.tokens[quantity.first : quantity.last + 1])


def _number(quantity: Quantity, said: Line, sources: Sources, slots: Slots) -> Fact:
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


def names(said: Line, sources: Sources, slots: Slots) -> Iterator[Fact]:
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
