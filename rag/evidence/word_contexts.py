"""How well a token of the sentence fits a place in a passage: do the same words stand around both?

Take the sentence "Pam gave the watch to Toby" and the passage "she gets Michael to give up his watch to Toby". Around
"Pam" stand "gave", "watch" and "Toby". Around "Michael" the passage has all three at similar distances; around its own
"Pam", elsewhere, it has none. So the sentence puts Pam in the place of Michael.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import accumulate, islice
from typing import Final

from rag.evidence.reading import TextLine
from rag.evidence.sources import Sources

NEAR: Final = 3.0  # tokens; a word at this distance counts half as much as one at distance 0
CLAUSE: Final = 1.0  # a word beyond n clause boundaries counts 1 / (1 + n * CLAUSE)
SHIFT: Final = 2.0  # tokens; a distance that differs by this much halves what its closeness adds
SAME_LINE: Final = 0.4  # least share that a word counts if it stands in the same line
AROUND: Final = 0.3  # share that a word counts in an adjacent line or in a heading
MOST: Final = 400  # places that are compared with one token
SAME: Final = 40  # places of one word in one line
REACH: Final = 12  # lines that are compared: those that hold most of the sentence


class WordContexts:
    """The words of a sentence, `said`, located in the lines that hold most of them, the `fullest` first.

    A place in the passages is a pair: the number of a line and the index of a token in it.
    """

    def __init__(self, said: TextLine, sources: Sources) -> None:
        self.said = said
        self.sources = sources
        self.words = sources.words_of(said)
        self.fullest = self._fullest()
        self.lines = frozenset(self.fullest)
        self._clause = list(accumulate(token.breaks for token in said.tokens))
        self._places: dict[int, dict[int, tuple[int, ...]]] = {}
        self._fits: dict[tuple[int, int, int, int], float] = {}
        self._bests: dict[int, float] = {}
        self._around: dict[tuple[int, int], tuple[float, list[tuple[int, float]]]] = {}

    def _fullest(self) -> list[int]:
        """The lines that hold most of the sentence, by weight."""
        held: dict[int, float] = {}
        for word in self.words:
            for number in self.sources.holders.get(word.key, ()):
                held[number] = held.get(number, 0.0) + word.weight
        return sorted(held, key=lambda number: -held[number])[:REACH]

    def places(self, number: int) -> dict[int, tuple[int, ...]]:
        """The tokens of a line by position of the word; () for a word that only an adjacent line or a heading has."""
        if number not in self._places:
            sources, held = self.sources, self.sources.lines[number].places
            around: list[Container[str]] = [line.places for line in sources.around(number)]
            around += [sources.above[number], sources.known]
            self._places[number] = {
                which: held.get(word.key, ())[:SAME]
                for which, word in enumerate(self.words)
                if word.key in held or any(word.key in keys for keys in around)
            }
        return self._places[number]

    def fit(self, first: int, last: int, number: int, at: int) -> float:
        """How much of what surrounds tokens `first..last` of the sentence surrounds token `at` of a line, 0 to 1.

        A weighted mean over the other words of the sentence. A word weighs more the nearer it stands to the tokens. Its
        value is 1 if the line holds it at the same distance and on the same side, at least 0.4 if the line holds it
        elsewhere, 0.3 if only an adjacent line or a heading holds it, else 0.
        """
        key = (first, last, number, at)
        if key in self._fits:
            return self._fits[key]
        total, weights = self._weights(first, last)
        held = 0.0
        for which, places in self.places(number).items():
            distance, weight = weights[which]
            if places:
                target = at + distance
                gap = abs(places[0] - target) if len(places) == 1 else min([abs(place - target) for place in places])
                held += weight * (SAME_LINE + (1.0 - SAME_LINE) / (1.0 + gap / SHIFT))
            else:
                held += weight * AROUND
        self._fits[key] = held / total if total else 0.0
        return self._fits[key]

    def _weights(self, first: int, last: int) -> tuple[float, list[tuple[int, float]]]:
        """The sum of the weights; the distance of each word from tokens `first..last`, and its weight, 0 in them."""
        if (first, last) not in self._around:
            found: list[tuple[int, float]] = []
            for word in self.words:
                distance = min(word.index - first, 0) or max(word.index - last, 0)
                boundaries = abs(self._clause[word.index] - self._clause[first])
                weight = word.weight / (1.0 + abs(distance) / NEAR) / (1.0 + CLAUSE * boundaries)
                found.append((distance, 0.0 if first <= word.index <= last else weight))
            self._around[first, last] = sum(weight for _, weight in found), found
        return self._around[first, last]

    def best(self, first: int, last: int, sites: Iterable[tuple[int, int]]) -> float:
        """The best fit of tokens `first..last` among some places; 0 without any."""
        return max((self.fit(first, last, number, at) for number, at in islice(sites, MOST)), default=0.0)

    def usual(self, index: int) -> float:
        """How well the words around a token fit their own best places, 0 to 1.

        Near 1 if the sentence is copied from a passage, low if it is a paraphrase.
        """
        if not self._bests:
            for word in self.words:
                self._bests[word.index] = self.best(word.index, word.index, self.sites([word.key]))
        total = held = 0.0
        for word in self.words:
            if word.index != index:
                weight = word.weight / (1.0 + abs(word.index - index) / NEAR)
                total += weight
                held += weight * self._bests[word.index]
        return held / total if total else 0.0

    def sites(self, keys: Iterable[str]) -> list[tuple[int, int]]:
        """The places of any of the keys in the compared lines."""
        return [
            (number, at)
            for key in keys
            for number in self.sources.holders.get(key, ())
            if number in self.lines
            for at in self.sources.lines[number].places[key][:SAME]
        ]
