"""The answerer without a model: it quotes the book word for word, or refuses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Final

from rag.ports import Embedder
from rag.quoting.blocks import NumberedPassage
from rag.quoting.excerpt import excerpt, whole_book
from rag.quoting.relevance import Reading, asks_same, read
from rag.text.english.requests import about_book
from rag.text.terms import refers_back, whole_question
from rag.types import AnsweredQuestion, Passage


@dataclass(frozen=True, slots=True)
class Features:
    """Evidence that the passages answer the question.

    `joint`: the highest sum, 0 to 2, of a block's cosine and its share of the question's terms; without an embedder the
    highest share. `length`: the number of words, at most `LONG`, since a long question shares fewer of them with an
    answer. `weakest`: how well the term that a block matches least is matched, in the best block. `there`: the same in
    the section of the leading block. `together`: the share of the best blocks that are on the leading block's page.
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
    """Weights of a logistic regression; decision 130 says on what they were fitted."""

    of: Features
    bias: float


WITH_TOKENS: Final = ConfidenceWeights(Features(2.43, 0.34, -1.71, -1.11, 1.71, 2.14, 1.45, -1.12), -6.29)
WITH_VECTORS: Final = ConfidenceWeights(Features(4.52, 0.21, -2.12, -2.30, 0.0), -5.76)  # of texts, not of tokens
WORDS_ONLY: Final = ConfidenceWeights(Features(5.82, 0.21, -2.03, -2.38, 0.0), -4.57)
THRESHOLD: Final = 0.40  # least probability of an answer; a lower one gives more answers, and more irrelevant ones
SAME: Final = 0.99  # of `asks_same`, from which on a heading asks what the question asks
BEST: Final = 5  # blocks of which `Features.together` is the share
LONG: Final = 20  # words of a question; a longer one, such as an error message, counts as one of this length
REFUSAL: Final = "The book does not answer this question."


def features(reading: Reading, *, words_only: bool = False) -> Features:
    """The evidence in some passages; without passages all of it is 0 but what is missing.

    With `words_only` the cosines do not count: an embedder may not know the language of the passages.
    """
    lacking = [term.weight for term in reading.terms if term.named and not term.within(reading.everything)]
    lead = reading.ranked[0] if reading.ranked else None
    beside = [block for block in reading.ranked if lead and (block.rank, block.section) == (lead.rank, lead.section)]
    passage = frozenset[str]().union(*(b.own | b.context for b in (reading.passages[lead.rank] if lead else ())))
    best = reading.ranked[:BEST]
    return Features(
        joint=max((block.held + (0.0 if words_only else block.cosine) for block in reading.ranked), default=0.0),
        length=min(max(len(reading.question.split()), len(reading.terms)), LONG),
        missing=reading.missing,
        missing_name=max(lacking, default=0.0),
        weakest=max((block.weakest or 0.0 for block in reading.ranked), default=0.0),
        there=max((block.weakest or 0.0 for block in beside), default=0.0),
        together=sum(block.passage.page == best[0].passage.page for block in best) / BEST,
        missing_there=max((term.weight for term in reading.terms if not term.within(passage)), default=0.0),
    )


def probability(evidence: Features, weights: ConfidenceWeights) -> float:
    """The probability that the passages answer the question."""
    score = weights.bias + sum(w * x for w, x in zip(astuple(weights.of), astuple(evidence), strict=True))
    return 1 / (1 + math.exp(-score))


def answers(reading: Reading, *, words_only: bool = False) -> bool:
    """Whether to quote the passages; False if there is nothing to quote.

    A heading with the question's words and no others is evidence enough, in languages too that the embedder knows
    nothing of.
    """
    if any(asks_same(reading.terms, block.heading) > SAME for block in reading.ranked):
        return True
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
        question = question.strip()
        if shown and (asked := about_book(question)):
            return whole_book(shown, with_text=asked == "about")
        for whole, said in _readings(question, history):
            reading = read(whole, shown, self.embedder, said=said)
            if answers(reading, words_only=self.embedder is None or reading.foreign) and (found := excerpt(reading)):
                return found
        return [self.refusal]


def _readings(question: str, history: Sequence[AnsweredQuestion]) -> Iterator[tuple[str, str]]:
    """The ways to read a question, each with the text of the earlier answers that is not to be quoted again.

    A follow-up ("and on Windows?", "tell me more") is joined with the questions before it, back to one that stands by
    itself. For other questions the text of the earlier answers is "". "And what is a node?" is read as a question of
    its own first, since the passages may have nothing about the one before it.
    """
    if whole := whole_question(question):
        yield whole, ""
    if not history or not refers_back(question):
        yield question, ""
        return
    asked = [question]
    for past in reversed(history):
        asked.insert(0, past.question.strip())
        if not refers_back(asked[0]):
            break
    yield " ".join(asked), "\n".join(past.answer for past in history)
