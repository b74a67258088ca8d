"""Sentences and inline code in a text, as spans of code points, in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

_TICKS: Final = re.compile(r"`+")
_BOLD: Final = re.compile(r"\*\*(?=\S)[^*\n]{1,300}\*\*|__(?=\S)[^_\n]{1,300}__")
_END: Final = re.compile(r"[.!?…]++[\"'”’»)\]*_]*+(?=\s|$)|[。！？]++[」』”’）]*+(?![A-Za-z])")
_GROUP: Final = re.compile(r"(?<=\S )\([^()\n]{1,300}\)|\[[^\[\]\n]{1,300}\]")
_BLANK: Final = re.compile(r"[\s>]*+")
# A bracket behind the end of a sentence, such as "[1]" or "(see Chapter 2)", belongs to it.
BRACKET: Final = (
    r"(?:\\?[\[【［][^\[\]【】\n]{1,200}[\]】］](?:\([^()\s]{0,500}\))?|\([^()\n]{1,120}(?<![.!?])\)"
    r"|<sup>[^<>\n]{1,20}</sup>)"
)
TRAILING: Final = re.compile(rf"(?:[ \t]*\n?[ \t]*{BRACKET})++(?=[.。]?(?:\s|$))[.。]?")
LEADING: Final = re.compile(r"[ \t>]*(?:\\?[\[【［][^\[\]【】\n]{1,40}[\]】］][ \t:]*)+(?=[^\s.,;:!?])")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|etc|vs|approx|ca|fig|figs|eq|no|nos|vol|ch|sec|p|pp|ed|eds|mr|mrs|ms|dr|prof|st|inc|ltd|co|al)"
    r"|(?:^|[\s(\"'])[A-Z])\.$",
    re.IGNORECASE | re.ASCII,
)
_MARKER: Final = re.compile(r"(?<![ \t])[ \t]*\[(?:\d{1,4}(?:, ?\d{1,4}){0,9}|\?)\](?!\()")
_NUMBERING: Final = re.compile(r"\W*(?:\d{1,3}|[ivxIVX]{1,5}|[A-Za-z])\.$")  # the "1." of "1. Reliability"


def sentence_spans(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of a paragraph, without the white space around them.

    A full stop ends a sentence if white space follows and then no lower-case letter, except in inline code, in bold
    text, and after an abbreviation or an initial. Citations behind a sentence belong to it, unless the paragraph
    begins with one: then each stands before its sentence.
    """
    end = len(text) if end is None else end
    closed = _protected(text, start, end)
    leading = LEADING.match(text, start, end) is not None
    begin, at = start, 0
    for match in _END.finditer(text, start, end):
        stop = match.end()
        if match.start() < begin:
            continue
        while at < len(closed) and closed[at][1] < stop:
            at += 1
        if at < len(closed) and closed[at][0] < match.start() and stop < closed[at][1]:
            continue
        if not leading and (found := TRAILING.match(text, stop, end)):
            stop = found.end()
        if not _ends(text, begin, match, stop, end) or (stop < end and _BOLD.fullmatch(text, begin, stop)):
            continue  # "**Updating.** Run it again." is one sentence
        yield from _trimmed(text, begin, stop)
        blank = _BLANK.match(text, stop, end)
        begin = blank.end() if blank else stop
    yield from _trimmed(text, begin, end)


def _ends(text: str, begin: int, match: re.Match[str], stop: int, end: int) -> bool:
    """Whether the sign ends the sentence from `begin` on. What follows it decides, and the word before it."""
    if match[0][0] in "。！？":
        return True
    follower = text[stop : min(end, stop + 40)].lstrip(" \t\n>*_\"'“‘«([")[:1]
    if follower.islower():
        return False
    sign = match.start() + 1
    if text[match.start()] != ".":
        return True
    before = text[max(begin, sign - 14) : sign]
    if sign - begin <= 8 and _NUMBERING.fullmatch(before):
        return False
    return not (follower and _ABBREVIATION.search(before))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    blank = _BLANK.match(text, start, end)
    start = blank.end() if blank else start
    if piece := text[start:end].rstrip():
        yield start, start + len(piece)


def _protected(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The spans of inline code, bold text and brackets in order: no sentence ends within them."""
    found = code_spans(text, start, end)
    for pattern in (_BOLD, _GROUP):
        found += [match.span() for match in pattern.finditer(text, start, end)]
    return sorted(found)


def code_spans(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Spans of inline code: a run of backticks up to the next run of the same length (CommonMark 6.1)."""
    marks = [match.span() for match in _TICKS.finditer(text, start, len(text) if end is None else end)]
    partners = [-1] * len(marks)
    following: dict[int, int] = {}
    for n in range(len(marks) - 1, -1, -1):
        length = marks[n][1] - marks[n][0]
        partners[n] = following.get(length, -1)
        following[length] = n
    spans: list[tuple[int, int]] = []
    n = 0
    while n < len(marks):
        if partners[n] >= 0:
            spans.append((marks[n][0], marks[partners[n]][1]))
            n = partners[n]
        n += 1
    return spans


def without_markers(text: str) -> str:
    """A shown answer without its markers, `[1]` and `[?]`, and the space before each; code is left alone."""
    edges = [0, *(edge for span in code_spans(text) for edge in span), len(text)]
    parts = [text[start:end] for start, end in pairwise(edges)]
    parts[::2] = [_MARKER.sub("", part) for part in parts[::2]]
    return "".join(parts)
