"""Which turns of a conversation a prompt may still see, and what is known of those that have left."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage

from rag.conversation import turns
from rag.types import Past

WINDOW: Final = 10  # turns; more than the history's share of a window of 8,192 tokens holds
BLOCK: Final = 4  # turns that leave together: one after the other they would take a third more room
NOTHING: Final = Past(blocks=0, turns=0, messages=0, first_question="")


class Cut(NamedTuple):
    """The blocks of messages that leave, oldest first, and the messages that stay."""

    leaving: list[list[AnyMessage]]
    staying: list[AnyMessage]


def cut(messages: Sequence[AnyMessage], window: int = WINDOW, block: int = BLOCK) -> Cut:
    """At least the newest `window` finished turns stay, with every question after them that has no answer yet.

    Older turns leave in whole blocks. A turn ends with an answer that has its record. What stands before it since the
    last such answer, such as a question that was broken off, goes with it, so that no message is lost between turns.
    """
    ends = [position + 1 for position, message in enumerate(messages) if is_recorded(message)]
    blocks = max(0, len(ends) - window) // block
    borders = [0, *(ends[number * block - 1] for number in range(1, blocks + 1))]
    return Cut([list(messages[begin:end]) for begin, end in pairwise(borders)], list(messages[borders[-1] :]))


def is_recorded(message: AnyMessage) -> bool:
    """Whether the message ends a turn: an answer that remembers what it was made of."""
    return isinstance(message, AIMessage) and "request_id" in message.response_metadata


def with_blocks(past: Past, leaving: Sequence[Sequence[BaseMessage]]) -> Past:
    """What is known of the turns that have left once `leaving` has left too."""
    records = turns([message for block in leaving for message in block])
    first = records[0] if records and not past["turns"] else None
    return Past(
        blocks=past["blocks"] + len(leaving),
        turns=past["turns"] + len(records),
        messages=past["messages"] + sum(len(block) for block in leaving),
        first_question=first["question"] if first else past["first_question"],
    )


def without_block(past: Past, block: Sequence[BaseMessage]) -> Past:
    """What is known of the turns that have left once the last block of them has come back."""
    if past["blocks"] <= 1:
        return NOTHING
    back = with_blocks(NOTHING, [block])
    return Past(
        blocks=past["blocks"] - 1,
        turns=past["turns"] - back["turns"],
        messages=past["messages"] - back["messages"],
        first_question=past["first_question"],
    )
