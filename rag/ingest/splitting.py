"""Pack the blocks of a section into texts that fit, and cut the blocks that are too long.

A text is a slice of the page where possible. When code or a table is cut, every part gets the fence's opening and
closing line, or the table's head. Where code goes on in another text, `OMISSION` stands in its place, so that nobody
takes a part of a program for the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from rag.ingest.fences import FENCE
from rag.ingest.page import CONTAINERS, Block, walk
from rag.types import OMISSION

Fits = Callable[[str], bool]

LEAD_IN: Final = 300  # most characters of a line that leads in; a longer one is a paragraph of its own
LEAD_INS: Final = 3  # most pieces that lead in the same block
LABEL: Final = 3  # most words of a label
_SENTENCE: Final = re.compile(
    r"(?:(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\bcf)(?<!\bno)(?<!\bDr)(?<!\bMr)(?<!\bFig)[.!?…][\"'”’)\]*_]*\s+)"
    r"|[。！？]"
)
_ANNOUNCES: Final = re.compile(r"(?:^|\bthe )following\b|\bas follows\b", re.IGNORECASE)
_SPACE: Final = re.compile(r"\s+")
_NOT_PROSE: Final = re.compile(r"`{3}|~{3}|\||(?:[-*+]|\d{1,9}[.)])\s")
_QUOTED: Final = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_ITEM: Final = re.compile(r"\A(?:[-*+]|\d{1,9}[.)])[ \t]+(?!.*\n[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t])", re.DOTALL)
_SIGNATURE: Final = re.compile(r"\A(?P<mark>`+)(?:(?!(?P=mark))[^\n])+(?P=mark)\Z")
_MARK: Final = re.compile(r"\w{1,6}|[^\w\s]")
_LINE: Final = re.compile(r"([^\n]*)\n?")


@dataclass(frozen=True, slots=True)
class SplitPiece:
    """`text[begin:end]` of a page. `before` and `after` complete a part of code or of a table."""

    begin: int
    end: int
    before: str = ""
    after: str = ""

    def of(self, text: str) -> str:
        return self.before + text[self.begin : self.end] + self.after


@dataclass(frozen=True, slots=True)
class SplitFrame:
    """What completes the parts of `begin` to `end`: all of them, and where the part before or after it is missing."""

    begin: int
    end: int
    before: str = ""
    after: str = ""
    cut_before: str = ""
    cut_after: str = ""

    @property
    def longest(self) -> str:
        """What is added to a part from the middle."""
        return self.before + self.cut_before + self.cut_after + self.after

    def part(self, begin: int, end: int) -> SplitPiece:
        """The part from `begin` to `end`, completed."""
        before = self.before + (self.cut_before if begin > self.begin else "")
        return SplitPiece(begin, end, before, (self.cut_after if end < self.end else "") + self.after)


class Packer:
    """Fills texts with pieces, each as full as possible. A lead-in moves to the next text with what it introduces."""

    def __init__(self, text: str, fits: Fits) -> None:
        self.text = text
        self.fits = fits
        self._open: list[SplitPiece] = []
        self._open_text = ""
        self._done: list[tuple[int, str]] = []

    def add(self, piece: SplitPiece) -> None:
        """Append a piece that fits by itself."""
        if not self.takes(piece):
            self.flush(keep=self._lead_in())
            if not self.takes(piece):
                self.flush()
        self._open_text = self._with(piece)
        self._open.append(piece)

    def parts(self, piece: SplitPiece) -> bool:
        """Whether adding this piece whole would part it from the lead-in before it."""
        lead_in = self._lead_in()
        return bool(lead_in) and not self.fits(self._joined([*lead_in, piece]).strip("\n"))

    def beside(self) -> Fits:
        """Whether a text fits below the lead-in that ends the open text."""
        lead_in = self._joined(self._lead_in()).strip("\n")
        return lambda text: self.fits(f"{lead_in}\n\n{text}")

    def takes(self, piece: SplitPiece) -> bool:
        """Whether the open text still fits with this piece added."""
        return self.fits(self._with(piece).strip("\n"))

    def open_large(self) -> None:
        """Make room for a block that will be cut: only a lead-in stays in the open text."""
        self.flush(keep=self._lead_in())

    def flush(self, keep: Sequence[SplitPiece] = ()) -> None:
        """End the open text. `keep`, its last pieces, begin the next one."""
        ready = self._open[: len(self._open) - len(keep)]
        if ready:
            self._done.append((ready[0].begin, self._joined(ready).strip("\n")))
        self._open, self._open_text = list(keep), self._joined(keep)

    def finish(self) -> list[tuple[int, str]]:
        """End the open text and return all texts, each with the offset at which it begins."""
        self.flush()
        return self._done

    def _lead_in(self) -> list[SplitPiece]:
        """The pieces at the end of the open text that only introduce what follows, such as a sentence and a label."""
        first = len(self._open)
        while first > max(len(self._open) - LEAD_INS, 0) and is_lead_in(self._open[first - 1].of(self.text)):
            first -= 1
        return self._open[first:]

    def _with(self, piece: SplitPiece) -> str:
        return self._extended(self._open_text, self._open[-1] if self._open else None, piece)

    def _joined(self, pieces: Sequence[SplitPiece]) -> str:
        joined = ""
        for before, piece in zip([None, *pieces], pieces, strict=False):
            joined = self._extended(joined, before, piece)
        return joined

    def _extended(self, joined: str, last: SplitPiece | None, piece: SplitPiece) -> str:
        """The text of some pieces with that of a further one, parted as on the page where neither is a part of code."""
        if last is None:
            return piece.of(self.text)
        whole = last.after or piece.before or not joined
        return joined + ("\n\n" if whole else self.text[last.end : piece.begin]) + piece.of(self.text)


def is_lead_in(text: str) -> bool:
    """Whether a text only introduces what follows: `The node:`, `**Key points**`, `Listing 3-1: A node`, `- main.py:`.

    It is short, one paragraph or one item, and does not end like a sentence, unless it is a single one that announces
    something: `Following is the list of rules.` A line that is nothing but code is the signature of an entry, or the
    name of a file, and introduces its description however long it is.
    """
    stripped = _QUOTED.sub("", text).strip()
    if _SIGNATURE.match(stripped):
        return True
    if stripped.endswith(":"):
        stripped = _ITEM.sub("", stripped)
    if not stripped or len(stripped) > LEAD_IN or "\n\n" in stripped or _NOT_PROSE.match(stripped):
        return False
    announces = stripped.endswith(".") and not _SENTENCE.search(stripped) and _ANNOUNCES.search(stripped)
    return bool(announces) or stripped.rstrip("*_ ")[-1:] not in set(".!?…)]`|。！？")


def pack(blocks: Sequence[Block], text: str, starts: Sequence[int], fits: Fits) -> list[tuple[int, str]]:
    """The texts of a section's blocks, each of which fits, with their offsets. `starts` are those of all lines."""
    packer = Packer(text, fits)
    for block in blocks:
        _place(block, packer, starts, fits)
    indented = (block for block in walk(tuple(blocks)) if block.kind == "code_block")
    code = {starts[line] for block in indented for line in range(block.begin, block.end)}
    texts = ((begin, t if begin in code else _moved_back(t)) for begin, t in packer.finish())
    return [(begin, t) for begin, t in texts if not _is_label(t)]


def _moved_back(text: str) -> str:
    """A text that begins inside an item of a list, without the indentation of the item: it would be read as code."""
    indent = text[: len(text) - len(text.lstrip(" "))]
    lines = text.split("\n")
    end = next((n for n, line in enumerate(lines) if line and not line.startswith(indent)), len(lines))
    return "\n".join([*(line.removeprefix(indent) for line in lines[:end]), *lines[end:]])


def _is_label(text: str) -> bool:
    """Whether a text is only a label, such as that of a tab: a search would find it, and it answers nothing."""
    return not any(c.isalnum() for c in text) or (text.endswith(":") and len(text.split()) <= LABEL)


def _place(block: Block, packer: Packer, starts: Sequence[int], fits: Fits) -> None:
    begin, end = starts[block.begin], starts[block.end]
    piece = SplitPiece(begin, begin + len(packer.text[begin:end].rstrip()))
    if piece.begin == piece.end or block.kind == "hr":
        return
    is_list = block.kind in CONTAINERS and bool(block.children)
    leads = is_list and piece.of(packer.text).endswith(":")  # its last item introduces what follows
    cut = leads or (block.kind != "paragraph" and packer.parts(piece))
    if not cut and fits(piece.of(packer.text)):
        _place_whole(piece, block.kind, packer)
    elif block.kind in ("fence", "code_block"):
        packer.open_large()
        _place_code(piece, packer, fits, fenced=block.kind == "fence")
    elif block.kind == "table":
        packer.open_large()
        _place_table(piece, packer, fits)
    elif is_list:
        for child in block.children:
            _place(child, packer, starts, fits)
    else:
        for part in _cut(piece, packer.text, fits):
            packer.add(part)


def _place_whole(piece: SplitPiece, kind: str, packer: Packer) -> None:
    """Add a block that fits. A paragraph is cut where it would part from its lead-in, or where it ends in one."""
    text = packer.text
    if kind != "paragraph":
        packer.add(piece)
        return
    if packer.parts(piece):
        first, *_ = _cut(piece, text, packer.beside())
        if first.end - first.begin > LEAD_IN // 4 and first.end < piece.end:
            packer.add(first)
            begin = first.end + len(text[first.end : piece.end]) - len(text[first.end : piece.end].lstrip())
            piece = SplitPiece(begin, piece.end)
    words = piece.of(text)
    seams = [match.end() for match in _SENTENCE.finditer(words)] if words.endswith(":") else []
    if seams and is_lead_in(words[seams[-1] :]):
        packer.add(SplitPiece(piece.begin, piece.begin + len(words[: seams[-1]].rstrip())))
        piece = SplitPiece(piece.begin + seams[-1], piece.end)
    packer.add(piece)


def _lines(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    """The offsets of the lines in a range, without their line ends."""
    return [line.span(1) for line in _LINE.finditer(text, begin, end) if line[0]]


def _place_code(piece: SplitPiece, packer: Packer, fits: Fits, *, fenced: bool) -> None:
    text = packer.text
    spans = _lines(text, piece.begin, piece.end)
    opening = FENCE.match(text, *spans[0]) if fenced else None
    if not opening:
        _place_lines(spans, packer, fits, SplitFrame(piece.begin, piece.end))
        return
    closing, body = text[slice(*spans[-1])], spans[1:-1]
    head = opening["prefix"] + opening["mark"]
    if set(closing.strip("> \t")) != {head[-1]}:  # not closed itself: the end of a list or quote ends it
        closing, body = re.sub(r"[^\s>`~]", " ", head), spans[1:]
    ends = (body[0][0], body[-1][1]) if body else (0, 0)
    mark = closing[: len(closing) - len(closing.lstrip("> \t"))] + OMISSION
    language = re.split(r"[\s,{]", opening["info"].strip())[0][:20]
    frame = SplitFrame(*ends, f"{head}{language}\n", f"\n{closing}", f"{mark}\n", f"\n{mark}")
    if not fits(frame.longest * 2):  # such as a fence of a hundred backticks: the code needs at least half
        frame = SplitFrame(*ends)
    _place_lines(body, packer, fits, frame)


def _place_table(piece: SplitPiece, packer: Packer, fits: Fits) -> None:
    spans = _lines(packer.text, piece.begin, piece.end)
    head = packer.text[spans[0][0] : spans[1][1] + 1]
    rows = [packer.text[slice(*row)] for row in spans[2:]]
    if fits(head * 2) and rows:  # the rows need at least half of a text
        _place_lines(spans[2:], packer, fits, SplitFrame(piece.begin, piece.end, head))
    else:
        _place_lines(spans, packer, fits, SplitFrame(piece.begin, piece.end))


def _place_lines(spans: list[tuple[int, int]], packer: Packer, fits: Fits, frame: SplitFrame) -> None:
    """Add runs of whole lines of about equal length; cut a line that does not fit by itself."""
    sums = [0]  # words and marks before each line; every tokenizer's count is close to that
    for span in spans:
        sums.append(sums[-1] + len(_MARK.findall(packer.text[slice(*span)])))
    line = 0
    while line < len(spans):
        limit = _reach(spans, line, packer, frame)
        if limit is None:
            packer.open_large()
            if not fits(frame.part(*spans[line]).of(packer.text)):
                for part in _cut(SplitPiece(*spans[line]), packer.text, lambda t: fits(frame.longest + t)):
                    packer.add(frame.part(part.begin, part.end))
                packer.open_large()
                line += 1
            else:
                packer.flush()
            continue
        end = _even_end(spans, sums, packer.text, line, limit + 1)
        packer.add(frame.part(spans[line][0], spans[end - 1][1]))
        if end < len(spans):
            packer.flush()
        line = end


def _reach(spans: list[tuple[int, int]], line: int, packer: Packer, frame: SplitFrame) -> int | None:
    """The last line of the longest run from `line` that the open text takes; None if it takes not even one."""
    return longest(range(line, len(spans)), lambda last: packer.takes(frame.part(spans[line][0], spans[last][1])))


def _even_end(spans: list[tuple[int, int]], sums: list[int], text: str, line: int, limit: int) -> int:
    """Where a run from `line` ends, at most at `limit`, so that the parts become about equally long.

    Full parts would leave a stray bracket for the last one. A blank line is preferred from 80 % of a part's share on.
    Lines of 10, 10, 10 and 1 words with room for 30 in a part: two parts have a share of 15.5, so the run ends after
    the second line and the rest has 11.
    """
    if limit == len(spans):
        return limit
    left = sums[-1] - sums[line]
    longest = max(sums[limit] - sums[line], 1)
    share = left / -(-left // longest)
    for end in range(line + 1, limit):
        blank = not text[slice(*spans[end])].strip()
        if sums[end] - sums[line] >= share * (0.8 if blank else 1):
            return end
    return limit


def _cut(piece: SplitPiece, text: str, fits: Fits) -> list[SplitPiece]:
    """Parts that fit: cut after a sentence, else between words, else anywhere."""
    parts: list[SplitPiece] = []
    begin = piece.begin
    while begin < piece.end:
        end = begin + _prefix(text[begin : piece.end], fits)
        if end < piece.end:
            end = begin + _seam(text[begin:end])
        if part := text[begin:end].rstrip():
            parts.append(SplitPiece(begin, begin + len(part)))
        begin = end
        while begin < piece.end and text[begin].isspace():
            begin += 1
    return parts


def _prefix(text: str, fits: Fits) -> int:
    """The length of the longest prefix that fits, at least 1."""
    return longest(range(1, len(text) + 1), lambda n: fits(text[:n])) or 1


def longest(sizes: range, fit: Callable[[int], bool]) -> int | None:
    """The largest of the rising sizes that fits, None if the first does not, by doubling and then halving.

    >>> longest(range(1, 100), lambda size: size <= 37)
    37
    """
    if not sizes or not fit(sizes[0]):
        return None
    low, high = 0, 1
    while high < len(sizes) and fit(sizes[high]):
        low, high = high, high * 2
    high = min(high, len(sizes))
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if fit(sizes[middle]) else (low, middle)
    return sizes[low]


def _seam(text: str) -> int:
    """Where to cut a text that goes on: after a sentence, else a word, if possible not in code and not early."""
    for pattern, least in ((_SENTENCE, len(text) // 3), (_SPACE, len(text) // 3)):
        ends = [m.end() for m in pattern.finditer(text) if m.end() >= least]
        outside = [end for end in ends if text.count("`", 0, end) % 2 == 0]
        if outside:
            return outside[-1]
    spaces = [m.end() for m in _SPACE.finditer(text)]
    return spaces[-1] if spaces else len(text)
