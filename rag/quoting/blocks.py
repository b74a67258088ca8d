"""The blocks of a passage, what its author wrote as one and what is quoted as one; and what makes one a poor quotation.

A block is a paragraph, a list with the line that leads to it, code with the paragraph before it, or a table with its
head and the line above it. The name of a function, alone on a line, belongs to its description, and so does a line with
its default or its type. Blocks are made of the units of `rag.quoting.page_units`. `faults` says how poor a quotation a
block would be, and `is_quotable` whether it is one.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, NamedTuple, Self

from rag.quoting.english import phrases
from rag.quoting.english.stopwords import STOP_WORDS, TELLS_VERSIONS
from rag.quoting.page_units import Unit, units
from rag.quoting.terms import is_version, keys, terms
from rag.quoting.vocabulary import stem
from rag.text.visible import plain_lines
from rag.types import OMISSION, Passage

Form = Literal["text", "list", "steps", "code", "table"]

INTRODUCTION: Final = 300  # characters, at most, of a paragraph that is quoted with the code or table below it
OTHER_PLATFORM: Final = 1.0  # taken from a block about another platform than the one asked for
WALKING: Final = 0.3  # taken from a step of a tutorial, such as "Now we'll add a button", and from a lone lead-in
REMARKS: Final = 0.2  # taken from a remark beside the text, such as a tip
CHANGED: Final = 1.0  # taken from release notes, if the question asks about no version or change
CONTRIBUTED: Final = 0.3  # taken from what tells how to work on the program, if the question does not ask for that
CUT: Final = 0.6  # taken from code that begins in the middle, since its beginning is in another passage
LINKS: Final = 0.6  # taken from a block of which every character belongs to a link
SHORTEST: Final = 25  # characters of a block that says something by itself; a whole sentence may be shorter

_SIGNATURE: Final = re.compile(r"`[^`\n]{1,300}`")
_WORK: Final = re.compile(r"\[\d+\]")
_EMPHASIS: Final = re.compile(r"([_*])[^_*\n]+\1")  # a line in italics, such as the caption of a list of links
_VERSION: Final = re.compile(r"(?:[\w.+-]+ )?v?\d+(?:\.\d+)*\+?(?: [\w-]+){0,2}:")  # "Python 3.6+ non-Annotated:"
_TAB: Final = re.compile(rf"\w+:|{_VERSION.pattern}")
_ABOUT_CHANGES: Final = re.compile(
    r"\b(?:versions?|releas\w+|change\w*|new|news|since|upgrad\w+|migrat\w+|deprecat\w+|remov\w+|histor\w+)\b|\d",
    re.IGNORECASE,
)
_CUT_ROW: Final = re.compile(r"\|.*\|", re.DOTALL)  # a row of a table whose head another passage has
_IMAGE: Final = re.compile(r"Image: ")
_ENTRY_OF_LINKS: Final = re.compile(r".{0,160}?https?://")
_SENTENCE_END: Final = re.compile(r"[.。।۔]\W*$")
_NAMED_VALUE: Final = re.compile(r"[*_]{0,2}\w[^:\n]*: +\S")
_FIELD: Final = re.compile(r"(?P<mark>[*_]{1,2})(?P<label>\w[^*_:\n]{0,30})(?::(?P=mark)|(?P=mark):) +[^\n]{1,60}")
# A paragraph that says only what a setting or a function is by default, or of which type: "Default: `5` (five days)".
_FACTS: Final = re.compile(r"[*_]{0,2}(?:type|default(?: value)?|value)[*_]{0,2}:[*_]{0,2} [^\n]{1,120}", re.IGNORECASE)
_LINK: Final = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\s]{1,500}\)")


class NumberedPassage(NamedTuple):
    """The visible text of a passage. `title` is its breadcrumb, or its title if it has none.

    `page` is where it is, and `chunk` its place among all chunks of the page.
    """

    number: int
    title: str
    text: str
    page: str = ""
    chunk: int = 0

    @classmethod
    def of(cls, passage: Passage) -> Self:
        title = plain_lines(passage.breadcrumb or passage.title)
        page = passage.source_file_path or passage.url.partition("#")[0]
        return cls(passage.number, " ".join(title.split()), plain_lines(passage.text), page, passage.chunk_index)


@dataclass(eq=False)
class QuoteBlock:
    """Units of one passage that belong together, in order, with what stands above them.

    `lead` is how many of the units introduce the others. `section` numbers the sections of the run (see `runs`), and
    `first` says that the block opens its section.
    """

    passage: NumberedPassage
    rank: int  # of the passage in the search, from 0
    place: int  # of the block in its run, from 0
    units: tuple[Unit, ...]
    form: Form
    lead: int
    headings: tuple[str, ...]
    section: int
    first: bool
    run: int = 0  # of the runs, from 0
    signature: QuoteBlock | None = None  # the name that it describes, if that ends the passage before it
    begun: QuoteBlock | None = None  # the first part of its list or table, which was cut between passages
    said: bool = False  # an earlier answer quoted it
    held: float = 0.0  # weighted share of the question's terms, 0 to 1
    cosine: float = 0.0  # of the block and the question; 0 if not embedded
    path_cosine: float = 0.0  # of the headings above it and the question
    match: float = 0.0  # mean match of the question's terms; 0 if not compared
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

    def is_beside(self, other: QuoteBlock) -> bool:
        """Whether both are in one section."""
        return (self.run, self.section) == (other.run, other.section)

    @property
    def is_aside(self) -> bool:
        """Whether it is in a section that answers nothing, such as exercises."""
        titles = [*self.passage.title.split(" > ")[-2:], *self.headings]
        return any(phrases.ASIDE.fullmatch(title.strip(" .:0123456789")) for title in titles)


def runs(passages: Sequence[NumberedPassage]) -> list[list[QuoteBlock]]:
    """The blocks of the passages, those of passages that follow each other on a page as one run, the best run first.

    A section that is longer than a passage is one section again, as its author wrote it.
    """
    ranks = {(passage.page, passage.chunk): rank for rank, passage in enumerate(passages) if passage.page}
    found: list[list[QuoteBlock]] = []
    for passage in passages:
        if (passage.page, passage.chunk - 1) in ranks:
            continue
        run = blocks(passage, passages.index(passage))
        place = passage.chunk + 1
        while (rank := ranks.get((passage.page, place))) is not None:
            _append(run, blocks(passages[rank], rank))
            place += 1
        found.append(run)
    found.sort(key=lambda run: min((block.rank for block in run), default=len(passages)))
    for number, run in enumerate(found):
        for place, block in enumerate(run):
            block.run, block.place = number, place
    return found


def _append(run: list[QuoteBlock], more: Sequence[QuoteBlock]) -> None:
    """Add the blocks of the next passage; one without a heading of its own goes on with the last section."""
    last = run[-1].section if run else -1
    goes_on = bool(run and more) and more[0].section == 0 and more[0].heading == run[-1].heading
    if goes_on and not is_signature(more[0].units[0]) and is_name(run[-1]):
        more[0].signature = run[-1]
    if goes_on and _is_cut(run[-1], more[0]):
        more[0].begun = run[-1].begun or run[-1]
    for block in more:
        block.first = block.first and not (goes_on and block.section == 0)
        block.section += last if goes_on else last + 1
    run += more


def _is_cut(last: QuoteBlock, first: QuoteBlock) -> bool:
    """Whether the first block of a passage goes on with the list or table that ends the one before it."""
    if first.lead or last.form != first.form or first.form not in ("list", "steps", "table"):
        return False
    heads = {block.units[block.lead].text.partition("\n")[0] for block in (last, first)}
    return first.form != "table" or len(heads) == 1


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


def is_name(block: QuoteBlock) -> bool:
    """Whether a block is only the name of a function, without its description."""
    return all(is_signature(unit) for unit in block.units)


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
        if group[-1].kind in ("sentence", "lead") and (not leading or _says_facts(group[:leading])):
            before = group
        else:
            yield group
    if before:
        yield before


def _introduction(paragraph: Sequence[Unit], group: Sequence[Unit]) -> int:
    """How many sentences at the end of a paragraph lead to the list, code or table after it.

    A last line with a colon leads to anything but a paragraph; a short paragraph also leads to code and to a table. The
    name of a function, alone on a line, leads to what describes it, and so does its default.
    """
    if _says_facts(paragraph) and group[0].kind != "heading":
        return 0 if is_signature(group[0]) else len(paragraph)
    if not paragraph or group[0].kind in ("heading", "sentence", "lead"):
        return 0
    if paragraph[-1].end - paragraph[0].start <= INTRODUCTION:
        return len(paragraph) if paragraph[-1].kind == "lead" or group[0].kind in ("code", "table") else 0
    return 1 if paragraph[-1].kind == "lead" else 0


def _says_facts(paragraph: Sequence[Unit]) -> bool:
    """Whether some units are only the name of a function or setting, and its type or default."""
    return bool(paragraph) and all(is_signature(unit) or _FACTS.fullmatch(unit.text) for unit in paragraph)


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
    return "code" if kind == "code" else "table" if kind in ("table", "row") else "text"


def faults(block: QuoteBlock, question: str) -> float:
    """What makes a block a poor quotation, as a number from 0."""
    fault, text = (0.5 if block.is_aside else 0.0), block.units[0].text
    if phrases.ABOUT_ITSELF.match(text) or (block.form != "table" and phrases.CAPTION.match(text)):
        fault += 0.25
    if phrases.WALKS_THROUGH.search(text) or (block.units[-1].kind == "lead"):
        fault += WALKING
    if _EMPHASIS.fullmatch(block.text):
        fault += 0.3
    if is_reference(block):
        fault += WALKING
    if _begins_within(block):
        fault += CUT
    if phrases.REMARK.match(text):
        fault += REMARKS
    if _tells_changes(block) and not _ABOUT_CHANGES.search(question):
        fault += CHANGED
    if phrases.CONTRIBUTING.search(block.passage.title) and not phrases.CONTRIBUTING.search(question):
        fault += CONTRIBUTED
    fault += LINKS * max(_linked(block.text), _listed_links(block))
    return fault + (OTHER_PLATFORM if is_about_another_platform(block, question) else 0.0)


def is_quotable(block: QuoteBlock) -> bool:
    """Whether a block may be quoted: it says something, was not quoted before, and points nowhere else."""
    text = block.units[0].text
    if block.said or (block.form == "text" and _is_label(block)):
        return False
    if block.form == "text" and all(unit.text.rstrip("*_ ").endswith(("?", ":")) for unit in block.units):
        return False
    if is_name(block):
        return False
    if block.form == "text" and phrases.CAPTION.match(text) and len(block.units) == 1:
        return False
    return not phrases.POINTER.search(text[:60]) and any(is_sayable(unit) for unit in block.units)


def is_sayable(unit: Unit) -> bool:
    """Whether a unit may be quoted: no heading, question, image, label, lone row, or entry such as "[3] Smith"."""
    if unit.kind == "heading" or unit.text.rstrip("*_ \"'”’)").endswith("?") or _IMAGE.match(unit.text):
        return False
    if unit.kind == "sentence" and _CUT_ROW.fullmatch(unit.text):
        return False
    if unit.kind == "lead" and _TAB.fullmatch(unit.text) and not _platforms(unit.text):
        return False
    return not _WORK.match(unit.text)


def is_labelled(block: QuoteBlock) -> bool:
    """Whether a single line leads to the code of a block, as the label of a tab does."""
    return block.form == "code" and [unit.kind for unit in block.units] == ["lead", "code"]


def is_other_field(block: QuoteBlock, question: str) -> bool:
    """Whether a block is only a field of a record, such as "*Required*: No.", which the question does not ask for."""
    field = _FIELD.fullmatch(block.text)
    return field is not None and keys(field["label"]).isdisjoint(keys(question))


def leans_back(block: QuoteBlock, unit: Unit) -> bool:
    """Whether a sentence points back to another one.

    "It works with these versions:" points forward, and below the title "Log statements" the words "these statements"
    point to the title. What begins as the rest of a sentence does ("and more") points back too.
    """
    if unit.kind not in ("sentence", "lead"):
        return False
    text = unit.text.lstrip("*_")
    first = re.match(r"[a-z]+\b", text)
    if first and first[0] in STOP_WORDS:
        return True
    back = phrases.LEANS_BACK.match(text) or (phrases.POINTS_BACK.search(text) if unit.kind == "sentence" else None)
    pointed = phrases.POINTED.match(text, back.start()) if back and block.first else None
    return bool(back) and not (pointed and _is_named(pointed[1].lower(), block.heading))


def _is_named(noun: str, heading: str) -> bool:
    """Whether a heading has a noun, or is the number of the release or version that it means."""
    return stem(noun) in keys(heading) or (noun in TELLS_VERSIONS and any(map(is_version, terms(heading))))


def is_reference(block: QuoteBlock) -> bool:
    """Whether all of a block points to other pages."""
    return all(phrases.REFERENCE.match(unit.text) and _LINK.search(unit.text) for unit in block.units)


def is_for_one_version(block: QuoteBlock) -> bool:
    """Whether a label such as "Python 3.6+:" says that the block is one of several ways to write the same."""
    return block.lead == 1 and bool(_VERSION.fullmatch(block.units[0].text))


def is_about_another_platform(block: QuoteBlock, question: str) -> bool:
    """Whether the question names a platform, such as macOS, and the block only others."""
    named = _platforms(question)
    there = _platforms(f"{block.heading}\n{block.text}") if named else set()
    return bool(there) and not named & there


def _platforms(text: str) -> set[int]:
    """The platforms that a text names, by their place in `PLATFORMS`."""
    return {number for number, names in enumerate(phrases.PLATFORMS) if names.search(text)}


def _begins_within(block: QuoteBlock) -> bool:
    """Whether code begins in the middle: its passage says so, or its first line is indented, or closes a bracket."""
    body = textwrap.dedent(block.units[block.lead].text.partition("\n")[2]) if block.form == "code" else ""
    return body.lstrip("\n").startswith((" ", "}", ")", "]", OMISSION))


def _is_label(block: QuoteBlock) -> bool:
    """Whether a text is too short to say something, such as "On Linux" or "That's it!".

    Short texts that say something: code, a sentence with two terms ("Atlas has 28 joints."), a value with its name
    ("Price: 17 euros"), and what answers the question of its heading ("Yes.").
    """
    text = block.text
    if len(text) >= SHORTEST or "`" in text or _NAMED_VALUE.match(text):
        return False
    answers = block.first and block.heading.endswith("?")
    return not _SENTENCE_END.search(text) or not (answers or len(terms(text)) > 1)


def _linked(text: str) -> float:
    """The share of a text that the words of links take, if they take more than half of it."""
    taken = sum(len(link[1]) for link in _LINK.finditer(text)) / len(_LINK.sub(r"\1", text))
    return taken if taken > 0.5 else 0.0


def _listed_links(block: QuoteBlock) -> float:
    """The share of a list's items that begin with an address elsewhere, such as articles to read; below .7 it is 0."""
    items = [unit for unit in block.units if unit.kind == "item"]
    share = sum(bool(_ENTRY_OF_LINKS.match(unit.text)) for unit in items) / max(1, len(items))
    return share if share > 0.7 else 0.0


def _tells_changes(block: QuoteBlock) -> bool:
    """Whether the page is about what changed from version to version."""
    chapters = block.passage.title.split(" > ")[:-1] or [block.heading]
    return any(phrases.CHANGES.fullmatch(title.strip()) for title in chapters)
