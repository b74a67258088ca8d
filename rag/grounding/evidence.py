"""Where in the passages a sentence has its support: which lines hold its words, and how near one of its facts stands to
what the sentence says of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rag.grounding.passages import ReadPassages, SourceLine, windows
from rag.text.english.word_forms import ALIASES

WIDTH: Final = 3  # neighbouring lines that together may say what one sentence says
PLACES: Final = 3  # stretches that one sentence may draw on
AROUND: Final = 0.8  # what a word counts that stands in the line before or after, or in a heading
NEAR: Final = 5.0  # tokens: at this distance a word says half as much about a fact as one beside it
SHIFT: Final = 4.0  # tokens: a word that stands this much nearer or farther counts half
AROUND_SLOT: Final = 0.3
SHARED: Final = 5  # letters that two stems of one family share at least


@dataclass(frozen=True, slots=True)
class Word:
    """A content word of the sentence: its token's index, what it may stand as in the passages, and its weight."""

    index: int
    forms: frozenset[str]
    weight: float


@dataclass(frozen=True, slots=True)
class Site:
    """A line of a passage, by its number among the lines of all passages."""

    passage: int
    line: SourceLine
    number: int


class Sources:
    """The passages' lines, with an index of which lines hold a key."""

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
            self.stretches += [[start + n for n in stretch] for stretch in windows(reading.lines, WIDTH)]
        self._families: dict[str, list[str]] | None = None

    def forms(self, key: str) -> frozenset[str]:
        """What a word of the sentence may stand as: itself, a word of the same sense, else one of the same family."""
        found = {key, f"~{key}", *ALIASES.get(key, ())} & self.holders.keys()
        if key not in self.holders:
            found |= set(self._family(key))
        return frozenset(found)

    def _family(self, key: str) -> Iterator[str]:
        if len(key) < SHARED or not key.isalpha():
            return
        if self._families is None:
            self._families = {}
            for known in self.holders:
                self._families.setdefault(known[: SHARED - 1], []).append(known)
        for other in self._families.get(key[: SHARED - 1], ()):
            shared = _shared(key, other)
            if shared >= max(SHARED - 1, min(len(key), len(other)) - 1):
                yield other

    def lines_with(self, forms: Iterable[str]) -> set[int]:
        return {number for form in forms for number in self.holders.get(form, ())}

    def around(self, number: int) -> Iterator[SourceLine]:
        """The lines before and after a line, of the same passage."""
        for other in (number - 1, number + 1):
            if 0 <= other < len(self.sites) and self.sites[other].passage == self.sites[number].passage:
                yield self.sites[other].line


def _shared(one: str, other: str) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def words_of(line: SourceLine, sources: Sources) -> list[Word]:
    """The content words and the numbers of a sentence, in order."""
    numbers = {q.first: q for q in line.quantities if not q.vague}
    inside = {index for q in numbers.values() for index in range(q.first, q.last + 1)}
    found: list[Word] = []
    for index, token in enumerate(line.tokens):
        if quantity := numbers.get(index):
            forms = frozenset(key for value in quantity.values if (key := f"#{value}") in sources.holders)
            found.append(Word(index, forms, 0.8))
        elif token.content and index not in inside and not token.digits:
            found.append(Word(index, sources.forms(token.key), token.weight))
    return found


@dataclass(frozen=True, slots=True)
class Support:
    """How much of the sentence the passages say, by weight: 0..1; the lines that say it, the best stretch first."""

    share: float
    best: tuple[int, ...]
    lines: frozenset[int]
    first: float  # what the best stretch alone says


def support(words: Sequence[Word], sources: Sources) -> Support:
    """The best stretch of neighbouring lines, then what others add to it."""
    left: dict[frozenset[str], float] = {}
    for word in words:
        left[word.forms or frozenset({f"?{word.index}"})] = max(
            word.weight, left.get(word.forms or frozenset({f"?{word.index}"}), 0.0)
        )
    total = sum(left.values())
    if not total:
        return Support(1.0, (), frozenset(), 1.0)
    where = {forms: sources.lines_with(forms) for forms in left}
    got, first = 0.0, 0.0
    best: tuple[int, ...] = ()
    lines: set[int] = set()
    for round_ in range(PLACES):
        stretch, gain = _best_stretch(left, where, sources)
        if gain <= 0 or (round_ and gain < 0.04 * total):
            break
        if not round_:
            best, first = tuple(stretch), gain
        lines |= set(stretch)
        got += gain
        left = {forms: weight for forms, weight in left.items() if where[forms].isdisjoint(stretch)}
    titled = sources.known.union(*sources.titles)
    got += sum(AROUND * weight for forms, weight in left.items() if not forms.isdisjoint(titled))
    return Support(got / total, best, frozenset(lines), first / total)


def _best_stretch(
    left: dict[frozenset[str], float], where: dict[frozenset[str], set[int]], sources: Sources
) -> tuple[list[int], float]:
    best, most = [], 0.0
    for stretch in sources.stretches:
        gain = sum(weight for forms, weight in left.items() if not where[forms].isdisjoint(stretch))
        score = gain * (1.0 - 0.03 * (len(stretch) - 1))
        if score > most:
            best, most = stretch, score
    return best, sum(weight for forms, weight in left.items() if not where[forms].isdisjoint(best))
