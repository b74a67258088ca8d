"""Where the passages have the words of a sentence, and how well they fit: are the same words around them?

Take the sentence "Pam gave the watch to Toby" and the passage "she gets Michael to give up his watch to Toby". Around
"Pam" are "gave", "watch" and "Toby". Around "Michael" the passage has all three at similar distances; around its own
"Pam", elsewhere, it has none. So the sentence puts Pam in the place of Michael.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property
from itertools import accumulate, islice, pairwise
from typing import Final

from rag.evidence.analyzed_text import TextLine, cues, read
from rag.evidence.quantity import readings
from rag.evidence.words import Token
from rag.text.english.numerals import SMALL
from rag.text.english.units import named
from rag.text.english.word_lists import PRONOUNS
from rag.text.vocabulary import is_foreign, is_spoken, words_of_text

NUMBER_WEIGHT: Final = 0.8
FOREIGN_WORDS: Final = 12  # different words of passages that tell their language
NEAR: Final = 3.0  # tokens; a word at this distance counts half as much as one at distance 0
CLAUSE: Final = 1.0  # a word beyond n clause boundaries counts 1 / (1 + n * CLAUSE)
SHIFT: Final = 2.0  # tokens; a distance that differs by this much halves what its closeness adds
SAME_LINE: Final = 0.4  # least share that a word counts in the same line
AROUND: Final = 0.3  # share that a word counts in an adjacent line or in a heading
LABEL_SIGNS: Final = frozenset(":|")
JOINTS: Final = frozenset({"and", "or", "but", "while"})
LABEL_WORDS: Final = 6
LABELLED: Final = 1  # tokens; "£38 for adults" is as near as "Adults: £38"
PARTED: Final = 3  # tokens that a comma or an "and" between the two counts
MOST: Final = 400  # places that are compared with one token
SAME: Final = 40  # places of one word in one line
RUN: Final = 3  # content words at the end of a claim that a line has in a row; fewer may be chance
BEFORE_RUN: Final = 4  # tokens before such a run in which a denial belongs to them
COPIED: Final = 0.7  # least share of a claim that a line has in the same order if the claim is a near copy of it
REPLACED: Final = 2  # content words, at most, that are replaced at one place
REACH: Final = 12  # lines that are compared: those that hold most of the sentence


@dataclass(frozen=True, slots=True)
class Word:
    """A content word or a number of the sentence: the index of its token, and its weight from 0.2 to 1.

    `key` is its key if a line of the passages has it, else "".
    """

    index: int
    key: str
    weight: float


class Sources:
    """The lines of all passages, numbered, with an index of the lines that hold a key.

    `known` are the keys of the text `above` the passages, such as titles. `homes` are the indices of the lines'
    passages, `holders` the numbers of the lines by key, `above` the keys of what introduces each line: a heading or
    lead, and before "It weighs 89 kg" the line that names it.
    """

    def __init__(self, passages: Sequence[str], above: str) -> None:
        self.texts = [read(text) for text in (*passages, above) if text]
        text = "\n".join(text.text for text in self.texts)
        self._words = words_of_text(text)
        self._foreign = is_foreign(text, fewest=FOREIGN_WORDS) and is_spoken(text)
        self.known = frozenset(read(above).whole.places)
        self.lines: list[TextLine] = []
        self.homes: list[int] = []
        self.holders: dict[str, list[int]] = {}
        self.above: list[frozenset[str]] = []
        for home, passage in enumerate(passages):
            introduction: Iterable[str] = ()
            subject: Iterable[str] = ()
            for line in read(passage).lines:
                continues = line.tokens[0].word in PRONOUNS
                self.above.append(frozenset((*introduction, *(subject if continues else ()))))
                introduction = line.places if line.introduces else introduction
                subject = subject if continues else line.places
                for key in line.places:
                    self.holders.setdefault(key, []).append(len(self.lines))
                self.lines.append(line)
                self.homes.append(home)

    @cached_property
    def numbered(self) -> frozenset[str]:
        """The keys of the words before a number or a letter: of "day" in "on day 3"."""
        return frozenset(
            before.key
            for line in self.lines
            for before, token in pairwise(line.tokens)
            if before.content and (token.digits or token.word in SMALL or (token.capital and len(token.raw) == 1))
        )

    @cached_property
    def units(self) -> frozenset[str]:
        """The units of measure that the passages and the titles name."""
        return frozenset().union(*(named({token.raw for token in text.whole.tokens}) for text in self.texts))

    def foreign(self, sentence: str) -> bool:
        """Whether the sentence or the passages are in another language than English."""
        return self._foreign or is_foreign(sentence, self._words)

    def around(self, number: int) -> Iterator[TextLine]:
        """The lines before and after a line, in the same passage."""
        for other in (number - 1, number + 1):
            if 0 <= other < len(self.lines) and self.homes[other] == self.homes[number]:
                yield self.lines[other]


class WordContexts:
    """The `words` of a sentence, `said`, located in the lines that hold most of them, the `fullest` first.

    A place in the passages is a pair: the number of a line and the index of a token in it.
    """

    def __init__(self, said: TextLine, sources: Sources) -> None:
        self.said = said
        self.sources = sources
        self.quantities = tuple(readings(said.quantities, sources.holders))
        self.words = list(self._words())
        held: dict[int, float] = {}  # the weight of the words that a line holds
        for word in self.words:
            for number in sources.holders.get(word.key, ()):
                held[number] = held.get(number, 0.0) + word.weight
        self.fullest = sorted(held, key=lambda number: -held[number])[:REACH]

        self.places, self.fit, self._weights = cache(self._places), cache(self._fit), cache(self._weights_around)

    @cached_property
    def _clause(self) -> list[int]:
        return list(accumulate(token.breaks for token in self.said.tokens))

    def _words(self) -> Iterator[Word]:
        """The content words and the numbers, in order."""
        said, held = self.said, self.sources.holders
        numbers = {quantity.first: quantity for quantity in self.quantities if not quantity.vague}
        inside = {index for quantity in numbers.values() for index in range(quantity.first, quantity.last + 1)}
        for index, token in enumerate(said.tokens):
            if quantity := numbers.get(index):
                yield Word(index, next((key for key in quantity.keys if key in held), ""), NUMBER_WEIGHT)
            elif token.content and index not in inside and not token.digits:
                yield Word(index, token.key if token.key in held else "", token.weight)

    def _places(self, number: int) -> dict[int, tuple[int, ...]]:
        """The tokens of a line by position of the word; () for a word that only an adjacent line or a heading has."""
        sources, held = self.sources, self.sources.lines[number].places
        around: list[Container[str]] = [line.places for line in sources.around(number)]
        around += [sources.above[number], sources.known]
        return {
            which: held.get(word.key, ())[:SAME]
            for which, word in enumerate(self.words)
            if word.key in held or any(word.key in keys for keys in around)
        }

    def _fit(self, first: int, last: int, number: int, at: int) -> float:
        """How much of what surrounds tokens `first..last` of the sentence surrounds token `at` of a line, 0 to 1.

        A weighted mean over the other words. A word weighs more the nearer it is to the tokens, and counts 1 if the
        line holds it at the same distance, less elsewhere, and least if only an adjacent line or a heading holds it.
        """
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
        return held / total if total else 0.0

    def labels(self, first: int) -> int:
        """How many other cells a number has that is alone in its cell: one in "Adults: £38"; 0 without a label."""
        cells = list(accumulate(token.word in LABEL_SIGNS for token in self.said.tokens))
        others = [cells[word.index] for word in self.words if word.index != first]
        return len(set(others)) if len(others) < LABEL_WORDS and cells[first] not in others else 0

    def labelled(self, first: int, sites: Iterable[tuple[int, int]]) -> float:
        """How near the words of the other cells are to the best of some places, on either side of it."""
        words = [(word.key, word.weight) for word in self.words if word.index != first]
        return max(
            (
                sum(weight / (1.0 + self._apart(number, at, key) / SHIFT) for key, weight in words)
                for number, at in islice(sites, MOST)
            ),
            default=0.0,
        )

    def _apart(self, number: int, at: int, key: str) -> float:
        """How far a token of a line is from the nearest word of this key; an "and" or a comma between counts more."""
        tokens, nearest = self.sources.lines[number].tokens, float("inf")
        for place in self.sources.lines[number].places.get(key, ())[:SAME]:
            between = tokens[min(at, place) + 1 : max(at, place)]
            parted = sum(token.breaks or token.word in JOINTS for token in between)
            nearest = min(nearest, max(0, len(between) - LABELLED) + PARTED * parted)
        return nearest

    def _weights_around(self, first: int, last: int) -> tuple[float, list[tuple[int, float]]]:
        """The sum of the weights; the distance of each word from tokens `first..last`, and its weight, 0 in them."""
        found: list[tuple[int, float]] = []
        for word in self.words:
            distance = min(word.index - first, 0) or max(word.index - last, 0)
            boundaries = abs(self._clause[word.index] - self._clause[first])
            weight = word.weight / (1.0 + abs(distance) / NEAR) / (1.0 + CLAUSE * boundaries)
            found.append((distance, 0.0 if first <= word.index <= last else weight))
        return sum(weight for _, weight in found), found

    def best(self, first: int, last: int, sites: Iterable[tuple[int, int]]) -> float:
        """The best fit of tokens `first..last` among some places; 0 without any."""
        return max((self.fit(first, last, number, at) for number, at in islice(sites, MOST)), default=0.0)

    @cached_property
    def _bests(self) -> list[float]:
        """How well each word fits its own best place."""
        return [self.best(word.index, word.index, self.sites([word.key])) for word in self.words]

    def usual(self, index: int) -> float:
        """How well the words around a token fit their own best places: near 1 in a copy, low in a paraphrase."""
        total = held = 0.0
        for word, best in zip(self.words, self._bests, strict=True):
            if word.index != index:
                weight = word.weight / (1.0 + abs(word.index - index) / NEAR)
                total += weight
                held += weight * best
        return held / total if total else 0.0

    def sites(self, keys: Iterable[str]) -> list[tuple[int, int]]:
        """The places of any of the keys in the compared lines."""
        return [
            (number, at)
            for key in keys
            for number in self.fullest
            for at in self.sources.lines[number].places.get(key, ())[:SAME]
        ]


def share_held(words: Sequence[Word]) -> float:
    """The share of the words, by weight, that the passages hold, 0 to 1; 1 without words."""
    total = sum(word.weight for word in words)
    return sum(word.weight for word in words if word.key) / total if total else 1.0


def runs_at_end(said: Sequence[Token], line: Sequence[Token]) -> Iterator[tuple[int, int, int, int]]:
    """The stretches of a line with whose words the claim ends: the number of words, the first token of the claim, and
    the first and the one after the last token of the line. Words that deny are passed over.
    """
    wanted, held = _spoken(said), _spoken(line)
    for end in range(len(held), 0, -1):
        size = 0
        while size < min(end, len(wanted)) and line[held[end - 1 - size]].key == said[wanted[-1 - size]].key:
            size += 1
        if sum(line[at].content for at in held[end - size : end]) >= RUN:
            first, line_first = wanted[-size], held[end - size]
            if not _has_prefix(said[first - 1 : first], line[line_first - 1 : line_first]):
                yield size, first, line_first, held[end - 1] + 1


def _has_prefix(before: Sequence[Token], line_before: Sequence[Token]) -> bool:
    """Whether the word before a run has a prefix in one place: "is not possible to" and "is impossible to"."""
    words = [token.word for token in (*before, *line_before) if token.content]
    return len(words) == 2 and words[0] != words[1] and (words[0].endswith(words[1]) or words[1].endswith(words[0]))


def _spoken(tokens: Sequence[Token]) -> list[int]:
    """The places of the words that deny nothing."""
    denying = set(cues(tokens))
    return [at for at, token in enumerate(tokens) if token.word[0].isalnum() and at not in denying]


def is_denied(tokens: Sequence[Token], first: int, last: int) -> bool:
    """Whether the words `first` to `last`, or the clause before them, deny something."""
    before = range(first - 1, max(-1, first - BEFORE_RUN - 1), -1)
    begin = next((at + 1 for at in before if tokens[at].breaks), max(0, first - BEFORE_RUN))
    return len(cues(tokens[begin:last])) % 2 == 1


def replaced(said: Sequence[Token], line: Sequence[Token]) -> Iterator[tuple[list[Token], list[Token]]]:
    """The content words in which a claim differs from a line that it copies otherwise, and those in their place.

    No digits, which are compared as numbers, and no words that the other has elsewhere.
    """
    mine, other = [token.key for token in said], [token.key for token in line]
    known, own = set(other), set(mine)
    if sum(key in known for key in mine) < COPIED * len(mine):
        return
    aligned = SequenceMatcher(None, mine, other, autojunk=False)
    if sum(match.size for match in aligned.get_matching_blocks()) < COPIED * len(mine):
        return
    for kind, begin, end, first, last in aligned.get_opcodes():
        new = [token for token in said[begin:end] if token.content]
        old = [token for token in line[first:last] if token.content]
        few = kind == "replace" and 0 < len(new) == len(old) <= REPLACED
        strange = not any(token.key in known for token in new) and not any(token.key in own for token in old)
        if few and strange and not any(token.digits for token in (*new, *old)):
            yield new, old
