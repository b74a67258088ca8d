"""Build an answer from scored blocks: choose the best ones, add what they refer to, and format them.

A block is quoted word for word, each of its lines followed by the marker of its passage. Where something is left out
inside a block, or at the end of a list, a table or code, `OMISSION` stands in its place. A sentence that begins with
"These" or "Then" comes with the block before it, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rag.quoting.blocks import (
    NumberedPassage,
    QuoteBlock,
    blocks,
    faults,
    is_about_another_platform,
    is_for_one_version,
    is_quotable,
    is_sayable,
)
from rag.quoting.layout import Line, flat, laid_out, without_numbers
from rag.quoting.relevance import Reading, defines, definitions, share
from rag.text.english.phrases import LEANS_BACK, NUMBERED_TITLE, POINTED, POINTS_BACK
from rag.text.english.stopwords import STOP_WORDS
from rag.text.sentences import Unit
from rag.text.terms import keys
from rag.text.vocabulary import stem

BUDGET: Final = 1300  # characters of an answer, without markers
LONGEST: Final = 650  # characters of a block that is quoted whole
FROM_START: Final = 0.1  # score of the run of sentences with which a long paragraph begins
FEW: Final = 6  # items of a list that all begin to be quoted, if it is too long to be quoted whole
BEFORE: Final = 200  # characters, at most, of other blocks that stand before the best one of their passage
MOST: Final = 4  # blocks that are chosen by their scores
CLOSE: Final = 0.85  # least share of the best score that a further block needs
CLOSE_STEPS: Final = 0.70  # the same, for a question that asks how: one more way to do it is often wanted
GAIN: Final = 0.5  # score of a further block for all the terms that no chosen block has
NEXT: Final = 0.12  # score of a block that goes on where a chosen one ends
ENOUGH: Final = 250  # characters; a shorter answer takes further blocks with LOOSE less
LOOSE: Final = 0.05
DEFINING: Final = 0.12  # of `defines`, from which on a sentence or an item says what the question asks for
CLEAR: Final = 0.25  # of a sentence behind the second, from which on an answer begins with it
LEADING: Final = 2  # sentences before a definition that do not keep it waiting
SAME: Final = 0.6  # share of the shorter block's keys from which on two blocks say the same
FAULTY: Final = 0.25  # faults from which on a block beside a chosen one is not quoted
ASKED: Final = 0.6  # share of the terms from which on an entry of a list is the one that is asked for
ASKED_OF_ALL: Final = 0.8  # the same, of a question that asks for a list
NEARLY: Final = 0.8  # of the best entry's share, from which on a second entry is as good
OPENING: Final = 3  # blocks of the start page that say what the book is about
PARTS: Final = "Parts of the book:"


def excerpt(reading: Reading) -> list[str]:
    """The answer in pieces, one for each quoted unit; joined, they are its text. Empty if there is nothing to quote."""
    return laid_out([lines(block, reading) for block in choose(reading)], reading.terms)


def whole_book(passages: Sequence[NumberedPassage], *, with_text: bool) -> list[str]:
    """What the book is about, in pieces: the opening of its first passage if asked for, then the titles of its parts.

    A part is named by as many titles as tell its passage from the others.
    """
    number = passages[0].number
    opening = [block for block in blocks(passages[0], 0) if block.form == "text"][:OPENING] if with_text else []
    said = ([unit.text for unit in block.units if is_sayable(unit)] for block in opening)
    texts = dict.fromkeys(" ".join(f"{flat(text)} [{number}]" for text in units) for units in said if units)
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
    that goes on where a chosen one ends. After the first, a block must fit into what is left of the budget. What
    follows the first in its section fills the rest.
    """
    chosen: list[QuoteBlock] = []
    first: list[QuoteBlock] = []
    room = BUDGET
    for picked in range(MOST):
        found = _next(reading, chosen, enough=BUDGET - room >= ENOUGH)
        fitting = (group for block in found if (group := _with_antecedent(block, reading, chosen)))
        group = next((g for g in fitting if not picked or sum(map(_length, g)) <= room), [])
        if not group:
            break
        chosen += group
        room -= sum(map(_length, group))
        if not picked:
            first = group
            example = _example(group[-1], reading, chosen, room)
            chosen += example
            room -= sum(map(_length, example))
    if first:
        chosen += _following(first[-1], reading, chosen, room)
    return _ordered(chosen, first, reading)


def _ordered(chosen: Sequence[QuoteBlock], first: Sequence[QuoteBlock], reading: Reading) -> list[QuoteBlock]:
    """The blocks by passage in the order of their choice, then in the order of the text.

    Blocks of the best one's passage stand before it only if they are short.
    """
    ranks = _numbered(list(dict.fromkeys(block.rank for block in chosen)), reading)
    before = [b for b in chosen if b not in first and b.rank == first[-1].rank and b.place < first[-1].place]
    later = before if sum(map(_length, before)) > BEFORE else []
    return sorted(chosen, key=lambda block: (ranks.index(block.rank), block in later, block.place))


def _example(block: QuoteBlock, reading: Reading, chosen: Sequence[QuoteBlock], room: int) -> list[QuoteBlock]:
    """The code right behind the best block: it shows what the block says, and goes before blocks from elsewhere."""
    following = _following(block, reading, chosen, room)
    return [other for other in following if other.place == block.place + 1 and other.form == "code"]


def _numbered(ranks: list[int], reading: Reading) -> list[int]:
    """The ranks, those of sections with numbers in their titles in the order of the numbers, in each chapter."""
    places: dict[str, list[tuple[int, int]]] = {}
    for place, rank in enumerate(ranks):
        chapter, _, title = reading.passages[rank][0].passage.title.rpartition(" > ")
        if number := NUMBERED_TITLE.match(title):
            places.setdefault(chapter, []).append((int(number[1]), place))
    found = list(ranks)
    for numbered in places.values():
        for (_, source), place in zip(sorted(numbered), sorted(place for _, place in numbered), strict=True):
            found[place] = ranks[source]
    return found


def _following(block: QuoteBlock, reading: Reading, chosen: Sequence[QuoteBlock], room: int) -> list[QuoteBlock]:
    """What follows a chosen block in its section, as far as it fits. What is before would keep the answer waiting."""
    found: list[QuoteBlock] = []
    passage = reading.passages[block.rank]
    for other in passage[block.place + 1 :]:
        if other.section != block.section or other in chosen or not is_quotable(other) or _length(other) > room:
            break
        talk = other.form != "code" and faults(other, reading.question) >= FAULTY
        if is_about_another_platform(other, reading.question) or talk or _is_written_again(other, [*chosen, *found]):
            break
        found.append(other)
        room -= _length(other)
    return [other for other in found if lines(other, reading)]


def _next(reading: Reading, chosen: Sequence[QuoteBlock], *, enough: bool) -> list[QuoteBlock]:
    """The blocks that may be quoted next, the best first."""
    if not reading.ranked:
        return []
    if not chosen:
        return reading.ranked
    close = CLOSE_STEPS if reading.shape.steps else CLOSE
    least = reading.ranked[0].score * (close if enough else close - LOOSE)
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

    return any(map(repeats, chosen)) or _is_written_again(block, chosen)


def _is_written_again(block: QuoteBlock, chosen: Sequence[QuoteBlock]) -> bool:
    """Whether a chosen block has the same code, or the same for another version."""
    code = {unit.text for other in chosen for unit in other.units if unit.kind == "code"}
    if any(unit.text in code for unit in block.units):
        return True
    return is_for_one_version(block) and any(
        is_for_one_version(other) and (other.rank, other.section) == (block.rank, block.section) for other in chosen
    )


def _with_antecedent(block: QuoteBlock, reading: Reading, chosen: Sequence[QuoteBlock]) -> list[QuoteBlock]:
    """The block, after the one that its first sentence refers to; nothing if it says nothing without that."""
    if not _leans(block, block.units[0]):
        return [block]
    before = reading.passages[block.rank][block.place - 1] if block.place else None
    if before is not None and before.section == block.section:
        if before in chosen:
            return [block]
        if not before.said and not _leans(before, before.units[0]) and _length(before) + _length(block) <= BUDGET:
            return [before, block]
    return [block] if lines(block, reading) else []


def _leans(block: QuoteBlock, unit: Unit) -> bool:
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
    back = LEANS_BACK.match(text) or (POINTS_BACK.search(text) if unit.kind == "sentence" else None)
    pointed = POINTED.match(text, back.start()) if back and block.first else None
    return bool(back) and not (pointed and stem(pointed[1].lower()) in keys(block.heading))


def _has_antecedent(block: QuoteBlock, reading: Reading) -> bool:
    before = reading.passages[block.rank][block.place - 1] if block.place else None
    return before is not None and before.section == block.section and not _leans(before, before.units[0])


def _length(block: QuoteBlock) -> int:
    """Characters that a block takes of the budget; what is longer is cut."""
    return min(len(block.text), LONGEST)


def lines(block: QuoteBlock, reading: Reading) -> list[Line]:
    """What is quoted of a block, in order, with its omissions."""
    start = 0
    if not _has_antecedent(block, reading):
        while start < len(block.units) and _leans(block, block.units[start]):
            start += 1
    if defining := _defining_item(block, reading):
        return [Line(block, block.units[i]) for i in defining]
    wanted = [i for i, unit in enumerate(block.units) if i >= start and is_sayable(unit)]
    if entries := _asked_entries(block, wanted, reading):
        return list(_with_omissions(block, [*(i for i in wanted if i < block.lead), *entries]))
    wanted = wanted[_opening(block, wanted, reading) :]
    if sum(len(block.units[i].text) for i in wanted) > LONGEST:
        wanted = _shortened(block, wanted)
    whole = any(i >= block.lead for i in wanted) and (not start or block.form in ("text", "code"))
    return list(_with_omissions(block, wanted)) if whole else []


def _opening(block: QuoteBlock, wanted: Sequence[int], reading: Reading) -> int:
    """With which of the wanted sentences a paragraph begins: the first, or a clear definition that comes late."""
    if block.form != "text" or not reading.shape.definition:
        return 0
    found = definitions(block, reading.terms)
    best = max(wanted, key=lambda i: found[i], default=0)
    late = best in wanted[LEADING:] and max(found[i] for i in wanted[:LEADING]) < DEFINING
    return wanted.index(best) if late and found[best] > CLEAR and not _leans(block, block.units[best]) else 0


def _defining_item(block: QuoteBlock, reading: Reading) -> list[int]:
    """The one item of a list, with what is nested in it, that explains what the question asks for: "**X**: ..."."""
    if not reading.shape.definition or block.form != "list" or share(reading.terms, block.context) > SAME:
        return []
    entries = _entries(block, range(block.lead, len(block.units)))
    found = [entry for entry in entries if defines(block.units[entry[0]].text, reading.terms) > DEFINING]
    return found[0] if len(found) == 1 and len(entries) > 1 else []


def _asked_entries(block: QuoteBlock, wanted: Sequence[int], reading: Reading) -> list[int]:
    """The one or two entries of a long list or table that hold what is asked for, if the others do not.

    A question that asks for a list must have nearly all its words in them.
    """
    body = [i for i in wanted if i >= block.lead]
    short = not body or len(block.text) < LONGEST / 2
    if short or block.form not in ("list", "table") or reading.shape.comparison:
        return []
    entries = _entries(block, body)
    head = entries.pop(0) if block.form == "table" else []
    shares = [share(reading.terms, keys(" ".join(block.units[i].text for i in entry))) for entry in entries]
    best = max(shares, default=0.0)
    chosen = [entry for entry, held in zip(entries, shares, strict=True) if held > NEARLY * best]
    if best < (ASKED_OF_ALL if reading.shape.listing else ASKED) or len(chosen) > 2 or len(entries) < 4:
        return []
    return head + [i for entry in chosen for i in entry]


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
    if block.form == "list" and (heads := _heads(block, entries, room)):
        return [*lead, *heads]
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


def _heads(block: QuoteBlock, entries: Sequence[Sequence[int]], room: int) -> list[int]:
    """The beginning of each item of a short list, and of the best items as much as there is room for.

    None if the beginnings alone are too long.
    """
    kept = [entry[0] for entry in entries]
    room -= sum(len(block.units[i].text) for i in kept)
    if room < 0 or len(kept) > FEW:
        return []
    for entry in sorted(entries, key=lambda e: -max(block.unit_scores[i] for i in e)):
        for i in entry[1:]:
            if len(block.units[i].text) > room:
                break
            kept.append(i)
            room -= len(block.units[i].text)
    return sorted(kept)


def _run(block: QuoteBlock, body: Sequence[int]) -> list[int]:
    """The run of sentences of a paragraph with the best mean score, which does not begin by pointing back."""
    best, chosen = -1.0, list(body[:1])
    for start, index in enumerate(body):
        if start and _leans(block, block.units[index]):
            continue
        run: list[int] = []
        size = 0
        for other in body[start:]:
            size += len(block.units[other].text)
            if run and size > LONGEST * 0.7:
                break
            run.append(other)
        score = max(block.unit_scores[i] for i in run) + sum(block.unit_scores[i] for i in run) / len(run)
        score += 0.0 if start else FROM_START
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
