"""What is quoted of a block, and how it is set as Markdown, each line followed by the marker of its passage.

A block is quoted word for word, all of a short one, and of a long one the part that was asked for. Where something is
left out inside a block, or at the end of a list, a table or code, `OMISSION` stands in its place.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, cast

from rag.quoting.blocks import QuoteBlock, bullet, is_labelled, is_sayable, is_signature, leans_back
from rag.quoting.english.phrases import LEADS_TO_CODE
from rag.quoting.page_units import Unit, sentence_spans
from rag.quoting.relevance import Reading, defines, definitions, names_all, share
from rag.quoting.snippet import snippet
from rag.quoting.terms import Term, keys
from rag.text.sentences import code_spans
from rag.types import OMISSION

WHOLE: Final = 800  # characters of a block that is quoted whole
LONGEST: Final = 650  # characters that are quoted of a longer block
FROM_START: Final = 0.1  # score of the run of sentences with which a long paragraph begins
FEW: Final = 6  # items of a list that all begin to be quoted, if it is too long to be quoted whole
DEFINING: Final = 0.12  # least of `defines` of a sentence or an item that says what the question asks for
CLEAR: Final = 0.25  # least of `defines` of a sentence behind the second with which an answer begins
LEADING: Final = 2  # sentences before a definition that do not keep it waiting
ABOVE: Final = 0.6  # share of the terms in the titles above a list; above it none of its items defines them
FIELD: Final = 120  # characters of an entry of a record that is always quoted
ASKED: Final = 0.6  # least share of the terms of the entry of a list that is asked for
ASKED_OF_ALL: Final = 0.8  # the same, of a question that asks for a list
NEARLY: Final = 0.8  # least part of the best entry's share with which a second entry is as good

_FIELD: Final = re.compile(r"\*\*[^*\n]{1,40}(?::\*\*|\*\*:)")
_TITLE: Final = re.compile(r"\btitle=[\"']([\w.-]*[/\\]?[\w./-]*\.\w{1,8})[\"']")
_BEFORE_ROW: Final = re.compile(r"^[ \t>]+(?=\|)", re.MULTILINE)
_OPEN_ROW: Final = re.compile(r"^(\|.*[^|\s])[ \t]*$", re.MULTILINE)  # of a table, without the sign at its end
# A heading that is the name of a setting, a function or an option, and no word of a language.
_NAME: Final = re.compile(r"(?=\S*(?:[a-z][A-Z]|\w_\w|\w\.\w|^--|\(\)))[\w.$-]{3,60}(?:\([\w, ]*\))?")


@dataclass(frozen=True, slots=True)
class Line:
    """A unit to be quoted, or with None an omission before the unit `then`, in the block it belongs to."""

    block: QuoteBlock
    unit: Unit | None
    then: Unit | None = None

    @property
    def goes_on(self) -> bool:
        """Whether something is left out within an item of a list."""
        return self.unit is None and self.then is not None and self.then.kind != "item"


def lines(block: QuoteBlock, reading: Reading, quoted: Sequence[QuoteBlock] = ()) -> list[Line]:
    """What is quoted of a block, in order, with its omissions. `quoted` are all blocks of the answer.

    The later part of a list or table that was cut between passages comes below the line that leads to the first part.
    """
    found = _own_lines(block, reading, quoted)
    run = reading.runs[block.run]
    if found and found[-1].unit and _is_cut_off(block, run, quoted):
        found.append(Line(block, None))
    if not found or block.begun is None or run[block.place - 1] in quoted:
        return found
    lead = block.begun.units[: block.begun.lead] if block.begun not in quoted else ()
    above = [Line(block.begun, unit) for unit in lead if not leans_back(block.begun, unit)]
    return [*above, Line(block, None), *found]


def _is_cut_off(block: QuoteBlock, run: Sequence[QuoteBlock], quoted: Sequence[QuoteBlock]) -> bool:
    """Whether other passages have later parts of a block's list or table, none of which is quoted."""
    later = [other for other in run[block.place + 1 :] if other.begun and other.begun is (block.begun or block)]
    return bool(later) and not any(other in quoted for other in later)


def _own_lines(block: QuoteBlock, reading: Reading, quoted: Sequence[QuoteBlock]) -> list[Line]:
    start = 0
    if not _has_antecedent(block, reading, quoted):
        while start < len(block.units) and leans_back(block, block.units[start]) and not _only_leads(block, start):
            start += 1
    if defining := _defining_item(block, reading):
        return [Line(block, block.units[i]) for i in defining]
    one_of_several = is_labelled(block) and sum(is_labelled(other) and other.is_beside(block) for other in quoted) > 1
    sayable = [one_of_several or is_sayable(unit) or _leads_on(block, i) for i, unit in enumerate(block.units)]
    wanted = [i for i in range(start, len(block.units)) if sayable[i]]
    if entries := _asked_entries(block, wanted, reading):
        return list(_with_omissions(block, [*(i for i in wanted if i < block.lead), *entries]))
    wanted = wanted[_opening(block, wanted, reading) :]
    if sum(len(block.units[i].text) for i in wanted) > WHOLE:
        wanted = _shortened(block, wanted)
    whole = any(i >= block.lead for i in wanted) and (not start or block.form in ("text", "code"))
    cut = [Line(block, None)] if start and block.form == "code" else []
    return [*cut, *_with_omissions(block, wanted)] if whole else []


def _only_leads(block: QuoteBlock, index: int) -> bool:
    """Whether a line does no more than lead to the code below it: "For example:"."""
    return (
        block.form == "code"
        and index == block.lead - 1
        and LEADS_TO_CODE.fullmatch(block.units[index].text) is not None
    )


def _leads_on(block: QuoteBlock, index: int) -> bool:
    """Whether a line within an item of a list, such as "Solutions:", leads to the items nested below it."""
    unit, after = block.units[index], block.units[index + 1 : index + 2]
    return index >= block.lead and unit.kind == "lead" and any(one.kind == "item" for one in after)


def _has_antecedent(block: QuoteBlock, reading: Reading, quoted: Sequence[QuoteBlock]) -> bool:
    """Whether the block before it can be what its first sentence points to: it is quoted, or needs no other block."""
    before = reading.runs[block.run][block.place - 1] if block.place else None
    if before is None or before.section != block.section:
        return False
    return before in quoted or not leans_back(before, before.units[0])


def _opening(block: QuoteBlock, wanted: Sequence[int], reading: Reading) -> int:
    """With which of the wanted sentences a paragraph begins: the first, or a clear definition that comes late."""
    if block.form != "text" or not reading.shape.definition:
        return 0
    found = definitions(block, reading.subject)
    best = max(wanted, key=lambda i: found[i], default=0)
    late = best in wanted[LEADING:] and max(found[i] for i in wanted[:LEADING]) < DEFINING
    return wanted.index(best) if late and found[best] > CLEAR and not leans_back(block, block.units[best]) else 0


def _defining_item(block: QuoteBlock, reading: Reading) -> list[int]:
    """The one item of a list, with what is nested in it, that explains what the question asks for: "**X**: ..."."""
    if block.form != "list" or share(reading.subject, block.context) > ABOVE:
        return []

    def explains(text: str) -> bool:
        asked = reading.shape
        return names_all(reading, text) or (asked.definition and defines(text, reading.subject) > DEFINING)

    entries = _entries(block, range(block.lead, len(block.units)))
    found = [entry for entry in entries if explains(block.units[entry[0]].text)]
    return found[0] if len(found) == 1 and len(entries) > 1 else []


def _asked_entries(block: QuoteBlock, wanted: Sequence[int], reading: Reading) -> list[int]:
    """The one or two entries of a long list or table that hold what is asked for, if the others do not."""
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
    fields = _fields(block, entries)
    return head + [i for entry in entries if entry in chosen or entry in fields for i in entry]


def _fields(block: QuoteBlock, entries: Sequence[list[int]]) -> list[list[int]]:
    """The short entries of a record, "**Default value:** 128", which say what its longer ones are about."""
    labelled = [entry for entry in entries if _FIELD.match(block.units[entry[0]].text)]
    if block.form != "list" or 3 * len(labelled) < 2 * len(entries):
        return []
    return [entry for entry in labelled if sum(len(block.units[i].text) for i in entry) <= FIELD]


def _with_omissions(block: QuoteBlock, wanted: Sequence[int]) -> Iterator[Line]:
    """The lines with a mark where units were left out between them, and at the end of what is no paragraph."""
    previous = None
    for index in wanted:
        if previous is not None and index > previous + 1:
            items = any(unit.kind == "item" for unit in block.units[previous + 1 : index])
            yield Line(block, None, None if items else block.units[index])
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
    kept = [i for entry in _fields(block, entries) for i in entry]
    room -= sum(len(block.units[i].text) for i in kept)
    entries = [entry for entry in entries if entry[0] not in kept]
    if block.form != "steps":
        entries = sorted(entries, key=lambda e: -max(block.unit_scores[i] for i in e))
    for place, entry in enumerate(entries):
        size = sum(len(block.units[i].text) for i in entry)
        if place and size > room:
            if block.form == "steps":
                break
            continue  # a shorter one may fit
        kept += entry
        room -= size
    return [*lead, *sorted(kept)]


def _heads(block: QuoteBlock, entries: Sequence[Sequence[int]], room: int) -> list[int]:
    """The beginning of each item of a short list if they fit, and of the best items as much as there is room for."""
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
    leads = (entry for entry in entries if block.units[entry[0]].text.rstrip("*_ ").endswith(":") and entry[1:])
    return sorted(kept) if all(entry[1] in kept for entry in leads) else []  # a lead without what it leads to


def _run(block: QuoteBlock, body: Sequence[int]) -> list[int]:
    """The run of sentences of a paragraph with the best mean score, which does not begin by pointing back."""
    best, chosen = -1.0, list(body[:1])
    for start, index in enumerate(body):
        if start and leans_back(block, block.units[index]):
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


def laid_out(quoted: Sequence[Sequence[Line]], wanted: Sequence[Term]) -> list[str]:
    """The pieces of an answer, one for each line, or table. `wanted` are the terms that choose a part of a program."""
    pieces: list[str] = []
    previous: Line | None = None
    for block in quoted:
        separator = "\n\n" if pieces else ""
        if block and (signature := block[0].block.signature):
            pieces.append(f"{separator}{signature.text} [{signature.passage.number}]")
            separator = "\n\n"
        elif block and (name := _named_above(block)) and not any(name in piece for piece in pieces):
            pieces.append(f"{separator}`{name}` [{block[0].block.passage.number}]")
            separator = "\n\n"
        for run in _runs(block):
            text = _table(run) if _is_row(run[0]) else _formatted(run[0], wanted, alone=len(block) == 1)
            space = separator if run[0] is block[0] else _separator(previous, run[0])
            pieces.append(space + (text.lstrip() if space == " " else text))
            previous = run[-1]
    return pieces


def _named_above(block: Sequence[Line]) -> str:
    """The heading of a reference's entry, such as `bodyLimit`, if what is quoted below it does not name it; else ""."""
    heading = block[0].block.heading.strip("`*: ")
    named = _NAME.fullmatch(heading) and not any(line.unit and heading in line.unit.text for line in block)
    return heading if named else ""


def _is_row(line: Line) -> bool:
    return line.unit is not None and line.unit.kind in ("table", "row")


def _runs(block: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines one by one, but the rows of a table, with what was left out between them, as one run."""
    run: list[Line] = []
    for line in block:
        if run and not _is_row(line) and line.unit is not None:
            yield run
            run = []
        if run or _is_row(line):
            run.append(line)
        else:
            yield [line]
    if run:
        yield run


def _table(run: Sequence[Line]) -> str:
    """The rows of a table below its head, with one marker; what was left out is marked below the table."""
    texts = (_BEFORE_ROW.sub("", without_numbers(line.unit.text)) for line in run if line.unit)
    rows = [_OPEN_ROW.sub(r"\1 |", text) for text in texts]
    cut = [OMISSION] if any(line.unit is None for line in run) else []
    return "\n\n".join(["\n".join(rows), f"[{run[0].block.passage.number}]", *cut])


def _separator(previous: Line | None, line: Line) -> str:
    """The white space between two lines: a space in a paragraph, a line break in a list, else a blank line."""
    if previous is None:
        return ""
    if previous.block is not line.block:
        return (
            "\n" if line.block.begun and line.block.form != "table" and line.block.is_beside(previous.block) else "\n\n"
        )
    if previous.unit and (is_signature(previous.unit) or _begins_paragraph(previous.unit, line)):
        return "\n\n"
    block, kinds = line.block, {one.unit.kind if one.unit else "" for one in (previous, line)}
    if block.form in ("list", "steps") and _goes_on(previous, line):
        return " "
    nested = line.unit is not None and line.unit.kind in ("sentence", "lead") and line.unit.depth > 0
    if block.form == "text" or (kinds <= {"sentence", "lead"} and not nested):
        return " "
    return "\n" if kinds <= {"item", "lead", ""} and not (nested or line.goes_on) else "\n\n"


def _begins_paragraph(previous: Unit, line: Line) -> bool:
    """Whether a line of a text is the first of another paragraph, such as what a setting means, below its default."""
    return line.block.form == "text" and line.unit is not None and previous.block != line.unit.block


def _goes_on(previous: Line, line: Line) -> bool:
    """Whether a line goes on with the paragraph of the one before it, in an item of a list."""
    if line.goes_on:
        return previous.unit is not None and previous.unit.kind in ("item", "sentence", "lead")
    unit = line.unit
    if unit is None or unit.kind not in ("sentence", "lead") or not (previous.unit or previous.goes_on):
        return False
    before = line.block.units[line.block.units.index(unit) - 1]
    return before.block == unit.block


def _formatted(line: Line, wanted: Sequence[Term], *, alone: bool) -> str:
    """A unit as Markdown, with its marker behind each sentence. An item that is quoted `alone` is set as a sentence."""
    block, unit = line.block, line.unit
    if unit is None:
        return "- " + OMISSION if block.form in ("list", "steps") and not line.goes_on else OMISSION
    marker = f"[{block.passage.number}]"
    base = min(one.depth for one in block.units[block.lead :])
    indent = " " * min(6, max(0, unit.depth - base))
    if unit.kind == "code":
        above = f"`{name}`: {marker}\n\n" if (name := _file_name(line)) else ""
        return textwrap.indent(f"{above}{snippet(_unquoted(line), wanted)}\n{marker}", indent)
    whole = flat(unit.text)
    text = " ".join(f"{whole[start:end]} {marker}" for start, end in sentence_spans(whole, small=True))
    if unit.kind != "item":
        return f"{indent if block.form in ('list', 'steps') else ''}{text}"
    return text if alone else f"{indent}{bullet(block.passage.text, unit)} {text}"


def _unquoted(line: Line) -> str:
    """The text of a unit, without the signs of a quotation at the beginning of its lines if it is in one."""
    block, unit = line.block, cast(Unit, line.unit)
    text = block.passage.text
    before = text[text.rfind("\n", 0, unit.start) + 1 : unit.start]
    signs = before.count(">") if not before.strip("> \t") else 0
    return re.sub(rf"(?m)^(?:[ \t]*>){{1,{signs}}} ?", "", unit.text) if signs else unit.text


def _file_name(line: Line) -> str:
    """The file that the fence of a code names (`title="copier.yml"`), if the block does not name it above; else ""."""
    block, unit = line.block, cast(Unit, line.unit)
    named = _TITLE.search(unit.text.partition("\n")[0])
    above = " ".join(one.text for one in block.units if one.end <= unit.start)
    return named[1] if named and named[1] not in above else ""


def flat(text: str) -> str:
    """A text on one line, without the signs of a quotation at the beginning of its lines."""
    return re.sub(r"\s*\\?\n[ \t>]*", " ", without_numbers(text))


def without_numbers(text: str) -> str:
    """The text with the book's own `[3]` escaped outside code, so that it does not read as a citation of the answer."""
    spans = code_spans(text)
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    parts = [text[start:end] for start, end in pairwise(edges)]
    parts[::2] = [re.sub(r"\[(\d{1,4}(?:[,;–-] ?\d{1,4})*)\](?!\()", r"\\[\1\\]", part) for part in parts[::2]]
    return "".join(parts)
