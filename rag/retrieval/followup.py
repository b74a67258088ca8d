"""A question inside a conversation: what else to search for, and how much that counts.

No model is asked. The raw question is always searched. Beside it the question is searched together with the
conversation's first question, which tends to name the subject, and together with the last answer, which holds what
"it" and "there" point at. The question stands first in both, so that an embedding model's window never cuts it off.

How much the context counts is decided by two measures, both of them continuous:
the fewer words of its own a question has, the more it needs; and where the context brings the search closer to
something in the book than the raw question came, it is about the same thing. After a change of subject it leads away
from everything, and its weight falls to nothing. `docs/retrieval.md` has the measurements.

A rewrite of the question by a chat model, where there is one, is one more query. It counts as far as it means what is
searched already, so that one about something else is nothing but a query in vain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rag.conversation import Exchange

ENOUGH: Final = 3  # content words by which a question says what it is about
MOST_NEED: Final = 1.5
SHARE: Final = 0.4  # weight of one context beside the raw question's 1, where neither measure speaks
STEEPNESS: Final = 6.0  # how fast the weight grows with the lift: at -1/6 it is nothing, at +1/6 double
MOST_LIFT: Final = 2.2
REWRITE: Final = 0.6  # weight of a rewrite that is close, where the lift says nothing
STRANGE: Final = 0.4  # cosine of a rewrite and the question in its contexts up to which it is about something else
CLOSE: Final = 0.8  # and from which on it is about the same
_WORD: Final = re.compile(r"\w+(?:'\w+)?")
_EMPTY: Final = frozenset(
    _WORD.findall(
        "a an the of in on at to for from by with about into over as and or but if so than do does did is are was were"
        " be been being am have has had can could will would shall should may might must i you we me us my your our"
        " what which who whom whose when where why how not no yes please tell show give explain say mean more some any"
        " just also too very thing things kind way"
    )
)


def contexts(question: str, history: Sequence[Exchange]) -> list[str]:
    """The question beside what was said before: the first question, then the last answer; none without a history.

    `history` holds the answered questions so far, oldest first. Refused and failed turns do not belong in it.
    """
    if not history:
        return []
    said = dict.fromkeys((history[0].question.strip(), history[-1].answer.strip()))
    return [f"{question} {words}" for words in said if words and words != question]


def need(question: str) -> float:
    """How much a question needs a context, from 0 to `MOST_NEED`: the fewer content words, the more."""
    own = sum(word.lower() not in _EMPTY for word in _WORD.findall(question))
    return min(MOST_NEED, ENOUGH / max(1, own))


def context_weight(question: str, best: Sequence[float]) -> float:
    """What each context counts beside the raw question's 1.

    `best` holds the largest cosine in the book of the raw question and of each context. Their difference is the lift.
    """
    raw, *others = best
    if not others:
        return 0.0
    return SHARE * need(question) * _lifted(sum(others) / len(others) - raw)


def rewrite_weight(closeness: float, lift: float) -> float:
    """What a rewrite counts beside the raw question's 1.

    `closeness` is the cosine of the rewrite and the weighted sum of the other queries, `lift` by how much the largest
    cosine in the book of the rewrite is above that of the raw question.
    """
    return REWRITE * min(1.0, max(0.0, (closeness - STRANGE) / (CLOSE - STRANGE))) * _lifted(lift)


def _lifted(lift: float) -> float:
    return min(MOST_LIFT, max(0.0, 1.0 + STEEPNESS * lift))
