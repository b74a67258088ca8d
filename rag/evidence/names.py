"""The names of a sentence, and pairs of names or numbers that the sentence exchanges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from rag.evidence.evidence import Sources
from rag.evidence.passages import SourceLine
from rag.evidence.slots import Slots
from rag.evidence.words import Token
from rag.text.english.word_lists import COMMON_ENDINGS, DATES, TITLES
from rag.text.terms import is_english

UNCOMMON: Final = 0.8  # least weight of a name at the beginning of a sentence
EXCHANGED: Final = 0.3  # how much better two names together must fit in each other's places
COMPARED: Final = 3  # names after a name that it is compared with
MOST_PLACES: Final = 6  # of one name in one line


@dataclass(frozen=True, slots=True)
class Name:
    """Capitalized tokens `first..last` of the sentence that are adjacent in the passages too.

    `forms` holds the keys of each token in the passages, `missing` a word that no passage has. `known`: the name
    stands in a heading. `dated`: it is a month or a day of the week.
    """

    first: int
    last: int
    text: str
    forms: tuple[frozenset[str], ...]
    missing: str
    known: bool
    dated: bool


def names_of(sentence: SourceLine, sources: Sources) -> list[Name]:
    """The names of a sentence, in order. Its first word is a name only if it is uncommon or begins a longer name."""
    runs: list[list[int]] = []
    numbers = {index for quantity in sentence.quantities for index in range(quantity.first, quantity.last + 1)}
    for index, token in enumerate(sentence.tokens):
        if index in numbers or not (is_name(token) or _opens_name(index, sentence, sources)):
            continue
        forms = _forms(token, sources)
        if (
            runs
            and runs[-1][-1] == index - 1
            and _adjacent(_forms(sentence.tokens[index - 1], sources), forms, sources)
        ):
            runs[-1].append(index)
        else:
            runs.append([index])
    return [_name(run, sentence, sources) for run in runs]


def is_name(token: Token) -> bool:
    """Whether a token is taken for a name: a capitalized content word, and uncommon if it begins a sentence."""
    if not token.capital or not token.content or len(token.word) < 2 or token.word in TITLES:
        return False
    return not token.first or (token.weight >= UNCOMMON and not _is_common(token.word))


def _is_common(word: str) -> bool:
    """Whether a word merely begins a sentence, by its ending: "Landlords", "Negotiation"."""
    return word.endswith(COMMON_ENDINGS) or (word.endswith("s") and is_english(word[:-1]))


def _opens_name(index: int, sentence: SourceLine, sources: Sources) -> bool:
    """Whether a token is the first word of a name at the beginning of a sentence: "South Carolina"."""
    token, after = sentence.tokens[index], sentence.tokens[index + 1 : index + 2]
    opens = token.first and token.capital and token.content and bool(after) and is_name(after[0])
    return opens and bool(_forms(token, sources))


def _forms(token: Token, sources: Sources) -> frozenset[str]:
    return sources.forms(token.key) | (sources.known & {token.key})


def _adjacent(left: frozenset[str], right: frozenset[str], sources: Sources) -> bool:
    """Whether two words are adjacent anywhere in the passages, with one token between them at most."""
    for number in sources.lines_with(left) & sources.lines_with(right):
        places = sources.sites[number].line.places
        after = {at for form in right for at in places.get(form, ())}
        if any(at + step in after for form in left for at in places.get(form, ()) for step in (1, 2)):
            return True
    return False


def _name(run: list[int], sentence: SourceLine, sources: Sources) -> Name:
    tokens = [sentence.tokens[index] for index in run]
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


def other_names(sentence: SourceLine, sources: Sources, slots: Slots) -> list[tuple[int, int]]:
    """The places of names in the compared lines that the sentence does not hold."""
    own = {token.key for token in sentence.tokens} | {form for word in slots.words for form in word.forms}
    return [
        (number, at)
        for number in slots.lines
        for at, token in enumerate(sources.sites[number].line.tokens)
        if token.key not in own and is_name(token)
    ]


@dataclass(frozen=True, slots=True)
class _Role:
    """A name or a number of the sentence, and its places in the passages."""

    sort: str
    text: str
    first: int
    last: int
    forms: frozenset[str]
    sites: tuple[tuple[int, int], ...]


def exchanged(sentence: SourceLine, sources: Sources, slots: Slots) -> Iterator[str]:
    """Reasons of a `Verdict`: two names or two numbers that the passages have the other way round."""
    for roles in (_named_roles(sentence, sources, slots), _number_roles(sentence, sources, slots)):
        for index, role in enumerate(roles):
            for other in roles[index + 1 : index + 1 + COMPARED]:
                if role.forms.isdisjoint(other.forms) and _gain(role, other, slots) > EXCHANGED:
                    yield f"{role.sort}: {role.text} and {other.text} stand the other way round in the passages"


def _named_roles(sentence: SourceLine, sources: Sources, slots: Slots) -> list[_Role]:
    return [
        _Role("name", n.text, n.first, n.last, frozenset().union(*n.forms), tuple(slots.sites(n.forms[-1])))
        for n in names_of(sentence, sources)
        if not n.missing
    ]


def _number_roles(sentence: SourceLine, sources: Sources, slots: Slots) -> list[_Role]:
    found = []
    for quantity in sentence.quantities:
        if not quantity.vague:
            lines = [(number, sources.sites[number].line) for number in slots.lines]
            places = tuple((number, q.first) for number, line in lines for q in line.quantities if q.same(quantity))
            text = sentence.text_of(quantity)
            found.append(_Role("number", text, quantity.first, quantity.last, quantity.values, places))
    return found


def _gain(role: _Role, other: _Role, slots: Slots) -> float:
    """How much better two roles fit in each other's places, within one line, than each in its own best place."""
    own = slots.best(role.first, role.last, role.sites) + slots.best(other.first, other.last, other.sites)
    best = 0.0
    for number in {line for line, _ in role.sites} & {line for line, _ in other.sites}:
        for at, other_at in product(_in_line(role, number), _in_line(other, number)):
            role_fit = slots.fit(role.first, role.last, number, other_at)
            other_fit = slots.fit(other.first, other.last, number, at)
            best = max(best, role_fit + other_fit)
    return best - own


def _in_line(role: _Role, number: int) -> list[int]:
    """The first tokens of a role in a line."""
    return [at for line, at in role.sites if line == number][:MOST_PLACES]
