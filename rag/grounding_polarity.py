"""Where a sentence denies, compares or orders, the passages must do so the same way round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rag.grounding_evidence import Word
from rag.grounding_opposites import CUES, implied, opposites
from rag.grounding_reading import Line
from rag.grounding_slots import Slots
from rag.grounding_words import Token

REACH: Final = 6  # tokens after a cue of negation within which stands what it denies
MARGIN: Final = 0.1
DENIED: Final = 0.4


@dataclass(frozen=True, slots=True)
class Turn:
    """One word of the sentence against its best places in the passages, those that say the same and those that say the
    opposite: 0..1 each. `sort` is "negation" or "comparison"."""

    index: int
    sort: str
    alike: float
    unlike: float
    denied: bool


def contradictions(said: Line, words: Sequence[Word], slots: Slots) -> Iterator[str]:
    """The reasons, as `rag.grounding.Verdict` has them."""
    for turn in turns(said, words, slots):
        if turn.unlike > turn.alike + MARGIN:
            yield f"{turn.sort}: the passages say the opposite of {said.tokens[turn.index].word!r}"
    for index, fit in denials(said, slots):
        if fit < DENIED:
            yield f"negation: the passages do not say {said.tokens[index].word!r} of this"


def turns(said: Line, words: Sequence[Word], slots: Slots) -> list[Turn]:
    denied = scopes(said.tokens)
    by_index = {word.index: word.forms for word in words}
    names = {i for i, t in enumerate(said.tokens) if t.capital and not t.first}
    found = []
    for index, token in enumerate(said.tokens):
        if token.word in CUES or index in names:
            continue
        same, other = opposites().get(token.key, (frozenset(), frozenset()))
        forms = by_index.get(index, frozenset()) | {token.key} if same or index in by_index else frozenset()
        if not forms:
            continue
        alike = unlike = 0.0
        sort = "comparison"
        for keys, side in ((forms | same, True), (other - forms, False)):
            for number, at in slots.sites(keys):
                line = slots.sources.sites[number].line
                negated = at in _scopes_of(slots, number)
                fit = slots.fit(index, index, number, at)
                if line.tokens[at].key != token.key:
                    fit *= 0.95
                if side == (negated == (index in denied)):
                    alike = max(alike, fit)
                elif fit > unlike:
                    unlike, sort = fit, "negation" if side else "comparison"
        found.append(Turn(index, sort, alike, unlike, index in denied))
    return found


def denials(said: Line, slots: Slots) -> list[tuple[int, float]]:
    """Each cue of negation of the sentence, with the best fit of a denial in the passages."""
    found = []
    for index in cues(said.tokens):
        best = 0.0
        for number in slots.lines:
            line = slots.sources.sites[number].line
            own = cues(line.tokens)
            for at in own:
                best = max(best, slots.fit(index, index, number, at))
            for at, token in enumerate(line.tokens):
                if token.key in implied():
                    best = max(best, 0.9 * slots.fit(index, index, number, at))
        found.append((index, best))
    return found


def cues(tokens: Sequence[Token]) -> list[int]:
    """Where something is denied; "not only" and "no more than" deny nothing."""
    found = []
    for index, token in enumerate(tokens):
        if token.word not in CUES:
            continue
        after = tokens[index + 1].word if index + 1 < len(tokens) else ""
        if token.word == "not" and after in ("only", "just", "merely", "simply", "solely"):
            continue
        if token.word == "no" and after in ("more", "less", "fewer", "matter", "doubt", ".", "one"):
            continue
        found.append(index)
    return found


def scopes(tokens: Sequence[Token]) -> frozenset[int]:
    """The tokens that are denied: the next one or two words of content after a cue."""
    found: set[int] = set()
    for cue in cues(tokens):
        content = 0
        for index in range(cue + 1, min(len(tokens), cue + 1 + REACH)):
            token = tokens[index]
            if token.breaks or token.word in ("but", "because", "although", "and", "which"):
                break
            if token.word in CUES:
                break
            if token.key in opposites() or token.content:
                found.symmetric_difference_update({index})
            content += token.content
            if content >= 2:
                break
    return frozenset(found)


def _scopes_of(slots: Slots, number: int) -> frozenset[int]:
    return scopes(slots.sources.sites[number].line.tokens)
