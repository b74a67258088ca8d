"""The blocks of a passage: what its author wrote as one, and what is quoted as one.

A block is a paragraph, a list with the line that leads to it, code with the paragraph before it, or a table with its
head and the line above it. The name of a function, alone on a line, belongs to its description. Blocks are made of the
units of `rag.text.sentences`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from rag.prompt.passage_format import NumberedPassage
from rag.text.english.phrases import ASIDE
from rag.text.sentences import Unit, units
from rag.text.terms import keys

Form = Literal["text", "list", "steps", "code", "table"]

INTRODUCTION: Final = 300  # characters, at most, of a paragraph that is quoted with the code or table below it

_SIGNATURE: Final = re.compile(r"`[^`\n]{1,300}`")


@dataclass(eq=False, slots=False)
class QuoteBlock:
    """Units of one passage that belong together, in order, with what stands above them.

    `lead` is how many of the units introduce the others. `section` numbers the sections of the passage, and `first`
    says that the block opens its section.
    """

    passage: NumberedPassage
    rank: int  # of the passage in the search, from 0
    place: int  # of the block in its passage, from 0
    units: tuple[Unit, ...]
    form: Form
    lead: int
    headings: tuple[str, ...]
    section: int
    first: bool
    said: bool = False  # an earlier answer quoted it
    held: float = 0.0  # weighted share of the question's terms, 0 to 1
    cosine: float = 0.0  # of the block and the question; 0 if not embedded
    weakest: float | None = None  # match of the term that it matches least; None if terms were not compared
    score: float = 0.0
    unit_scores: list[float] = field(default_factory=list)

    @cached_property
    def text(self) -> str:
        return self.passage.text[self.units[0].start : self.units[-1].end]

    @cached_property
    def own(self) -> frozenset[str]:
        """The keys of the block."""
        return keys(self.text)

    @cached_property
    def context(self) -> frozenset[str]:
        """The keys of the titles above it."""
        return keys(" ".join([self.passage.title, *self.headings]))

    @property
    def heading(self) -> str:
        """The nearest heading."""
        return self.headings[-1] if self.headings else self.passage.title.rpartition(" > ")[2]

    @property
    def path(self) -> tuple[str, ...]:
        """The last titles above it: two of the passage, and the nearest heading."""
        titles = [*self.passage.title.split(" > ")[-2:], self.heading]
        return tuple(dict.fromkeys(titles))

    @property
    def is_aside(self) -> bool:
        """Whether it is in a section that answers nothing, such as exercises."""
        titles = [*self.passage.title.split(" > ")[-2:], *self.headings]
        return any(ASIDE.fullmatch(title.strip(" .:0123456789")) for title in titles)


def blocks(passage: NumberedPassage, rank: int) -> list[QuoteBlock]:
    """The blocks of a passage, in order, without its headings."""
    found: list[QuoteBlock] = []
    path: list[tuple[int, str]] = []
    section, first = 0, True
    for group in _joined(_groups(units(passage.text))):
        if group[0].kind == "heading":
            depth = group[0].depth
            path = [*(step for step in path if step[0] < depth), (depth, group[0].text)]
            section, first = section + 1, True
            continue
        headings = tuple(title for _, title in path)
        lead = sum(1 for _ in _leading(group))
        form = _form(passage.text, group[lead:] or group)
        found.append(QuoteBlock(passage, rank, len(found), tuple(group), form, lead, headings, section, first))
        first = False
    return found


def is_signature(unit: Unit) -> bool:
    """Whether the unit is nothing but code in a line, such as the name and arguments of a function."""
    return unit.kind == "sentence" and bool(_SIGNATURE.fullmatch(unit.text))


def bullet(text: str, item: Unit) -> str:
    """The number of an item of an ordered list, such as "2.", or "-"."""
    before = text[text.rfind("\n", 0, item.start) + 1 : item.start].strip(" \t>")
    return before if before[:1].isdigit() else "-"


def _groups(cut: Sequence[Unit]) -> Iterator[list[Unit]]:
    """The units by paragraph, list, table or code; what is nested in a list belongs to the list."""
    group: list[Unit] = []
    for unit in cut:
        goes_on = group and unit.kind != "heading" and group[-1].kind != "heading"
        same = goes_on and unit.block == group[0].block
        nested = goes_on and group[0].kind == "item" and (unit.depth > group[0].depth or unit.kind == "item")
        if group and not (same or nested):
            yield group
            group = []
        group.append(unit)
    if group:
        yield group


def _joined(groups: Iterator[list[Unit]]) -> Iterator[list[Unit]]:
    """The groups, a paragraph joined to the list, code or table that it introduces; of a long one the last sentence."""
    before: list[Unit] = []
    for group in groups:
        leading = _introduction(before, group)
        rest = before[: len(before) - leading]
        if rest:
            yield rest
        group = before[len(rest) :] + group
        before = []
        if group[-1].kind in ("sentence", "lead") and (not leading or is_signature(group[0])):
            before = group
        else:
            yield group
    if before:
        yield before


def _introduction(paragraph: Sequence[Unit], group: Sequence[Unit]) -> int:
    """How many sentences at the end of a paragraph lead to the list, code or table after it.

    A last line with a colon leads to anything but a paragraph; a short paragraph also leads to code and to a table. The
    name of a function, alone on a line, leads to what describes it.
    """
    if len(paragraph) == 1 and is_signature(paragraph[0]) and group[0].kind != "heading":
        return 0 if is_signature(group[0]) else 1
    if not paragraph or group[0].kind in ("heading", "sentence", "lead"):
        return 0
    if paragraph[-1].end - paragraph[0].start <= INTRODUCTION:
        return len(paragraph) if paragraph[-1].kind == "lead" or group[0].kind in ("code", "table") else 0
    return 1 if paragraph[-1].kind == "lead" else 0


def _leading(group: Sequence[Unit]) -> Iterator[Unit]:
    """The first sentences of a group that has a list, code or table."""
    if group[-1].kind in ("item", "code", "table", "row") or any(unit.kind == "item" for unit in group):
        for unit in group:
            if unit.kind not in ("sentence", "lead"):
                return
            yield unit


def _form(text: str, body: Sequence[Unit]) -> Form:
    kind = body[0].kind
    if kind == "item":
        return "steps" if bullet(text, body[0]) != "-" else "list"
    if kind in ("code",):
        return "code"
    return "table" if kind in ("table", "row") else "text"
