"""Lists that plain text sets in two columns, such as options and what they mean, as items of Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from rag.ingest.fences import fenced_lines

LEAST: Final = 3  # entries of a list whose columns only blanks part; two are enough if dashes part them
_ENTRY: Final = re.compile(
    r"(?P<term> *(?=[^\s>|+*#$%-]|-{1,2}\w)\S(?:\S| (?! |[-:] )){0,38}?)"
    r"(?P<joint> +-+ +| +: +|: {2,}| {2,}|\t+)(?P<text>[^\s#:=|-].*)"
)


class _Entry(NamedTuple):
    indent: int
    term: str
    dashed: bool
    column: int  # where the text begins
    lines: list[str]  # of the text


def with_lists(text: str) -> str:
    """The text with each run of lines in two columns as a list; the lines below the second column go on with it.

    >>> print(with_lists("It is one of\\n  none  - no names\\n  enemy - names of enemies\\n          alone"))
    It is one of
    <BLANKLINE>
    - **none**: no names
    - **enemy**: names of enemies alone
    """
    lines = text.split("\n")
    code = fenced_lines(lines)
    found: list[str] = []
    at = 0
    while at < len(lines):
        entries, end = _run(lines, at) if at not in code else ([], at + 1)
        if entries:
            found += [""] if found and found[-1].strip() else []
            found += [f"- {_shown(entry.term)}: {' '.join(entry.lines)}" for entry in entries]
            found += [""] if end < len(lines) and lines[end].strip() else []
        else:
            found += lines[at:end]
        at = end
    return "\n".join(found)


def _run(lines: Sequence[str], start: int) -> tuple[list[_Entry], int]:
    """The entries from a line on, and the line behind them; none if they are too few to be a list."""
    entries: list[_Entry] = []
    at = start
    while at < len(lines) and lines[at].strip():
        entry = _entry(lines[at])
        if entries and _indent(lines[at]) == entries[0].column:
            entries[-1].lines.append(lines[at].strip())
        elif entry is None or (entries and not _is_alike(entry, entries[0])):
            break
        else:
            entries.append(entry)
        at += 1
    least = 2 if entries and entries[0].dashed else LEAST
    is_list = len({entry.term for entry in entries}) == len(entries) >= least  # in a log or a listing terms come again
    return (entries if is_list else []), max(at, start + 1)


def _entry(line: str) -> _Entry | None:
    match = _ENTRY.fullmatch(line.rstrip())
    if match is None or "  " in match["text"] or match["term"].endswith((".", ",", ";")):
        return None
    return _Entry(_indent(line), match["term"].strip(), "-" in match["joint"], match.start("text"), [match["text"]])


def _shown(term: str) -> str:
    """A term in bold letters, or as code if it has signs that Markdown would read."""
    return f"`{term}`" if re.search(r"[*_<>\\\[]", term) and "`" not in term else f"**{term}**"


def _is_alike(entry: _Entry, first: _Entry) -> bool:
    return (entry.indent, entry.column, entry.dashed) == (first.indent, first.column, first.dashed)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
