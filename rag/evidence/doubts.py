"""Reasons to doubt a sentence: a number, name, comparison or denial that the passages have elsewhere, or reversed.

Each such word of the sentence is compared with its places in the passages: how well does the best place that says the
same fit (`own`), and how well the best place of a rival: another number or name, or a place that says the opposite?
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from rag.evidence.negation import cues, opposites
from rag.evidence.numbers import Quantity, counts_items, points_back
from rag.evidence.word_contexts import WordContexts
from rag.text.english.word_lists import CUES, DATES
from rag.text.vocabulary import is_english

SHORT: Final = 0.4  # by which the words around a word fit better than the word
OF_ANOTHER: Final = 0.4  # share of the usual fit from which another number of the passages stands in this place
LEAST: Final = 0.25  # fit up to which an opposite, or a denial, is about something else
_NONE: Final[frozenset[str]] = frozenset()

Places = list[tuple[int, int]]
Kind = Literal["name", "number", "comparison", "negation", "denial"]
# By how much a rival may fit better. A passage denies many a word that it affirms elsewhere.
AHEAD: Final[dict[Kind, float]] = {"name": 0.15, "number": 0.0, "comparison": 0.0, "negation": 0.35, "denial": 0.0}
_REASONS: Final[dict[Kind, str]] = {
    "name": "name: {} stands in the passages for something else",
    "number": "number: {} stands in the passages for something else",
    "comparison": "comparison: the passages say the opposite of {!r}",
    "negation": "negation: the passages say the opposite of {!r}",
    "denial": "negation: the passages do not say {!r} of this",
}


class Compared(NamedTuple):
    """Tokens `first..last` of the sentence, with their places in the passages and those of their rivals."""

    kind: Kind
    first: int
    last: int
    own: Places
    rivals: Places


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
        for one in (*self._numbers(), *self._names(), *self._turns(), *self._denials()):
            if self._is_doubtful(one):
                yield _REASONS[one.kind].format(self._said.tokens[one.first].word)

    def _is_doubtful(self, one: Compared) -> bool:
        """Whether a rival fits clearly better, or the words around it do; or the passages deny nothing there."""
        best = self._contexts.best
        own, rival = best(one.first, one.last, one.own), best(one.first, one.last, one.rivals)
        usual = self._contexts.usual(one.first)
        if one.kind in ("comparison", "negation") and rival <= max(LEAST, OF_ANOTHER * usual):
            return False
        return rival - own > AHEAD[one.kind] or usual - own > SHORT or (one.kind == "denial" and own < LEAST)

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
                yield Compared("number", quantity.first, quantity.last, fitting, rivals)

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
                yield Compared("name", index, index, contexts.sites([token.key]), rivals)

    def _turns(self) -> Iterator[Compared]:
        """The words that the passages deny where the sentence affirms them or the reverse, or replace by an opposite.

        Example: the sentence "Atlas is faster" and the passages "Atlas is slower" ("comparison") or "Atlas is not
        faster" ("negation"). "Atlas is not slower" says the same and is no rival.
        """
        for index, token in enumerate(self._said.tokens):
            same, other = opposites().get(token.key, (_NONE, _NONE))
            if token.word in CUES or (token.capital and not token.first) or not (same or index in self._words):
                continue
            number = self._words[index].key if index in self._words else ""
            keys = same | {key for key in (token.key, number) if key}
            alike, reversed_ = self._by_side(keys, index)
            opposed, opposite_denied = self._by_side(other - keys, index)
            own = [*alike, *opposite_denied]
            yield Compared("negation", index, index, own, reversed_)
            yield Compared("comparison", index, index, own, opposed)

    def _by_side(self, keys: Iterable[str], index: int) -> tuple[Places, Places]:
        """The places of the keys that are denied, or affirmed, as token `index` of the sentence is; and the others."""
        denied, lines = index in self._said.denied, self._sources.lines
        sides: tuple[Places, Places] = [], []
        for number, at in self._contexts.sites(keys):
            sides[(at in lines[number].denied) != denied].append((number, at))
        return sides

    def _denials(self) -> Iterator[Compared]:
        """Each "not", with the places where the passages deny anything."""
        denials = [(number, at) for number in self._contexts.lines for at in self._sources.lines[number].denials]
        for cue in cues(self._said.tokens):
            yield Compared("denial", cue, cue, denials, [])
