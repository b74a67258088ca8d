"""What a text denies: cues of negation and the words in their scope, and pairs of opposites."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from typing import Final

from rag.evidence.words import Token, key_of
from rag.text.english.word_lists import CARRIERS, CUES, DENYING_NOTHING, IMPLYING, SCOPE_ENDS, WHOLES

REACH: Final = 6  # tokens after a cue that it may deny
SCOPE: Final = 2  # content words that one cue denies
_ENDS: Final = SCOPE_ENDS | CUES
_FILE: Final = Path(__file__).parent.parent / "data" / "opposites.txt"


def scopes(tokens: Sequence[Token]) -> frozenset[int]:
    """The indices of the denied tokens: the next one or two content words after a cue, or only the "all" of "not all".

    A token in the scope of two cues is not denied.
    >>> from rag.evidence.words import tokens
    >>> sorted(scopes(tokens("It does not lift heavy boxes."))), sorted(scopes(tokens("Not all robots walk.")))
    ([3, 4], [1])
    """
    found: set[int] = set()
    for cue in cues(tokens):
        clause = islice(enumerate(tokens), cue + 1, cue + 1 + REACH)
        reach = [at for at, _ in takewhile(lambda one: not (one[1].breaks or one[1].word in _ENDS), clause)]
        wholes = [index for index in reach if tokens[index].word in WHOLES]
        found.symmetric_difference_update(wholes[:1] or _contents(tokens, reach))
    return frozenset(found)


def cues(tokens: Sequence[Token]) -> list[int]:
    """The indices of the words that deny something; "not only", "no more than" and `--no-cache` deny nothing."""
    found = []
    for index, token in enumerate(tokens):
        if token.word in CUES:
            after = tokens[index + 1].word if index + 1 < len(tokens) else ""
            option = [one.word for one in tokens[max(0, index - 2) : index]] == ["-", "-"]
            if not option and after not in DENYING_NOTHING.get(token.word, ()):
                found.append(index)
    return found


def _contents(tokens: Sequence[Token], reach: Sequence[int]) -> list[int]:
    found: list[int] = []
    content = 0
    for index in reach:
        token = tokens[index]
        has_opposite = token.key in opposites()
        if has_opposite or token.content:
            found.append(index)
        if token.content and token.key not in CARRIERS:
            content += 1
            if content == SCOPE or has_opposite:
                break  # "not possible to lift" denies "possible", but not "lift"
    return found


@cache
def opposites() -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """For each key of the file of opposites, the keys of its own side and those of the other side."""
    same: dict[str, set[str]] = {}
    other: dict[str, set[str]] = {}
    for pair in _FILE.read_text(encoding="utf-8").splitlines():
        left, right = ({key_of(word) for word in side.split()} for side in pair.split(" - "))
        for side, facing in ((left, right), (right - left, left)):
            for key in side:
                same.setdefault(key, set()).update(side)
                other.setdefault(key, set()).update(facing)
    return {key: (frozenset(same[key]), frozenset(other[key] - same[key])) for key in same}


@cache
def implied() -> frozenset[str]:
    """Keys of words that deny without a "not"."""
    return frozenset(key_of(word) for word in IMPLYING)
