"""Where a sentence denies, compares, orders or limits, the passages must do so the same way round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from rag.grounding.evidence import Sources, Word
from rag.grounding.facts import AFFIRMED, DENIED, TURNED, Standing, doubt
from rag.grounding.negation import CUES, REACH, SCOPE, cues, implied, opposites, scopes
from rag.grounding.passages import SourceLine
from rag.grounding.slots import Slots
from rag.text.terms import stem

_LIMITS: Final = frozenset({"only", "solely", "exclusively"})
_LIMITING: Final = (
    "only solely exclusively exclusive sole merely just alone single unique except limited restricted nothing"
)
# "Only a part", "only if": how much and when are looked at by the rest of the check.
_DEGREES: Final = "a an one some few part partly partially half slightly about if when after once"
_OF_DEGREE: Final = frozenset(_DEGREES.split())
_OTHERWISE: Final = frozenset({"not", "the", "'s"})  # before an "only" that limits nothing: "not only", "the only son"


def unlimited(said: SourceLine, sources: Sources) -> Iterator[str]:
    """The reasons, as `rag.grounding.Verdict` has them: limits where no passage has a word that limits anything."""
    for before, token, after in zip([None, *said.tokens], said.tokens, [*said.tokens[1:], None], strict=False):
        if token.word not in _LIMITS or (before and before.word in _OTHERWISE):
            continue
        if after and not after.digits and after.word not in _OF_DEGREE and _limiting().isdisjoint(sources.holders):
            yield f"comparison: the passages do not say {token.word!r}"


@cache
def _limiting() -> frozenset[str]:
    return frozenset(stem(word) for word in _LIMITING.split())


LEAST: Final = 0.2  # fit below which an opposite is about something else
AS_USUAL: Final = 0.4  # ... and the same, as a share of how well the words around fit
OTHER_WORD: Final = 0.95  # what an opposite, or a word of the same side, fits against the word itself
IMPLIED: Final = 0.9  # ... and a denial without a "not" against one


@dataclass(frozen=True, slots=True)
class Reversal:
    """One word of the sentence: its standing is that of the passages' places that say the same of it (`own`) against
    those that say the opposite (`rival`). `sort` is "negation" or "comparison"."""

    index: int
    sort: str
    standing: Standing


def contradictions(said: SourceLine, words: Sequence[Word], slots: Slots) -> Iterator[str]:
    """The reasons, as `rag.grounding.Verdict` has them."""
    for turn in turns(said, words, slots):
        if doubt(turn.standing, AFFIRMED if turn.sort == "negation" else TURNED) > 0:
            yield f"{turn.sort}: the passages say the opposite of {said.tokens[turn.index].word!r}"
    for turn in denials(said, words, slots):
        if doubt(turn.standing, DENIED) > 0:
            yield f"negation: the passages do not say {said.tokens[turn.index].word!r} of this"


def turns(said: SourceLine, words: Sequence[Word], slots: Slots) -> Iterator[Reversal]:
    """The words that the passages have somewhere the other way round: their opposites, or the same denied. What the
    sentence itself denies is left to `denials`."""
    denied = scopes(said.tokens)
    by_index = {word.index: word.forms for word in words}
    for index, token in enumerate(said.tokens):
        same, other = opposites().get(token.key, (_NONE, _NONE))
        if token.word in CUES or (token.capital and not token.first) or not (same or index in by_index):
            continue
        if _counts_nothing(said, index):
            continue
        forms = by_index.get(index, _NONE) | {token.key}
        own = _sides(index, forms | same, True, index in denied, slots)
        turned = _sides(index, other - forms, False, index in denied, slots)
        rival, usual = max(own[1], turned[1]), slots.usual(index)
        sort = "negation" if own[1] >= turned[1] else "comparison"
        if rival > max(LEAST, AS_USUAL * usual) and not (sort == "negation" and index in denied):
            yield Reversal(index, sort, Standing(max(own[0], turned[0]), rival, usual))


def _counts_nothing(said: SourceLine, index: int) -> bool:
    """Is it "at least", or "the last" of "the last century"?"""
    before, after = said.tokens[index - 1 : index], said.tokens[index + 1 : index + 2]
    if said.tokens[index].word in ("least", "most"):
        return bool(before) and before[0].word == "at"
    return said.tokens[index].word == "last" and bool(after) and (after[0].digits or after[0].word in _SPANS)


_SPAN_WORDS = "century decade decades year years month months week weeks day days few couple"
_SPANS: Final = frozenset(_SPAN_WORDS.split())
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


def denials(said: SourceLine, words: Sequence[Word], slots: Slots) -> Iterator[Reversal]:
    """Each cue of negation of the sentence: the best fit of a denial in the passages against that of a place that
    affirms what it denies."""
    denied = scopes(said.tokens)
    forms = {word.index: word.forms for word in words}
    for index in cues(said.tokens):
        own = _opposite_said(index, said, slots)
        for number in slots.lines:
            line = slots.sources.sites[number].line
            outright = [(number, at) for at in cues(line.tokens)]
            hidden = [(number, at) for at, token in enumerate(line.tokens) if token.key in implied()]
            own = max(own, slots.best(index, index, outright), IMPLIED * slots.best(index, index, hidden))
        rival = 0.0
        for at in [at for at in range(index + 1, index + 1 + REACH) if at in denied][:SCOPE]:
            sites = slots.sites(forms.get(at, {said.tokens[at].key}))
            affirmed = [(number, place) for number, place in sites if place not in slots.denied(number)]
            rival = max(rival, slots.best(index, index, affirmed))
        yield Reversal(index, "negation", Standing(own, rival, slots.usual(index)))


def _opposite_said(cue: int, said: SourceLine, slots: Slots) -> float:
    """The best fit of a word that says outright what the sentence says by a denial: "impossible" for "not possible"."""
    best = 0.0
    for index in range(cue + 1, min(len(said.tokens), cue + 3)):
        _, other = opposites().get(said.tokens[index].key, (_NONE, _NONE))
        sites = [(number, at) for number, at in slots.sites(other) if at not in slots.denied(number)]
        best = max(best, slots.best(cue, index, sites))
    return best
