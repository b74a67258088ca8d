"""How well a place in a passage fits a place in the sentence: does the same stand around both?

The sentence "Pam gave the watch to Toby" against "she gets Michael to give up his watch to Toby": around "Pam" stand
"gave", "watch" and "Toby"; at "Michael" the passage has all three at like distances, at "Pam", elsewhere, it has none.
So the sentence puts Pam where the passages have Michael.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, islice
from typing import Final

from rag.grounding.evidence import Sources, Word
from rag.grounding.negation import scopes
from rag.grounding.passages import SourceLine

NEAR: Final = 3.0  # tokens: at this distance a word says half as much about a place as one beside it
CLAUSE: Final = 1.0  # a word beyond a comma or bracket counts that much less
SHIFT: Final = 2.0  # tokens: a word that stands this much nearer or farther counts half
SAME_LINE: Final = 0.4  # what a word counts at least that stands in the same line
AROUND: Final = 0.3  # ... and in the line before or after, or in a heading
MOST: Final = 400  # places of one kind that are compared: enough for any prose
SAME: Final = 40  # places of one word in one line
REACH: Final = 12  # lines that are looked at: those that hold most of the sentence


class Slots:
    """The sentence's words, found in the lines that hold most of them."""

    def __init__(self, said: SourceLine, words: Sequence[Word], sources: Sources) -> None:
        self.said = said
        self.words = words
        self._denied: dict[int, frozenset[int]] = {}
        self._clause = list(accumulate(token.breaks for token in said.tokens))
        self.sources = sources
        self.lines = frozenset(self._fullest())
        self._places: dict[int, list[tuple[int, ...] | None]] = {}
        self._fits: dict[tuple[int, int, int, int], float] = {}
        self._bests: dict[int, float] = {}

    def _fullest(self) -> list[int]:
        """The lines that hold most of the sentence, by weight."""
        held: dict[int, float] = {}
        for word in self.words:
            for number in self.sources.lines_with(word.forms):
                held[number] = held.get(number, 0.0) + word.weight
        return sorted(held, key=lambda number: -held[number])[:REACH]

    def places(self, number: int) -> list[tuple[int, ...] | None]:
        """For each word its tokens in a line; () where it stands beside the line or above it, else None."""
        if number not in self._places:
            site = self.sources.sites[number]
            beside = [line.places for line in self.sources.around(number)]
            title = self.sources.titles[site.passage] | self.sources.known
            found: list[tuple[int, ...] | None] = []
            for word in self.words:
                at = tuple(place for form in word.forms for place in site.line.places.get(form, ())[:SAME])
                near = any(form in places for form in word.forms for places in beside)
                found.append(at or (() if near or not word.forms.isdisjoint(title) else None))
            self._places[number] = found
        return self._places[number]

    def fit(self, first: int, last: int, number: int, at: int) -> float:
        """How much of what the sentence says around its tokens `first..last` stands the same way around token `at` of
        a line: 0..1. A word counts the more the nearer it is in the sentence, and the less the more its distance there
        differs."""
        key = (first, last, number, at)
        if key in self._fits:
            return self._fits[key]
        total = got = 0.0
        for word, places in zip(self.words, self.places(number), strict=True):
            if first <= word.index <= last:
                continue
            distance = word.index - first if word.index < first else word.index - last
            breaks = abs(self._clause[word.index] - self._clause[first])
            weight = word.weight / (1.0 + abs(distance) / NEAR) / (1.0 + CLAUSE * breaks)
            total += weight
            if places is None:
                continue
            if not places:
                got += weight * AROUND
                continue
            gap = min(abs(place - at - distance) for place in places)
            got += weight * (SAME_LINE + (1.0 - SAME_LINE) / (1.0 + gap / SHIFT))
        self._fits[key] = got / total if total else 0.0
        return self._fits[key]

    def best(self, first: int, last: int, sites: Iterable[tuple[int, int]]) -> float:
        """The best fit among places of the passages, each a line and a token; 0 without any."""
        return max((self.fit(first, last, number, at) for number, at in islice(sites, MOST)), default=0.0)

    def usual(self, index: int) -> float:
        """How well the words around a token of the sentence fit their own best places: near 1 where the sentence is
        taken from a passage as it stands, low where it says things in its own words."""
        if not self._bests:
            for word in self.words:
                self._bests[word.index] = self.best(word.index, word.index, self.sites(word.forms))
        total = got = 0.0
        for word in self.words:
            if word.index != index:
                weight = word.weight / (1.0 + abs(word.index - index) / NEAR)
                total += weight
                got += weight * self._bests[word.index]
        return got / total if total else 0.0

    def denied(self, number: int) -> frozenset[int]:
        """The tokens of a line that it denies."""
        if number not in self._denied:
            self._denied[number] = scopes(self.sources.sites[number].line.tokens)
        return self._denied[number]

    def sites(self, forms: Iterable[str]) -> list[tuple[int, int]]:
        """Where any of the keys stands, in the lines that are looked at."""
        return [
            (number, at)
            for form in forms
            for number in self.sources.holders.get(form, ())
            if number in self.lines
            for at in self.sources.sites[number].line.places[form][:SAME]
        ]
