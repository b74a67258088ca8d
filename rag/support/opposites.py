"""Words that turn a statement round: pairs of opposites, and the cues of negation.

General English. Each line of `data/opposites.txt` is a pair: the words of its first side and those of its second are
opposites; the words of one side stand for one another, in the check of the direction only. A word may be of several
pairs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from rag.support.words import key_of

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
