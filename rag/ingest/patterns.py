"""Patterns of paths: the globs of JavaScript tools, and the lines of a `.gitignore`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

_PART: Final = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|\{[^{}]*\}|.", re.DOTALL)


@cache
def glob_regex(pattern: str) -> re.Pattern[str]:
    """A regex that matches a whole path: `*` stays within a name, `**` crosses folders, `{a,b}` is a choice.

    >>> bool(glob_regex("{api,faq}/**/*.{md,mdx}").fullmatch("faq/deep/er.mdx"))
    True
    """
    return re.compile("".join(_regex(part) for part in _PART.findall(pattern.removeprefix("./"))), re.DOTALL)


def matches_any(path: str, patterns: Sequence[str]) -> bool:
    return any(glob_regex(pattern).fullmatch(path) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files of a source are read: those that `include` matches, or all without one, but none of `exclude`.

    Patterns are those of a `.gitignore`. A pattern without a slash matches a name at any depth, another one a path from
    the source on; one that matches a folder matches all that is in it.

    >>> Selection(include=("docs/**",), exclude=("*.rst", "old")).takes("docs/old/a.md")
    False
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def takes(self, path: str) -> bool:
        """Whether a file is read, by its POSIX path relative to the source."""
        if self.include and not any(_git_regex(pattern).match(path) for pattern in self.include):
            return False
        return not self.excludes(path)

    def excludes(self, path: str) -> bool:
        return any(_git_regex(pattern).match(path) for pattern in self.exclude)


EVERYTHING: Final = Selection()


def is_ignored(path: str, lines: str) -> bool:
    """Whether the lines of a `.gitignore` leave a file out. The last line that matches the file decides.

    >>> is_ignored("drafts/a.md", "drafts/") and not is_ignored("b.md", "*.md\\n!b.md")
    True
    """
    ignored = False
    for line in lines.splitlines():
        pattern = line.strip()
        if not pattern or pattern.startswith("#"):
            continue
        again = pattern.startswith("!")
        if _git_regex(pattern.removeprefix("!")).match(path):
            ignored = not again
    return ignored


@cache
def _git_regex(pattern: str) -> re.Pattern[str]:
    anchored = "/" in pattern.rstrip("/")
    body = "".join(_regex(part) for part in _PART.findall(pattern.strip("/")))
    return re.compile(f"{'' if anchored else '(?:.*/)?'}{body}{'/' if pattern.endswith('/') else '(?:/|$)'}", re.DOTALL)


def _regex(part: str) -> str:
    if part == "**/":
        return "(?:[^/]+/)*"
    if part == "**":
        return ".*"
    if part in ("*", "?"):
        return "[^/]*" if part == "*" else "[^/]"
    if part[0] == "[" and len(part) > 1:
        inner = part[1:-1]
        return f"[^{re.escape(inner[1:])}]" if inner[0] == "!" else f"[{re.escape(inner).replace(chr(92) + '-', '-')}]"
    if part[0] == "{" and len(part) > 1:
        return f"(?:{'|'.join(''.join(_regex(p) for p in _PART.findall(one)) for one in part[1:-1].split(','))})"
    return re.escape(part)
