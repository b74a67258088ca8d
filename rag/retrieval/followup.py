"""A question inside a conversation: what to search for when it does not stand by itself.

No model is asked. The raw question is always searched; where it leans on what was said before, the question before it
and it together are searched too, and the rankings are fused, so a wrong guess costs places and never the raw question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

FEW: Final = 2  # content words; a question of so few names no subject of its own, or nothing else
BACK: Final = 3  # questions looked back upon, where each leans on the one before
_WORD: Final = re.compile(r"\w+(?:'\w+)?")
_POINTERS: Final = frozenset(
    _WORD.findall(
        "it its itself they them their theirs he him his she her hers this that these those there then one ones such"
        " same other others another former latter above both either neither else instead"
    )
)
_OPENERS: Final = frozenset(_WORD.findall("and but or so also then ok okay yes no well why more continue elaborate"))
_EMPTY: Final = frozenset(
    _WORD.findall(
        "a an the of in on at to for from by with about into over as and or but if so than do does did is are was were"
        " be been being am have has had can could will would shall should may might must i you we me us my your our"
        " what which who whom whose when where why how not no yes please tell show give explain say mean more some any"
        " just also too very thing things kind way"
    )
)


def queries(question: str, history: Sequence[Mapping[str, str]]) -> list[str]:
    """The searches of a question, the raw question first; a second one only where it leans on the conversation.

    `history` holds the messages so far, oldest first, as {"role", "content"}; a user's message counts if an assistant's
    follows it, so leave out turns that failed or were refused.
    """
    if not leans(question):
        return [question]
    context: list[str] = []
    for earlier in reversed(_answered(history)[-BACK:]):
        context.insert(0, earlier)
        if not leans(earlier):
            break
    return [question, " ".join([*context, question])] if context else [question]


def leans(question: str) -> bool:
    """Whether a question depends on its context: it points back, opens as a continuation, or says hardly anything."""
    words = [word.lower() for word in _WORD.findall(question)]
    if not words:
        return False
    return (
        words[0] in _OPENERS
        or any(word.split("'")[0] in _POINTERS for word in words)
        or sum(word not in _EMPTY for word in words) <= FEW
    )


def _answered(history: Sequence[Mapping[str, str]]) -> list[str]:
    return [
        asked["content"]
        for asked, reply in pairwise(history)
        if asked.get("role") == "user" and reply.get("role") == "assistant"
    ]
