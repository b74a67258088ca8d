"""Which lines of the passages hold the words of a sentence, and how much of the sentence they hold together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rag.evidence.passages import ReadPassages, SourceLine, windows

STRETCH_LINES: Final = 3  # at most, of a stretch of adjacent lines
MOST_STRETCHES: Final = 3  # that one sentence may draw on
LEAST_GAIN: Final = 0.04  # of the sentence, by weight, that each further stretch must add
LENGTH_PENALTY: Final = 0.03  # share of its gain that a stretch loses with each line after the first
HEADING_WEIGHT: Final = 0.8  # of a word that only a heading holds
NUMBER_WEIGHT: Final = 0.8


@dataclass(frozen=True, slots=True)
class Word:
    """A content word or a number of the sentence.

    `index` is its token's, `forms` the keys that count as the word in the passages, `weight` from 0.2 to 1.
    """

    index: int
    forms: frozenset[str]
    weight: float


@dataclass(frozen=True, slots=True)
class Site:
    """A line of the passages: the index of its passage, and its `number` among the lines of all passages."""

    passage: int
    line: SourceLine
    number: int


class Sources:
    """The lines of all passages, with an index of the lines that hold a key.

    `known` are the keys of the text that the passages stand under, such as titles. `titles` are the keys of each
    passage's headings, `holders` the numbers of the lines by key, `stretches` the numbers of adjacent lines.
    """

    def __init__(self, readings: Sequence[ReadPassages], known: frozenset[str]) -> None:
        self.sites: list[Site] = []
        self.known = known
        self.titles = [reading.title for reading in readings]
        self.holders: dict[str, list[int]] = {}
        self.stretches: list[list[int]] = []
        for passage, reading in enumerate(readings):
            start = len(self.sites)
            for line in reading.lines:
                for key in line.places:
                    self.holders.setdefault(key, []).append(len(self.sites))
                self.sites.append(Site(passage, line, len(self.sites)))
            self.stretches += [[start + n for n in stretch] for stretch in windows(reading.lines, STRETCH_LINES)]

    def forms(self, key: str) -> frozenset[str]:
        """The key, if the passages have it."""
        return frozenset({key} & self.holders.keys())

    def lines_with(self, forms: Iterable[str]) -> set[int]:
        """Numbers of the lines that hold any of the keys."""
        return {number for form in forms for number in self.holders.get(form, ())}

    def around(self, number: int) -> Iterator[SourceLine]:
        """The lines before and after a line, in the same passage."""
        for other in (number - 1, number + 1):
            if 0 <= other < len(self.sites) and self.sites[other].passage == self.sites[number].passage:
                yield self.sites[other].line


def words_of(sentence: SourceLine, sources: Sources) -> list[Word]:
    """The content words and the numbers of a sentence, in order."""
    numbers = {quantity.first: quantity for quantity in sentence.quantities if not quantity.vague}
    inside = {index for quantity in numbers.values() for index in range(quantity.first, quantity.last + 1)}
    found: list[Word] = []
    for index, token in enumerate(sentence.tokens):
        if quantity := numbers.get(index):
            key = f"#{quantity.value}"
            found.append(Word(index, frozenset({key} & sources.holders.keys()), NUMBER_WEIGHT))
        elif token.content and index not in inside and not token.digits:
            found.append(Word(index, sources.forms(token.key), token.weight))
    return found


@dataclass(frozen=True, slots=True)
class Support:
    """The share of the sentence that the passages hold, by weight, 0 to 1; the lines of the best stretch."""

    share: float
    best: tuple[int, ...]


def support(words: Sequence[Word], sources: Sources) -> Support:
    """Take the stretch that holds most of the words, then up to two others for the words that are left.

    A word that only a heading holds counts 0.8 of its weight. A sentence without words is supported in full.
    """
    left: dict[frozenset[str], float] = {}
    for word in words:
        forms = word.forms or frozenset({f"?{word.index}"})  # a word that no passage has
        left[forms] = max(word.weight, left.get(forms, 0.0))
    total = sum(left.values())
    if not total:
        return Support(1.0, ())
    lines = {forms: sources.lines_with(forms) for forms in left}
    held = 0.0
    best: tuple[int, ...] = ()
    for attempt in range(MOST_STRETCHES):
        stretch, gain = _best_stretch(left, lines, sources)
        if gain <= 0 or (attempt and gain < LEAST_GAIN * total):
            break
        best = best or tuple(stretch)
        held += gain
        left = {forms: weight for forms, weight in left.items() if lines[forms].isdisjoint(stretch)}
    headings = sources.known.union(*sources.titles)
    held += sum(HEADING_WEIGHT * weight for forms, weight in left.items() if not forms.isdisjoint(headings))
    return Support(held / total, best)


def _best_stretch(
    left: dict[frozenset[str], float], lines: dict[frozenset[str], set[int]], sources: Sources
) -> tuple[list[int], float]:
    """The stretch that holds most of the words that are left, and their weight; shorter ones are preferred."""
    best: list[int] = []
    best_gain = best_score = 0.0
    for stretch in sources.stretches:
        gain = sum(weight for forms, weight in left.items() if not lines[forms].isdisjoint(stretch))
        score = gain * (1.0 - LENGTH_PENALTY * (len(stretch) - 1))
        if score > best_score:
            best, best_gain, best_score = stretch, gain, score
    return best, best_gain
