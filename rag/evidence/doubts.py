"""Reasons to doubt a sentence: a number, name, comparison or denial that the passages have elsewhere, or reversed.

Each such word of the sentence is compared with its places in the passages: how well does the best place of the same
word fit (`own`), and how well the best place of a rival: another number or name, or a word that says the opposite?
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from rag.evidence.negation import REACH, SCOPE, cues, implied, opposites
from rag.evidence.numbers import Quantity, counts_items, points_back
from rag.evidence.word_contexts import WordContexts
from rag.evidence.words import Token
from rag.text.english.word_lists import CUES, DATES, EXTREMES, TIME_SPANS
from rag.text.terms import is_english

SHORT: Final = 0.4  # by which the words around a word fit better than the word
OF_ANOTHER: Final = 0.4  # share of the usual fit from which another number of the passages stands in this place
LEAST: Final = 0.2  # fit up to which an opposite, or a denial, is about something else
OTHER_WORD: Final = 0.95  # factor on the fit of another word of the same or the opposite side
IMPLIED: Final = 0.85  # factor on the fit of a denial without a "not", or of something else
_NONE: Final[frozenset[str]] = frozenset()

Places = list[tuple[int, int]]
Kind = Literal["name", "number", "comparison", "negation", "denial"]
# By how much a rival may fit better. A passage denies many a word that it affirms elsewhere.
AHEAD: Final[dict[Kind, float]] = {"name": 0.15, "number": 0.05, "comparison": 0.05, "negation": 0.3, "denial": 0.1}
_REASONS: Final[dict[Kind, str]] = {
    "name": "name: {} stands in the passages for something else",
    "number": "number: {} stands in the passages for something else",
    "comparison": "comparison: the passages say the opposite of {!r}",
    "negation": "negation: the passages say the opposite of {!r}",
    "denial": "negation: the passages do not say {!r} of this",
}


@dataclass(frozen=True, slots=True)
class Compared:
    """A word of the sentence at token `index`, and how well it fits, 0 to 1 each (see `rag.evidence.word_contexts`).

    `own`: the best place of the same word in the passages. `rival`: the best place of another word of its kind.
    `usual`: the best places of the words around it.
    """

    kind: Kind
    index: int
    own: float
    rival: float
    usual: float

    @property
    def doubtful(self) -> bool:
        """Whether a rival fits clearly better, or the words around it do; or the passages deny nothing there."""
        unsaid = self.kind == "denial" and self.own < LEAST
        return unsaid or self.rival - self.own > AHEAD[self.kind] or self.usual - self.own > SHORT


class Comparison:
    """The words of one sentence that are compared with their places in the passages."""

    def __init__(self, contexts: WordContexts) -> None:
        self._contexts = contexts
        self._said = contexts.said
        self._sources = contexts.sources
        self._words = {word.index: word for word in contexts.words}

    def doubts(self) -> Iterator[str]:
        """Reasons of a `Verdict`, beside the numbers that are absent."""
        for index in self._name_tokens():
            token = self._said.tokens[index]
            held = token.key in self._sources.holders or token.key in self._sources.known
            if not held and not (token.first and is_english(token.word)):
                yield f"name: {token.word} is not in the passages"
        for one in self.compared():
            if one.doubtful:
                yield _REASONS[one.kind].format(self._said.tokens[one.index].word)

    def compared(self) -> Iterator[Compared]:
        """The numbers, names, comparisons and denials of the sentence that have a place in the passages."""
        yield from self._numbers()
        yield from self._names()
        yield from self._turns()
        for index in cues(self._said.tokens):
            yield self._denial(index)

    def absent(self) -> Iterator[tuple[int, str, bool]]:
        """The numbers that no passage has: where each begins, its words, and whether only its unit is missing."""
        for quantity in self._said.quantities:
            same, fitting, rivals = self._places(quantity)
            titled = f"#{quantity.value}" in self._sources.known
            if not (fitting or titled or quantity.vague or self._counts(quantity, rivals)):
                yield self._said.tokens[quantity.first].start, self._said.words(quantity), bool(same)

    def _counts(self, quantity: Quantity, rivals: Places) -> bool:
        """Whether the number counts things of the text, and no other number stands in its place."""
        contexts, holders, said = self._contexts, self._sources.holders, self._said.tokens
        another = contexts.best(quantity.first, quantity.last, rivals) >= OF_ANOTHER * contexts.usual(quantity.first)
        return not another and (points_back(quantity, said) or counts_items(quantity, said, holders))

    def _numbers(self) -> Iterator[Compared]:
        for quantity in self._said.quantities:
            _, fitting, rivals = self._places(quantity)
            if fitting and not quantity.vague:
                yield self._compared("number", quantity.first, quantity.last, fitting, rivals)

    def _places(self, quantity: Quantity) -> tuple[Places, Places, Places]:
        """The places of the same number, of those with a fitting unit, and of its rivals in the compared lines."""
        lines = self._sources.lines
        same = [(number, q) for number, line in enumerate(lines) for q in line.quantities if quantity.same(q)]
        rivals = [
            (number, q.first)
            for number in self._contexts.lines
            for q in lines[number].quantities
            if quantity.rivals(q) and not any(q.same(own) for own in self._said.quantities)
        ]
        return [(number, q.first) for number, q in same], [(n, q.first) for n, q in same if quantity.fits(q)], rivals

    def _compared(self, kind: Kind, first: int, last: int, own: Places, rivals: Places) -> Compared:
        contexts = self._contexts
        return Compared(
            kind, first, contexts.best(first, last, own), contexts.best(first, last, rivals), contexts.usual(first)
        )

    def _name_tokens(self) -> list[int]:
        return [index for index in self._said.names if index not in self._said.counted]

    def _names(self) -> Iterator[Compared]:
        """The names. A name of the titles alone has no place that could be compared."""
        contexts, lines = self._contexts, self._sources.lines
        held = [(number, at, lines[number].tokens[at]) for number in contexts.lines for at in lines[number].names]
        for index in self._name_tokens():
            token = self._said.tokens[index]
            if token.key in self._sources.holders:
                dated = token.word in DATES
                rivals = [(n, at) for n, at, t in held if t.key != token.key and (t.word in DATES) == dated]
                yield self._compared("name", index, index, contexts.sites([token.key]), rivals)

    def _turns(self) -> Iterator[Compared]:
        """The words that the passages deny or replace by an opposite. Words that the sentence denies are no such.

        Example: the sentence "Atlas is faster" and the passages "Atlas is slower" ("comparison") or "Atlas is not
        faster" ("negation"). "Atlas is not slower" says the same and is no rival.
        """
        for index, token in enumerate(self._said.tokens):
            same, other = opposites().get(token.key, (_NONE, _NONE))
            if token.word in CUES or (token.capital and not token.first) or not (same or index in self._words):
                continue
            if _compares_nothing(self._said.tokens, index):
                continue
            keys = self._keys(index)
            own = self._sides(index, keys | same, True)
            turned = self._sides(index, other - keys, False)
            rival, usual = max(own[1], turned[1]), self._contexts.usual(index)
            kind: Kind = "negation" if own[1] >= turned[1] else "comparison"
            if rival > max(LEAST, OF_ANOTHER * usual) and not (kind == "negation" and index in self._said.denied):
                yield Compared(kind, index, max(own[0], turned[0]), rival, usual)

    def _keys(self, index: int) -> frozenset[str]:
        """The keys by which a token of the sentence is found in the passages: its own, and that of its number."""
        number = self._words[index].key if index in self._words else ""
        return frozenset(filter(None, (self._said.tokens[index].key, number)))

    def _sides(self, index: int, keys: frozenset[str], same: bool) -> tuple[float, float]:
        """The best fits at `index` of the keys' places that say the same, and of those that say the opposite.

        `same`: the keys are on the sentence's side. An opposite that is denied says the same.
        """
        contexts, best = self._contexts, [0.0, 0.0]
        for number, at in contexts.sites(keys):
            fit = contexts.fit(index, index, number, at)
            if self._sources.lines[number].tokens[at].key != self._said.tokens[index].key:
                fit *= OTHER_WORD
            side = 0 if same == ((at in self._sources.lines[number].denied) == (index in self._said.denied)) else 1
            best[side] = max(best[side], fit)
        return best[0], best[1]

    def _denial(self, cue: int) -> Compared:
        """A "not": its own places are denials of the passages, its rivals places that affirm what it denies."""
        contexts, tokens = self._contexts, self._said.tokens
        lines = [(number, self._sources.lines[number]) for number in contexts.lines]
        denied = [at for at in range(cue + 1, cue + 1 + REACH) if at in self._said.denied][:SCOPE]
        keys = _NONE.union(*map(self._keys, denied))
        opposite = _NONE.union(*(opposites().get(t.key, (_NONE, _NONE))[1] for t in tokens[cue + 1 : cue + 3]))
        stated = self._affirmed(opposite)  # "impossible" for "not possible"
        hidden = [
            (number, at) for number, line in lines for at, token in enumerate(line.tokens) if token.key in implied()
        ]
        for number, line in lines:
            for at in cues(line.tokens):
                reach = line.denied.intersection(range(at + 1, at + 1 + REACH))
                (hidden if keys.isdisjoint(line.tokens[one].key for one in reach) else stated).append((number, at))
        own = max(contexts.best(cue, cue, stated), IMPLIED * contexts.best(cue, cue, hidden))
        return Compared("denial", cue, own, contexts.best(cue, cue, self._affirmed(keys)), contexts.usual(cue))

    def _affirmed(self, keys: Iterable[str]) -> list[tuple[int, int]]:
        """The places of the keys that the passages do not deny."""
        lines = self._sources.lines
        return [(number, at) for number, at in self._contexts.sites(keys) if at not in lines[number].denied]


def _compares_nothing(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether the word is "least" in "at least", or "last" in "the last century"."""
    before, after = tokens[index - 1 : index], tokens[index + 1 : index + 2]
    if tokens[index].word in EXTREMES:
        return bool(before) and before[0].word == "at"
    return tokens[index].word == "last" and bool(after) and (after[0].digits or after[0].word in TIME_SPANS)
