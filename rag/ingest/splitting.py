"""Pack the blocks of a section into texts that fit, and cut the blocks that are too long.

A text is a slice of the page where possible. When code or a table is cut, every part gets the fence's opening and
closing line, or the table's head. Where code goes on in another text, `OMISSION` stands in its place, so that nobody
takes a part of a program for the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
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
_NOT_PROSE: Final = re.compile(r"`{3}|~{3}|\||(?:[-*+]|\d{1,9}[.)])\s")
_QUOTED: Final = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_ITEM: Final = re.compile(r"\A(?:[-*+]|\d{1,9}[.)])[ \t]+(?!.*\n[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t])", re.DOTALL)
_SIGNATURE: Final = re.compile(r"\A(?P<mark>`+)(?:(?!(?P=mark))[^\n])+(?P=mark)\Z")
_WORD_OR_SIGN: Final = re.compile(r"\w{1,6}|[^\w\s]")
_LINE: Final = re.compile(r"([^\n]*)\n?")


@dataclass(frozen=True, slots=True)
class Piece:
    """`text[begin:end]` of a page. `before` and `after` complete a part of code or of a table."""

    begin: int
    end: int
    before: str = ""
    after: str = ""


class Packer:
    """Fills texts with pieces, each as full as possible. A lead-in moves to the next text with what it introduces."""

    def __init__(self, text: str, starts: Sequence[int], fits: Fits) -> None:
        self.text = text
        self.starts = starts
        self.fits = fits
        self._open: list[Piece] = []
        self._done: list[tuple[int, str]] = []

    def place(self, block: Block) -> None:
        """Add a block, whole if it fits with what leads it in, and cut otherwise."""
        begin, end = self.starts[block.begin], self.starts[block.end]
        piece = Piece(begin, begin + len(self.text[begin:end].rstrip()))
        if piece.begin == piece.end or block.kind == "hr":
            return
        if block.kind == "paragraph":
            self._place_paragraph(piece)
            return
        nested = block.kind in CONTAINERS and bool(block.children)
        leads_in = nested and self.text[piece.begin : piece.end].endswith(":")  # its last item leads in what follows
        if not leads_in and self._takes(piece):
            self._open.append(piece)
            return
        if not leads_in and not (nested and not self.fits(self._joined([piece]))):  # a long list fills the open text
            self.flush(keep=self._lead_in())
            if self._takes(piece):
                self._open.append(piece)
                return
        if block.kind in ("fence", "code_block"):
            self._place_code(piece, fenced=block.kind == "fence")
        elif block.kind == "table":
            self._place_table(piece)
        elif nested:
            for child in block.children:
                self.place(child)
        else:
            self._place_sentences(piece)

    def finish(self) -> list[tuple[int, str]]:
        """End the open text and return all texts, each with the offset at which it begins."""
        self.flush()
        return self._done

    def flush(self, keep: int = 0) -> None:
        """End the open text. Its last `keep` pieces begin the next one."""
        ready, self._open = self._open[: len(self._open) - keep], self._open[len(self._open) - keep :]
        if ready:
            self._done.append((ready[0].begin, self._joined(ready)))

    def _add(self, piece: Piece) -> None:
        if not self._takes(piece):
            self.flush(keep=self._lead_in())
            if not self._takes(piece):
                self.flush()
        self._open.append(piece)

    def _takes(self, piece: Piece) -> bool:
        return self.fits(self._joined([*self._open, piece]))

    def _lead_in(self) -> int:
        """How many pieces at the end of the open text only introduce what follows, such as a sentence and a label."""
        number = 0
        while number < min(LEAD_INS, len(self._open)) and is_lead_in(self._joined([self._open[-number - 1]])):
            number += 1
        return number

    def _joined(self, pieces: Sequence[Piece]) -> str:
        """The text of pieces, parted as on the page where none is a part of code."""
        joined = ""
        for before, piece in zip([None, *pieces], pieces, strict=False):
            if before is not None:
                whole = before.after or piece.before
                joined += "\n\n" if whole else self.text[before.end : piece.begin]
            joined += piece.before + self.text[piece.begin : piece.end] + piece.after
        return joined.strip("\n")

    def _place_paragraph(self, piece: Piece) -> None:
        """Add a paragraph. A last sentence that leads in what follows is a piece of its own, which can move."""
        words = self.text[piece.begin : piece.end]
        seams = [match.end() for match in _SENTENCE.finditer(words)] if words.endswith(":") else []
        last = seams[-1] if seams and is_lead_in(words[seams[-1] :]) else len(words)
        self._place_sentences(Piece(piece.begin, piece.begin + len(words[:last].rstrip())))
        if last < len(words):
            self._add(Piece(piece.begin + last, piece.end))

    def _place_sentences(self, piece: Piece) -> None:
        """Add a text whole, or as many of its sentences at a time as fit with what leads them in."""
        if self._takes(piece):
            self._open.append(piece)
            return
        self.flush(keep=self._lead_in())
        if self._takes(piece):
            self._open.append(piece)
            return
        for part in self._cut(piece):
            self._add(part)

    def _cut(self, piece: Piece, before: str = "", after: str = "") -> Iterator[Piece]:
        """Parts that fit, with what completes them: cut after a sentence, else between words, else anywhere."""
        begin = piece.begin
        while begin < piece.end:
            rest = self.text[begin : piece.end]
            lead = f"{self._joined(self._open)}\n\n" if begin == piece.begin and self._open and not before else ""

            def fit(size: int, rest: str = rest, lead: str = lead) -> bool:
                return self.fits(lead + before + rest[:size] + after)

            size = longest(range(1, len(rest) + 1), fit) or 1
            size = size if size == len(rest) else _seam(rest[:size])
            if part := rest[:size].rstrip():
                yield Piece(begin, begin + len(part), before, after)
            begin += size + len(rest[size:]) - len(rest[size:].lstrip())

    def _place_code(self, piece: Piece, *, fenced: bool) -> None:
        spans = _lines(self.text, piece)
        opening = FENCE.match(self.text, *spans[0]) if fenced else None
        if not opening:
            self._place_lines(spans)
            return
        closing, body = self.text[slice(*spans[-1])], spans[1:-1]
        head = opening["prefix"] + opening["mark"]
        if set(closing.strip("> \t")) != {head[-1]}:  # not closed itself: the end of a list or quote ends it
            closing, body = re.sub(r"[^\s>`~]", " ", head), spans[1:]
        mark = closing[: len(closing) - len(closing.lstrip("> \t"))] + OMISSION
        language = re.split(r"[\s,{]", opening["info"].strip())[0][:20]
        before, after = f"{head}{language}\n", f"\n{closing}"
        if self.fits((before + mark + mark + after) * 2):  # the code needs at least half of a text
            self._place_lines(body, before, after, f"{mark}\n", f"\n{mark}")
        else:
            self._place_lines(body)

    def _place_table(self, piece: Piece) -> None:
        spans = _lines(self.text, piece)
        head = self.text[spans[0][0] : spans[1][1] + 1]
        if self.fits(head * 2) and spans[2:]:  # the rows need at least half of a text
            self._place_lines(spans[2:], head)
        else:
            self._place_lines(spans)

    def _place_lines(
        self, spans: list[tuple[int, int]], before: str = "", after: str = "", cut_before: str = "", cut_after: str = ""
    ) -> None:
        """Add runs of whole lines of about equal length; cut a line that does not fit by itself.

        Each run gets `before` and `after`, and `cut_before` and `cut_after` where its neighbour is missing.
        """

        def part(first: int, last: int) -> Piece:
            opens = before + (cut_before if first else "")
            closes = (cut_after if last < len(spans) - 1 else "") + after
            return Piece(spans[first][0], spans[last][1], opens, closes)

        sizes = [
            len(_WORD_OR_SIGN.findall(self.text[slice(*span)])) for span in spans
        ]  # close to any tokenizer's count
        first = 0
        while first < len(spans):
            last = longest(range(first, len(spans)), lambda last: self._takes(part(first, last)))  # noqa: B023
            if last is None and self._open:
                self.flush()
            elif last is None:
                line = part(first, first)
                self._done += [(p.begin, self._joined([p])) for p in self._cut(line, line.before, line.after)]
                first += 1
            else:
                last = self._even_end(spans, sizes, first, last)
                self._open.append(part(first, last))
                first = last + 1
                if first < len(spans):
                    self.flush()

    def _even_end(self, spans: list[tuple[int, int]], sizes: list[int], first: int, last: int) -> int:
        """The last line of a run, at most `last`, so that the parts become about equally long.

        Full parts would leave a stray bracket for the last one. The next part begins with a blank line from 80 % of a
        part's share on. Lines of 10, 10, 10 and 1 words with room for 30: two parts have a share of 15.5, so the first
        run ends after the second line.
        """
        if last == len(spans) - 1:
            return last
        left, taken = sum(sizes[first:]), 0
        share = left / -(-left // max(sum(sizes[first : last + 1]), 1))
        for end in range(first, last):
            taken += sizes[end]
            blank = not self.text[slice(*spans[end + 1])].strip()
            if taken >= share * (0.8 if blank else 1):
                return end
        return last


def pack(blocks: Sequence[Block], text: str, starts: Sequence[int], fits: Fits) -> list[tuple[int, str]]:
    """The texts of a section's blocks, each of which fits, with their offsets. `starts` are those of all lines."""
    packer = Packer(text, starts, fits)
    for block in blocks:
        packer.place(block)
    code = {starts[line] for block in walk(tuple(blocks)) if block.kind == "code_block"
            for line in range(block.begin, block.end)}  # fmt: skip
    texts = ((begin, one if begin in code else _moved_back(one)) for begin, one in packer.finish())
    return [(begin, one) for begin, one in texts if not _is_label(one)]


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


def _moved_back(text: str) -> str:
    """A text that begins inside an item of a list, without the indentation of the item: it would be read as code."""
    indent = text[: len(text) - len(text.lstrip(" "))]
    lines = text.split("\n")
    end = next((n for n, line in enumerate(lines) if line and not line.startswith(indent)), len(lines))
    return "\n".join([*(line.removeprefix(indent) for line in lines[:end]), *lines[end:]])


def _is_label(text: str) -> bool:
    """Whether a text is only a label, such as that of a tab: a search would find it, and it answers nothing."""
    return not any(c.isalnum() for c in text) or (text.endswith(":") and len(text.split()) <= LABEL)


def _lines(text: str, piece: Piece) -> list[tuple[int, int]]:
    """The offsets of the lines in a piece, without their line ends."""
    return [line.span(1) for line in _LINE.finditer(text, piece.begin, piece.end) if line[0]]


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
    for pattern in (_SENTENCE, re.compile(r"\s+")):
        ends = [m.end() for m in pattern.finditer(text) if m.end() >= len(text) // 3]
        outside = [end for end in ends if text.count("`", 0, end) % 2 == 0]
        if outside:
            return outside[-1]
    spaces = [m.end() for m in re.finditer(r"\s+", text)]
    return spaces[-1] if spaces else len(text)
