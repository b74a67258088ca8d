"""The numbers of a claim that no passage has, or that the passages have with another unit or as a bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations, pairwise
from typing import Final

from rag.evidence.doubts import Comparison, Places
from rag.evidence.mentions import Mentions, Reason, missing_reason
from rag.evidence.quantity import NEARLY, UNNAMED, Quantity
from rag.evidence.words import Token
from rag.text.english import numerals
from rag.text.english.stopwords import LIGHT
from rag.text.english.units import named

OF_ANOTHER: Final = 0.4  # share of the usual fit from which another number of the passages has this place
MOST_ITEMS: Final = 12  # of a list that a number may count
NOUN_REACH: Final = 3  # tokens between a number and what it counts
_BOUND_REACH: Final = 4  # tokens before a number that may bound it: "no less than"
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
            if (last := self._strange_unit(quantity, fitting)) is not None:
                yield missing_reason("unit", self._written(quantity.first, last), near=True)
            if fitting and (first := self._added_bound(quantity, fitting)) is not None:
                yield missing_reason("number", self._written(first, quantity.last), near=True)
            if fitting and self._is_another_version(quantity):
                yield missing_reason("number", self._said[quantity.first].raw, near=False)
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
                loosely = any(quantity.size == held.size and quantity.differs_in_base(held) for held in same)
                near = loosely or (near and not all(map(quantity.measures_as, same)))
                yield missing_reason("unit", number, near=near)
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

    def _is_another_version(self, quantity: Quantity) -> bool:
        """Whether it is the number of a version or a section, and the passages write none so: 3.1 for 3.10."""
        token = self._said[quantity.first]
        before = self._said[max(0, quantity.first - 1) : quantity.first]
        if quantity.unit or "." not in token.raw or not any(t.capital or t.word in numerals.VERSIONS for t in before):
            return False
        lines = self._sources.lines
        return all(
            line.tokens[held.first].raw != token.raw for line in lines for held in line.readings if quantity.same(held)
        )

    def _counts_items(self, quantity: Quantity) -> bool:
        """Whether it counts a list after it, whose content words the passages have: "two systems, A and B"."""
        words, after = self._words, quantity.last + 1
        begin = next((at for at in range(after, len(words)) if words[at] in numerals.BEFORE_LIST), len(words))
        listed = self._said[begin + 1 :]
        items = "".join("|" if token.word in numerals.LIST_SEPARATORS else "x" * token.content for token in listed)
        count = sum(map(bool, items.split("|")))
        known = all(token.key in self._sources.holders for token in listed if token.content)
        return not quantity.unit and 2 <= count <= MOST_ITEMS and quantity.value == str(count) and known

    def _strange_unit(self, quantity: Quantity, places: Places) -> int | None:
        """The last token of a number that is there with another unit or noun: "150 kg" for "150 PS", "3 boats" for
        "3 coins".
        """
        fitting = [held for held in self._held if quantity.same(held) and quantity.fits(held)]
        units = {held.unit for held in fitting}
        measured = quantity.size is not None and quantity.size[1] != ""
        equal = measured and any(  # twice a day is every 12 hours, and 0.8 is 80%
            held.size == quantity.size or held.share == quantity.share is not None for held in fitting
        )
        if quantity.vague or not units or equal:
            return None
        if quantity.unit:
            return quantity.last if units == {""} and quantity.unit not in UNNAMED | self._sources.units else None
        after = self._said[quantity.last + 1 : quantity.last + 4]
        strange = "" not in units and units.isdisjoint(named([token.raw for token in after]))
        # Not "318 Earth masses" and "3 Na⁺ ions", and "two people" may be any two.
        noun = [token for token in after[:1] if not token.capital and token.word not in LIGHT | {"vs"}]
        is_noun = any(token.content and token.key not in self._sources.holders for token in noun)
        return quantity.last + 1 if (strange and is_noun) or self._counts_other(noun, after, places) else None

    def _counts_other(self, noun: Sequence[Token], after: Sequence[Token], places: Places) -> bool:
        """Whether the passages have the noun, but another one after the number, and this one nowhere around it.

        "Ten warehouse spaces" are "ten spaces of the warehouse".
        """
        key = next((token.key for token in noun if token.content), "")
        lines = [(self._sources.lines[number].tokens, at) for number, at in places]
        following = [tokens[at + 1 : at + 2] for tokens, at in lines]
        around = {token.key for tokens, at in lines for token in tokens[max(0, at - NOUN_REACH) : at + 1 + NOUN_REACH]}
        others = all(token.content for tokens in following for token in tokens) and all(following)
        others = others and {token.key for tokens in following for token in tokens}.isdisjoint(t.key for t in after)
        return key in self._sources.holders and bool(places) and others and key not in around

    def _added_bound(self, quantity: Quantity, places: Places) -> int | None:
        """The token that makes another bound of a number: "over 6 euros" for "6 euros", "at least 3" for "up to 3"."""
        words = self._words[: quantity.first]
        added = next((at for at, word in enumerate(words) if at >= len(words) - 2 and word in numerals.BOUNDS), None)
        lines = [(self._sources.lines[number], at) for number, at in places]
        held = [_bound([token.word for token in line.tokens[max(0, at - _BOUND_REACH) : at]]) for line, at in lines]
        said = _bound(words)
        if said and all(held) and said not in held:
            return max(0, quantity.first - 2)
        distinct = {number: self._sources.lines[number].tokens for number, _ in places}.values()
        bounded = any(token.word in numerals.BOUNDING for tokens in distinct for token in tokens)
        return None if bounded else added

    def _is_computed(self, quantity: Quantity) -> bool:
        """Whether a reader may have computed it: it follows "for example" or "so", or a condition, or is in a formula
        or in a sentence with "would".

        Or it is the sum, difference, product or quotient of two other numbers of the claim. Or the claim calls it a
        total or an estimate, and the passages have numbers of its unit.
        """
        before = self._words[: quantity.first]
        cued = not numerals.DERIVING.isdisjoint((*before, *map(" ".join, pairwise(before)))) or "would" in self._words
        amounts = (other.amount for other in self._claim.quantities if other is not quantity)
        pairs = combinations(filter(None, amounts), 2)
        results = (quantity.amount in (a + b, abs(a - b), a * b, a / b, b / a) for a, b in pairs)
        if cued or not numerals.FORMULA.isdisjoint(self._words) or any(results):
            return True
        estimated = not numerals.ESTIMATED.isdisjoint(before[-2:]) or not numerals.SUMMED.isdisjoint(self._words)
        return estimated and any(map(quantity.counts_like, self._held))

    def _may_be(self, quantity: Quantity) -> bool:
        """Whether the passages have it rounded, as the parts of a ratio, as two years so far apart, with other signs
        between its digits, as an hour of no half of the day, or as "nothing".
        """
        ratio = quantity.value.split(":")
        is_ratio = len(ratio) > 1 and {held.value for held in self._held}.issuperset(ratio)
        near = any(map(quantity.nearly, self._held)) or is_ratio
        if near or self._is_time_between(quantity) or self._has_other_signs(self._said[quantity.first]):
            return True
        words = (token.word for line in self._sources.lines for token in line.tokens)
        return self._is_hour(quantity) or (quantity.value == "0" and not numerals.NOTHING.isdisjoint(words))

    def _is_hour(self, quantity: Quantity) -> bool:
        """Whether the passages leave open which half of the day they mean: 2:30 pm for "half past two"."""
        if not (clock := numerals.CLOCK.fullmatch(quantity.value)):
            return False
        hour, minute = int(clock[1]), clock[2]
        halves = {f"{(hour + 12) % 24}:{minute}", f"{hour % 12 or 12}:{minute}"}
        whole = {str(hour % 12 or 12)} if minute == "00" else set[str]()
        return any(
            held.value in halves
            or (held.value in whole and not held.unit and line.tokens[held.first - 1].word in numerals.BEFORE_HOUR)
            for line in self._sources.lines
            for held in line.readings
        )

    def _has_other_signs(self, number: Token) -> bool:
        """Whether the passages write its digits with other points and commas: 1.250 for 1,250, and 7,50 for 7.50."""
        held = (line.tokens[q.first] for line in self._sources.lines for q in line.readings)
        bare = numerals.SEPARATORS.sub("", number.raw)
        alike = [other.raw for other in held if other.digits and numerals.SEPARATORS.sub("", other.raw) == bare]
        return any(numerals.GROUPED.fullmatch(raw) or "," in raw for raw in (number.raw, *alike)) and bool(alike)

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


def _bound(before: Sequence[str]) -> str:
    """Which bound the words before a number make of it: "lower", "upper", "exact"; "" for none.

    >>> _bound(["no", "less", "than"]), _bound(["at", "least"]), _bound(["less", "than"]), _bound(["over"])
    ('lower', 'lower', 'upper', 'lower')
    """
    last = range(max(0, len(before) - 2), len(before))
    at = next((at for at in last if before[at] in numerals.BOUND), -1)
    bound = numerals.BOUND[before[at]] if at >= 0 else ""
    denied = at > 0 and before[at - 1] in numerals.DENYING
    return numerals.REVERSED[bound] if denied and bound in numerals.REVERSED else bound
