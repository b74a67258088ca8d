"""Reasons to doubt a claim: a number that no passage has, or a word that the passages have elsewhere, or reversed.

Each number, name, comparison or denial is compared with its places in the passages: `own` is how well the context of
its best place fits, `rival` the same for another number or name, or for a place that says the opposite. What no single
word shows is one score of six signals. Its weights are those of a logistic regression on labelled claims
(`bench.doubt`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import combinations, pairwise
from typing import Final, Literal, NamedTuple

from rag.evidence.analyzed_text import cues, opposites
from rag.evidence.mentions import Mentions, Reason, missing_reason
from rag.evidence.quantity import NEARLY, UNNAMED, Quantity
from rag.evidence.word_contexts import WordContexts
from rag.text.english import numerals
from rag.text.english.numerals import POINTERS, SMALL
from rag.text.english.units import named
from rag.text.english.word_lists import ALL, CAUSES, CUES, DATES, EXCEPTIONS, LIMITS, TIMES, UNIVERSALS

SHORT: Final = 0.4  # by which the words around a word fit better than the word
OF_NONE: Final = 0.25  # fit up to which a denial is about something else
OF_DENIAL: Final = 0.75  # share of the usual fit up to which a denial is about something else
TAIL: Final = 4  # content words at the end of a claim
ADJACENT: Final = 0.5  # share that a word counts in a line before or after
MOST_MISSING: Final = 4  # missing words that count; more are no paraphrase
QUOTED: Final = 0.8  # usual fit above which the claim says nearly the words of a passage
_NONE: Final[frozenset[str]] = frozenset()

Places = list[tuple[int, int]]
DoubtKind = Literal["name", "number", "comparison", "negation", "denial"]
AHEAD: Final = 0.35  # by which another name may fit better in a claim of other words; less as the usual fit grows
# Fit up to which a rival is about something else. A paraphrase often denies in other words.
LEAST: Final[dict[DoubtKind, float]] = {"comparison": 0.25, "negation": 0.65}
_REASONS: Final[dict[DoubtKind, str]] = {
    "name": "name: {} stands in the passages for something else",
    "number": "number: {} stands in the passages for something else",
    "comparison": "comparison: the passages say the opposite of {!r}",
    "negation": "negation: the passages say the opposite of {!r}",
    "denial": "negation: the passages do not say {!r} of this",
}


class ComparedToken(NamedTuple):
    """Tokens `first..last` of the sentence, with their places in the passages and those of their rivals."""

    kind: DoubtKind
    first: int
    last: int
    own: Places
    rivals: Places


class Comparison(WordContexts):
    """The words of one sentence that are compared with their places in the passages."""

    def doubts(self) -> Iterator[str]:
        """Reasons of a `Verdict`, but for absent numbers."""
        denials = [(number, at) for number in self.fullest for at in self.sources.lines[number].denials]
        denied = [ComparedToken("denial", cue, cue, denials, []) for cue in cues(self.said.tokens)]
        for compared in (*self._numbers(), *self._names(), *self._turns(), *denied):
            if self._is_doubtful(compared):
                yield _REASONS[compared.kind].format(self.said.tokens[compared.first].word)
        for index in self._overstated():
            yield f"comparison: the passages do not say {self.said.tokens[index].word!r} of this"

    def _overstated(self) -> Iterator[int]:
        """The words for a whole of what a near line limits: "all birds" for "most birds" or "birds except ducks"."""
        said, near = self.said.tokens, [self.sources.lines[number] for number in self.fullest[:2]]
        excepted = any(token.word in EXCEPTIONS for token in said) or bool(cues(said))
        wholes = [at for at, token in enumerate(said) if token.word in ALL and said[at - 1].word != "-"]
        for index in (at for at in wholes if at not in self.said.denied):
            noun = next((word.key for word in self.words if index < word.index <= index + 3), "")
            places = [(line.tokens, at) for line in near for at in line.places.get(noun, ())]
            before = {token.word for line, at in places for token in line[max(0, at - 3) : at]}
            omitted = any(
                line is near[0].tokens and any(token.word in EXCEPTIONS for token in line) for line, _ in places
            )
            if (before & LIMITS and before.isdisjoint(ALL)) or (omitted and not excepted):
                yield index

    def _is_doubtful(self, token: ComparedToken) -> bool:
        """Whether a rival fits clearly better, or the words around it do; or the passages deny nothing there."""
        own, rival = (self.best(token.first, token.last, places) for places in (token.own, token.rivals))
        usual = self.usual(token.first)
        if rival <= LEAST.get(token.kind, -1.0):
            return False
        if token.kind == "denial" and own < max(OF_NONE, OF_DENIAL * usual):
            return True
        ahead = AHEAD * (1.0 - usual) if token.kind == "name" else 0.0
        doubtful = rival - own > ahead or usual - own > SHORT
        labels = self.labels(token.first) if token.kind == "number" else 0
        if labels == 1 or (labels and doubtful):  # among several labels, words far from the value tell as much
            return self.labelled(token.first, token.rivals) > self.labelled(token.first, token.own)
        return doubtful

    def _numbers(self) -> Iterator[ComparedToken]:
        for quantity in self.quantities:
            fitting, rivals = self.numbered(quantity)
            if fitting and not quantity.vague and not self.points_back(quantity):
                yield ComparedToken("number", quantity.first, quantity.last, fitting, rivals)

    def points_back(self, quantity: Quantity) -> bool:
        """Whether the number counts a few things that were named before: "the two", "one of these three steps"."""
        tokens, first = self.said.tokens, quantity.first
        is_few = quantity.value in ("2", "3") and tokens[first].word in SMALL and not quantity.unit
        return is_few and first > 0 and tokens[first - 1].word in POINTERS

    def numbered(self, quantity: Quantity) -> tuple[Places, Places]:
        """The places of the same number with a fitting unit, and of its rivals in the compared lines."""
        lines, own = self.sources.lines, self.quantities
        numbered = [(number, q) for number, line in enumerate(lines) for q in line.readings]
        fitting = [(number, q.first) for number, q in numbered if quantity.same(q) and quantity.fits(q)]
        kind = (False, quantity.unit, quantity.is_year)
        rivals = [(n, q) for n, q in numbered if n in self.fullest and (q.vague, q.unit, q.is_year) == kind]
        return fitting, [(number, q.first) for number, q in rivals if not any(map(q.same, own))]

    def _names(self) -> Iterator[ComparedToken]:
        """The names. A first word that a passage has in lower case is none, and one of the titles has no place.

        A line also speaks of what its heading or lead names.
        """
        lines, sources = self.sources.lines, self.sources
        held = [(number, at, lines[number].tokens[at]) for number in self.fullest for at in lines[number].names]
        for index in (at for at in self.said.names if at not in self.said.counted):
            token = self.said.tokens[index]
            if token.key in sources.holders and not (token.first and any(token.word in t.words for t in sources.texts)):
                dated = token.word in DATES
                rivals = [(n, at) for n, at, t in held if t.key != token.key and (t.word in DATES) == dated]
                introduced = [(n, 0) for n in self.fullest if token.key in sources.above[n]]
                yield ComparedToken("name", index, index, [*self.sites([token.key]), *introduced], rivals)

    def _turns(self) -> Iterator[ComparedToken]:
        """The words that the passages deny where the sentence affirms them or the reverse, or replace by an opposite.

        Rivals of "Atlas is faster" are "is slower" ("comparison") and "is not faster" ("negation"), but not "is not
        slower".
        """
        words = {word.index: word.key for word in self.words}
        for index, token in enumerate(self.said.tokens):
            same, other = opposites().get(token.key, (_NONE, _NONE))
            if token.word in CUES or (token.capital and not token.first) or not (same or index in words):
                continue
            keys = (same | {token.key, words.get(index, "")}) - {""}
            alike, reversed_ = self._by_side(keys, index, strict=self.usual(index) > QUOTED)
            opposed, opposite_denied = self._by_side(other - keys, index, strict=True)
            yield ComparedToken("negation", index, index, [*alike, *opposite_denied], reversed_)
            yield ComparedToken("comparison", index, index, [*alike, *opposite_denied], opposed)

    def _by_side(self, keys: Iterable[str], index: int, *, strict: bool) -> tuple[Places, Places]:
        """The places of the keys that are denied, or affirmed, as token `index` of the sentence is; and the others.

        A paraphrase denies in other words: "without a flag" is "no flag is needed". Unless `strict`, a place is
        reversed only if nothing is denied near the affirmed word.
        """
        denied, lines = index in self.said.denied, self.sources.lines
        sides: tuple[Places, Places] = [], []
        for number, at in self.sites(keys):
            differs = (at in lines[number].denied) != denied
            if differs and not strict:
                differs = not (lines[number].denies_near(at) if denied else self.said.denies_near(index))
            sides[differs].append((number, at))
        return sides


WEIGHTS: Final = {"tail": -4.54, "missing": -0.69, "short": -1.50, "denial": 0.82, "added": 0.85, "limited": 1.54}
BIAS: Final = 3.22


def score(claim: WordContexts) -> float:
    """How doubtful the claim is, among claims that no other rule doubts; it is doubted above 0."""
    found = signals(claim)
    return BIAS + sum(weight * found[name] for name, weight in WEIGHTS.items())


def signals(claim: WordContexts) -> dict[str, float]:
    """Six figures about where the lines of the passages have the words of a claim.

    A paraphrase says in other words what one line says, from its beginning to its end. A falsehood made of the words of
    the passages takes its end from elsewhere (`tail`), leaves out a "not" (`denial`) or a "most" (`limited`), or adds
    an "all", "because" or "before" (`added`). Whoever writes in his own words has some that no passage has (`missing`).
    `short`: the claim has four content words or fewer, and is nothing but its tail. None of this is certain alone.
    """
    sources, line = claim.sources, claim.fullest[:1]
    nearest = sources.lines[line[0]].tokens if line else ()
    near = {token.word for n in line for source in (sources.lines[n], *sources.around(n)) for token in source.tokens}
    said = {token.word for token in claim.said.tokens}
    limits = {token.word for token in nearest} & LIMITS
    kinds = [kind for kind in (UNIVERSALS, CAUSES) if near.isdisjoint(kind)]  # any other of the kind is a counterpart
    return {
        "tail": _tail(claim),
        "missing": min(MOST_MISSING, sum(not word.key for word in claim.words)),
        "short": len(claim.words) <= TAIL,
        "denial": bool(cues(nearest)) and not cues(claim.said.tokens),
        "added": len(said & TIMES - near) + sum(len(said & kind) for kind in kinds),
        "limited": bool(said & UNIVERSALS - near) and bool(limits - said),
    }


def _tail(claim: WordContexts) -> float:
    """The share of the last words that one line and what introduces it hold; those of adjacent lines count half."""
    sources, words = claim.sources, claim.words[-TAIL:]
    most, whole = 0.0, sum(word.weight for word in words)
    for line in {line for word in words for line in sources.holders.get(word.key, ())}:
        own = {*sources.lines[line].places, *sources.above[line], *sources.known}
        adjacent = {key for other in sources.around(line) for key in other.places}
        most = max(most, sum(word.weight * ((word.key in own) or ADJACENT * (word.key in adjacent)) for word in words))
    return most / whole if whole else 1.0


OF_ANOTHER: Final = 0.4  # share of the usual fit from which another number of the passages has this place
MOST_ITEMS: Final = 12  # of a list that a number may count
_AGE_REACH: Final = 3  # tokens between "aged" or "old" and the age


class NumberCheck:
    """The numbers of one claim, compared with those of the passages. `text` is the text of the claim.

    `derives`: the claim is an example or a conclusion, so that a reader may have computed its numbers.
    """

    def __init__(self, claim: Comparison, text: str, mentions: Mentions, *, derives: bool = False) -> None:
        self._claim, self._text, self._mentions, self._derives = claim, text, mentions, derives
        self._sources = claim.sources
        self._said = claim.said.tokens
        self._words = [token.word for token in self._said]

    def reasons(self) -> Iterator[Reason]:
        """The numbers that no passage has, or that it has only with another unit.

        "It weighs 98 kg" for "It weighs 89 kg" is contradicted; "196 pounds" is unconfirmed, since it is nearly 89 kg.
        """
        for quantity in self._claim.quantities:
            fitting, rivals = self._claim.numbered(quantity)
            if (last := self._strange_unit(quantity)) is not None:
                yield missing_reason("unit", self._written(quantity.first, last), near=True)
            if fitting and (first := self._added_bound(quantity, fitting)) is not None:
                yield missing_reason("number", self._written(first, quantity.last), near=True)
            if fitting or quantity.vague or self._is_no_claim(quantity):
                continue
            another = OF_ANOTHER * self._claim.usual(quantity.first)
            counts = self._claim.points_back(quantity) or self._counts_items(quantity)
            if counts and self._claim.best(quantity.first, quantity.last, rivals) < another:
                continue
            number = self._written(quantity.first, quantity.last)
            same = [held for held in self._held if quantity.same(held)]
            near = self._derives or self._is_computed(quantity) or self._may_be(quantity)
            if same:
                yield missing_reason("unit", number, near=near and not all(map(quantity.measures_as, same)))
            elif near:
                yield missing_reason("number", number, near=True)
            else:
                start, counted = self._said[quantity.first].start, self._is_counted(quantity)
                yield self._mentions.number(self._text, start, number, counted=counted)

    @cached_property
    def _held(self) -> list[Quantity]:
        return [quantity for line in self._sources.lines for quantity in line.readings]

    def _written(self, first: int, last: int) -> str:
        return " ".join(self._words[first : last + 1])

    def _is_no_claim(self, quantity: Quantity) -> bool:
        """Whether it belongs to a title or a name such as B-12, or numbers a part of the sentence: "(1) press it"."""
        before, after = quantity.first - 1, quantity.last + 1
        around = [self._words[at] if 0 <= at < len(self._words) else "" for at in (before - 1, before, after)]
        is_few = quantity.value.isdigit() and int(quantity.value) <= MOST_ITEMS
        numbers_parts = is_few and around[0] in numerals.BEFORE_PART and around[1:] == ["(", ")"]
        named = not self._sources.known.isdisjoint(quantity.keys)
        return numbers_parts or named or self._mentions.has_code(self._text, self._said[quantity.last].end)

    def _counts_items(self, quantity: Quantity) -> bool:
        """Whether it counts a list after it, whose content words the passages have: "two systems, A and B"."""
        words, after = self._words, quantity.last + 1
        begin = next((at for at in range(after, len(words)) if words[at] in numerals.BEFORE_LIST), len(words))
        listed = self._said[begin + 1 :]
        items = "".join("|" if token.word in numerals.LIST_SEPARATORS else "x" * token.content for token in listed)
        count = sum(map(bool, items.split("|")))
        known = all(token.key in self._sources.holders for token in listed if token.content)
        return not quantity.unit and 2 <= count <= MOST_ITEMS and quantity.value == str(count) and known

    def _strange_unit(self, quantity: Quantity) -> int | None:
        """The last token of a number that is there with another unit: "5 tablets" for "5 mg", "150 kg" for "150 PS"."""
        fitting = [held for held in self._held if quantity.same(held) and quantity.fits(held)]
        units = {held.unit for held in fitting}
        measured = quantity.size is not None and quantity.size[1] != ""
        equal = measured and any(held.size == quantity.size for held in fitting)  # twice a day is every 12 hours
        if quantity.vague or not units or equal:
            return None
        if quantity.unit:
            return quantity.last if units == {""} and quantity.unit not in UNNAMED | self._sources.units else None
        after = self._said[quantity.last + 1 : quantity.last + 4]
        strange = "" not in units and units.isdisjoint(named([token.raw for token in after]))
        is_noun = any(token.content and token.key not in self._sources.holders for token in after[:1])
        return quantity.last + 1 if strange and is_noun else None

    def _added_bound(self, quantity: Quantity, places: Places) -> int | None:
        """The token that makes a bound of a number which the passages state plainly: "over 6 euros" for "6 euros"."""
        words = self._words[: quantity.first]
        added = next((at for at, word in enumerate(words) if at >= len(words) - 2 and word in numerals.BOUNDS), None)
        lines = (self._sources.lines[number] for number, _ in places)
        bounded = any(token.word in numerals.BOUNDING for line in lines for token in line.tokens)
        return None if bounded else added

    def _is_computed(self, quantity: Quantity) -> bool:
        """Whether a reader may have computed it: it follows "for example" or "so", or a condition, or is in a formula.

        Or it is the sum, difference, product or quotient of two other numbers of the claim. Or the claim calls it a
        total or an estimate, and the passages have numbers of its unit.
        """
        before = self._words[: quantity.first]
        cued = not numerals.DERIVING.isdisjoint((*before, *map(" ".join, pairwise(before))))
        amounts = (other.amount for other in self._claim.quantities if other is not quantity)
        pairs = combinations(filter(None, amounts), 2)
        results = (quantity.amount in (a + b, abs(a - b), a * b, a / b, b / a) for a, b in pairs)
        if cued or not numerals.FORMULA.isdisjoint(self._words) or any(results):
            return True
        estimated = not numerals.ESTIMATED.isdisjoint(before[-2:]) or not numerals.SUMMED.isdisjoint(self._words)
        return estimated and any(map(quantity.counts_like, self._held))

    def _may_be(self, quantity: Quantity) -> bool:
        """Whether the passages have it rounded, as the parts of a ratio, or as two years so far apart."""
        ratio = quantity.value.split(":")
        is_ratio = len(ratio) > 1 and {held.value for held in self._held}.issuperset(ratio)
        return any(map(quantity.nearly, self._held)) or is_ratio or self._is_time_between(quantity)

    def _is_time_between(self, quantity: Quantity) -> bool:
        """Whether it is a number of years, or an age, and two years of the passages are about so far apart."""
        around = self._words[max(0, quantity.first - _AGE_REACH) : quantity.last + 1 + _AGE_REACH]
        is_age = not quantity.unit and not numerals.AGES.isdisjoint(around)
        if not (is_age or quantity.unit == "year") or not quantity.value.isdigit():
            return False
        apart, years = int(quantity.value), [int(held.value) for held in self._held if held.is_year]
        allowed = NEARLY * apart if quantity.rounded else 0
        return any(abs(later - earlier - apart) <= allowed for later in years for earlier in years)

    def _is_counted(self, quantity: Quantity) -> bool:
        """Whether the passages count another number of the same unit, or of the thing named after it."""
        if quantity.unit or quantity.per:
            return any(map(quantity.counts_like, self._held))
        counted = [(line.tokens, q.last) for line in self._sources.lines for q in line.readings if not q.vague]
        nouns = {token.key for tokens, last in counted for token in tokens[last + 1 : last + 2]}
        after = self._said[quantity.last + 1 : quantity.last + 2]
        return any(token.content and token.key in nouns for token in after)
