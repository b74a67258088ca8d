"""From scored sentences to a short excerpt that reads well: what to take, what belongs to it, how to set it.

A sentence that begins with "It" brings the one before it; a line that ends in a colon brings the list, table or code
that it introduces; an item brings the line that introduces it. Every unit stays word for word as the book has it, and
is followed by its passage's marker.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag.quoting.relevance import ScoredSentence, SentenceScores, is_quotable, share, speaks_of_itself
from rag.text.markup import parse
from rag.text.terms import Term, keys

BUDGET: Final = 900  # characters of an answer, markers not counted
SEEDS: Final = 3  # places of the book that one answer quotes
CLOSE: Final = 0.85  # a further place is quoted when it scores this share of the best one
ENOUGH: Final = 250  # characters; as long as the answer is shorter, places that score a little less may join
LOOSE: Final = 0.75
PARAGRAPH: Final = 360  # a paragraph up to this length is quoted whole
ITEMS: Final = 6
CODE_LINES: Final = 15
SHELL_LINES: Final = 6
ROWS: Final = 4

_SHELL: Final = re.compile(r"[`~]+ *(?:bash|sh|shell|console|zsh|powershell|shell-session|terminal)\b.*")
_LABEL: Final = re.compile(r"\*\*[^*]{1,30}(?::\*\*|\*\*:)")
_LEANS_BACK: Final = re.compile(
    r"(?:It|Its|This|That|These|Those|They|Their|He|She|Such|Here|However|Instead|Then|Thus|Therefore|Also|But|And|So|"
    r"Otherwise|Similarly|Likewise|For example|For instance|In contrast|Both|Each|Unlike)\b"
)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Units of one passage, by index, in their order."""

    passage: int  # position in the reading, not the number that is cited
    indexes: tuple[int, ...]


def excerpt(reading: SentenceScores) -> list[str]:
    """The answer in pieces, one for each unit quoted; joined without anything between they are its text."""
    pieces: list[str] = []
    previous: ScoredSentence | None = None
    for stretch in choose(reading):
        candidates = reading.passages[stretch.passage]
        base = min(candidates[i].unit.depth for i in stretch.indexes)
        alone = len(stretch.indexes) == 1  # an item without its list is set as a sentence
        for index in stretch.indexes:
            text = _set(candidates[index], base, reading.terms)
            pieces.append(_joint(previous, candidates[index]) + (text.removeprefix("- ") if alone else text))
            previous = candidates[index]
    return pieces


def choose(reading: SentenceScores) -> list[Stretch]:
    """The stretches to quote: the best one first, then others nearly as good that say something else."""
    if not reading.ranked:
        return []
    best = reading.ranked[0].score
    taken: dict[int, set[int]] = {}
    order: list[int] = []
    room, seeds = BUDGET, 0
    for seed in reading.ranked[:12]:
        enough = BUDGET - room >= ENOUGH
        if seeds == SEEDS or seed.score < (CLOSE if enough else LOOSE) * best:
            break
        place = next(
            i for i, candidates in enumerate(reading.passages) if seed in candidates[seed.index : seed.index + 1]
        )
        mine = taken.setdefault(place, set())
        if seed.index in mine or _said_already(seed, reading, taken):
            continue
        candidates = reading.passages[place]
        wanted = [i for i in _belonging(reading, place, seed) if i not in mine and is_quotable(candidates[i])]
        length = sum(_length(candidates[i]) for i in wanted)
        if seeds and length > room:
            continue
        mine.update(wanted)
        room -= length
        seeds += 1
        if place not in order:
            order.append(place)
    return [Stretch(place, tuple(sorted(taken[place]))) for place in order]


def _said_already(seed: ScoredSentence, reading: SentenceScores, taken: dict[int, set[int]]) -> bool:
    """Is most of what the unit says in one that is quoted? Summaries repeat the sentences they sum up."""
    for place, indexes in taken.items():
        for index in indexes:
            other = reading.passages[place][index].own
            if len(seed.own & other) >= 0.6 * min(len(seed.own), len(other)):
                return True
    return False


def _belonging(reading: SentenceScores, place: int, seed: ScoredSentence) -> list[int]:
    """The unit and what it cannot stand without, as indexes in its passage, in order."""
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
    block = [c for c in candidates if c.unit.block == seed.unit.block and c.unit.kind in ("sentence", "lead")]
    if sum(len(c.unit.text) for c in block) <= PARAGRAPH:
        found = [c.index for c in block if c is seed or not speaks_of_itself(c.unit.text)]
    else:
        found = [seed.index]
        position = block.index(seed)
        while position > 0 and len(found) < 3 and _LEANS_BACK.match(block[position].unit.text.lstrip("*_")):
            position -= 1
            found.insert(0, block[position].index)
        after = block.index(seed) + 1
        if after < len(block) and len(found) < 3 and block[after].score >= 0.7 * seed.score:
            found.append(block[after].index)
    while len(found) > 1 and found[0] != seed.index and candidates[found[0]].unit.text.endswith("!"):
        found.pop(0)  # "Let's try it!"
    last = candidates[found[-1]]
    if len(found) > 1 and last is not seed and last.unit.kind == "lead" and not last.leads:
        found.pop()
        last = candidates[found[-1]]
    return found + (_introduced(candidates, last) if last.unit.kind == "lead" else [])


def _introduced(candidates: Sequence[ScoredSentence], lead: ScoredSentence) -> list[int]:
    """What follows a line that ends in a colon: the items of the list (at most six), or the table or the code."""
    after = lead.index + 1
    if after >= len(candidates) or candidates[after].unit.block != lead.unit.block + 1:
        return []
    block = candidates[after].unit.block
    found = [c.index for c in candidates[after:] if c.unit.block == block and c.unit.kind != "heading"]
    rows = found[0:1] if candidates[after].unit.kind == "table" else []
    return (rows + found[1 : ROWS + 1]) if rows else found[:ITEMS]


def _of_list(candidates: Sequence[ScoredSentence], seed: ScoredSentence, best: float) -> list[int]:
    items = [c for c in candidates if c.unit.block == seed.unit.block and c.unit.kind == "item"]
    lead = [
        c.index for c in candidates[: items[0].index] if c.unit.kind == "lead" and c.unit.block == seed.unit.block - 1
    ]
    short = len(items) <= ITEMS and sum(len(c.unit.text) for c in items) <= BUDGET * 2 // 3
    # When the question is about what the list is a list of, every item is part of the answer.
    about_all = sum(c.score >= CLOSE * seed.score for c in items) * 2 >= len(items)
    if short and about_all:
        chosen = [c.index for c in items]
    else:
        near = sorted((c for c in items if c.score >= CLOSE * best), key=lambda c: -c.score)[:ITEMS]
        chosen = [c.index for c in near] or [seed.index]
        chosen += _nested(candidates, seed)
        if len(chosen) == 1 and lead and _LABEL.fullmatch(candidates[lead[-1]].unit.text):
            lead = []  # "**Advantages**:" says nothing for one of them
    return lead[-1:] + chosen


def _nested(candidates: Sequence[ScoredSentence], item: ScoredSentence) -> list[int]:
    found: list[int] = []
    for candidate in candidates[item.index + 1 :]:
        inside = candidate.unit.depth > item.unit.depth and candidate.unit.kind != "heading"
        if not inside or len(found) == ITEMS:
            break
        found.append(candidate.index)
    return found


def _of_block(candidates: Sequence[ScoredSentence], seed: ScoredSentence) -> list[int]:
    """A table or code with the line above it that says what it is; of a long table its head and its best rows."""
    same = [c for c in candidates if c.unit.block == seed.unit.block]
    first = same[0].index
    found = [first]
    if len(same) > 1:
        rows = sorted((c for c in same if c.unit.kind == "row"), key=lambda c: -c.score)
        best = rows[0].score
        found += [c.index for c in rows[:ROWS] if c.score >= CLOSE * best]
    above = candidates[first - 1] if first else None
    if above and above.unit.kind in ("lead", "sentence") and len(above.unit.text) <= 200:
        found.insert(0, above.index)
    return found


def _length(candidate: ScoredSentence) -> int:
    return min(len(candidate.unit.text), CODE_LINES * 60)


def _joint(previous: ScoredSentence | None, candidate: ScoredSentence) -> str:
    """What stands between two units: a space inside a paragraph, a line break inside a list, else a blank line."""
    if previous is None:
        return ""
    adjacent = previous.passage.number == candidate.passage.number
    before, unit = previous.unit, candidate.unit
    if (
        adjacent
        and before.block == unit.block
        and before.kind in ("sentence", "lead")
        and unit.kind in ("sentence", "lead")
    ):
        return " "
    if adjacent and unit.kind == "item" and (before.kind == "item" or before.block == unit.block - 1):
        return "\n"
    if adjacent and unit.kind == "row" and before.block == unit.block:
        return "\n"
    return "\n\n"


def _set(candidate: ScoredSentence, base: int, wanted: Sequence[Term]) -> str:
    """A unit as it stands in the answer, with its marker."""
    unit, marker = candidate.unit, f"[{candidate.passage.number}]"
    if unit.kind == "code":
        return f"{_code(unit.text, wanted)}\n{marker}"
    if unit.kind in ("table", "row"):
        return f"{without_numbers(unit.text)}\n\n{marker}"
    line = re.sub(r"\s*\n[ \t>]*", " ", without_numbers(unit.text))
    indent = " " * min(4, max(0, unit.depth - base))
    return f"{indent}- {line} {marker}" if unit.kind == "item" else f"{line} {marker}"


def without_numbers(text: str) -> str:
    """A book's own `[3]`, escaped outside code so that it is no citation of this answer."""
    return "".join(
        re.sub(r"[\[\]]", r"\\\g<0>", one.raw) if one.kind == "marker" and one.raw[0] == "[" else one.raw
        for one in parse(text)
    )


def _code(text: str, wanted: Sequence[Term]) -> str:
    """A fenced block without its outer indent; of a long one the part that was asked for, fenced again.

    Commands stand apart by blank lines and are quoted one by one; a program is quoted from the top-level
    statement on that says most of what was asked.
    """
    first, _, rest = text.partition("\n")
    body = textwrap.dedent(rest).split("\n")
    fence = re.match(r"[`~]+", first)
    close = fence[0] if fence else "```"
    if body[-1].strip() == close:
        body.pop()
    if _SHELL.fullmatch(first) and len(body) > SHELL_LINES:
        body = _asked_for("\n".join(body).split("\n\n"), wanted) or body
    if len(body) > CODE_LINES:
        starts = [i for i, line in enumerate(body) if line[:1].strip() and not (i and body[i - 1].strip())]
        begin = max(starts or [0], key=lambda i: share(wanted, keys("\n".join(body[i : i + CODE_LINES]))))
        body = body[begin : begin + CODE_LINES]
        blanks = [i for i in range(5, len(body)) if not body[i].strip()]
        body = body[: blanks[-1]] if blanks else body
    return "\n".join([first, *body, close])


def _asked_for(parts: Sequence[str], wanted: Sequence[Term]) -> list[str]:
    shares = [share(wanted, keys(part)) for part in parts]
    best = max(shares)
    return "\n\n".join(part for part, s in zip(parts, shares, strict=True) if s == best).split("\n") if best else []
