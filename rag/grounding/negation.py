"""What a text denies: opposites, the cues of negation, and the words that they deny."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from rag.grounding.words import Token, key_of

_FILE: Final = Path(__file__).parent.parent / "data" / "opposites.txt"
_CUES: Final = "not no never nor neither without none nobody nothing nowhere cannot non hardly scarcely barely"
CUES: Final = frozenset(_CUES.split())
_IMPLIED: Final = """
fail lack absent absence unable refuse deny reject prevent avoid prohibit forbid ban cease impossible unlikely rare
rarely seldom little few only except instead rather unlike unless despite stop lose deprive exclude abolish disallow
free unknown unclear uncertain disputed false wrong myth fewer loss abandon decline unsuccessful insufficient
independent minus outside beyond neglect ignore omit exempt limit until yet empty
"""


def _sides() -> dict[str, dict[str, int]]:
    """For each key the pairs that it belongs to, with the side: 1 or -1."""
    table: dict[str, dict[str, int]] = {}
    for number, pair in enumerate(_FILE.read_text(encoding="utf-8").splitlines()):
        for side, words in zip((1, -1), pair.split(" - "), strict=True):
            for word in words.split():
                table.setdefault(key_of(word), {}).setdefault(str(number), side)
    return table


@cache
def opposites() -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """For each key, the keys of its own side and those of the other."""
    table = _sides()
    members: dict[tuple[str, int], set[str]] = {}
    for key, pairs in table.items():
        for pair, side in pairs.items():
            members.setdefault((pair, side), set()).add(key)
    result = {}
    for key, pairs in table.items():
        same = set().union(*(members[pair, side] for pair, side in pairs.items()))
        other = set().union(*(members[pair, -side] for pair, side in pairs.items()))
        result[key] = (frozenset(same), frozenset(other - same))
    return result


@cache
def implied() -> frozenset[str]:
    """Keys of words that deny without a "not"."""
    return frozenset(key_of(word) for word in _IMPLIED.split())


REACH: Final = 6  # tokens after a cue of negation within which stands what it denies
SCOPE: Final = 2  # words of content that one cue denies
_STOPS: Final = frozenset({"but", "because", "although", "and", "which"})
# Verbs that deny with their object: "does not need a master" is "has no master". They do not count as its words.
_CARRYING: Final = "need requir use have contain includ involv provid offer support give take make"  # stems
_CARRIERS: Final = frozenset(_CARRYING.split())
_QUANTITY = "all every each everyone everything both always necessarily entirely completely fully quite"
_WHOLES: Final = frozenset(_QUANTITY.split())  # "not all of them do" denies the "all" and not the doing


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
    """The tokens that are denied: the next one or two words of content after a cue, or a whole alone ("not all")."""
    found: set[int] = set()
    for cue in cues(tokens):
        reach = list(_reach(tokens, cue))
        wholes = [index for index in reach if tokens[index].word in _WHOLES]
        found.symmetric_difference_update(wholes[:1] or _contents(tokens, reach))
    return frozenset(found)


def _reach(tokens: Sequence[Token], cue: int) -> Iterator[int]:
    """What stands after a cue in its clause."""
    for index in range(cue + 1, min(len(tokens), cue + 1 + REACH)):
        if tokens[index].breaks or tokens[index].word in _STOPS or tokens[index].word in CUES:
            return
        yield index


def _contents(tokens: Sequence[Token], reach: Sequence[int]) -> list[int]:
    found: list[int] = []
    content = 0
    for index in reach:
        token = tokens[index]
        opposite = token.key in opposites()
        if opposite or token.content:
            found.append(index)
        if token.content and token.key not in _CARRIERS:
            content += 1
            if content == SCOPE or opposite:
                break  # "not possible to lift" denies the possible, not the lifting
    return found
