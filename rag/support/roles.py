"""Who did it to whom: two names, or two numbers, that the sentence has each where the passages have the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from rag.support.evidence import Sources
from rag.support.names import names_of
from rag.support.reading import Line
from rag.support.slots import Slots

EXCHANGED: Final = 0.3  # by how much both must fit better, together, in each other's places
APART: Final = 3  # a name is compared with the next few
PLACES: Final = 6  # of one name in one line


@dataclass(frozen=True, slots=True)
class _Role:
    """A name or a number of the sentence, and where the passages have it: line and token."""

    sort: str
    text: str
    first: int
    last: int
    forms: frozenset[str]
    sites: tuple[tuple[int, int], ...]


def exchanged(said: Line, sources: Sources, slots: Slots) -> Iterator[str]:
    """The reasons, as `rag.grounding.Verdict` has them."""
    for roles in (_names(said, sources, slots), _numbers(said, sources, slots)):
        for index, one in enumerate(roles):
            for other in roles[index + 1 : index + 1 + APART]:
                if one.forms.isdisjoint(other.forms) and _gain(one, other, slots) > EXCHANGED:
                    yield f"{one.sort}: {one.text} and {other.text} stand the other way round in the passages"


def _names(said: Line, sources: Sources, slots: Slots) -> list[_Role]:
    return [
        _Role("name", n.text, n.first, n.last, frozenset().union(*n.forms), tuple(slots.sites(n.forms[-1])))
        for n in names_of(said, sources)
        if not n.missing
    ]


def _numbers(said: Line, sources: Sources, slots: Slots) -> list[_Role]:
    found = []
    for quantity in said.quantities:
        same = [(n, q) for n in slots.lines for q in sources.sites[n].line.quantities if q.same(quantity)]
        text = " ".join(token.word for token in said.tokens[quantity.first : quantity.last + 1])
        if not quantity.vague:
            places = tuple((number, q.first) for number, q in same)
            found.append(_Role("number", text, quantity.first, quantity.last, quantity.values, places))
    return found


def _gain(one: _Role, other: _Role, slots: Slots) -> float:
    """How much better the two fit, in a line that has both, where the other stands than where each itself does."""
    own = slots.best(one.first, one.last, one.sites) + slots.best(other.first, other.last, other.sites)
    best = 0.0
    for number in {line for line, _ in one.sites} & {line for line, _ in other.sites}:
        ones, others = (_in_line(role.sites, number) for role in (one, other))
        for (_, at), (_, place) in product(ones, others):
            there = slots.fit(one.first, one.last, number, place) + slots.fit(other.first, other.last, number, at)
            best = max(best, there)
    return best - own


def _in_line(sites: Sequence[tuple[int, int]], number: int) -> list[tuple[int, int]]:
    return [site for site in sites if site[0] == number][:PLACES]
