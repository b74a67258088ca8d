"""Every number, unit, name and code word that a sentence states must stand in the passages, and stand for the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rag.grounding_evidence import Sources, Word, nearness
from rag.grounding_names import Name, names_of
from rag.grounding_numbers import Quantity
from rag.grounding_reading import Line

BOUND: Final = 0.2  # of what stands near a fact in the sentence, the share that must stand near it in a passage
RIVAL: Final = 0.15  # by how much another fact may stand nearer to it


def missing_facts(said: Line, words: Sequence[Word], sources: Sources) -> Iterator[str]:
    """The reasons, as `rag.grounding.Verdict` has them."""
    for quantity in said.quantities:
        if not quantity.vague and (reason := _number(quantity, said, words, sources)):
            yield reason
    names = names_of(said, sources)
    for name in names:
        if reason := _name(name, names, said, words, sources):
            yield reason


def _number(quantity: Quantity, said: Line, words: Sequence[Word], sources: Sources) -> str:
    text = " ".join(token.word for token in said.tokens[quantity.first : quantity.last + 1])
    best, stated, fitting = 0.0, False, False
    for site in sources.sites:
        for other in site.line.quantities:
            if not quantity.same(other):
                continue
            stated = True
            if not _units_fit(quantity, other, site.line):
                continue
            fitting = True
            best = max(best, nearness(quantity.first, quantity.last, words, site.number, other.first, sources))
    if not stated:
        return f"number: {text} is not in the passages"
    if not fitting:
        return f"unit: {text} is not in the passages"
    if best < BOUND:
        return f"number: {text} stands in the passages for something else"
    own = [q for q in said.quantities]
    for site in sources.sites:
        for other in site.line.quantities:
            if other.vague or any(other.same(q) for q in own) or not _comparable(quantity, other):
                continue
            if nearness(quantity.first, quantity.last, words, site.number, other.first, sources) > best + RIVAL:
                return f"number: {text} stands in the passages for something else"
    return ""


def _units_fit(quantity: Quantity, other: Quantity, line: Line) -> bool:
    return not quantity.unit or not other.unit or quantity.unit == other.unit


def _comparable(quantity: Quantity, other: Quantity) -> bool:
    return quantity.unit == other.unit and _is_year(quantity) == _is_year(other)


def _is_year(quantity: Quantity) -> bool:
    return any(len(v) == 4 and v.isdigit() and "1000" <= v <= "2099" for v in quantity.values)


def _name(name: Name, names: Sequence[Name], said: Line, words: Sequence[Word], sources: Sources) -> str:
    missing = [token for token, forms in zip(name.tokens, name.forms, strict=True) if not forms]
    if missing:
        return f"name: {missing[0].word} is not in the passages"
    best = 0.0
    for number in sources.lines_with(name.forms[-1]):
        for form in name.forms[-1]:
            for at in sources.sites[number].line.places.get(form, ()):
                best = max(best, nearness(name.first, name.last, words, number, at, sources))
    if best < BOUND and not all(not forms.isdisjoint(sources.known) for forms in name.forms):
        return f"name: {name.text} stands in the passages for something else"
    return ""
