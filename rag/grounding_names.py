"""The names of a sentence: people, places, products, months; anything written with a capital that a text needs to hold."""

from __future__ import annotations

from dataclasses import dataclass

from rag.grounding_evidence import Sources
from rag.grounding_reading import Line
from rag.grounding_words import Token


@dataclass(frozen=True, slots=True)
class Name:
    """Neighbouring tokens `first..last` with capitals; `forms` are what each may stand as in the passages."""

    first: int
    last: int
    tokens: tuple[Token, ...]
    forms: tuple[frozenset[str], ...]
    text: str


def names_of(said: Line, sources: Sources) -> list[Name]:
    """The names, in order. A capital at the beginning of a sentence makes a name only of an uncommon word."""
    found: list[list[int]] = []
    for index, token in enumerate(said.tokens):
        if not _is_name(token):
            continue
        if found and found[-1][-1] == index - 1:
            found[-1].append(index)
        else:
            found.append([index])
    return [_name(run, said, sources) for run in found]


def _is_name(token: Token) -> bool:
    if not token.capital or not token.content or len(token.word) < 2:
        return False
    return not token.first or token.weight >= 0.8


def _name(run: list[int], said: Line, sources: Sources) -> Name:
    tokens = tuple(said.tokens[index] for index in run)
    forms = tuple(sources.forms(token.key) | ({token.key} & sources.known) for token in tokens)
    return Name(run[0], run[-1], tokens, forms, " ".join(token.word for token in tokens))
