"""Build a short excerpt of scored units: choose the best ones, add what they depend on, and format them.

A sentence that begins with "It" brings the sentence before it. A line that ends in a colon brings the list, table or
code that it introduces, and an item brings the line above its list. Every unit is quoted word for word and followed by
the marker of its passage.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag.quoting.relevance import ScoredSentence, SentenceScores, is_quotable, share, speaks_of_itself
from rag.text.english.phrases import LEANS_BACK
from rag.text.markup import parse
from rag.text.terms import Term, keys

BUDGET: Final = 900  # characters of an answer, without markers
SEEDS: Final = 3  # units that an answer is built around
TRIED: Final = 12  # units that are tried as seeds, best first
CLOSE: Final = 0.85  # least share of the best score that a further seed needs
LOOSE: Final = 0.75  # the same while the answer is shorter than ENOUGH
ENOUGH: Final = 250  # characters
SAME: Final = 0.6  # share of the shorter unit's keys from which on two units say the same
PARAGRAPH: Final = 360  # characters of a paragraph that is quoted whole
SENTENCES: Final = 3  # quoted of a longer paragraph
INTRODUCTION: Final = 200  # characters, at most, of the line above a table or code
ITEMS: Final = 6  # quoted of a list
ROWS: Final = 4  # quoted of a table
CODE_LINES: Final = 15  # quoted of a program
SHELL_LINES: Final = 6  # of a block of commands that is quoted whole

_SHELL: Final = re.compile(r"[`~]+ *(?:bash|sh|shell|console|zsh|powershell|shell-session|terminal)\b.*")
_LABEL: Final = re.compile(r"\*\*[^*]{1,30}(?::\*\*|\*\*:)")


@dataclass(frozen=True, slots=True)
class Stretch:
    """The units of one passage that are quoted, by index, in order."""

    passage: int  # index in `SentenceScores.passages`, not the cited number
    indexes: tuple[int, ...]


def excerpt(reading: SentenceScores) -> list[str]:
    """The answer in pieces, one for each quoted unit; joined, they are its text. Empty if there is nothing to quote."""
    pieces: list[str] = []
    previous: ScoredSentence | None = None
    for stretch in choose(reading):
        candidates = reading.passages[stretch.passage]
        base = min(candidates[i].unit.depth for i in stretch.indexes)
        alone = len(stretch.indexes) == 1  # a single item is formatted as a sentence
        for index in stretch.indexes:
            text = _formatted(candidates[index], base, reading.terms)
            pieces.append(_separator(previous, candidates[index]) + (text.removeprefix("- ") if alone else text))
            previous = candidates[index]
    return pieces


def choose(reading: SentenceScores) -> list[Stretch]:
    """The stretches to quote: around the best unit, then around others nearly as good that say something else.

    A unit brings what belongs to it. After the first one, a unit is passed over if it does not fit into the budget.
    """
    if not reading.ranked:
        return []
    best = reading.ranked[0].score
    taken: dict[int, set[int]] = {}
    room, seeds = BUDGET, 0
    for seed in reading.ranked[:TRIED]:
        enough = BUDGET - room >= ENOUGH
        if seeds == SEEDS or seed.score < (CLOSE if enough else LOOSE) * best:
            break
        place = next(
            i for i, candidates in enumerate(reading.passages) if seed in candidates[seed.index : seed.index + 1]
        )
        chosen = taken.get(place, set())
        if seed.index in chosen or _is_repeated(seed, reading, taken):
            continue
        candidates = reading.passages[place]
        wanted = [i for i in _belonging(reading, place, seed) if i not in chosen and is_quotable(candidates[i])]
        length = sum(_length(candidates[i]) for i in wanted)
        if seeds and length > room:
            continue
        taken[place] = chosen | set(wanted)
        room -= length
        seeds += 1
    return [Stretch(place, tuple(sorted(indices))) for place, indices in taken.items()]


def _is_repeated(seed: ScoredSentence, reading: SentenceScores, taken: dict[int, set[int]]) -> bool:
    """Whether a chosen unit says mostly the same; a summary repeats the sentences that it sums up."""
    others = (reading.passages[place][index].own for place, indices in taken.items() for index in indices)
    return any(len(seed.own & other) >= SAME * min(len(seed.own), len(other)) for other in others)


def _belonging(reading: SentenceScores, place: int, seed: ScoredSentence) -> list[int]:
    """The unit and what it depends on, as indices in its passage, in order."""
    candidates = reading.passages[place]
    kind = seed.unit.kind
    if kind == "item":
        found = _of_list(candidates, seed, reading.ranked[0].score)
    elif kind in ("table", "row", "code"):
        found = _of_block(candidates, seed)
    else:
        found = _of_paragraph(candidates, seed)
    return sorted(set(found))


def _of_paragraph(candidates: Sequence[ScoredSentence], seed: ScoredSentence) -> list[int]:
    """A short paragraph, or the sentence with its neighbours; and what the last sentence introduces."""
    block = [c for c in candidates if c.unit.block == seed.unit.block and c.unit.kind in ("sentence", "lead")]
    if sum(len(c.unit.text) for c in block) <= PARAGRAPH:
        found = [c.index for c in block if c is seed or not speaks_of_itself(c.unit.text)]
    else:
        found = [seed.index]
        position = block.index(seed)
        while position > 0 and len(found) < SENTENCES and LEANS_BACK.match(block[position].unit.text.lstrip("*_")):
            position -= 1
            found.insert(0, block[position].index)
        after = block.index(seed) + 1
        if after < len(block) and len(found) < SENTENCES and block[after].score >= 0.7 * seed.score:
            found.append(block[after].index)
    while len(found) > 1 and found[0] != seed.index and candidates[found[0]].unit.text.endswith("!"):
        found.pop(0)  # "Let's try it!"
    last = candidates[found[-1]]
    if len(found) > 1 and last is not seed and last.unit.kind == "lead" and not last.leads:
        found.pop()
        last = candidates[found[-1]]
    return found + (_introduced(candidates, last) if last.unit.kind == "lead" else [])


def _introduced(candidates: Sequence[ScoredSentence], lead: ScoredSentence) -> list[int]:
    """What a line that ends in a colon introduces: up to six items, up to four rows of a table, or the code."""
    after = lead.index + 1
    if after >= len(candidates) or candidates[after].unit.block != lead.unit.block + 1:
        return []
    block = candidates[after].unit.block
    found = [c.index for c in candidates[after:] if c.unit.block == block and c.unit.kind != "heading"]
    return found[: ROWS + 1] if candidates[after].unit.kind == "table" else found[:ITEMS]


def _of_list(candidates: Sequence[ScoredSentence], seed: ScoredSentence, best: float) -> list[int]:
    """The whole of a short list that answers as a whole, else its best items; with the line above the list."""
    items = [c for c in candidates if c.unit.block == seed.unit.block and c.unit.kind == "item"]
    lead = [
        c.index for c in candidates[: items[0].index] if c.unit.kind == "lead" and c.unit.block == seed.unit.block - 1
    ]
    short = len(items) <= ITEMS and sum(len(c.unit.text) for c in items) <= BUDGET * 2 // 3
    # The question is about what the list lists, so every item is part of the answer.
    about_all = sum(c.score >= CLOSE * seed.score for c in items) * 2 >= len(items)
    if short and about_all:
        chosen = [c.index for c in items]
    else:
        near = sorted((c for c in items if c.score >= CLOSE * best), key=lambda c: -c.score)[:ITEMS]
        chosen = [c.index for c in near] or [seed.index]
        chosen += _nested(candidates, seed)
        if len(chosen) == 1 and lead and _LABEL.fullmatch(candidates[lead[-1]].unit.text):
            lead = []  # "**Advantages**:" above a single item says nothing
    return lead[-1:] + chosen


def _nested(candidates: Sequence[ScoredSentence], item: ScoredSentence) -> list[int]:
    """The units below an item, up to six."""
    found: list[int] = []
    for candidate in candidates[item.index + 1 :]:
        inside = candidate.unit.depth > item.unit.depth and candidate.unit.kind != "heading"
        if not inside or len(found) == ITEMS:
            break
        found.append(candidate.index)
    return found


def _of_block(candidates: Sequence[ScoredSentence], seed: ScoredSentence) -> list[int]:
    """A table or code with the line above it; of a long table its head and its best rows."""
    same = [c for c in candidates if c.unit.block == seed.unit.block]
    first = same[0].index
    found = [first]
    if len(same) > 1:
        rows = sorted((c for c in same if c.unit.kind == "row"), key=lambda c: -c.score)
        found += [c.index for c in rows[:ROWS] if c.score >= CLOSE * rows[0].score]
    above = candidates[first - 1] if first else None
    if above and above.unit.kind in ("lead", "sentence") and len(above.unit.text) <= INTRODUCTION:
        found.insert(0, above.index)
    return found


def _length(candidate: ScoredSentence) -> int:
    """Characters that a unit takes of the budget; long code is cut."""
    return min(len(candidate.unit.text), CODE_LINES * 60)


def _separator(previous: ScoredSentence | None, candidate: ScoredSentence) -> str:
    """The white space between two units: a space in a paragraph, a line break in a list, else a blank line."""
    if previous is None:
        return ""
    if previous.passage.number != candidate.passage.number:
        return "\n\n"
    before, unit = previous.unit, candidate.unit
    same_block = before.block == unit.block
    if same_block and {before.kind, unit.kind} <= {"sentence", "lead"}:
        return " "
    in_list = unit.kind == "item" and (before.kind == "item" or before.block == unit.block - 1)
    return "\n" if in_list or (unit.kind == "row" and same_block) else "\n\n"


def _formatted(candidate: ScoredSentence, base: int, wanted: Sequence[Term]) -> str:
    """A unit as Markdown, with its marker; `base` is the depth of the least indented unit of its stretch."""
    unit, marker = candidate.unit, f"[{candidate.passage.number}]"
    if unit.kind == "code":
        return f"{_code(unit.text, wanted)}\n{marker}"
    if unit.kind in ("table", "row"):
        return f"{without_numbers(unit.text)}\n\n{marker}"
    line = re.sub(r"\s*\n[ \t>]*", " ", without_numbers(unit.text))
    indent = " " * min(4, max(0, unit.depth - base))
    return f"{indent}- {line} {marker}" if unit.kind == "item" else f"{line} {marker}"


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
    if _SHELL.fullmatch(first) and len(body) > SHELL_LINES:
        body = _best_commands("\n".join(body).split("\n\n"), wanted) or body
    if len(body) > CODE_LINES:
        starts = [i for i, line in enumerate(body) if line[:1].strip() and not (i and body[i - 1].strip())]
        begin = max(starts or [0], key=lambda i: share(wanted, keys("\n".join(body[i : i + CODE_LINES]))))
        body = body[begin : begin + CODE_LINES]
        blanks = [i for i in range(5, len(body)) if not body[i].strip()]
        body = body[: blanks[-1]] if blanks else body
    return "\n".join([first, *body, close])


def _best_commands(commands: Sequence[str], wanted: Sequence[Term]) -> list[str]:
    """The lines of the commands that hold most of the terms; none if no command holds any."""
    shares = [share(wanted, keys(command)) for command in commands]
    best = max(shares)
    if not best:
        return []
    chosen = [command for command, held in zip(commands, shares, strict=True) if held == best]
    return "\n\n".join(chosen).split("\n")
