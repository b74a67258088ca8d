"""Where a sentence denies, the passages must deny the same; where it does not, they must not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rag.grounding_evidence import Sources, Word, nearness
from rag.grounding_lexicon import NEGATIONS
from rag.grounding_reading import Line

ALIKE: Final = 0.5


def contradictions(said: Line, words: Sequence[Word], sources: Sources) -> Iterator[str]:
    """The reasons, as `rag.grounding.Verdict` has them."""
    for index, token in enumerate(said.tokens):
        if token.word not in NEGATIONS:
            continue
        best = 0.0
        for number in sources.lines_with(NEGATIONS):
            for cue in NEGATIONS:
                for at in sources.sites[number].line.places.get(cue, ()):
                    best = max(best, nearness(index, index, words, number, at, sources))
        if best < ALIKE:
            yield f"negation: the passages do not say {token.word}"
