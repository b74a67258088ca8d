"""The answerer without a model: it quotes the book word for word, or refuses.

It decides whether the passages answer the question, and which of their blocks are quoted. A block whose first sentence
begins with "These" or "Then" comes with the block before it, or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Final

from rag.ports import Embedder
from rag.quoting.blocks import (
    NumberedPassage,
    QuoteBlock,
    blocks,
    faults,
    is_about_another_platform,
    is_for_one_version,
    is_quotable,
    is_sayable,
    leans_back,
)
from rag.quoting.english.phrases import COPULA, NUMBERED_TITLE
from rag.quoting.english.speech_acts import about_book, plain_question
from rag.quoting.english.stopwords import FACTS
from rag.quoting.excerpt import LONGEST, WHOLE, flat, laid_out, lines, without_numbers
from rag.quoting.follow_up import follow_up_readings
from rag.quoting.relevance import Reading, asks_same, read, share
from rag.quoting.terms import keys, refers_back, terms, whole_question
from rag.types import REFUSAL, AnsweredQuestion, Passage


@dataclass(frozen=True, slots=True)
class Features:
    """Evidence that the passages answer the question.

    `joint`: the highest sum, 0 to 2, of a block's cosine and its share of the question's terms; without an embedder the
    highest share. `length`: the number of words, at most `LONG`, since a long question shares fewer of them with an
    answer; a bare question has `FRAME` more. `weakest`: how well the term that a block matches least is matched, in the
    best block. `there`: the same in the section of the leading block. `together`: the share of the best blocks that are
    on the leading block's page.
    Three count against an answer: `missing`, what the passages lack (`Reading.missing`), `missing_there`, the weight of
    the rarest term that the leading block's passage lacks, and `missing_name`, that of the rarest name or code word
    that all passages lack.
    """

    joint: float
    length: float
    missing: float
    missing_name: float
    weakest: float
    there: float = 0.0
    together: float = 0.0
    missing_there: float = 0.0


@dataclass(frozen=True, slots=True)
class ConfidenceWeights:
    """Weights of a logistic regression; decision 139 says on what those with tokens were fitted."""

    coefficients: Features
    bias: float


WITH_TOKENS: Final = ConfidenceWeights(Features(2.43, 0.34, -1.71, -1.11, 1.71, 2.14, 1.45, -1.12), -6.29)
# For embedders without vectors of tokens.
WITH_VECTORS: Final = ConfidenceWeights(Features(4.52, 0.21, -2.12, -2.30, 0.0), -5.76)
WORDS_ONLY: Final = ConfidenceWeights(Features(5.82, 0.21, -2.03, -2.38, 0.0), -4.57)
THRESHOLD: Final = 0.40  # least probability of an answer; a lower one gives more answers, and more irrelevant ones
SAME: Final = 0.99  # least `asks_same` with which a heading asks what the question asks
BEST: Final = 5  # best blocks, at most, of which `Features.together` is the share
FRAME: Final = 3  # words of "How do I" or "What is a", which a bare question lacks
LONG: Final = 20  # words of a question; a longer one, such as an error message, counts as one of this length

BUDGET: Final = 1300  # characters of an answer, without markers
OPENING_LENGTH: Final = 250  # characters, at most, that a section says before the steps or the code that answer
MOST: Final = 4  # blocks that are chosen by their scores
CLOSE: Final = 1.0  # by how much a further block may score less than the best one
CLOSE_MANY: Final = 2.0  # the same, for a question that asks how or compares, and for an error message
TIE: Final = 0.15  # by how much an earlier paragraph of the best one's section may score less and still come first
REPEATED: Final = 0.6  # least share of the shorter block's keys that two blocks which say the same have in common
SIDE: Final = 0.6  # share of a heading that the question must have for the section to be about one of its sides
ANTECEDENTS: Final = 3  # blocks, at most, that a block refers to, each by the one behind it
FAULTY: Final = 0.25  # least faults that keep a block beside a chosen one from being quoted
OPENING: Final = 3  # blocks of the start page that say what the book is about
PARTS: Final = "Parts of the book:"


def features(reading: Reading, *, words_only: bool = False) -> Features:
    """The evidence in some passages; without passages all of it is 0 but what is missing.

    With `words_only` the cosines do not count: an embedder may not know the language of the passages.
    """
    lacking = [term.weight for term in reading.terms if term.named and not term.within(reading.everything)]
    lead = reading.ranked[0] if reading.ranked else None
    beside = [block for block in reading.ranked if lead and block.is_beside(lead)]
    own = [block for block in reading.runs[lead.run] if block.passage is lead.passage] if lead else []
    passage = frozenset[str]().union(*(block.own | block.context for block in own))
    best = reading.ranked[:BEST]
    return Features(
        joint=max((block.held + (0.0 if words_only else block.cosine) for block in reading.ranked), default=0.0),
        length=min(max(len(reading.question.split()), len(reading.terms)) + FRAME * reading.shape.bare, LONG),
        missing=reading.missing,
        missing_name=max(lacking, default=0.0),
        weakest=max((block.weakest or 0.0 for block in reading.ranked), default=0.0),
        there=max((block.weakest or 0.0 for block in beside), default=0.0),
        together=sum(block.passage.page == best[0].passage.page for block in best) / max(len(best), 1),
        missing_there=max((term.weight for term in reading.terms if not term.within(passage)), default=0.0),
    )


def probability(evidence: Features, weights: ConfidenceWeights) -> float:
    """The probability that the passages answer the question."""
    score = weights.bias + sum(w * x for w, x in zip(astuple(weights.coefficients), astuple(evidence), strict=True))
    return 1 / (1 + math.exp(-score))


def answers(reading: Reading, *, words_only: bool = False) -> bool:
    """Whether to quote the passages; False if there is nothing to quote.

    A heading with the question's words and no others is evidence enough, in languages too that the embedder knows
    nothing of.
    """
    if any(asks_same(reading.terms, block.heading) > SAME for block in reading.ranked):
        return True
    if reading.shape.wanted and any(
        t.word.lower() in FACTS and not t.within(reading.everything) for t in reading.terms
    ):
        return False  # how much something costs is said with a word for it
    # An error message names files and values of its own, which nothing in the book matches.
    tokens = not reading.shape.message and any(block.weakest is not None for block in reading.ranked)
    weights = WORDS_ONLY if words_only else WITH_TOKENS if tokens else WITH_VECTORS
    return bool(reading.ranked) and probability(features(reading, words_only=words_only), weights) >= THRESHOLD


class QuotingAnswerer:
    """Answers from passages in their own words: an implementation of `rag.ports.Quoter`.

    The answer is the few sentences, list items, tables or code blocks that answer best, word for word, each followed by
    its marker `[n]`; or exactly `refusal` if none does. Without an `embedder` only words are compared. The same
    question with the same passages always gets the same answer.
    """

    def __init__(self, embedder: Embedder | None = None, refusal: str = REFUSAL) -> None:
        self.embedder = embedder
        self.refusal = refusal

    def quote(self, question: str, passages: Sequence[Passage], history: Sequence[AnsweredQuestion] = ()) -> list[str]:
        """The pieces of the answer to a question after the earlier turns. Raises what the embedder raises."""
        shown = [NumberedPassage.of(passage) for passage in passages]
        question = plain_question(question)
        if shown and (asked := about_book(question)):
            return whole_book(shown, with_text=asked == "about")
        for whole, said in _readings(question, history):
            reading = read(whole, shown, self.embedder, said=said, follow_up=question)
            words_only = self.embedder is None or reading.foreign
            answered = _has_own_words(question, reading) and answers(reading, words_only=words_only)
            if answered and (found := excerpt(reading)):
                return found
        return [self.refusal]


def _readings(question: str, history: Sequence[AnsweredQuestion]) -> Iterator[tuple[str, str]]:
    """The ways to read a question, each with the text of the earlier answers that is not to be quoted again.

    "And what is a node?" is read as a question of its own first, since the passages may have nothing about the one
    before it.
    """
    if whole := whole_question(question):
        yield whole, ""
    if history and refers_back(question):
        yield from follow_up_readings(question, history)
    else:
        yield question, ""


def _has_own_words(question: str, reading: Reading) -> bool:
    """Whether the passages have a word of the question itself, beside those of the questions that it is joined with."""
    own = {term.word for term in terms(question) if not term.soft}
    wanted = [term for term in reading.terms if term.word in own]
    return not wanted or any(term.within(reading.everything) for term in wanted)


def excerpt(reading: Reading) -> list[str]:
    """The answer in pieces, one for each quoted unit; joined, they are its text. Empty if there is nothing to quote."""
    chosen = choose(reading)
    return laid_out([lines(block, reading, chosen) for block in chosen], reading.terms)


def whole_book(passages: Sequence[NumberedPassage], *, with_text: bool) -> list[str]:
    """What the book is about, in pieces: the opening of its first passage if asked for, then the titles of its parts.

    A part is named by as many titles as tell its passage from the others.
    """
    number = passages[0].number
    texts_of = [block for block in blocks(passages[0], 0) if block.form == "text"]
    says = (place for place, block in enumerate(texts_of) if COPULA.search(block.text) and is_quotable(block))
    begin = next(says, 0)  # before the first sentence there may be a version or badges
    opening = texts_of[begin : begin + OPENING] if with_text else []
    said = ([unit.text for unit in block.units if is_sayable(unit)] for block in opening)
    texts = dict.fromkeys(" ".join(f"{flat(text)} [{number}]" for text in units) for units in said if units)
    pieces = [f"{text}\n\n" for text in texts]
    titles = [passage.title.split(" > ") for passage in passages]
    if len(passages) > 1:
        pieces.append(f"{PARTS}\n")
    for passage, path in zip(passages, titles, strict=True):
        alike = (sum(other[:n] == path[:n] for other in titles) for n in range(1, len(path)))
        length = next((n for n, count in enumerate(alike, 1) if count == 1), len(path))
        pieces.append(f"- {without_numbers(path[length - 1])} [{passage.number}]\n")
    return [*pieces[:-1], pieces[-1].rstrip()]


def choose(reading: Reading) -> list[QuoteBlock]:
    """The blocks to quote, by passage in the order of their choice, then in the order of the text.

    One at a time, the best first. After the first, a block must fit into what is left of the budget. What follows the
    first in its section fills the rest; for a how-to question it comes before blocks from elsewhere.
    """
    chosen: list[QuoteBlock] = []
    first: list[QuoteBlock] = []
    how_to = reading.shape.steps and not reading.shape.definition
    room = BUDGET
    for picked in range(MOST):
        found = _next(reading, chosen)
        fitting = (group for block in found if (group := _with_antecedent(block, reading, chosen)))
        group = next((g for g in fitting if not picked or sum(map(_length, g)) <= room), [])
        if not group:
            break
        if not picked:
            group = [*(_step_before(group[0], reading) if how_to else ()), *group]
            first = group = [*(_introduction(group[0], reading) if how_to else ()), *group]
        chosen += group
        room -= sum(map(_length, group))
        if not picked:
            beside = _following if how_to else _example
            following = beside(group[-1], reading, chosen, room)
            chosen += following
            room -= sum(map(_length, following))
    if first:
        chosen += _following(first[-1], reading, chosen, room)
    return _ordered(chosen, first, reading)


def _step_before(block: QuoteBlock, reading: Reading) -> list[QuoteBlock]:
    """The code right before code that answers hardly better: it is the step before."""
    before = reading.runs[block.run][block.place - 1] if block.place else None
    if before is None or before.section != block.section or {before.form, block.form} != {"code"}:
        return []
    return [before] if before.score >= block.score - CLOSE and _length(before) + _length(block) <= BUDGET else []


def _introduction(block: QuoteBlock, reading: Reading) -> list[QuoteBlock]:
    """What a section says before steps or code, if it is short. Often they do not say themselves what they are for."""
    if block.form == "text":
        return []
    before = [other for other in reading.runs[block.run][: block.place] if other.section == block.section]
    for other in before:
        leans = leans_back(other, other.units[0]) or not lines(other, reading)
        if other.form != "text" or leans or not is_quotable(other) or faults(other, reading.question) >= FAULTY:
            return []
    return before if sum(map(_length, before)) <= OPENING_LENGTH else []


def _ordered(chosen: Sequence[QuoteBlock], first: Sequence[QuoteBlock], reading: Reading) -> list[QuoteBlock]:
    """The blocks by run in the order of their choice, then in the order of the text.

    What stands before the first ones in their run is quoted behind them, with three exceptions: the earlier parts of
    the same list; what opens the sections about the things that are compared; and in an answer to a how-to the steps
    and the code right before them, since nobody takes the second step before the first.
    """
    runs = _numbered(list(dict.fromkeys(block.run for block in chosen)), reading)
    begin = first[0].place if first else 0
    if first and first[0].begun:  # a list or table in several passages
        begin = min(block.place for block in chosen if (block.begun or block) is first[0].begun)
    begin = min([begin, *(b.place for b in chosen if first and b.run == first[0].run and _opens_side(b, reading))])
    if reading.shape.steps and not reading.shape.definition:
        steps = {block.place for block in chosen if _is_step_beside(block, first[0])}
        while begin - 1 in steps:
            begin -= 1

    def place(block: QuoteBlock) -> tuple[int, bool, int]:
        return runs.index(block.run), block.run == first[0].run and block.place < begin, block.place

    return sorted(chosen, key=place)


def _is_step_beside(block: QuoteBlock, other: QuoteBlock) -> bool:
    """Whether a block is steps or code of the other one's section."""
    return block.form in ("code", "steps") and block.is_beside(other)


def _example(block: QuoteBlock, reading: Reading, chosen: Sequence[QuoteBlock], room: int) -> list[QuoteBlock]:
    """The code right behind the best block: it shows what the block says, and goes before blocks from elsewhere."""
    following = _following(block, reading, chosen, room)
    return [other for other in following if other.place == block.place + 1 and other.form == "code"]


def _numbered(runs: list[int], reading: Reading) -> list[int]:
    """The runs, those of sections with numbers in their titles in the order of the numbers, in each chapter."""
    places: dict[str, list[tuple[int, int]]] = {}
    for place, run in enumerate(runs):
        chapter, _, title = reading.runs[run][0].passage.title.rpartition(" > ")
        if number := NUMBERED_TITLE.match(title):
            places.setdefault(chapter, []).append((int(number[1]), place))
    found = list(runs)
    for numbered in places.values():
        for (_, source), place in zip(sorted(numbered), sorted(place for _, place in numbered), strict=True):
            found[place] = runs[source]
    return found


def _following(block: QuoteBlock, reading: Reading, chosen: Sequence[QuoteBlock], room: int) -> list[QuoteBlock]:
    """What follows a chosen block in its section, as far as it fits. What is before would keep the answer waiting."""
    found: list[QuoteBlock] = []
    for other in reading.runs[block.run][block.place + 1 :]:
        if other.section != block.section or other in chosen or not is_quotable(other) or _length(other) > room:
            break
        talk = other.form != "code" and faults(other, reading.question) >= FAULTY
        if is_about_another_platform(other, reading.question) or talk or _is_written_again(other, [*chosen, *found]):
            break
        found.append(other)
        room -= _length(other)
    return [other for other in found if lines(other, reading)]


def _next(reading: Reading, chosen: Sequence[QuoteBlock]) -> list[QuoteBlock]:
    """The blocks that may be quoted next, the best first."""
    if not chosen:
        return _earliest(reading.ranked)
    asked = reading.shape
    close = CLOSE_MANY if asked.steps or asked.comparison or asked.message else CLOSE
    least = reading.ranked[0].score - close
    near = [block for block in reading.ranked if block.score >= least and block not in chosen]
    others = [block for block in near if not _is_repeated(block, chosen)]
    return [*(block for block in reading.ranked if block not in chosen and _opens_side(block, reading)), *others]


def _earliest(ranked: Sequence[QuoteBlock]) -> list[QuoteBlock]:
    """The blocks, the best first; before a best paragraph comes an earlier one of its section that is hardly worse."""

    def is_close(block: QuoteBlock) -> bool:
        best = ranked[0]
        is_before = block.is_beside(best) and block.place < best.place and block.form == best.form == "text"
        return is_before and block.score >= best.score - TIE

    close = sorted(filter(is_close, ranked), key=lambda block: block.place)
    return [*close[:1], *(block for block in ranked if block not in close[:1])]


def _opens_side(block: QuoteBlock, reading: Reading) -> bool:
    """Whether a block opens the section about one of the things that the question compares."""
    if not block.first or not reading.sides:
        return False
    named = any(share(side, keys(block.heading)) == 1.0 for side in reading.sides)
    alone = max(asks_same([term], block.heading) for term in reading.inner)
    return alone == 1.0 or (named and share(terms(block.heading), keys(reading.question)) > SIDE)


def _is_repeated(block: QuoteBlock, chosen: Sequence[QuoteBlock]) -> bool:
    """Whether a chosen block says mostly the same; a summary repeats the sentences that it sums up.

    Commands that differ in one word do not say the same.
    """

    def repeats(other: QuoteBlock) -> bool:
        most = REPEATED if "code" not in (block.form, other.form) else 1.0
        return len(block.own & other.own) >= most * min(len(block.own), len(other.own))

    return any(map(repeats, chosen)) or _is_written_again(block, chosen)


def _is_written_again(block: QuoteBlock, chosen: Sequence[QuoteBlock]) -> bool:
    """Whether a chosen block has the same code, or the same for another version."""
    code = {unit.text for other in chosen for unit in other.units if unit.kind == "code"}
    if any(unit.text in code for unit in block.units):
        return True
    return is_for_one_version(block) and any(is_for_one_version(other) and other.is_beside(block) for other in chosen)


def _with_antecedent(block: QuoteBlock, reading: Reading, chosen: Sequence[QuoteBlock]) -> list[QuoteBlock]:
    """The block, after those that its first sentence refers to; nothing if it says nothing without them."""
    group = [block]
    while leans_back(group[0], group[0].units[0]):
        first = group[0]
        before = reading.runs[first.run][first.place - 1] if first.place else None
        if before is None or before.section != block.section or before.said or len(group) > ANTECEDENTS:
            return [block] if lines(block, reading) else []
        if before in chosen:
            return group
        group.insert(0, before)
    return group if len(group) == 1 or sum(map(_length, group)) <= BUDGET else [block] if lines(block, reading) else []


def _length(block: QuoteBlock) -> int:
    """Characters that a block takes of the budget; what is longer is cut."""
    return len(block.text) if len(block.text) <= WHOLE else LONGEST
