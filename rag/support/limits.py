"""Words that shut out all else, such as "only": what a sentence limits, the passages must limit too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from rag.support.evidence import Sources
from rag.support.reading import Line
from rag.terms import stem

_LIMITS: Final = frozenset({"only", "solely", "exclusively"})
_LIMITING: Final = (
    "only solely exclusively exclusive sole merely just alone single unique except limited restricted nothing"
)
# "Only a part", "only if": how much and when are looked at by the rest of the check.
_DEGREES: Final = "a an one some few part partly partially half slightly about if when after once"
_OF_DEGREE: Final = frozenset(_DEGREES.split())
_OTHERWISE: Final = frozenset({"not", "the", "'s"})  # before an "only" that limits nothing: "not only", "the only son"


def unlimited(said: Line, sources: Sources) -> Iterator[str]:
    """The reasons, as `rag.grounding.Verdict` has them: limits where no passage has a word that limits anything."""
    for before, token, after in zip([None, *said.tokens], said.tokens, [*said.tokens[1:], None], strict=False):
        if token.word not in _LIMITS or (before and before.word in _OTHERWISE):
            continue
        if after and not after.digits and after.word not in _OF_DEGREE and _limiting().isdisjoint(sources.holders):
            yield f"comparison: the passages do not say {token.word!r}"


@cache
def _limiting() -> frozenset[str]:
    return frozenset(stem(word) for word in _LIMITING.split())
