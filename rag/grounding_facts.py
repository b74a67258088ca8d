"""Every number, unit, name and code word that a sentence states must stand in the passages, and stand for the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rag.grounding_evidence import Sources
from rag.grounding_names import DATES, Name, names_of, other_names
from rag.grounding_numbers import Quantity
from rag.grounding_reading import Line
from rag.grounding_slots import Slots

BOUND: Final = 0.2  # of what stands near a fact in the sentence, the share that must stand near it in a passage
RIVAL: Final = 0.1  # by how much another fact may fit better


def missing_facts(said: Line, sources: Sources, slots: Slots) -> Iterator[str]:
    """The reasons, as `rag.grounding.Verdict` has them."""
    for quantity in said.quantities:
        if not quantity.vague and (reason := _number(quantity, said, sources, slots)):
            yield reason
    names = names_of(said, sources)
    rivals = other_names(said, sources, slots) if names else []
    for name in names:
        if name.missing:
            yield f"name: {name.missing} is not in the passages"
        elif _elsewhere(name, rivals, sources, slots):
            yield f"name: {name.text} stands in the passages for something else"


def _number(quantity: Quantity, said: Line, sources: Sources, slots: Slots) -> str:
    text = " ".join(token.word for token in said.tokens[quantity.first : quantity.last + 1])
    same = [(s.number, q) for s in sources.sites for q in s.line.quantities if quantity.same(q)]
    if not same:
        return f"number: {text} is not in the passages"
    fitting = [(number, q.first) for number, q in same if _units_fit(quantity, q)]
    if not fitting:
        return f"unit: {text} is not in the passages"
    own = slots.best(quantity.first, quantity.last, fitting)
    others = [
        (number, q.first)
        for number in slots.lines
        for q in sources.sites[number].line.quantities
        if not q.vague and _comparable(quantity, q) and not any(q.same(mine) for mine in said.quantities)
    ]
    if own < BOUND or slots.best(quantity.first, quantity.last, others) > own + RIVAL:
        return f"number: {text} stands in the passages for something else"
    return ""


def _units_fit(quantity: Quantity, other: Quantity) -> bool:
    return not quantity.unit or not other.unit or quantity.unit == other.unit


def _comparable(quantity: Quantity, other: Quantity) -> bool:
    return quantity.unit == other.unit and _is_year(quantity) == _is_year(other)


def _is_year(quantity: Quantity) -> bool:
    return any(len(v) == 4 and v.isdigit() and "1000" <= v <= "2099" for v in quantity.values)


def _elsewhere(name: Name, rivals: Sequence[tuple[int, int]], sources: Sources, slots: Slots) -> bool:
    """Do the passages have another name where the sentence has this one?"""
    own = max(slots.best(name.first, name.last, slots.sites(forms)) for forms in name.forms)
    if name.known:
        own = max(own + 0.1, BOUND)
    dated = name.dated
    best = 0.0
    for number, at in rivals:
        if (sources.sites[number].line.tokens[at].key in DATES) == dated:
            best = max(best, slots.fit(name.first, name.last, number, at))
    return own < BOUND or best > own + RIVAL
