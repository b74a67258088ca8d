"""Whether the passages deny, compare, order and limit the same way as the sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from rag.evidence.evidence import Sources, Word
from rag.evidence.facts import AFFIRMED, DENIED, TURNED, PlaceFit, doubt
from rag.evidence.negation import REACH, SCOPE, cues, implied, opposites, scopes
from rag.evidence.passages import SourceLine
from rag.evidence.slots import Slots
from rag.text.english.word_lists import CUES, DEGREES, EXTREMES, LIMITING, LIMITS, TIME_SPANS, UNLIMITED_AFTER
from rag.text.terms import stem

LEAST: Final = 0.2  # fit up to which an opposite is about something else
AS_USUAL: Final = 0.4  # the same, as a share of the usual fit
OTHER_WORD: Final = 0.95  # factor on the fit of another word of the same or the opposite side
IMPLIED: Final = 0.9  # factor on the fit of a denial without a "not"
_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Reversal:
    """A word of the sentence that the passages may reverse. `sort` is "negation" or "comparison".

    The `own` of its standing is the best place that says the same, the `rival` the best place that says the opposite.
    """

    index: int
    sort: str
    standing: PlaceFit


def contradictions(sentence: SourceLine, words: Sequence[Word], slots: Slots) -> Iterator[str]:
    """Reasons of a `Verdict`: words whose opposite the passages say, and denials that they do not hold."""
    for turn in turns(sentence, words, slots):
        if doubt(turn.standing, AFFIRMED if turn.sort == "negation" else TURNED) > 0:
            yield f"{turn.sort}: the passages say the opposite of {sentence.tokens[turn.index].word!r}"
    for turn in denials(sentence, words, slots):
        if doubt(turn.standing, DENIED) > 0:
            yield f"negation: the passages do not say {sentence.tokens[turn.index].word!r} of this"


def turns(sentence: SourceLine, words: Sequence[Word], slots: Slots) -> Iterator[Reversal]:
    """The words that the passages deny or replace by an opposite. Words that the sentence denies: see `denials`.

    Example: the sentence "Atlas is faster" and the passages "Atlas is slower" (sort "comparison") or "Atlas is not
    faster" (sort "negation"). "Atlas is not slower" says the same and is no rival.
    """
    denied = scopes(sentence.tokens)
    by_index = {word.index: word.forms for word in words}
    for index, token in enumerate(sentence.tokens):
        same, other = opposites().get(token.key, (_NONE, _NONE))
        if token.word in CUES or (token.capital and not token.first) or not (same or index in by_index):
            continue
        if _compares_nothing(sentence, index):
            continue
        forms = by_index.get(index, _NONE) | {token.key}
        own = _sides(index, forms | same, True, index in denied, slots)
        turned = _sides(index, other - forms, False, index in denied, slots)
        rival, usual = max(own[1], turned[1]), slots.usual(index)
        sort = "negation" if own[1] >= turned[1] else "comparison"
        if rival > max(LEAST, AS_USUAL * usual) and not (sort == "negation" and index in denied):
            yield Reversal(index, sort, PlaceFit(max(own[0], turned[0]), rival, usual))


def _compares_nothing(sentence: SourceLine, index: int) -> bool:
    """Whether the word is "least" in "at least", or "last" in "the last century"."""
    before, after = sentence.tokens[index - 1 : index], sentence.tokens[index + 1 : index + 2]
    if sentence.tokens[index].word in EXTREMES:
        return bool(before) and before[0].word == "at"
    return sentence.tokens[index].word == "last" and bool(after) and (after[0].digits or after[0].word in TIME_SPANS)


def _sides(index: int, keys: frozenset[str], same: bool, denied: bool, slots: Slots) -> tuple[float, float]:
    """The best fits at `index` of the keys' places that say the same, and of those that say the opposite.

    `same`: the keys are on the sentence's side. `denied`: the sentence denies its word. An opposite that is denied says
    the same.
    """
    best = [0.0, 0.0]
    for number, at in slots.sites(keys):
        line = slots.sources.sites[number].line
        fit = slots.fit(index, index, number, at)
        if line.tokens[at].key != slots.said.tokens[index].key:
            fit *= OTHER_WORD
        side = 0 if same == ((at in slots.denied(number)) == denied) else 1
        best[side] = max(best[side], fit)
    return best[0], best[1]


def denials(sentence: SourceLine, words: Sequence[Word], slots: Slots) -> Iterator[Reversal]:
    """The cues of negation of the sentence.

    `own` is the best fit of a denial in the passages, `rival` that of a place that affirms what the cue denies.
    """
    denied = scopes(sentence.tokens)
    forms = {word.index: word.forms for word in words}
    for index in cues(sentence.tokens):
        own = _opposite_stated(index, sentence, slots)
        for number in slots.lines:
            line = slots.sources.sites[number].line
            stated = [(number, at) for at in cues(line.tokens)]
            hidden = [(number, at) for at, token in enumerate(line.tokens) if token.key in implied()]
            own = max(own, slots.best(index, index, stated), IMPLIED * slots.best(index, index, hidden))
        rival = 0.0
        for at in [at for at in range(index + 1, index + 1 + REACH) if at in denied][:SCOPE]:
            sites = slots.sites(forms.get(at, {sentence.tokens[at].key}))
            affirmed = [(number, place) for number, place in sites if place not in slots.denied(number)]
            rival = max(rival, slots.best(index, index, affirmed))
        yield Reversal(index, "negation", PlaceFit(own, rival, slots.usual(index)))


def _opposite_stated(cue: int, sentence: SourceLine, slots: Slots) -> float:
    """The best fit of a word that states the denial by itself: "impossible" for "not possible"."""
    best = 0.0
    for index in range(cue + 1, min(len(sentence.tokens), cue + 3)):
        _, other = opposites().get(sentence.tokens[index].key, (_NONE, _NONE))
        sites = [(number, at) for number, at in slots.sites(other) if at not in slots.denied(number)]
        best = max(best, slots.best(cue, index, sites))
    return best


def unlimited(sentence: SourceLine, sources: Sources) -> Iterator[str]:
    """Reasons of a `Verdict`: an "only" of the sentence, if no passage has a word that limits anything."""
    tokens = sentence.tokens
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        if token.word not in LIMITS or (before and before.word in UNLIMITED_AFTER):
            continue
        if after and not after.digits and after.word not in DEGREES and _limiting().isdisjoint(sources.holders):
            yield f"comparison: the passages do not say {token.word!r}"


@cache
def _limiting() -> frozenset[str]:
    return frozenset(stem(word) for word in LIMITING)
