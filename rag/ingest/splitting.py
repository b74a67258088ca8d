"""Cutting the blocks of one section into texts that fit.

A text is a slice of the page wherever it can be. Where code or a table must be cut, every part is made whole again:
with the fence's opening and closing line, or with the table's head.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from markdown_it.tree import SyntaxTreeNode

Fits = Callable[[str], bool]

_SENTENCE: Final = re.compile(
    r"(?:(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\bcf)(?<!\bno)(?<!\bDr)(?<!\bMr)(?<!\bFig)[.!?…][\"'”’)\]*_]*\s+)"
    r"|[。！？]"
)
_SPACE: Final = re.compile(r"\s+")
_OPENER: Final = re.compile(
    r"(?P<mark>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:`{3,}|~{3,}))[ \t]*(?P<language>[^\s,{]{0,20})"
)
_NOT_PROSE: Final = re.compile(r"[`~|>]|(?:[-*+]|\d{1,9}[.)])\s")
_MARK: Final = re.compile(r"\w{1,6}|[^\w\s]")
LEAD_IN: Final = 300  # characters; longer is a paragraph of its own
LABEL: Final = 3  # words


@dataclass(frozen=True, slots=True)
class SplitPiece:
    """`text[begin:end]` of a page, between what makes a part of code or of a table whole."""

    begin: int
    end: int
    before: str = ""
    after: str = ""

    def of(self, text: str) -> str:
        return self.before + text[self.begin : self.end] + self.after


class Packer:
    """Fills texts with pieces, in order, as full as they go.

    A line that leads in (it ends with a colon, or is no sentence) is not left at the end of a text when the block
    that it leads to opens the next.
    """

    def __init__(self, text: str, fits: Fits) -> None:
        self.text = text
        self.fits = fits
        self._open: list[SplitPiece] = []
        self._done: list[str] = []

    def add(self, piece: SplitPiece) -> None:
        """Appends a piece that fits by itself."""
        if self.takes(piece):
            self._open.append(piece)
            return
        carried = self._lead_in()
        self.flush(keep=carried)
        if not self.takes(piece):
            self.flush()
        self._open.append(piece)

    def takes(self, piece: SplitPiece) -> bool:
        """Whether the open text still fits with this piece."""
        return self.fits(self._joined([*self._open, piece]))

    def open_large(self) -> None:
        """Makes room for a block that will be cut: only the line that leads to it stays in the open text."""
        self.flush(keep=self._lead_in())

    def finish(self) -> list[str]:
        self.flush()
        return self._done

    def _lead_in(self) -> list[SplitPiece]:
        return [p for p in self._open[-1:] if is_lead_in(p.of(self.text))]

    def flush(self, keep: Sequence[SplitPiece] = ()) -> None:
        """Ends the open text; the pieces in `keep`, its last, begin the next."""
        ready = self._open[: len(self._open) - len(keep)]
        if ready:
            self._done.append(self._joined(ready))
        self._open = list(keep)

    def _joined(self, pieces: list[SplitPiece]) -> str:
        joined = ""
        for n, piece in enumerate(pieces):
            if n:
                gap = self.text[pieces[n - 1].end : piece.begin]
                whole = pieces[n - 1].after or piece.before or not joined
                joined += "\n\n" if whole else gap
            joined += piece.of(self.text)
        return joined.strip("\n")


def is_lead_in(text: str) -> bool:
    """Whether a text only introduces what follows: `The node:`, `**Key points**`, `Listing 3-1: A node`."""
    stripped = text.strip()
    if not stripped or len(stripped) > LEAD_IN or "\n\n" in stripped or _NOT_PROSE.match(stripped):
        return False
    return stripped.rstrip("*_ ")[-1:] not in set(".!?…)]`|。！？")


def pack(nodes: Sequence[SyntaxTreeNode], text: str, starts: Sequence[int], fits: Fits) -> list[str]:
    """The texts of a section's blocks, each of which fits. `starts` holds the offset of every line of `text`."""
    packer = Packer(text, fits)
    for node in nodes:
        _place(node, packer, starts, fits)
    return [t for t in packer.finish() if not _says_nothing(t)]


def _says_nothing(text: str) -> bool:
    """Whether a text is a mere label, such as a tab's in front of headings: it would be found and answer nothing."""
    return not any(c.isalnum() for c in text) or (text.endswith(":") and len(text.split()) <= LABEL)


def _place(node: SyntaxTreeNode, packer: Packer, starts: Sequence[int], fits: Fits) -> None:
    if node.map is None:
        return
    piece = _slice(packer.text, starts[node.map[0]], starts[node.map[1]])
    if piece.begin == piece.end or node.type == "hr":
        return
    if fits(piece.of(packer.text)):
        packer.add(piece)
    elif node.type in ("fence", "code_block"):
        packer.open_large()
        _place_code(piece, packer, fits, fenced=node.type == "fence")
    elif node.type == "table":
        packer.open_large()
        _place_table(piece, packer, fits)
    elif node.type in ("bullet_list", "ordered_list", "list_item", "blockquote") and node.children:
        for child in node.children:
            _place(child, packer, starts, fits)
    else:
        _place_prose(piece, packer, fits)


def _slice(text: str, begin: int, end: int) -> SplitPiece:
    """The lines without the blank ones at their end."""
    return SplitPiece(begin, begin + len(text[begin:end].rstrip()))


def _lines(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    """The offsets of the lines in a range, line ends not included."""
    spans = []
    while begin < end:
        stop = text.find("\n", begin, end)
        stop = end if stop < 0 else stop
        spans.append((begin, stop))
        begin = stop + 1
    return spans


def _place_code(piece: SplitPiece, packer: Packer, fits: Fits, *, fenced: bool) -> None:
    text = packer.text
    spans = _lines(text, piece.begin, piece.end)
    opening = _OPENER.match(text, *spans[0]) if fenced else None
    if not opening:
        _place_lines(spans, packer, fits, "", "")
        return
    closing, body = text[slice(*spans[-1])], spans[1:-1]
    if set(closing.strip("> \t")) != {opening["mark"][-1]}:  # left open in a list or a quote, and closed by its end
        closing, body = re.sub(r"[^\s>`~]", " ", opening["mark"]), spans[1:]
    before, after = opening["mark"] + opening["language"] + "\n", "\n" + closing
    if not fits((before + after) * 2):  # a fence of a hundred backticks leaves no room for code
        before = after = ""
    _place_lines(body, packer, fits, before, after)


def _place_table(piece: SplitPiece, packer: Packer, fits: Fits) -> None:
    spans = _lines(packer.text, piece.begin, piece.end)
    head = packer.text[spans[0][0] : spans[1][1] + 1]
    rows = [packer.text[slice(*row)] for row in spans[2:]]
    if fits(head * 2) and rows:  # a head that takes half of a text leaves no room for rows
        _place_lines(spans[2:], packer, fits, head, "")
    else:
        _place_lines(spans, packer, fits, "", "")


def _place_lines(spans: list[tuple[int, int]], packer: Packer, fits: Fits, before: str, after: str) -> None:
    """Runs of whole lines that fit, about equally long; a line that does not fit by itself is cut."""
    sums = [0]
    for span in spans:
        sums.append(sums[-1] + len(_MARK.findall(packer.text[slice(*span)])))
    line = 0
    while line < len(spans):
        limit = _reach(spans, line, packer, before, after)
        if limit is None:
            packer.open_large()
            if not fits(SplitPiece(*spans[line], before, after).of(packer.text)):
                for part in _cut(SplitPiece(*spans[line]), packer.text, lambda t: fits(before + t + after)):
                    packer.add(SplitPiece(part.begin, part.end, before, after))
                packer.open_large()
                line += 1
            else:
                packer.flush()
            continue
        end = _even_end(spans, sums, packer.text, line, limit + 1)
        packer.add(SplitPiece(spans[line][0], spans[end - 1][1], before, after))
        if end < len(spans):
            packer.flush()
        line = end


def _reach(spans: list[tuple[int, int]], line: int, packer: Packer, before: str, after: str) -> int | None:
    """The last line of the longest run from `line` that the open text takes."""

    def takes(last: int) -> bool:
        return packer.takes(SplitPiece(spans[line][0], spans[last][1], before, after))

    return _longest(range(line, len(spans)), takes)


def _even_end(spans: list[tuple[int, int]], sums: list[int], text: str, line: int, limit: int) -> int:
    """Where a run from `line` ends (at `limit` at most) so that what is left makes parts of about one length.

    Otherwise the last part is a stray bracket. A blank line a little earlier is a better place. Lengths are in words
    and marks, which is close to what any tokenizer counts.
    """
    left = sums[-1] - sums[line]
    longest = max(sums[limit] - sums[line], 1)
    if limit == len(spans):
        return limit
    share = left / -(-left // longest)
    for end in range(line + 1, limit):
        blank = not text[slice(*spans[end])].strip()
        if sums[end] - sums[line] >= share * (0.8 if blank else 1):
            return end
    return limit


def _place_prose(piece: SplitPiece, packer: Packer, fits: Fits) -> None:
    for part in _cut(piece, packer.text, fits):
        packer.add(part)


def _cut(piece: SplitPiece, text: str, fits: Fits) -> list[SplitPiece]:
    """Parts that fit: cut after a sentence, else between words, else anywhere."""
    parts: list[SplitPiece] = []
    begin = piece.begin
    while begin < piece.end:
        end = begin + _prefix(text[begin : piece.end], fits)
        if end < piece.end:
            end = begin + _seam(text[begin:end])
        if said := text[begin:end].rstrip():
            parts.append(SplitPiece(begin, begin + len(said)))
        begin = end
        while begin < piece.end and text[begin].isspace():
            begin += 1
    return parts


def _prefix(text: str, fits: Fits) -> int:
    """The length of the longest beginning that fits, at least 1."""
    return _longest(range(1, len(text) + 1), lambda n: fits(text[:n])) or 1


def _longest(sizes: range, fit: Callable[[int], bool]) -> int | None:
    """The largest of rising sizes that fits, None where not even the first does, by doubling and halving."""
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
    """Where to cut a text that runs on: after its last sentence, else its last word, not in inline code."""
    for pattern, least in ((_SENTENCE, len(text) // 3), (_SPACE, len(text) // 3)):
        ends = [m.end() for m in pattern.finditer(text) if m.end() >= least]
        outside = [end for end in ends if text.count("`", 0, end) % 2 == 0]
        if outside:
            return outside[-1]
    spaces = [m.end() for m in _SPACE.finditer(text)]
    return spaces[-1] if spaces else len(text)
