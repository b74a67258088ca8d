"""Read the literals of a JavaScript or TypeScript file without running it.

A configuration is mostly one object of literals. Computed values are None, with three exceptions: a name has the value
of the literal that it was declared with, a call such as `path.resolve(__dirname, '../docs')` has its last string, and a
file that is imported has the value that the caller reads from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

DEPTH: Final = 40  # nested objects and arrays; deeper ones are None
LONGEST: Final = 500_000  # characters of a file that is read
_TOKEN: Final = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?P<string>'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
    r"|(?P<template>`(?:[^`\\]|\\.)*`)"
    r"|(?P<number>\d[\w.]*)"
    r"|(?P<word>[A-Za-z_$][\w$]*)"
    r"|(?P<sign>=>|\.\.\.|.)",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_WORDS: Final = {"true": True, "false": False, "null": None, "undefined": None}
_OPEN: Final = {"(": ")", "[": "]", "{": "}"}

_Token = tuple[str, str]  # kind, text


def js_objects(text: str, imported: Callable[[str], Any] | None = None) -> dict[str, Any]:
    """The values of the declared names, and that of the export under the name `default`.

    `imported` gives the value of a file of the same site by its relative path; without it, none is read.
    """
    return _Reader(text[:LONGEST], imported).declarations()


class _Reader:
    def __init__(self, text: str, imported: Callable[[str], Any] | None) -> None:
        self._imported = imported
        self._tokens: list[_Token] = [
            (str(match.lastgroup), match[0]) for match in _TOKEN.finditer(text) if match.lastgroup != "space"
        ]
        self._at = 0
        self._names: dict[str, Any] = {}

    def declarations(self) -> dict[str, Any]:
        while self._at < len(self._tokens):
            text = self._text()
            if text in ("const", "let", "var") and self._kind(1) == "word":
                name = self._text(1)
                self._at += 2
                self._skip_to_value()
                self._names[name] = self._value(0)
            elif text == "import" and self._text(2) == "from" and self._kind(3) == "string":
                self._names[self._text(1)] = self._file(self._text(3))
                self._at += 4
            elif text == "export" and self._text(1) == "default":
                self._at += 2
                self._names["default"] = self._value(0)
            elif text == "module" and self._text(2) == "exports" and self._text(3) == "=":
                self._at += 4
                self._names["default"] = self._value(0)
            else:
                self._at += 1
        return self._names

    def _kind(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at][0] if at < len(self._tokens) else ""

    def _text(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at][1] if at < len(self._tokens) else ""

    def _skip_to_value(self) -> None:
        """Skip a type such as `: Config`, up to the value."""
        while self._text() not in ("=", ";", ""):
            self._at += 1
        self._at += 1

    def _value(self, depth: int) -> Any:
        """The value that begins here. Afterwards the reader stands at the sign that ends it."""
        first, kind = self._text(), self._kind()
        if first == "{" and depth < DEPTH:
            value: Any = self._object(depth)
        elif first == "[" and depth < DEPTH:
            value = self._array(depth)
        elif kind == "string" or (kind == "template" and "${" not in first):
            self._at += 1
            value = _ESCAPE.sub(r"\1", first[1:-1])
        elif self._imported and first == "require" and self._text(1) == "(" and self._kind(2) == "string":
            value = self._file(self._text(2))
            self._at += 4
        elif kind == "word" and self._text(1) in (",", "}", "]", ";", "as", "satisfies", ""):
            self._at += 1
            value = _WORDS[first] if first in _WORDS else self._names.get(first)
        else:
            return self._computed()
        # Of `'a' + b`, `{…}.x` or `[…].map(…)` nothing is known.
        return value if self._text() in (",", "}", "]", ";", ")", "as", "satisfies", "") else self._rest(value)

    def _file(self, literal: str) -> Any:
        """The value of another file that is named by a string; None for a package."""
        name = _ESCAPE.sub(r"\1", literal[1:-1])
        return self._imported(name) if self._imported and name.startswith(".") else None

    def _rest(self, value: Any) -> Any:
        """Skip what follows a value. A statement without a semicolon ends at the next word."""
        if self._kind() == "word":
            return value
        self._computed()
        return None

    def _computed(self) -> Any:
        """Skip an expression; its last string where it is a call with strings."""
        last = None
        is_call = self._kind() == "word"
        while (text := self._text()) not in (",", "}", "]", ")", ";", ""):
            if text in _OPEN:
                inner = self._bracket()
                last = inner if text == "(" and last is None else last
            else:
                self._at += 1
        return last if is_call else None

    def _bracket(self) -> str | None:
        """Skip a bracket with all that it holds; the last string in it."""
        closing = [_OPEN[self._text()]]
        self._at += 1
        last = None
        while closing and self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            if text in _OPEN and kind == "sign":
                closing.append(_OPEN[text])
            elif text == closing[-1] and kind == "sign":
                closing.pop()
            elif kind == "string" and len(closing) == 1:
                last = _ESCAPE.sub(r"\1", text[1:-1])
            self._at += 1
        return last

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        while (text := self._text()) not in ("}", ""):
            begin = self._at
            if text == "...":
                self._at += 1
                spread = self._value(depth + 1)
                found |= spread if isinstance(spread, dict) else {}
            elif self._text(1) == ":" and self._kind() in ("word", "string", "number"):
                name = _ESCAPE.sub(r"\1", text[1:-1]) if self._kind() == "string" else text
                self._at += 2
                found[name] = self._value(depth + 1)
            elif self._kind() == "word" and self._text(1) in (",", "}"):
                found[text] = self._names.get(text)
                self._at += 1
            else:
                self._computed()
            self._pass(begin)
        self._at += 1
        return found

    def _array(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self._at += 1
        while self._text() not in ("]", ""):
            begin = self._at
            if self._text() == "...":
                self._at += 1
                spread = self._value(depth + 1)
                found += spread if isinstance(spread, list) else []
            elif self._text() != ",":
                found.append(self._value(depth + 1))
            self._pass(begin)
        self._at += 1
        return found

    def _pass(self, begin: int) -> None:
        """Step over the rest of a value (`as Config`) and over the comma after it. Always moves on."""
        while self._text() in ("as", "satisfies") or self._kind() == "word":
            self._computed()
        if self._text() == "," or self._at == begin:
            self._at += 1
