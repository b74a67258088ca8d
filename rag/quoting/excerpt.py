"""Build an answer from scored blocks: choose the best ones, add what they refer to, and format them.

A block is quoted word for word, each of its lines followed by the marker of its passage. Where something is left out
inside a block, or at the end of a list, a table or code, `OMISSION` stands in its place. A sentence that begins with
"These" or "Then" comes with the block before it, or not at all.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rag.prompt.passage_format import NumberedPassage
from rag.quoting.blocks import QuoteBlock, blocks, bullet
from rag.quoting.relevance import Reading, defines, is_about_another_platform, is_quotable, is_sayable, share
from rag.text.english.phrases import LEANS_BACK, POINTS_BACK
from rag.text.markup import parse
from rag.text.sentences import Unit
from rag.text.terms import Term, keys
from rag.types import OMISSION

BUDGET: Final = 1300  # characters of an answer, without markers
LONGEST: Final = 650  # characters of a block that is quoted whole
MOST: Final = 4  # blocks that are chosen by their scores
CLOSE: Final = 0.70  # least share of the best score that a further block needs
GAIN: Final = 0.5  # score of a further block for all the terms that no chosen block has
NEXT: Final = 0.12  # score of a block that goes on where a chosen one ends
ENOUGH: Final = 250  # characters; a shorter answer takes further blocks down to LOOSE
LOOSE: Final = 0.65
SAME: Final = 0.6  # share of the shorter block's keys from which on two blocks say the same
OPENING: Final = 3  # blocks of the start page that say what the book is about
PARTS: Final = "Parts of the book:"
CODE_LINES: Final = 30  # quoted of a program
SHELL_LINES: Final = 6  # of a block of commands that is quoted whole

_SHELL: Final = re.compile(r"[`~]+ *(?:bash|sh|shell|console|zsh|powershell|shell-session|terminal)\b.*")


@dataclass(frozen=True, slots=True)
class Line:
    """A unit to be quoted, or with None an omission, in the block it belongs to."""

    block: QuoteBlock
    unit: Unit | None


def excerpt(reading: Reading) -> list[str]:
    """The answer in pieces, one for each quoted unit; joined, they are its text. Empty if there is nothing to quote."""
    pieces: list[str] = []
    previous: Line | None = None
    for block in choose(reading):
        quoted = lines(block, reading)
        for line in quoted:
            pieces.append(_separator(previous, line) + _formatted(line, reading.terms, alone=len(quoted) == 1))
            previous = line
    return pieces


def whole_book(passages: Sequence[NumberedPassage], *, with_text: bool) -> list[str]:
    """What the book is about, in pieces: the opening of its first passage if asked for, then the titles of its parts.

    A part is named by as many titles as tell its passage from the others.
    """
    number = passages[0].number
    opening = [block for block in blocks(passages[0], 0) if block.form == "text"][:OPENING] if with_text else []
    said = ([unit.text for unit in block.units if is_sayable(unit)] for block in opening)
    texts = dict.fromkeys(" ".join(f"{_flat(text)} [{number}]" for text in units) for units in said if units)
    pieces = [f"{text}\n\n" for text in texts]
    titles = [passage.title.split(" > ") for passage in passages]
    if len(passages) > 1:
        pieces.append(f"{PARTS}\n")
    for passage, path in zip(passages, titles, strict=True):
        alike = (sum(other[:n] == path[:n] for other in titles) for n in range(1, len(path)))
        length = next((n for n, count in enumerate(alike, 1) if count == 1), len(path))
        pieces.append(f"- {without_numbers(path[length - 1])} [{passage.number}]\n")
    return [*pieces[:-1], pieces[-1].rstrip()]


def choose(reading: Reading) -> list[QuoteBlock]:
    """The blocks to quote, by passage in the order of their choice, then in the order of the text.

    One at a time: the block with the best score, where a term that no chosen block has counts more, and so does a block
    that goes on where a chosen one ends. After the first, a block must fit into what is left of the budget.
    """
    chosen: list[QuoteBlock] = []
    room = BUDGET
    for picked in range(MOST):
        found = _next(reading, chosen, enough=BUDGET - room >= ENOUGH)
        fitting = (group for block in found if (group := _with_antecedent(block, reading, chosen)))
        group = next((g for g in fitting if not picked or sum(map(_length, g)) <= room), [])
        if not group:
            break
        chosen += group
        room -= sum(map(_length, group))
    ranks = list(dict.fromkeys(block.rank for block in chosen))
    for block in tuple(chosen):
        beside = _beside(block, reading, chosen, room)
        chosen += beside
        room -= sum(map(_length, beside))
    return sorted(chosen, key=lambda block: (ranks.index(block.rank), block.place))


def _beside(block: QuoteBlock, reading: Reading, chosen: Sequence[QuoteBlock], room: int) -> list[QuoteBlock]:
    """What stands next to a chosen block in its section, as far as it fits: what follows first, then what is before."""
    found: list[QuoteBlock] = []
    passage = reading.passages[block.rank]
    for step in (1, -1):
        place = block.place + step
        while 0 <= place < len(passage) and passage[place].section == block.section:
            other = passage[place]
            if other in chosen or not is_quotable(other) or _length(other) > room:
                break
            if is_about_another_platform(other, reading) or (step < 0 and _leans(other.units[0])):
                break
            found.append(other)
            room -= _length(other)
            place += step
    return [other for other in found if lines(other, reading)]


def _next(reading: Reading, chosen: Sequence[QuoteBlock], *, enough: bool) -> list[QuoteBlock]:
    """The blocks that may be quoted next, the best first."""
    if not reading.ranked:
        return []
    if not chosen:
        return reading.ranked
    least = reading.ranked[0].score * (CLOSE if enough else LOOSE)
    have = frozenset[str]().union(*(block.own for block in chosen))
    before = share(reading.terms, have)
    scored = []
    for block in reading.ranked:
        if block in chosen or _is_repeated(block, chosen):
            continue
        gain = GAIN * (share(reading.terms, have | block.own) - before)
        follows = any(
            block.rank == other.rank and block.section == other.section and block.place == other.place + 1
            for other in chosen
        )
        if (score := block.score + gain + (NEXT if follows else 0.0)) >= least:
            scored.append((score, block))
    return [block for _, block in sorted(scored, key=lambda pair: -pair[0])]


def _is_repeated(block: QuoteBlock, chosen: Sequence[QuoteBlock]) -> bool:
    """Whether a chosen block says mostly the same; a summary repeats the sentences that it sums up.

    Commands that differ in one word do not say the same.
    """

    def repeats(other: QuoteBlock) -> bool:
        most = SAME if "code" not in (block.form, other.form) else 1.0
        return len(block.own & other.own) >= most * min(len(block.own), len(other.own))

    return any(map(repeats, chosen))


def _with_antecedent(block: QuoteBlock, reading: Reading, chosen: Sequence[QuoteBlock]) -> list[QuoteBlock]:
    """The block, after the one that its first sentence refers to; nothing if it says nothing without that."""
    if not _leans(block.units[0]):
        return [block]
    before = reading.passages[block.rank][block.place - 1] if block.place else None
    if before is not None and before.section == block.section:
        if before in chosen:
            return [block]
        if not before.said and not _leans(before.units[0]) and _length(before) + _length(block) <= BUDGET:
            return [before, block]
    return [block] if lines(block, reading) else []


def _leans(unit: Unit) -> bool:
    """Whether a sentence points back. "It works with these versions:" points forward."""
    text = unit.text.lstrip("*_")
    begins = unit.kind in ("sentence", "lead") and bool(LEANS_BACK.match(text))
    return begins or (unit.kind == "sentence" and bool(POINTS_BACK.search(text)))


def _has_antecedent(block: QuoteBlock, reading: Reading) -> bool:
    before = reading.passages[block.rank][block.place - 1] if block.place else None
    return before is not None and before.section == block.section and not _leans(before.units[0])


def _length(block: QuoteBlock) -> int:
    """Characters that a block takes of the budget; what is longer is cut."""
    return min(len(block.text), LONGEST)


def lines(block: QuoteBlock, reading: Reading) -> list[Line]:
    """What is quoted of a block, in order, with its omissions."""
    start = 0
    if not _has_antecedent(block, reading):
        while start < len(block.units) and _leans(block.units[start]):
            start += 1
    if defining := _defining_item(block, reading):
        return [Line(block, block.units[i]) for i in defining]
    wanted = [i for i, unit in enumerate(block.units) if i >= start and is_sayable(unit)]
    if sum(len(block.units[i].text) for i in wanted) > LONGEST:
        wanted = _shortened(block, wanted)
    whole = any(i >= block.lead for i in wanted) and (not start or block.form in ("text", "code"))
    return list(_with_omissions(block, wanted)) if whole else []


def _defining_item(block: QuoteBlock, reading: Reading) -> list[int]:
    """The one item of a list, with what is nested in it, that explains what the question asks for: "**X**: ..."."""
    if not reading.shape.definition or block.form != "list" or share(reading.terms, block.context) > SAME:
        return []
    entries = _entries(block, range(block.lead, len(block.units)))
    found = [entry for entry in entries if defines(block.units[entry[0]].text, reading.terms) > 0.12]
    return found[0] if len(found) == 1 and len(entries) > 1 else []


def _with_omissions(block: QuoteBlock, wanted: Sequence[int]) -> Iterator[Line]:
    """The lines with a mark where units were left out between them, and at the end of what is no paragraph."""
    previous = None
    for index in wanted:
        if previous is not None and index > previous + 1:
            yield Line(block, None)
        yield Line(block, block.units[index])
        previous = index
    if block.form != "text" and previous is not None and previous < len(block.units) - 1:
        yield Line(block, None)


def _shortened(block: QuoteBlock, wanted: Sequence[int]) -> list[int]:
    """The best of a long block: of steps and paragraphs a run in order, of lists and tables the best entries."""
    lead = [i for i in wanted if i < block.lead]
    body = [i for i in wanted if i >= block.lead]
    room = LONGEST - sum(len(block.units[i].text) for i in lead)
    if room < LONGEST / 3:
        lead, room = lead[-1:], LONGEST
    if block.form == "code":
        return [*lead, *body]
    if block.form == "text":
        return _run(block, body)
    entries = _entries(block, body)
    if block.form == "table" and block.units[body[0]].kind == "table":
        lead, entries = [*lead, body[0]], entries[1:]
    if block.form != "steps":
        entries = sorted(entries, key=lambda e: -max(block.unit_scores[i] for i in e))
    kept: list[int] = []
    for entry in entries:
        size = sum(len(block.units[i].text) for i in entry)
        if kept and size > room:
            break
        kept += entry
        room -= size
    return [*lead, *sorted(kept)]


def _run(block: QuoteBlock, body: Sequence[int]) -> list[int]:
    """The run of sentences of a paragraph with the best mean score, which does not begin by pointing back."""
    best, chosen = -1.0, list(body[:1])
    for start, index in enumerate(body):
        if start and _leans(block.units[index]):
            continue
        run: list[int] = []
        size = 0
        for other in body[start:]:
            size += len(block.units[other].text)
            if run and size > LONGEST * 0.7:
                break
            run.append(other)
        score = max(block.unit_scores[i] for i in run) + sum(block.unit_scores[i] for i in run) / len(run)
        if score > best + 0.01:
            best, chosen = score, run
    return chosen


def _entries(block: QuoteBlock, body: Sequence[int]) -> list[list[int]]:
    """The units of a list by item, with what is nested in each; of a table by row."""
    depth = min(block.units[i].depth for i in body)
    entries: list[list[int]] = []
    for i in body:
        unit = block.units[i]
        if not entries or unit.kind == "row" or (unit.kind in ("item", "table") and unit.depth <= depth):
            entries.append([])
        entries[-1].append(i)
    return entries


def _separator(previous: Line | None, line: Line) -> str:
    """The white space between two lines: a space in a paragraph, a line break in a list, else a blank line."""
    if previous is None:
        return ""
    if previous.block is not line.block:
        return "\n\n"
    block, kinds = line.block, {one.unit.kind if one.unit else "" for one in (previous, line)}
    if block.form == "text" or kinds <= {"sentence", "lead"}:
        return " "
    if kinds <= {"item", "row", "table", "lead", ""} and "table" not in kinds - {previous.unit and previous.unit.kind}:
        return "\n" if not (kinds & {"row", "table"} and "lead" in kinds) else "\n\n"
    return "\n\n"


def _formatted(line: Line, wanted: Sequence[Term], *, alone: bool) -> str:
    """A unit as Markdown, with its marker. An item that is quoted `alone` is set as a sentence."""
    block, unit = line.block, line.unit
    if unit is None:
        return "- " + OMISSION if block.form in ("list", "steps") else OMISSION
    marker = f"[{block.passage.number}]"
    base = min(one.depth for one in block.units[block.lead :])
    indent = " " * min(6, max(0, unit.depth - base))
    if unit.kind == "code":
        return f"{textwrap.indent(_code(unit.text, wanted), indent)}\n{indent}{marker}"
    if unit.kind in ("table", "row"):
        return f"{without_numbers(unit.text)}\n\n{marker}"
    text = _flat(unit.text)
    if unit.kind != "item":
        return f"{indent if block.form in ('list', 'steps') else ''}{text} {marker}"
    return f"{text} {marker}" if alone else f"{indent}{bullet(block.passage.text, unit)} {text} {marker}"


def _flat(text: str) -> str:
    """A text on one line, without the signs of a quotation at the beginning of its lines."""
    return re.sub(r"\s*\n[ \t>]*", " ", without_numbers(text))


def without_numbers(text: str) -> str:
    """The text with the book's own `[3]` escaped outside code, so that it does not read as a citation of the answer."""
    return "".join(
        re.sub(r"[\[\]]", r"\\\g<0>", segment.raw)
        if segment.kind == "marker" and segment.raw[0] == "["
        else segment.raw
        for segment in parse(text)
    )


def _code(text: str, wanted: Sequence[Term]) -> str:
    """A fenced block without its outer indent; of a long one the part that was asked for, with fences.

    Commands are separated by blank lines, and only the best of them are quoted. A program is quoted from the top-level
    statement on whose lines hold most of the terms.
    """
    first, _, rest = text.partition("\n")
    body = textwrap.dedent(rest).split("\n")
    fence = re.match(r"[`~]+", first)
    close = fence[0] if fence else "```"
    if body[-1].strip() == close:
        body.pop()
    whole = list(body)
    if _SHELL.fullmatch(first) and len(body) > SHELL_LINES:
        body = _best_commands("\n".join(body).split("\n\n"), wanted) or body
    if len(body) > CODE_LINES:
        starts = [i for i, line in enumerate(body) if line[:1].strip() and not (i and body[i - 1].strip())]
        begin = max(starts or [0], key=lambda i: share(wanted, keys("\n".join(body[i : i + CODE_LINES]))))
        body = body[begin : begin + CODE_LINES]
        blanks = [i for i in range(5, len(body)) if not body[i].strip()]
        body = body[: blanks[-1]] if blanks else body
    if body != whole:
        above = [OMISSION] if body[:1] != whole[:1] else []
        body = [*above, *body, *([OMISSION] if body[-1:] != whole[-1:] or not above else [])]
    return "\n".join([first, *body, close])


def _best_commands(commands: Sequence[str], wanted: Sequence[Term]) -> list[str]:
    """The lines of the commands that hold most of the terms; none if no command holds any."""
    shares = [share(wanted, keys(command)) for command in commands]
    best = max(shares)
    if not best:
        return []
    chosen: list[str] = []
    for command, held in zip(commands, shares, strict=True):
        if held == best:
            chosen.append(command)
        elif chosen and chosen[-1] != OMISSION:
            chosen.append(OMISSION)
    chosen = chosen[:-1] if chosen[-1] == OMISSION else chosen
    return "\n\n".join(chosen).split("\n")
