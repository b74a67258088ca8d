"""Where a sentence denies, compares or orders, the passages must do so the same way round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rag.grounding_doubt import DENIAL, TURN, Standing, doubt
from rag.grounding_evidence import Word
from rag.grounding_negation import cues, scopes
from rag.grounding_opposites import CUES, implied, opposites
from rag.grounding_reading import Line
from rag.grounding_slots import Slots

LEAST: Final = 0.2  # fit below which an opposite is about something else
AS_USUAL: Final = 0.4  # ... and the same, as a share of how well the words around fit
OTHER_WORD: Final = 0.95  # what an opposite, or a word of the same side, fits against the word itself
IMPLIED: Final = 0.9  # ... and a denial without a "not" against one


@dataclass(frozen=True, slots=True)
class Turn:
    """One word of the sentence: its standing is that of the passages' places that say the same of it (`own`) against
    those that say the opposite (`rival`). `sort` is "negation" or "comparison"."""

    index: int
    sort: str
    standing: Standing


def contradictions(said: Line, words: Sequence[Word], slots: Slots) -> Iterator[str]:
    """The reasons, as `rag.grounding.Verdict` has them."""
    for turn in turns(said, words, slots):
        if doubt(turn.standing, TURN) > 0:
            yield f"{turn.sort}: the passages say the opposite of {said.tokens[turn.index].word!r}"
    for turn in denials(said, slots):
        if doubt(turn.standing, DENIAL) > 0:
            yield f"negation: the passages do not say {said.tokens[turn.index].word!r} of this"


def turns(said: Line, words: Sequence[Word], slots: Slots) -> Iterator[Turn]:
    """The words that the passages have somewhere the other way round."""
    denied = scopes(said.tokens)
    by_index = {word.index: word.forms for word in words}
    for index, token in enumerate(said.tokens):
        same, other = opposites().get(token.key, (_NONE, _NONE))
        if token.word in CUES or (token.capital and not token.first) or not (same or index in by_index):
            continue
        if token.word in ("least", "most") and index and said.tokens[index - 1].word == "at":
            continue
        forms = by_index.get(index, _NONE) | {token.key}
        own = _sides(index, forms | same, True, index in denied, slots)
        turned = _sides(index, other - forms, False, index in denied, slots)
        rival, usual = max(own[1], turned[1]), slots.usual(index)
        if rival > max(LEAST, AS_USUAL * usual):
            sort = "negation" if own[1] >= turned[1] else "comparison"
            yield Turn(index, sort, Standing(max(own[0], turned[0]), rival, usual))


_NONE: Final[frozenset[str]] = frozenset()


def _sides(index: int, keys: frozenset[str], same: bool, denied: bool, slots: Slots) -> tuple[float, float]:
    """The best fits of the keys' places that say what the sentence says at `index`, and of those that say the opposite.
    An opposite that is denied says the same."""
    best = [0.0, 0.0]
    for number, at in slots.sites(keys):
        line = slots.sources.sites[number].line
        fit = slots.fit(index, index, number, at)
        if line.tokens[at].key != slots.said.tokens[index].key:
            fit *= OTHER_WORD
        side = 0 if same == ((at in slots.denied(number)) == denied) else 1
        best[side] = max(best[side], fit)
    return best[0], best[1]


def denials(said: Line, slots: Slots) -> Iterator[Turn]:
    """Each cue of negation of the sentence, with the best fit of a denial in the passages."""
    for index in cues(said.tokens):
        best = _opposite_said(index, said, slots)
        for number in slots.lines:
            line = slots.sources.sites[number].line
            outright = [(number, at) for at in cues(line.tokens)]
            hidden = [(number, at) for at, token in enumerate(line.tokens) if token.key in implied()]
            best = max(best, slots.best(index, index, outright), IMPLIED * slots.best(index, index, hidden))
        yield Turn(index, "negation", Standing(best, 0.0, slots.usual(index)))


def _opposite_said(cue: int, said: Line, slots: Slots) -> float:
    """The best fit of a word that says outright what the sentence says by a denial: "impossible" for "not possible"."""
    best = 0.0
    for index in range(cue + 1, min(len(said.tokens), cue + 3)):
        _, other = opposites().get(said.tokens[index].key, (_NONE, _NONE))
        sites = [(number, at) for number, at in slots.sites(other) if at not in slots.denied(number)]
        best = max(best, slots.best(cue, index, sites))
    return best
