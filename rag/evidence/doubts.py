"""Reasons to doubt a claim: a word that the passages have elsewhere, or reversed.

Each number, name, comparison or denial is compared with its places in the passages: `own` is how well the context of
its best place fits, `rival` the same for another number or name, or for a place that says the opposite. What no single
word shows is one score of six signals. Its weights are those of a logistic regression on labelled claims
(`bench.doubt`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from rag.evidence.analyzed_text import TextLine, cues, implied, listed, opposites
from rag.evidence.quantity import Quantity
from rag.evidence.word_contexts import WordContexts, is_denied, replaced, runs_at_end
from rag.evidence.words import Token, key_of
from rag.text.english import numerals
from rag.text.english.numerals import POINTERS, SMALL
from rag.text.english.stopwords import LIGHT, SAYS_ALSO
from rag.text.english.word_lists import (
    ALL,
    BEGIN_SETS_OF_DAYS,
    CAUSES,
    CONDITIONS,
    CUES,
    DATES,
    DEFAULTS,
    EXCEPTIONS,
    LIMITS,
    TIMES,
    UNIVERSALS,
)

SHORT: Final = 0.4  # by which the words around a word fit better than the word
OF_NONE: Final = 0.25  # fit up to which a denial is about something else
OF_DENIAL: Final = 0.75  # share of the usual fit up to which a denial is about something else
TAIL: Final = 4  # content words at the end of a claim
ADJACENT: Final = 0.5  # share that a word counts in a line before or after
MOST_MISSING: Final = 4  # missing words that count; more are no paraphrase
QUOTED: Final = 0.8  # usual fit above which the claim says nearly the words of a passage
JOINING: Final = frozenset({"than", "before", "after", "because"})  # has two sides that cannot be exchanged
STOPS: Final = frozenset(".;:!?")
REPEATED: Final = 0.6  # least share of the claim in such a run, denied alike, with which no other denial counts
DENIED_WORDS: Final = 2  # content words of a statement that is denied as a whole
CONDITION: Final = 4  # tokens from "if" to the "not" of its clause
COMPARED: Final = 4  # tokens before "than" among which the comparative is
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
        denials = [(number, at) for number in self._near for at in self.sources.lines[number].denials]
        denied = [
            ComparedToken("denial", at, at, denials, []) for at in cues(self.said.tokens) if not self._assumes(at)
        ]
        alike, contrary = self._same_ends()
        for compared in (*self._numbers(), *self._names(), *self._turns(), *denied):
            repeated = contrary < alike >= REPEATED * len(self.said.tokens) and compared.kind in ("denial", "negation")
            if not repeated and self._is_doubtful(compared):
                yield _REASONS[compared.kind].format(self.said.tokens[compared.first].word)
        if contrary > alike:
            yield "negation: the passages say the opposite of its end"
        if self._is_denied_whole():
            yield "negation: the passages deny it"
        for said, held in self._substituted():
            yield f"comparison: the passages have {held!r} in place of {said!r}"
        for joint in self._exchanged():
            yield f"comparison: the passages have the two sides of {joint!r} the other way round"
        for index in self._overstated():
            yield f"comparison: the passages do not say {self.said.tokens[index].word!r} of this"

    def _assumes(self, cue: int) -> bool:
        """Whether a denial is of a condition, for which a near line tells a default: "If no name is given" of it."""
        before = {token.word for token in self.said.tokens[max(0, cue - CONDITION) : cue]}
        told = (token.word for number in self._near for token in self.sources.lines[number].tokens)
        alone = self.said.tokens[cue].word != "without" and len(cues(self.said.tokens)) == 1
        return alone and not CONDITIONS.isdisjoint(before) and not DEFAULTS.isdisjoint(told)

    @cached_property
    def _near(self) -> list[int]:
        """The compared lines, and the one behind the best, which may begin with "It is not"."""
        after = [number + 1 for number in self.fullest[:1] if number + 1 < len(self.sources.lines)]
        return list(dict.fromkeys((*self.fullest, *after)))

    def _same_ends(self) -> tuple[int, int]:
        """How many words at the end of the claim a near line has in a row, denied alike, and denied otherwise.

        Fewer than `RUN` content words count as none. "It is not the chance of rain tomorrow" denies the end of "Frost
        is the chance of rain tomorrow".
        """
        longest = [0, 0]
        for line in (self.sources.lines[number].tokens for number in self._near):
            for size, said_first, first, last in runs_at_end(self.said.tokens, line):
                otherwise = is_denied(self.said.tokens, said_first, len(self.said.tokens)) != is_denied(
                    line, first, last
                )
                longest[otherwise] = max(longest[otherwise], size)
        return longest[0], longest[1]

    def _is_denied_whole(self) -> bool:
        """Whether a near line denies a statement of which the claim has all words: "The frame is not original."

        The claim may say more, as in "The frame of the picture is original", but denies nothing in any words.
        """
        keys = {token.key for token in self.said.tokens}
        if cues(self.said.tokens) or not implied().isdisjoint(keys):
            return False
        lines = (self.sources.lines[number].tokens for number in self.fullest[:3])
        denied = (part for line in lines for part, count in _statements(line) if count == 1)
        contents = ([token.key for token in part if token.content] for part in denied)
        return any(len(content) >= DENIED_WORDS and keys.issuperset(content) for content in contents)

    def _substituted(self) -> list[tuple[str, str]]:
        """The words of a near copy of a line that stand in place of others, and are in the passages elsewhere.

        "A landlord may be removed by a bailiff" for "A tenant may be removed by a bailiff". A word that the passages do
        not have is a synonym more often.
        """
        near, wanted = self.fullest[:3], [token.key for token in _wordings(self.said) if token.content]
        if any(all(key in self.sources.lines[number].places for key in wanted) for number in near):
            return []  # another line has all of its words
        for number in near:
            pairs = replaced(_wordings(self.said), _wordings(self.sources.lines[number]))
            if found := [(new[0].word, old[0].word) for new, old in pairs if self._changes(number, new, old)]:
                return found
        return []

    def _changes(self, number: int, new: Sequence[Token], old: Sequence[Token]) -> bool:
        """Whether words in place of those of a line change what it says: no synonyms, days, or names above the line."""
        known = all(token.key in self.sources.holders and token.word not in LIGHT for token in new)
        named = any(token.key in self.sources.above[number] for token in new)
        dated = any(token.word in BEGIN_SETS_OF_DAYS for token in (*new, *old))
        alike = any(one.key in _synonyms().get(other.key, _NONE) for one, other in zip(new, old, strict=True))
        return known and not (named or dated or alike)

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
            limited = "only" in {token.word for line in near[:1] for token in line.tokens} - {t.word for t in said}
            if (before & LIMITS and before.isdisjoint(ALL)) or (omitted and not excepted) or limited:
                yield index

    def _exchanged(self) -> Iterator[str]:
        """The words whose two sides a near line has exchanged: "cats are faster than dogs" for the reverse."""
        said = self.said.tokens
        for index in (at for at, token in enumerate(said) if token.word in JOINING):
            before, behind = _sides(said, index)
            for line in (self.sources.lines[number].tokens for number in self.fullest[:2]):
                for at in (at for at, token in enumerate(line) if token.word == said[index].word):
                    first, second = _sides(line, at)
                    exchanged = behind & first and before & second and not behind & second
                    if exchanged and not _is_opposed(_compared(said, index), _compared(line, at)):
                        yield said[index].word

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
        lines = self.sources.lines
        same = [(number, q) for number, q in self._numbered if quantity.same(q) and quantity.fits(q)]
        fitting = [(number, q.first) for number, q in same if not _counts(self.said, quantity, lines[number], q)]
        kind = (False, quantity.unit, quantity.is_year)
        return fitting, [(n, q.first) for n, q in self._others if (q.vague, q.unit, q.is_year) == kind]

    @cached_property
    def _numbered(self) -> list[tuple[int, Quantity]]:
        """The numbers of the passages, each with its line."""
        return [(number, q) for number, line in enumerate(self.sources.lines) for q in line.readings]

    @cached_property
    def _others(self) -> list[tuple[int, Quantity]]:
        """Those in the compared lines that the sentence does not have, or of another thing: 4 spaces for 4 cubes."""
        own = [(q, _counted(self.said.tokens, q)) for q in self.quantities]

        def is_said(held: Quantity, thing: str) -> bool:
            return any(held.same(q) and (thing == noun or "" in (thing, noun)) for q, noun in own)

        near = [(number, q) for number, q in self._numbered if number in self.fullest]
        return [(number, q) for number, q in near if not is_said(q, _counted(self.sources.lines[number].tokens, q))]

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
            if token.word.endswith("ly") and token.word not in listed():  # "roughly" has no opposite in "smooth"
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


def _wordings(line: TextLine) -> list[Token]:
    """The words of a line without its numbers, which are compared by their values."""
    return [t for at, t in enumerate(line.tokens) if t.word[0].isalnum() and at not in line.counted]


@cache
def _synonyms() -> dict[str, frozenset[str]]:
    """The words by which an answer may replace a word, by key."""
    return {key_of(word): frozenset(map(key_of, others)) for word, others in SAYS_ALSO.items()}


def _statements(tokens: Sequence[Token]) -> Iterator[tuple[Sequence[Token], int]]:
    """The parts of a line between full stops, colons and semicolons, but for questions and conditions; each with the
    number of its denials.
    """
    ends, denials = [at for at, token in enumerate(tokens) if token.word in STOPS], cues(tokens)
    for begin, end in pairwise([-1, *ends, len(tokens)]):
        part = tokens[begin + 1 : end]
        asks = end < len(tokens) and tokens[end].word == "?"
        if not asks and CONDITIONS.isdisjoint(token.word for token in part):
            yield part, sum(begin < at < end for at in denials)


def _counted(tokens: Sequence[Token], quantity: Quantity) -> str:
    """The key of the noun right behind a number without a unit; "" for none."""
    after = tokens[quantity.last + 1 : quantity.last + 2]
    return next((token.key for token in after if token.content and not quantity.unit), "")


def _sides(tokens: Sequence[Token], joint: int) -> tuple[frozenset[str], frozenset[str]]:
    """The keys of what stands before a joint and of what stands behind it, each without those of the other.

    "After A, B" is "B after A".
    """
    begin = max((at + 1 for at in range(joint) if tokens[at].word in STOPS), default=0)
    end = next((at for at in range(joint, len(tokens)) if tokens[at].word in STOPS), len(tokens))
    comma = next((at for at in range(joint, end) if tokens[at].word == ","), end)
    before = tokens[comma:end] if joint == begin else tokens[begin:joint]
    first, second = (frozenset(t.key for t in side if t.content) for side in (before, tokens[joint + 1 : comma]))
    return first - second, second - first


def _compared(tokens: Sequence[Token], joint: int) -> str:
    """The key of the last word before a joint that has an opposite: of "more" in "more water than"."""
    return next((t.key for t in reversed(tokens[max(0, joint - COMPARED) : joint]) if t.key in opposites()), "")


def _is_opposed(key: str, other: str) -> bool:
    return other in opposites().get(key, (_NONE, _NONE))[1]


def _counts(line: TextLine, quantity: Quantity, other: TextLine, held: Quantity) -> bool:
    """Whether a number in words counts something, and the other is only the numeral of a name: "Henry VIII"."""
    if line.tokens[quantity.first].word not in SMALL or other.tokens[held.first].word not in numerals.ROMAN:
        return False
    before = line.tokens[max(0, quantity.first - 1) : quantity.first]
    named = other.tokens[held.first - 1].key
    return not any(token.key == named or (token.capital and not token.first) for token in before)


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
