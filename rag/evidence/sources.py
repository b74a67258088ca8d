"""The passages that a sentence cites, indexed by word, and how much of the sentence they hold together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from rag.evidence.reading import TextLine, read
from rag.text.language import is_foreign, words_of_text

STRETCH_LINES: Final = 3  # at most, of a stretch of adjacent lines
MOST_STRETCHES: Final = 3  # that one sentence may draw on
LEAST_GAIN: Final = 0.04  # of the sentence, by weight, that each further stretch must add
LENGTH_PENALTY: Final = 0.03  # share of its gain that a stretch loses with each line after the first
HEADING_WEIGHT: Final = 0.8  # of a word that only a heading holds
NUMBER_WEIGHT: Final = 0.8
FOREIGN_WORDS: Final = 12  # different words of passages that tell their language


@dataclass(frozen=True, slots=True)
class Word:
    """A content word or a number of the sentence: the index of its token, and its weight from 0.2 to 1.

    `key` is its key if a line of the passages has it, else "".
    """

    index: int
    key: str
    weight: float


@dataclass(frozen=True, slots=True)
class Support:
    """The share of the sentence that the passages hold, by weight, 0 to 1; the lines of the best stretch."""

    share: float
    best: Sequence[int]


class Sources:
    """The lines of all passages, numbered, with an index of the lines that hold a key.

    `known` are the keys of the text `above` the passages, such as titles. `titles` are the keys of each passage's
    headings, `homes` the index of each line's passage, `holders` the numbers of the lines by key, `stretches` the
    stretches of adjacent lines over each line.
    """

    def __init__(self, passages: Sequence[str], above: str) -> None:
        texts = [read(passage) for passage in passages]
        self.texts = [read(text) for text in (*passages, above) if text]
        self.known = frozenset(read(above).whole.places)
        self.titles = [text.title for text in texts]
        self.lines: list[TextLine] = []
        self.homes: list[int] = []
        self.holders: dict[str, list[int]] = {}
        self.stretches: list[list[range]] = []
        for passage, text in enumerate(texts):
            start, end = len(self.lines), len(self.lines) + len(text.lines)
            for number, line in enumerate(text.lines, start):
                for key in line.places:
                    self.holders.setdefault(key, []).append(number)
                begins = range(max(start, number - STRETCH_LINES + 1), number + 1)
                self.stretches.append(
                    [range(a, b) for a in begins for b in range(number + 1, min(a + STRETCH_LINES, end) + 1)]
                )
            self.lines += text.lines
            self.homes += [passage] * len(text.lines)

    @cached_property
    def _language(self) -> tuple[bool, frozenset[str]]:
        """Whether they are in another language than English, and their words."""
        text = "\n".join(one.text for one in self.texts)
        return is_foreign(text, fewest=FOREIGN_WORDS), words_of_text(text)

    def foreign(self, sentence: str) -> bool:
        """Whether the sentence or the passages are in another language than English."""
        foreign, words = self._language
        return foreign or is_foreign(sentence, words)

    def around(self, number: int) -> Iterator[TextLine]:
        """The lines before and after a line, in the same passage."""
        for other in (number - 1, number + 1):
            if 0 <= other < len(self.lines) and self.homes[other] == self.homes[number]:
                yield self.lines[other]

    def words_of(self, sentence: TextLine) -> list[Word]:
        """The content words and the numbers of a sentence, in order."""
        numbers = {quantity.first: quantity for quantity in sentence.quantities if not quantity.vague}
        inside = {index for quantity in numbers.values() for index in range(quantity.first, quantity.last + 1)}
        found: list[Word] = []
        for index, token in enumerate(sentence.tokens):
            if quantity := numbers.get(index):
                key = f"#{quantity.value}"
                found.append(Word(index, key if key in self.holders else "", NUMBER_WEIGHT))
            elif token.content and index not in inside and not token.digits:
                found.append(Word(index, token.key if token.key in self.holders else "", token.weight))
        return found

    def support(self, words: Sequence[Word]) -> Support:
        """Take the stretch that holds most of the words, then up to two others for the words that are left.

        A word that only a heading holds counts 0.8 of its weight. A sentence without words is supported in full.
        """
        left: dict[str, float] = {}
        for word in words:
            key = word.key or f"?{word.index}"  # a word that no passage has
            left[key] = max(word.weight, left.get(key, 0.0))
        total = sum(left.values())
        if not total:
            return Support(1.0, ())
        held = 0.0
        best: Sequence[int] = ()
        for attempt in range(MOST_STRETCHES):
            stretch, gain = self._best_stretch(left)
            if gain <= 0 or (attempt and gain < LEAST_GAIN * total):
                break
            best = best or stretch
            held += gain
            inside = [self.lines[number].places for number in stretch]
            left = {key: weight for key, weight in left.items() if not any(key in places for places in inside)}
        headings = self.known.union(*self.titles)
        held += sum(HEADING_WEIGHT * weight for key, weight in left.items() if key in headings)
        return Support(held / total, best)

    def _best_stretch(self, left: dict[str, float]) -> tuple[Sequence[int], float]:
        """The stretch that holds most of the words that are left, and their weight; shorter ones are preferred."""
        gains: dict[range, float] = {}
        for key, weight in left.items():
            for stretch in {one for number in self.holders.get(key, ()) for one in self.stretches[number]}:
                gains[stretch] = gains.get(stretch, 0.0) + weight
        scores = {stretch: gain * (1.0 - LENGTH_PENALTY * (len(stretch) - 1)) for stretch, gain in gains.items()}
        best = max(scores, key=lambda one: (scores[one], -one.start, -one.stop), default=range(0))
        return best, gains.get(best, 0.0)
