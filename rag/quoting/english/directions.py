"""The direction of an action: adding or removing, on or off. Shared words and embeddings do not tell them apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

# One pair of directions a line, parted by "|". "..." stands for up to three words in between: "turn that off".
_PAIRS: Final = """
add, insert, include, append, attach, prepend | remove, delete, strip, drop, discard, exclude, omit, clear, erase,
    purge, wipe, uninstall, rid of, throw ... away, throw ... out, leave ... out, take ... out, take ... away
enable, activate, turn ... on, switch ... on, allow, permit | disable, deactivate, turn ... off, switch ... off,
    suppress, forbid, prevent, avoid, opt out, block, deny, skip, ignore
import | export
upload | download
push | pull
start, begin, launch, resume | stop, halt, quit, cancel, abort, kill, pause
show, display, reveal | hide, hidden, conceal, mask, silence, mute
open | close
encrypt, lock | decrypt, unlock
compress, pack, zip | decompress, unpack, unzip, extract
encode, serialize, dump | decode, deserialize, parse
increase, raise | decrease, reduce, limit
upgrade | downgrade
mount | unmount, umount
subscribe | unsubscribe
accept | reject, refuse
commit, apply, redo | undo, revert, roll ... back, rollback, reset
automatically, automatic, by itself, by themselves, on its own, on boot, at startup, at boot | manually, manual, by hand
minimum, smallest, lowest, shortest | maximum, largest, highest, longest
synchronous, synchronously | asynchronous, asynchronously, async
incoming, inbound | outgoing, outbound
"""
_ENDINGS: Final = r"(?:e?|e?s|e?d|{last}?ing|{last}ed|{last}?er|ation|ion)"
# What turns a direction round: "without showing the letters", "stop it from adding", "do not include".
_TURNS: Final = (
    r"(?:\b(?:not|never|without|no longer|stop\w*|prevent\w*|avoid\w*|keep\w*|instead of)|n['’]t)"
    r"\s+(?:[\w'’-]+\s+){0,3}?"
)


def _expression(words: str) -> str:
    """A pattern of an expression, its first word in any form: "drop", "drops", "dropped", "dropping"."""
    first, _, rest = words.strip().partition(" ")
    endings = _ENDINGS.replace("{last}", first[-1])
    more = re.escape(rest.removeprefix("... "))
    gap = r"\s+(?:[\w'’-]+\s+){0,3}?" if "..." in rest else r"\s+"
    return rf"(?:{re.escape(first)}|{re.escape(first.removesuffix('e'))}{endings})" + (gap + more if rest else "")


@dataclass(frozen=True)
class _Side:
    """One direction of a pair. Its pattern takes a moment to compile, so it waits for a text that has such a word."""

    words: str

    @cached_property
    def beginnings(self) -> tuple[str, ...]:
        return tuple(one.split()[0].removesuffix("e") for one in self.words.split(","))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        found = "|".join(_expression(one) for one in self.words.split(","))
        return re.compile(rf"(?P<turn>{_TURNS})?(?<!\w)(?:{found})(?!\w)", re.IGNORECASE)


def _sides() -> Iterator[tuple[_Side, _Side]]:
    for line in re.sub(r",\s*\n\s+", ", ", _PAIRS).strip().split("\n"):
        one, _, other = line.partition("|")
        yield _Side(one), _Side(other)


_SIDES: Final = tuple(_sides())
_INSTALLS: Final = re.compile(r"\binstall\b", re.IGNORECASE)  # "uninstall" is also the opposite of "add"
# "How do I undo that?": the opposite of what was asked before.
UNDO: Final = re.compile(r"\b(?:undo|revert|reverse|take back|roll back) (?:that|this|it)\b", re.IGNORECASE)

# A question about what shall not be, or be no more.
_UNWANTED: Final = re.compile(
    r"\b(?:without|stop|prevent|avoid|disable|exclude|skip|ignore|suppress|hide|never|no longer|remove|delete|drop|"
    r"discard|uninstall|undo|empty|clear|(?:have|has|having|with) no)\b|\b(?:turn|switch|shut)\s+(?:\w+\s+){0,3}?off\b|"
    r"\b(?:throw|take)\s+(?:\w+\s+){0,3}?away\b|\brid of\b|\bleave\s+(?:\w+\s+){0,3}?out\b|\bkeep\b.*\b(?:from|out)\b|"
    r"(?:\bnot|n['’]t)\s+(?!work|do\b|see|know|understand|find|have|get)\w+",
    re.IGNORECASE,
)
# What an author writes of it: "is disabled", "--no-cache", "_exclude", "`false`".
_UNDOES: Final = re.compile(
    r"\b(?:false|off|without|never|(?:disabl|exclud|ignor|remov|delet|suppress|discard|prevent|avoid|uninstall|revert|omit)\w+|skip\w*|"
    r"drop\w*|clear\w*|prune\w*|undo\w*|hid(?:e|es|den|ing))\b|--no-|\b_?no[-_]|_?exclude|skip[-_]|[-_]skip",
    re.IGNORECASE,
)


def wants_without(question: str) -> bool:
    """Whether a question asks how something is left out, ended or taken away: "without the tests", "turn it off"."""
    return _UNWANTED.search(question) is not None


def undone(question: str) -> str:
    """The question with its first action turned into the opposite; "" if it names none.

    >>> undone("How do I add a key?"), undone("How do I install it?"), undone("What is a key?")
    ('How do I remove a key?', 'How do I uninstall it?', '')
    """
    pairs = (pair for sides in _SIDES for pair in (sides, sides[::-1]))
    found = ((match, other) for side, other in pairs if (match := side.pattern.search(question)) and not match["turn"])
    match, other = min(found, key=lambda pair: pair[0].start(), default=(_INSTALLS.search(question), None))
    if match is None:
        return ""
    verb = other.words.partition(",")[0].strip() if other else f"un{match[0].lower()}"
    return f"{question[: match.start()]}{verb}{question[match.end() :]}"


@lru_cache(maxsize=4096)
def leaves_out(text: str) -> bool:
    """Whether a text says how something is left out, ended or taken away."""
    return _UNDOES.search(text) is not None


@lru_cache(maxsize=4096)
def directions(text: str) -> frozenset[int]:
    """The directions that a text names, as numbers; `-n` is the opposite of `n`.

    >>> [len(directions(text)) for text in ("Add a file", "Add or remove a file", "Files")]
    [1, 2, 0]
    >>> directions("Do not show it") == directions("Hide it") == frozenset(-n for n in directions("Display it"))
    True
    """
    found: set[int] = set()
    small = text.lower()
    for number, sides in enumerate(_SIDES, 1):
        for sign, side in zip((number, -number), sides, strict=True):
            if any(one in small for one in side.beginnings):
                found.update(-sign if match["turn"] else sign for match in side.pattern.finditer(text))
    return frozenset(found)
