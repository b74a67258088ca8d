"""Reasons to doubt a sentence: a number, name, comparison or denial that the passages have elsewhere, or reversed.

Each such word of the sentence is compared with its places in the passages: how well does the best place that says the
same fit (`own`), and how well the best place of a rival: another number or name, or a place that says the opposite?
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from rag.evidence.negation import cues, opposites
from rag.evidence.numbers import Quantity, counts_items, points_back, years_apart
from rag.evidence.word_contexts import WordContexts
from rag.text.english.word_lists import ALL, CUES, DATES, EXCEPTIONS, LIMITS

SHORT: Final = 0.4  # by which the words around a word fit better than the word
OF_ANOTHER: Final = 0.4  # share of the usual fit from which another number of the passages stands in this place
OF_NONE: Final = 0.25  # fit up to which a denial is about something else
OF_DENIAL: Final = 0.75  # share of the usual fit up to which a denial is about something else
QUOTED: Final = 0.8  # usual fit above which the claim says nearly the words of a passage
_NONE: Final[frozenset[str]] = frozenset()

Places = list[tuple[int, int]]
Kind = Literal["name", "number", "comparison", "negation", "denial"]
AHEAD: Final = 0.35  # by which another name may fit better in a claim of other words; less as the usual fit grows
# Fit up to which a rival is about something else. A paraphrase often denies in other words.
LEAST: Final[dict[Kind, float]] = {"comparison": 0.25, "negation": 0.65}
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
        for one in (*self._numbers(), *self._names(), *self._turns(), *self._denials()):
            if self._is_doubtful(one):
                yield _REASONS[one.kind].format(self._said.tokens[one.first].word)
        for index in self._overstated():
            yield f"comparison: the passages do not say {self._said.tokens[index].word!r} of this"

    def _overstated(self) -> Iterator[int]:
        """The words for a whole of what a near line limits: "all birds" for "most birds" or "birds except ducks"."""
        said, near = self._said.tokens, [self._sources.lines[number] for number in self._contexts.fullest[:2]]
        excepted = any(token.word in EXCEPTIONS for token in said) or bool(cues(said))
        wholes = [at for at, token in enumerate(said) if token.word in ALL and said[at - 1].word != "-"]
        for index in (at for at in wholes if at not in self._said.denied):
            noun = next((self._words[at].key for at in range(index + 1, index + 4) if at in self._words), "")
            places = [(line.tokens, at) for line in near for at in line.places.get(noun, ())]
            before = {one.word for line, at in places for one in line[max(0, at - 3) : at]}
            omitted = any(line is near[0].tokens and any(one.word in EXCEPTIONS for one in line) for line, _ in places)
            if (before & LIMITS and before.isdisjoint(ALL)) or (omitted and not excepted):
                yield index

    def _is_doubtful(self, one: Compared) -> bool:
        """Whether a rival fits clearly better, or the words around it do; or the passages deny nothing there."""
        best = self._contexts.best
        own, rival = best(one.first, one.last, one.own), best(one.first, one.last, one.rivals)
        usual = self._contexts.usual(one.first)
        if rival <= LEAST.get(one.kind, -1.0):
            return False
        if one.kind == "denial" and own < max(OF_NONE, OF_DENIAL * usual):
            return True
        ahead = AHEAD * (1.0 - usual) if one.kind == "name" else 0.0
        return rival - own > ahead or usual - own > SHORT

    def absent(self) -> Iterator[tuple[int, str, Literal["", "unit", "measure", "number"]]]:
        """The numbers that no passage has: where each begins, its words, and what alone may differ, "" for nothing.

        A passage may have it with another "unit", as a "measure" of another size, 89 kg where the claim has 89 pounds,
        or another "number" that it rounds, or two years so far apart.
        """
        held = [quantity for line in self._sources.lines for quantity in line.quantities]
        for quantity in self._said.quantities:
            same, fitting, rivals = self._places(quantity)
            titled = any(key in self._sources.known for key in quantity.keys)
            if not (fitting or titled or quantity.vague or self._counts(quantity, rivals)):
                near = years_apart(quantity, held) or any(quantity.nearly(other) for other in held)
                differs: Literal["", "unit", "measure", "number"] = "unit" if same else "number" if near else ""
                if same and all(quantity.measures_as(other) for other in held if quantity.same(other)):
                    differs = "measure"
                yield self._said.tokens[quantity.first].start, self._said.words(quantity), differs

    def _counts(self, quantity: Quantity, rivals: Places) -> bool:
        """Whether the number counts things of the text, and no other number stands in its place."""
        contexts, holders, said = self._contexts, self._sources.holders, self._said.tokens
        another = contexts.best(quantity.first, quantity.last, rivals) >= OF_ANOTHER * contexts.usual(quantity.first)
        return not another and (points_back(quantity, said) or counts_items(quantity, said, holders))

    def _numbers(self) -> Iterator[Compared]:
        for quantity in self._said.quantities:
            _, fitting, rivals = self._places(quantity)
            if fitting and not quantity.vague and not points_back(quantity, self._said.tokens):
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

    def _names(self) -> Iterator[Compared]:
        """The names. A name of the titles alone has no place that could be compared.

        A line also speaks of what its heading or lead names. A first word that a passage has in lower case is no name.
        """
        contexts, lines, sources = self._contexts, self._sources.lines, self._sources
        held = [(number, at, lines[number].tokens[at]) for number in contexts.lines for at in lines[number].names]
        for index in (at for at in self._said.names if at not in self._said.counted):
            token = self._said.tokens[index]
            if token.key in sources.holders and not (token.first and any(token.word in t.small for t in sources.texts)):
                dated = token.word in DATES
                rivals = [(n, at) for n, at, t in held if t.key != token.key and (t.word in DATES) == dated]
                introduced = [(n, 0) for n in contexts.lines if token.key in sources.above[n]]
                yield Compared("name", index, index, [*contexts.sites([token.key]), *introduced], rivals)

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
            quoted = self._contexts.usual(index) > QUOTED
            alike, reversed_ = self._by_side(keys, index, strict=quoted)
            opposed, opposite_denied = self._by_side(other - keys, index, strict=True)
            own = [*alike, *opposite_denied]
            yield Compared("negation", index, index, own, reversed_)
            yield Compared("comparison", index, index, own, opposed)

    def _by_side(self, keys: Iterable[str], index: int, *, strict: bool) -> tuple[Places, Places]:
        """The places of the keys that are denied, or affirmed, as token `index` of the sentence is; and the others.

        A paraphrase denies in other words: "without a flag" is "no flag is needed". Unless `strict`, a place is
        reversed only if nothing is denied near the affirmed word.
        """
        denied, lines = index in self._said.denied, self._sources.lines
        sides: tuple[Places, Places] = [], []
        for number, at in self._contexts.sites(keys):
            differs = (at in lines[number].denied) != denied
            if differs and not strict:
                differs = not (lines[number].denies_near(at) if denied else self._said.denies_near(index))
            sides[differs].append((number, at))
        return sides

    def _denials(self) -> Iterator[Compared]:
        """Each "not", with the places where the passages deny anything."""
        denials = [(number, at) for number in self._contexts.lines for at in self._sources.lines[number].denials]
        for cue in cues(self._said.tokens):
            yield Compared("denial", cue, cue, denials, [])
