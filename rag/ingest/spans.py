"""Stretches of a text between an opening and a closing mark, found in linear time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable


class Span:
    """A kind of stretch, such as a comment. `{}` in `closing` stands for the first group of `opening`.

    A regex `opening.*?closing` looks for the closing mark again from every opening one, which takes quadratic time
    where there is none. Here a mark that is missing is looked for once.
    """

    def __init__(self, opening: str, closing: str) -> None:
        self._opening = re.compile(opening, re.MULTILINE | re.IGNORECASE)
        self._closing = closing

    def replaced(self, write: Callable[[re.Match[str], str], str], text: str) -> str:
        """The text with each stretch replaced by what `write` makes of its opening mark and its inner text."""
        pieces: list[str] = []
        missing: set[str] = set()
        at = 0
        for opening in self._opening.finditer(text):
            mark = self._closing.format(opening[1].lower()) if "{}" in self._closing else self._closing
            if opening.start() < at or mark in missing:
                continue
            closing = re.compile(mark).search(text, opening.end())
            if closing is None:
                missing.add(mark)
                continue
            pieces += [text[at : opening.start()], write(opening, text[opening.end() : closing.start()])]
            at = closing.end()
        return "".join(pieces) + text[at:]


def paired(marks: Iterable[tuple[str, bool] | None]) -> set[int]:
    """The positions of the marks that have a partner. A mark is its name and whether it closes; None stands alone.

    >>> sorted(paired([("a", False), ("b", False), ("a", True), ("b", True)]))
    [0, 2]
    """
    found: set[int] = set()
    open_: list[tuple[int, str]] = []
    names: Counter[str] = Counter()
    for n, mark in enumerate(marks):
        if mark is None:
            continue
        name, closes = mark
        if not closes:
            open_.append((n, name))
            names[name] += 1
        while closes and names[name] and n not in found:
            partner, other = open_.pop()
            names[other] -= 1
            if other == name:
                found |= {partner, n}
    return found
