"""A question inside a conversation: what else to search for, and how much that counts.

No model is asked. The raw question is always searched. Beside it the question is searched together with the
conversation's first question, which tends to name the subject, and together with the last answer, which holds what
"it" and "there" point at. The question stands first in both, so that an embedding model's window never cuts it off.

How much the context counts is decided by two measures, both of them continuous and free of any language:
the further the question's vector is from those of its contexts, the less it says by itself; and where a context brings
the search closer to something in the book than the raw question came, it is about the same thing. After a change of
subject it leads away from everything, and its weight falls to nothing. `docs/retrieval.md` has the measurements.

A rewrite of the question by a chat model, where there is one, is one more query. It counts as far as it means what is
searched already, so that one about something else is nothing but a query in vain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rag.conversation import Exchange

CONTEXT: Final = 0.6  # weight of one context beside the raw question's 1, where it is far and the lift says nothing
ALONE: Final = 0.9  # mean cosine of a question and its contexts from which on it says all by itself
LOST: Final = 0.5  # and up to which it says next to nothing
STEEPNESS: Final = 6.0  # how fast a weight grows with the lift: at -1/6 it is nothing
MOST_LIFT: Final = 1.6  # an answer that was quoted from the book is very close to it, and that proves nothing
REWRITE: Final = 0.6  # weight of a rewrite that is close, where the lift says nothing
STRANGE: Final = 0.4  # cosine of a rewrite and the question in its contexts up to which it is about something else
CLOSE: Final = 0.8  # and from which on it is about the same


def contexts(question: str, history: Sequence[Exchange]) -> list[str]:
    """The question beside what was said before: the first question, then the last answer; none without a history.

    `history` holds the answered questions so far, oldest first. Refused and failed turns do not belong in it.
    """
    if not history:
        return []
    said = dict.fromkeys((history[0].question.strip(), history[-1].answer.strip()))
    return [f"{question} {words}" for words in said if words and words != question]


def context_weight(near: Sequence[float], best: Sequence[float]) -> float:
    """What each context counts beside the raw question's 1.

    `near` holds the cosines of the question and each context, `best` the largest cosine in the book of the raw question
    and of each context. By how much a context's is larger is its lift.
    """
    raw, *others = best
    if not others:
        return 0.0
    lifted = sum(_lifted(one - raw) for one in others) / len(others)
    return CONTEXT * _ramp((ALONE - sum(near) / len(near)) / (ALONE - LOST)) * lifted


def rewrite_weight(closeness: float, lift: float) -> float:
    """What a rewrite counts beside the raw question's 1.

    `closeness` is the cosine of the rewrite and the weighted sum of the other queries, `lift` by how much the largest
    cosine in the book of the rewrite is above that of the raw question.
    """
    return REWRITE * _ramp((closeness - STRANGE) / (CLOSE - STRANGE)) * _lifted(lift)


def _ramp(value: float) -> float:
    return min(1.0, max(0.0, value))


def _lifted(lift: float) -> float:
    return min(MOST_LIFT, max(0.0, 1.0 + STEEPNESS * lift))
