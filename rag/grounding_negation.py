"""What a text denies: the cues of negation, and the words that they deny."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rag.grounding_opposites import CUES, opposites
from rag.grounding_words import Token

REACH: Final = 6  # tokens after a cue of negation within which stands what it denies
DENIED: Final = 2  # words of content that one cue denies
_STOPS: Final = frozenset({"but", "because", "although", "and", "which"})


def cues(tokens: Sequence[Token]) -> list[int]:
    """Where something is denied; "not only" and "no more than" deny nothing."""
    found = []
    for index, token in enumerate(tokens):
        if token.word not in CUES:
            continue
        after = tokens[index + 1].word if index + 1 < len(tokens) else ""
        if token.word == "not" and after in ("only", "just", "merely", "simply", "solely"):
            continue
        if token.word == "no" and after in ("more", "less", "fewer", "matter", "doubt", ".", "one"):
            continue
        found.append(index)
    return found


def scopes(tokens: Sequence[Token]) -> frozenset[int]:
    """The tokens that are denied: the next one or two words of content after a cue."""
    found: set[int] = set()
    for cue in cues(tokens):
        content = 0
        for index in range(cue + 1, min(len(tokens), cue + 1 + REACH)):
            token = tokens[index]
            if token.breaks or token.word in _STOPS or token.word in CUES:
                break
            if token.key in opposites() or token.content:
                found.symmetric_difference_update({index})
            content += token.content
            if content >= DENIED or (token.content and token.key in opposites()):
                break  # "not possible to lift" denies the possible, not the lifting
    return frozenset(found)
