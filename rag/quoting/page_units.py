"""Cut Markdown into units that can be quoted: sentences, list items, tables, code blocks.

Offsets are exact, in code points, inside a paragraph too, which a Markdown parser would not give. The time is linear:
the cutter never looks back more than a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from rag.quoting.english.word_lists import ABBREVIATION, BEFORE_NUMBER, CAPTION_NUMBER, MAY_END_SENTENCE

UnitKind = Literal["sentence", "lead", "item", "table", "row", "code", "heading"]

TABLE_LIMIT: Final = 700  # code points; a longer table is cut into rows
ITEM_LIMIT: Final = 400  # code points; a longer list item is cut into sentences

_TICKS: Final = re.compile(r"`+")
_MARKS_IN_PAGE: Final = re.compile(r"`+|\n(?=[ \t]*\n)")  # runs, and line feeds before blank lines
_FENCE: Final = re.compile(r"(`{3,}|~{3,})(.*)")
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_HEADING: Final = re.compile(r"#{1,6}(?:[ \t]+|$)")
_BOLD_LINE: Final = re.compile(r"\*\*[^*]{1,80}[^*.!?…]\*\*(?: \([^()]*\))?")  # stands for a heading
_LABEL: Final = re.compile(r"\*\*[^*]{1,80}\*\*:|\*\*[^*]{1,80}:\*\*")
# Lines without text: the fence of an admonition, a lone tag or comment, the mark of a table of contents.
_SILENT: Final = re.compile(r":{3,}.*|\[![A-Za-z]+\]|</?[A-Za-z][^<>]*>|<!--.*-->|\[\[?_?TOC_?\]?\]", re.IGNORECASE)
_ENDING: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_]*+(?=\s|\\\n)|[。！？]+[」』”’）]*+")
_BLANK: Final = re.compile(r"(?:\s|\\\n)*+")  # a line of a paragraph may end in a backslash, so that it is not joined
_PLAIN_STOP: Final = re.compile(r"(?<![.\s])\.(?![.\"'”’»])")
_BEFORE_PARENTHESES: Final = " \t\n*_>-+\"'“‘"  # before a sentence that is in parentheses as a whole
PARENTHESES: Final = 300  # code points in which they close
_NUMBERING: Final = re.compile(r"\s*[*_(\[\"']*(?:\d{1,3}|[ivx]{1,5}|[A-Za-z])")  # the "1" of "1. Reliability"


@dataclass(frozen=True, slots=True)
class Unit:
    """A quotable stretch of a text: `text[start:end]`, in code points.

    `kind`: a "sentence" of a paragraph; a "lead", with a colon at its end or bold, which introduces what follows; an
    "item" of a list, without its bullet; a "table", or of a long one its head as a "table" and each "row"; a fenced
    "code" block; a "heading" without its hashes.

    `block` numbers the paragraphs, lists, tables and code blocks of the text in order; what is in one shares its
    number. `depth` is the level of a heading, and the column of anything in a list.
    """

    start: int
    end: int
    text: str
    kind: UnitKind
    block: int
    depth: int = 0


def units(text: str) -> list[Unit]:
    """All units of a Markdown text, in order and without overlap; none for an empty text.

    >>> [(unit.kind, unit.text, unit.block) for unit in units("It has two:\\n- A\\n- B\\n\\nYes. No.")]
    [('lead', 'It has two:', 0), ('item', 'A', 1), ('item', 'B', 1), ('sentence', 'Yes.', 2), ('sentence', 'No.', 2)]
    """
    return _Cutter(text).cut()


def sentence_spans(
    text: str, start: int = 0, end: int | None = None, *, small: bool = False
) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of a paragraph, without the white space around them.

    A full stop ends a sentence if white space follows and then no lower-case letter, except in inline code and after an
    abbreviation or an initial. Versions, decimals, file names and addresses hold no white space, so they stay whole.
    With `small` a lower-case letter may begin a sentence after a plain full stop: "pip installs it. uv does so too."
    """
    end = len(text) if end is None else end
    code = code_spans(text, start, end)
    begin, next_code = start, 0
    for match in _ENDING.finditer(text, start, end):
        while next_code < len(code) and code[next_code][1] <= match.start():
            next_code += 1
        if next_code < len(code) and code[next_code][0] <= match.start():
            continue
        if not _is_end(text, match, begin, end, small=small):
            continue
        yield from _trimmed(text, begin, match.end())
        begin = match.end()
    yield from _trimmed(text, begin, end)


def _is_end(text: str, match: re.Match[str], begin: int, end: int, *, small: bool) -> bool:
    if match[0][0] in "。！？":
        return True
    tail = text[match.end() : min(end, match.end() + 40)].lstrip()
    follower = "`" if tail[:1] == "`" else tail.lstrip("*_\"'“‘«([`")[:1]
    stop = match.start() + len(match[0]) - len(match[0].lstrip(".!?…"))
    if small and follower.islower() and is_plain_stop(text, stop):
        follower = "`"
    return ends_sentence(text, begin, stop, follower)


def is_plain_stop(text: str, stop: int) -> bool:
    """Whether a single full stop stands before `stop`. After other signs a sentence may go on: 'Ask "Why?" first'."""
    return _PLAIN_STOP.match(text, max(0, stop - 1)) is not None


def in_parentheses(text: str, begin: int, stop: int) -> bool | None:
    """Whether a place is in parentheses that opened within its sentence and close in the same paragraph.

    None if that depends on what follows the text.
    """
    opened = text.rfind("(", begin + 1, stop)
    if opened <= begin or ")" in text[opened:stop] or not text[begin:opened].strip(_BEFORE_PARENTHESES):
        return False
    rest = text[stop : stop + PARENTHESES].partition("\n\n")
    if ")" in rest[0]:
        return True
    return False if rest[1] or len(text) - stop >= PARENTHESES else None


def ends_sentence(text: str, begin: int, stop: int, follower: str) -> bool:
    """Whether the sign before `stop` ends the sentence from `begin` on; `follower` is the character after it."""
    if follower.islower() or in_parentheses(text, begin, stop):
        return False
    if text[stop - 1] != "." or text[max(begin, stop - 2) : stop - 1] == ".":
        return True
    if text[max(0, stop - 2) : stop - 1].isspace() and "." in (follower, text[max(0, stop - 3) : stop - 2]):
        return False  # of ". . ."
    if stop - 1 - begin <= 8 and _NUMBERING.fullmatch(text, begin, stop - 1):
        return False
    if stop - 1 - begin <= 30 and CAPTION_NUMBER.fullmatch(text, begin, stop - 1):
        return False
    before = text[max(begin, stop - 13) : stop]
    if follower.isdigit() and BEFORE_NUMBER.search(before):
        return False
    if not ABBREVIATION.search(before):
        return True
    return bool(MAY_END_SENTENCE.search(before)) and follower.isupper()


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    blank = _BLANK.match(text, start, end)
    start = blank.end() if blank else start
    if piece := text[start:end].rstrip():
        yield start, start + len(piece)


def code_spans(text: str, start: int = 0, end: int | None = None, *, in_page: bool = False) -> list[tuple[int, int]]:
    """Spans of inline code: a run of backticks up to the next run of the same length (CommonMark 6.1), in linear time.

    `in_page`: the text is a page without its fenced blocks, so a blank line ends a paragraph with its code, and a run
    after a backslash opens none.
    """
    marks = list((_MARKS_IN_PAGE if in_page else _TICKS).finditer(text, start, len(text) if end is None else end))
    partners = [0] * len(marks)  # 0: none
    following: dict[int, int] = {}
    for n in range(len(marks) - 1, -1, -1):
        if marks[n][0] == "\n":
            following.clear()
            continue
        length = marks[n].end() - marks[n].start()
        partners[n] = following.get(length, 0)
        following[length] = n
    spans: list[tuple[int, int]] = []
    n = 0
    while n < len(marks):
        begin = marks[n].start()
        if partners[n] and not (in_page and text[max(0, begin - 1) : begin] == "\\"):
            n = partners[n]
            spans.append((begin, marks[n].end()))
        n += 1
    return spans


class _Cutter:
    """One pass over the lines of a text. `pending` is the paragraph or list item being read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.units: list[Unit] = []
        self.block = -1
        self.list_block: int | None = None  # block number of the open list
        self.item_depth = 0
        self.pending: tuple[int, int, UnitKind, int] | None = None  # start, end, kind, depth
        self.lines = _lines(text)
        self.at = 0
        self.after_blank = True

    def cut(self) -> list[Unit]:
        while self.at < len(self.lines):
            start, end = self.lines[self.at]
            line = self.text[start:end]
            bare = line.strip()
            if not bare:
                self._flush()
                self.after_blank = True
                self.at += 1
                continue
            self._line(start, end, line, bare)
            self.after_blank = False
        self._flush()
        return self.units

    def _line(self, start: int, end: int, line: str, bare: str) -> None:
        quoted = len(line) - len(line.lstrip("> \t")) if bare[0] == ">" else 0
        indent = quoted or len(line) - len(line.lstrip())
        body = line[indent:].rstrip()
        depth = 0 if quoted else indent
        if fence := _FENCE.match(body):
            if self._underlines(body):
                self.at += 1
                return self._flush("heading")
            if fence[1][0] == "~" or "`" not in fence[2]:
                return self._fenced(start + indent, fence[1], depth)
        elif self._is_table():
            return self._table(depth)
        self.at += 1
        if not body or _is_rule(body) or _SILENT.fullmatch(body):
            # A line of = or - turns the paragraph above it into a heading.
            self._flush("heading" if body and set(body) in ({"="}, {"-"}) and len(body) > 1 else None)
        elif heading := _HEADING.match(body):
            self._flush()
            self.list_block = None
            title = body[heading.end() :].rstrip("# \t")
            self._add(start + indent + heading.end(), len(title), "heading", heading[0].strip().count("#"))
        elif item := _ITEM.match(body):
            self._item(start + indent + item.end(), end, depth)
        else:
            self._text(start + indent, end, body, depth)
        return None

    def _underlines(self, body: str) -> bool:
        """Whether a line of tildes is no fence but underlines the line above, as titles of reStructuredText are."""
        if self.pending is None or len(body) < 4 or body.strip("~"):
            return False
        above = self.text[self.pending[0] : self.pending[1]].strip()
        return "\n" not in above and len(above) <= len(body) and not above.endswith(":")

    def _fenced(self, start: int, fence: str, depth: int) -> None:
        self._flush()
        if not depth:
            self.list_block = None
        close = re.compile(rf"[ \t>]*{re.escape(fence[0])}{{{len(fence)},}}[ \t]*")
        last = self.at
        while last + 1 < len(self.lines):
            last += 1
            if close.fullmatch(self.text, *self.lines[last]):
                break
        length = self.text[start : self.lines[last][1]].rstrip()
        self._add(start, len(length), "code", depth)
        self.at = last + 1

    def _is_table(self) -> bool:
        """Whether this line is the head of a table: the next one is its delimiter row."""
        if self.at + 1 >= len(self.lines) or "|" not in self.text[slice(*self.lines[self.at])]:
            return False
        under = self.text[slice(*self.lines[self.at + 1])].strip()
        return "-" in under and "|" in under and not under.strip("|-: \t")

    def _table(self, depth: int) -> None:
        self._flush()
        first, last = self.at, self.at + 1
        while last + 1 < len(self.lines) and "|" in self.text[slice(*self.lines[last + 1])]:
            last += 1
        self.at = last + 1
        start = self.lines[first][0] + depth
        if self.lines[last][1] - start <= TABLE_LIMIT:
            self._add(start, len(self.text[start : self.lines[last][1]].rstrip()), "table", depth)
            return
        self._add(start, len(self.text[start : self.lines[first + 1][1]].rstrip()), "table", depth)
        for begin, end in self.lines[first + 2 : last + 1]:
            for left, right in _trimmed(self.text, begin, end):
                self.units.append(Unit(left, right, self.text[left:right], "row", self.block, depth))

    def _item(self, start: int, end: int, depth: int) -> None:
        self._flush()
        if self.list_block is None:
            self.block += 1
            self.list_block = self.block
        self.item_depth = depth
        self.pending = (start, end, "item", depth)

    def _text(self, start: int, end: int, body: str, depth: int) -> None:
        if self.pending and not _LABEL.match(body):
            begin, _, kind, level = self.pending
            self.pending = (begin, end, kind, level)
            return
        self._flush()
        if self.list_block is not None and (depth <= self.item_depth or not self.after_blank):
            self.list_block = None
        self.pending = (start, end, "sentence", depth if self.list_block is not None else 0)

    def _flush(self, kind: Literal["heading"] | None = None) -> None:
        """Add the units of the paragraph or item being read; with `kind`, all of it as one heading."""
        if self.pending is None:
            return
        start, end, own, depth = self.pending
        self.pending = None
        if kind == "heading":
            for left, right in _trimmed(self.text, start, end):
                self._add(left, right - left, "heading", 1)
            return
        if own == "item" and self.list_block is not None:
            block = self.list_block
        else:
            self.block += 1
            block = self.block
        spans = list(_trimmed(self.text, start, end)) if own == "item" and end - start <= ITEM_LIMIT else []
        for number, (left, right) in enumerate(spans or sentence_spans(self.text, start, end)):
            if number and self.text[left] == ">" and not self.text[self.text.rfind("\n", 0, left) + 1 : left].strip():
                left = right - len(self.text[left:right].lstrip("> \t") or self.text[left:right])
            piece = self.text[left:right]
            is_lead = piece.rstrip("*_ ").endswith((":", "：")) or bool(_BOLD_LINE.fullmatch(piece))
            unit_kind: UnitKind = "item" if own == "item" and number == 0 else "lead" if is_lead else "sentence"
            self.units.append(Unit(left, right, piece, unit_kind, block, depth))

    def _add(self, start: int, length: int, kind: UnitKind, depth: int) -> None:
        self.block += 1
        if length:
            self.units.append(Unit(start, start + length, self.text[start : start + length], kind, self.block, depth))


def _lines(text: str) -> list[tuple[int, int]]:
    """Spans of the lines without their line feeds; no other character ends a line."""
    ends = [*(match.start() for match in re.finditer("\n", text)), len(text)]
    return list(zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True))


def _is_rule(body: str) -> bool:
    marks = set(body) - {" ", "\t"}
    return len(marks) == 1 and marks <= set("-*_=") and len(body) > 1
