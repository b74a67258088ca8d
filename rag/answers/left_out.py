"""What was left out of an answer, in words for whoever reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rag.types import Grounding

_IN_ANOTHER_LANGUAGE: Final = (
    "The answer was in another language than the passages, so it could not be checked. Ask in the book's language, or "
    'have such sentences marked instead of removed: mode "flag".'
)


@dataclass(slots=True)
class LeftOut:
    """What is counted beside `Grounding`: addresses that no cited passage has, sentences in another language than the
    passages, whether the model denied that the book has an answer, and whether half a sentence was cut off.
    """

    links: int = 0
    foreign: int = 0
    said_no: bool = False
    cut: bool = False

    def told(self, counts: Grounding, *, refused: bool) -> Iterator[str]:
        """A sentence on each; of an answer that became the refusal only what a reader can do something about."""
        if counts.unknown_markers:
            yield f"{_were(counts.unknown_markers, 'citation')} taken out: no passage of this answer is meant."
        if self.links:
            yield f"{_were(self.links, 'link')} taken out: the cited passages have no such address."
        if counts.removed and not refused:
            yield f"{_were(counts.removed, 'sentence')} taken out: the cited passages do not say so."
        if counts.mode == "strict" and 2 * self.foreign > counts.sentences - counts.supported:
            yield _IN_ANOTHER_LANGUAGE
        if self.said_no and not refused:
            yield "The model also said that the book does not answer a part of the question."
        if self.cut:
            yield "The unfinished sentence at its end was left out."


def _were(count: int, noun: str) -> str:
    return f"1 {noun} was" if count == 1 else f"{count:,} {noun}s were"
