"""A question inside a conversation: what to search for when it does not stand by itself.

No model is asked. The raw question is always searched. Where it leans on what was said before, it is also searched
together with the last question and with the last one that stood by itself, which names the subject; the rankings are
fused, so a wrong guess costs places and never the raw question.

Measured on MTRAG (ClapNQ; the 180 later turns with relevant passages, in a pool of 2,499): the rule finds that 103 of
them lean. For these recall at 5 and 10 is .452 and .589 by the raw question, .496 and .671 with the second one, .521
and .645 by a person's rewrite. Only the gain at 10 is clear of chance (95% bootstrap: .03 to .14; at 5: -.01 to .11).
The other 77 gain nothing from a rewrite (.616 raw, .610 rewritten, at 5) and would lose by context (.564), so they are
left alone. The form of the second query and its weight were chosen among eight forms at several weights on these same
turns, which differ by less than the figures can tell: expect less on other conversations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rag.conversation import Exchange

FEW: Final = 2  # content words; a question of so few names no subject of its own, or nothing else
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


def queries(question: str, history: Sequence[Exchange]) -> list[str]:
    """The searches of a question, the raw question first; a second one only where it leans on the conversation.

    `history` holds the answered questions so far, oldest first.
    """
    earlier = [exchange.question for exchange in history]
    if not earlier or not leans(question):
        return [question]
    subject = next((asked for asked in reversed(earlier) if not leans(asked)), earlier[0])
    # A dict: where the last question names the subject itself, it is there once.
    return [question, " ".join([*dict.fromkeys((subject, earlier[-1])), question])]


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
