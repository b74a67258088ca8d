"""The names of a sentence, which a passage must hold, and who did what to whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from rag.grounding.evidence import Sources
from rag.grounding.passages import SourceLine
from rag.grounding.slots import Slots
from rag.grounding.words import Token
from rag.text.terms import is_english

UNCOMMON: Final = 0.8  # weight from which a word at the beginning of a sentence is taken for a name
_NO_NAMES: Final = ("ly", "ing", "ed", "tion", "ment", "ness", "ity")  # endings of words that merely begin a sentence
_DATES: Final = (
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday"
)
DATES: Final = frozenset(_DATES.split())
_TITLES: Final = frozenset({"mr", "mrs", "ms", "dr", "prof", "tv"})  # written with a capital, and name nobody


@dataclass(frozen=True, slots=True)
class Name:
    """Tokens `first..last` with capitals that stand side by side in the passages as well. `forms` are what each may
    stand as there; `missing` is a word of it that is nowhere in them; `known`: it stands in a heading."""

    first: int
    last: int
    text: str
    forms: tuple[frozenset[str], ...]
    missing: str
    known: bool
    dated: bool  # a month or a day of the week


def names_of(said: SourceLine, sources: Sources) -> list[Name]:
    """The names, in order. A capital at the beginning of a sentence makes a name only of an uncommon word."""
    found: list[list[int]] = []
    counted = {index for quantity in said.quantities for index in range(quantity.first, quantity.last + 1)}
    for index, token in enumerate(said.tokens):
        if index in counted or not (is_name(token) or _opens_name(index, said, sources)):
            continue
        forms = _forms(token, sources)
        if found and found[-1][-1] == index - 1 and _adjoin(_forms(said.tokens[index - 1], sources), forms, sources):
            found[-1].append(index)
        else:
            found.append([index])
    return [_name(run, said, sources) for run in found]


def is_name(token: Token) -> bool:
    if not token.capital or not token.content or len(token.word) < 2 or token.word in _TITLES:
        return False
    return not token.first or (token.weight >= UNCOMMON and not _is_common(token.word))


def _is_common(word: str) -> bool:
    """Does it look like a word that merely begins a sentence: "Landlords", "Negotiation"?"""
    return word.endswith(_NO_NAMES) or (word.endswith("s") and is_english(word[:-1]))


def _opens_name(index: int, said: SourceLine, sources: Sources) -> bool:
    """Is it the first half of a name at the beginning of a sentence: "South Carolina"?"""
    token, after = said.tokens[index], said.tokens[index + 1 : index + 2]
    opens = token.first and token.capital and token.content and bool(after) and is_name(after[0])
    return opens and bool(_forms(token, sources))


def _forms(token: Token, sources: Sources) -> frozenset[str]:
    return sources.forms(token.key) | (sources.known & {token.key})


def _adjoin(left: frozenset[str], right: frozenset[str], sources: Sources) -> bool:
    """Do two words stand side by side somewhere in the passages?"""
    for number in sources.lines_with(left) & sources.lines_with(right):
        places = sources.sites[number].line.places
        after = {at for form in right for at in places.get(form, ())}
        if any(at + step in after for form in left for at in places.get(form, ()) for step in (1, 2)):
            return True
    return False


def _name(run: list[int], said: SourceLine, sources: Sources) -> Name:
    tokens = [said.tokens[index] for index in run]
    forms = tuple(_forms(token, sources) for token in tokens)
    titled = sources.known.union(*sources.titles)
    return Name(
        run[0],
        run[-1],
        " ".join(token.word for token in tokens),
        forms,
        next((token.word for token, found in zip(tokens, forms, strict=True) if not found), ""),
        all(not found.isdisjoint(titled) for found in forms),
        tokens[0].word in DATES,
    )


def other_names(said: SourceLine, sources: Sources, slots: Slots) -> list[tuple[int, int]]:
    """Where names stand, in the lines that are looked at, that the sentence does not hold: line and token."""
    own = {token.key for token in said.tokens} | {form for word in slots.words for form in word.forms}
    return [
        (number, at)
        for number in slots.lines
        for at, token in enumerate(sources.sites[number].line.tokens)
        if token.key not in own and is_name(token)
    ]


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


def exchanged(said: SourceLine, sources: Sources, slots: Slots) -> Iterator[str]:
    """The reasons, as `rag.grounding.Verdict` has them."""
    for roles in (_names(said, sources, slots), _numbers(said, sources, slots)):
        for index, one in enumerate(roles):
            for other in roles[index + 1 : index + 1 + APART]:
                if one.forms.isdisjoint(other.forms) and _gain(one, other, slots) > EXCHANGED:
                    yield f"{one.sort}: {one.text} and {other.text} stand the other way round in the passages"


def _names(said: SourceLine, sources: Sources, slots: Slots) -> list[_Role]:
    return [
        _Role("name", n.text, n.first, n.last, frozenset().union(*n.forms), tuple(slots.sites(n.forms[-1])))
        for n in names_of(said, sources)
        if not n.missing
    ]


def _numbers(said: SourceLine, sources: Sources, slots: Slots) -> list[_Role]:
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
