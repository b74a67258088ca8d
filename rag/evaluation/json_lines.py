"""JSON Lines: one JSON value on each line.

Only a line feed ends a line. `str.splitlines` also splits at U+2028 and other separators, which JSON allows inside
strings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class BrokenLineError(ValueError):
    """A line that is not JSON. `line` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line


def values(text: str) -> Iterator[tuple[int, Any]]:
    """Each value with the number of its line, from 1. Empty lines are skipped. Raises `BrokenLineError`.

    >>> list(values('{"a": 1}\\n\\n["\\u2028"]'))
    [(1, {'a': 1}), (3, ['\\u2028'])]
    """
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                problem = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
                raise BrokenLineError(number, f"this is not JSON ({problem})") from None


def rows(file: Path) -> list[Any]:
    """The values of a file in UTF-8. Raises `BrokenLineError`, `OSError`, or `UnicodeDecodeError`."""
    return [value for _, value in values(file.read_bytes().decode("utf-8"))]
