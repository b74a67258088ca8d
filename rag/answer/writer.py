"""The answer while it streams: tokens come in from the model, checked lines go out to the reader.

A paragraph, an item or a block of code is read when it is whole, a sentence when the next one has begun. In "A node
runs. It is a process [1]." the marker belongs to both sentences. A line goes out when it is decided: a heading or a
lead-in with the first line below it, a sentence that the judge reads with its verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rag.answer.check import check, losses, rank, written_addresses
from rag.answer.citations import Citations
from rag.answer.cutter import Cutter
from rag.answer.evidence import Source
from rag.answer.judge import Claim
from rag.answer.lines import SOURCE_LINE, AnswerLine, read_line
from rag.answer.render import notices, unconfirmed_answer
from rag.answer.shown import ShownAnswer
from rag.answer.units import AnswerUnit, units
from rag.text.addresses import same_address
from rag.text.talk import denies_answer, is_courtesy
from rag.text.words import words
from rag.types import (
    OMISSION,
    SMALLTALK,
    CheckedSentence,
    CitationStyle,
    FallbackReason,
    Footer,
    Grounding,
    GroundingMode,
    Passage,
)

_LIST_KINDS: Final = ("row", "head", "code")
_SHORT: Final = 2  # words from which an uncited sentence states something
_NEAR_BEST: Final = 0.75  # of the best passage of a page: those that have as much of the sentence are cited too
FIRST: Final = 2  # sentences of whole blocks that are worth the judge's first call


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How an answer is written: the profile's settings with the run's overrides, and the question.

    `footer` is the list below an answer in the style "numbered". With `judged` a judge reads what is no quotation.
    Without `renumber` the numbers of citations stay as they were written.
    """

    refusal: str
    style: CitationStyle = "numbered"
    footer: Footer = "list"
    mode: GroundingMode = "strict"
    question: str = ""
    smalltalk: str = SMALLTALK
    judged: bool = False
    renumber: bool = True


class AnswerWriter:
    """Turns a model's tokens into checked pieces of the answer, which are `shown.content` byte for byte when joined.

    `fallback` is the reason if the finished answer has no citation, else None.
    """

    def __init__(self, passages: Sequence[Passage], options: AnswerOptions) -> None:
        self._options = options
        self.passages = passages
        self._sources = {passage.number: Source(passage) for passage in passages}
        self._citations = Citations(passages)
        self._cutter = Cutter()
        self._queue: list[AnswerLine] = []
        self._head = 0  # of the queue: lines before it went out
        self._open: list[AnswerLine] = []  # lines of the current block that are not checked yet
        self._before: AnswerLine | None = None
        self._intro: tuple[int, ...] = ()  # citations of the lead-in above a list, a table or code
        self._items: dict[int, tuple[int, ...]] = {}  # citations of the last item of each level
        self._under: list[AnswerLine] = []  # lead-ins and heads above the current line
        self._claims: list[AnswerLine] = []
        self._rest = ""  # white space behind the last chunk
        self._any_shown = False
        self._hidden = 0  # no line from the head to here that states something is shown
        self._calls = self._links = self._blocks = self._groups = 0
        self._has_words = self._ended = self._denies = self._refuses = self._cut = False
        self.fallback: FallbackReason | None = None
        self.grounding = Grounding(mode=options.mode)
        self.shown = ShownAnswer(self._sources, options.style, renumber=options.renumber)

    # --- the model writes -------------------------------------------------------------------------------------------

    def feed(self, text: str) -> list[str]:
        """Take the next tokens; return the pieces that are now ready."""
        for chunk, inside in self._cutter.feed(text):
            self._take(chunk, inside=inside)
        return self._release()

    def end_input(self, *, cut: bool = False) -> list[str]:
        """The model has finished. With `cut` it reached its maximum length, and an incomplete sentence is dropped."""
        if not self._ended:
            self._ended = True
            for chunk, inside in self._cutter.close():
                self._take(chunk, inside=inside, cut=cut)
            self._end_block(())
            self._open, open_lines = [], self._open
            for line in open_lines:
                self._check(line, ())
        return self._release()

    @property
    def wordless(self) -> bool:
        """Whether the finished answer has only markers and thoughts. It is then neither an answer nor a refusal."""
        return self._ended and not self._has_words and not self.grounding.unknown_markers

    def _take(self, chunk: str, *, inside: bool, cut: bool = False) -> None:
        found = units(chunk, inside=inside)
        if cut and found and not _is_finished(chunk, found[-1]):
            found, self._cut = found[:-1], True
        at, rest = 0, self._rest
        for unit in found:
            between, at, rest = rest + chunk[at : unit.start], unit.end, ""
            if unit.kind != "rule":
                self._add(unit, chunk[unit.start : unit.end], between, same=inside and unit.block == found[0].block)
        self._rest = rest + chunk[at:] if not chunk[at:].strip() else rest
        self._blocks += 1 + max((unit.block for unit in found), default=0)
        if self._open and self._cutter.is_between_blocks:
            self._end_block(())

    def _add(self, unit: AnswerUnit, raw: str, between: str, *, same: bool) -> None:
        line, unknown, images = read_line(unit.kind, raw, self._citations)
        self._links += images
        self.grounding.unknown_markers += unknown
        before = self._before
        line.block = before.block if same and before else self._blocks + unit.block
        line.level = unit.level
        line.gap, line.sign = _split(between)
        starts = before is None or before.block != line.block
        if line.is_source or self._lists_a_source(line):
            self._end_block(line.numbers)
            return
        if not re.search(r"\w", line.text) and line.kind != "code" and OMISSION not in line.text:
            return
        self._has_words = True
        if starts:
            self._end_block(None)
            self._begin_block(line, before)
        else:
            line.group = before.group if before else 0
        line.under = " ".join(one.text for one in self._under if one is not line)
        if line.kind in ("lead", "head"):
            self._under = [one for one in self._under if one.level < line.level and one.group == line.group] + [line]
        self._before = line
        self._queue.append(line)
        self._classify(line)
        if line.frame and not line.numbers:
            return
        self._open.append(line)
        if line.numbers and line.kind != "code":
            self._resolve(line.numbers)

    def _lists_a_source(self, line: AnswerLine) -> bool:
        """Whether a line has nothing but a number and the names of its passage: "[1] Widgets (widgets.md)"."""
        if not line.numbers or line.kind != "sentence" or not SOURCE_LINE.match(line.raw):
            return False
        known = frozenset(words("sources references " + " ".join(self._sources[n].known for n in line.numbers)))
        return known.issuperset(words(line.text))

    def _begin_block(self, line: AnswerLine, before: AnswerLine | None) -> None:
        in_list = line.level > 0 and line.kind != "heading"
        joined = before is not None and in_list and before.level > 0 and before.kind != "heading"
        joined = joined or (before is not None and line.kind == "row" and before.kind in ("row", "head"))
        line.group = before.group if joined and before else self._groups + 1
        self._groups = max(self._groups, line.group)
        if joined:
            self._items = {level: cites for level, cites in self._items.items() if level < line.level}
            self._under = [one for one in self._under if one.group != line.group or one.level < line.level]
            return
        leads = before is not None and before.kind == "lead" and (in_list or line.kind in _LIST_KINDS)
        follows = before is not None and line.kind in _LIST_KINDS
        self._intro = before.cites or before.numbers or before.inherited if before and (leads or follows) else ()
        self._items = {}
        self._under = [one for one in self._under if leads and one is before]

    def _classify(self, line: AnswerLine) -> None:
        """Tell a line that states nothing: a heading, a lead-in, a question, a courtesy, a denial."""
        options = self._options
        if line.kind in ("heading", "lead", "head"):
            line.frame = True
            lost = losses(line.text, list(self._sources.values()), [], options.question)
            reasons = tuple(one.reason for one in lost if one.holders is None and not _counts(one.reason))
            if reasons and options.mode != "off":
                line.standing, line.reasons = "contradicted", reasons
            return
        if line.kind != "sentence":
            return
        text = line.text
        refusal, said = words(options.refusal), words(text)
        if refusal and len(said) < 4 * len(refusal) and " ".join(refusal) in " ".join(said):
            self._denies = self._refuses = line.frame = True
            line.standing, line.reasons = "contradicted", ("refusal",)
        elif denies_answer(text) and not any(one.quotation(text) for one in self._sources.values()):
            self._denies = line.frame = True
        elif not line.numbers and (text.endswith("?") or is_courtesy(text)):
            line.frame = True

    # --- citations and checks ---------------------------------------------------------------------------------------

    def _resolve(self, numbers: tuple[int, ...]) -> None:
        """Check the waiting lines of the block, which have the citations of the line that was just read."""
        lines, self._open = self._open, []
        for line in lines:
            self._check(line, numbers)

    def _end_block(self, numbers: tuple[int, ...] | None) -> None:
        """Check what waits: with the citations of its block, its item or its lead-in, or of a line of sources.

        None says that another block begins, and an empty tuple that nothing is known of what follows.
        """
        waiting, self._open = self._open, []
        for line in waiting:
            inherited = self._inherited(line)
            if numbers or inherited:
                self._check(line, inherited or numbers or ())
            elif numbers is None:
                self._check(line, ())
            else:
                self._open.append(line)

    def _inherited(self, line: AnswerLine) -> tuple[int, ...]:
        if line.inherited:
            return line.inherited
        for level in range(line.level - 1, 0, -1):
            if self._items.get(level):
                return self._items[level]
        return self._intro if line.level or line.kind in _LIST_KINDS else ()

    def _check(self, line: AnswerLine, inherited: tuple[int, ...]) -> None:
        """Check a line against the passages that it cites itself, else against those that it inherits."""
        numbers = line.numbers or inherited
        line.checked, line.inherited = True, inherited
        if line.level and line.kind != "heading":
            self._items[line.level] = numbers
        if line.frame:
            line.cites = line.numbers
            return
        if line.unresolved and not line.numbers:
            line.standing, line.reasons = "contradicted", ("citation: it names no passage of this turn",)
            return
        options = self._options
        text = line.text
        cited = [self._sources[number] for number in numbers]
        if any(piece.named and len(piece.numbers) > 1 for piece in line.pieces) and len(cited) > 1:
            cited = self._supporting(line, text)
        if line.kind == "code":
            self._check_code(line, cited)
        else:
            found = check(text, cited, list(self._sources.values()), options.question)
            line.standing, line.reasons, line.quotes = found.standing, found.reasons, found.quotes
            line.cites = found.cites if numbers or found.standing == "supported" else ()
            self.grounding.repaired += found.repaired
            line.waits = options.judged and not found.whole and found.standing != "contradicted"
            line.candidates = found.cites
            if found.standing == "unconfirmed" and not line.numbers and not line.level and len(words(text)) < _SHORT:
                line.frame, line.standing, line.reasons, line.waits = True, None, (), False  # "Yes."
        if line.waits:
            self._claims.append(line)

    def _supporting(self, line: AnswerLine, text: str) -> list[Source]:
        """The cited passages; of several that one name means, those that support the sentence."""
        found: list[Source] = []
        for piece in line.pieces:
            sources = [self._sources[number] for number in piece.numbers]
            if piece.named and len(sources) > 1:
                ranked = rank(text, sources)
                sources = [one.source for one in ranked if one.share >= max(_NEAR_BEST * ranked[0].share, 0.01)]
                sources = sources or [ranked[0].source]
                quoted = [one for one in sources if one.quotation(text)]
                piece.numbers = tuple(one.number for one in quoted or sources)
            found += [self._sources[number] for number in piece.numbers]
        return list(dict.fromkeys(found))

    def _check_code(self, line: AnswerLine, cited: Sequence[Source]) -> None:
        """A block of code is supported if each of its lines stands in one passage."""
        lines = (" ".join(one.split()) for one in line.raw.split("\n")[1:])
        body = [one for one in lines if not re.fullmatch(r"`{3,}|~{3,}", one)]
        wanted = {one.removeprefix("> ") for one in body if one}
        sources = cited or list(self._sources.values())
        holders = [one.number for one in sources if wanted <= one.lines]
        text = "\n".join(body)
        if holders:
            line.standing, line.cites = "supported", tuple(holders[:1])
            return
        lost = losses(text, sources, list(self._sources.values()), self._options.question, code=True)
        certain = tuple(one.reason for one in lost if one.holders is None)
        line.standing = "contradicted" if certain else "unconfirmed"
        line.reasons = certain or tuple(one.reason for one in lost) or ("words: no passage has these lines",)
        line.cites = tuple(one.number for one in cited)
        line.candidates = line.cites or tuple(one.source.number for one in rank(text, sources)[:1])
        line.waits = self._options.judged and not certain

    # --- the judge reads --------------------------------------------------------------------------------------------

    def take_claims(self) -> dict[int, Claim]:
        """The sentences that the judge is to read now, by key: those of the first paragraph at once, then the rest.

        Each is handed out once.
        """
        waiting = [key for key, line in enumerate(self._claims) if not line.asked]
        whole = [key for key in waiting if self._ended or self._claims[key] not in self._current()]
        if not whole or (not self._ended and (self._calls or len(whole) < FIRST)):
            return {}
        self._calls += 1
        for key in whole:
            self._claims[key].asked = True
        return {key: self._claim(self._claims[key]) for key in whole}

    def _current(self) -> list[AnswerLine]:
        before = self._before
        same = [line for line in reversed(self._claims[-50:]) if before and line.block == before.block]
        return [] if self._cutter.is_between_blocks else same

    def _claim(self, line: AnswerLine) -> Claim:
        return Claim(" ".join(f"{line.under} {line.text}".split()), line.candidates)

    def apply_verdicts(self, verdicts: Mapping[int, bool | None], *, failed: bool = False) -> list[str]:
        """Apply the judge's verdicts, by key; return the pieces that are now ready.

        A sentence without one is unconfirmed. If the judge `failed`, the plain signals decide.
        """
        for key, verdict in verdicts.items():
            line = self._claims[key]
            line.waits = False
            if verdict:
                line.standing, line.reasons = "supported", ()
                line.cites = line.cites or line.candidates[:1]
            elif verdict is False:
                line.standing, line.reasons = "contradicted", ("judge: the passages do not say so",)
            elif not failed:
                line.standing, line.reasons = "unconfirmed", ("judge: no verdict",)
        return self._release()

    # --- lines go out -----------------------------------------------------------------------------------------------

    def close(self, *, cut: bool = False) -> list[str]:
        """Return the remaining pieces and the footer, or what stands in place of an answer."""
        pieces = self.end_input(cut=cut)
        for line in self._claims:
            line.waits = False
        pieces += self._release()
        shown = self.shown
        shown.finish(self._options.footer)
        if not shown.citations:
            self.fallback = self._fallback_reason()
            if not shown.content:
                alone = {"model_refused": self._options.refusal, "smalltalk": self._options.smalltalk}
                text = alone.get(self.fallback) or unconfirmed_answer(self.passages)
                shown.add(text, text)
        return pieces + shown.take_out()

    def _fallback_reason(self) -> FallbackReason:
        if self._denies and not self._any_shown:
            return "model_refused"
        claimed = self.grounding.sentences or self.grounding.unknown_markers
        polite = not claimed and any(is_courtesy(one.text) for one in self.grounding.checked)
        return "smalltalk" if polite else "unconfirmed"

    @property
    def notices(self) -> list[str]:
        """One sentence for each kind of thing that was left out."""
        refused = self.fallback is not None and not any(one.standing == "supported" for one in self.grounding.checked)
        return list(notices(self.grounding, self._links, denies=self._refuses, cut=self._cut, refused=refused))

    def _release(self) -> list[str]:
        while self._head < len(self._queue):
            line = self._queue[self._head]
            shows = self._fate(self._head)
            if shows is None:
                break
            self._put(line, shows=shows)
            self._head += 1
        return self.shown.take_out()

    def _fate(self, at: int) -> bool | None:
        """Whether a line is shown; None while that is open."""
        line = self._queue[at]
        if not line.frame:
            return self._is_shown(line)
        if line.reasons == ("refusal",) or (line.standing == "contradicted" and not self._shows_all):
            return False
        remark = line.kind == "sentence"  # it is shown with anything that is stated
        if remark and self._any_shown:
            return True
        scan = max(at + 1, self._hidden if remark else line.scan)
        shows: bool | None = None
        while scan < len(self._queue):
            other = self._queue[scan]
            if self._is_beyond(line, other, at):
                return False
            shows = None if other.frame else self._is_shown(other)
            if shows or (shows is None and not other.frame):
                break
            scan += 1
        if remark:
            self._hidden = scan
        line.scan = scan
        if shows and line.kind == "lead" and not line.numbers and self._queue[scan].kind == "code":
            line.cites = self._queue[scan].cites  # code has no place for a marker
        return shows or (False if self._ended and scan == len(self._queue) else None)

    @property
    def _shows_all(self) -> bool:
        return self._options.mode in ("flag", "off")

    def _is_beyond(self, line: AnswerLine, other: AnswerLine, at: int) -> bool:
        """Whether a line is not below a heading or a lead-in."""
        if line.kind == "heading":
            return other.kind == "heading" and other.level <= line.level
        if line.kind in ("lead", "head"):
            following = self._queue[at + 1]
            if following.level > line.level or following.kind in _LIST_KINDS:
                return other.level <= line.level and other.kind not in _LIST_KINDS
            return other.block != following.block
        return False

    def _is_shown(self, line: AnswerLine) -> bool | None:
        if not line.checked or line.waits:
            return None
        if self._refuses and line.standing == "unconfirmed" and not line.cites:
            return False  # nothing follows a refusal but what the book says
        shows = self._shows_all or line.standing == "supported"
        return shows or (self._options.mode == "strict" and line.standing == "unconfirmed")

    def _put(self, line: AnswerLine, *, shows: bool) -> None:
        mode = self._options.mode
        standing = line.standing or ("frame" if line.frame else "unconfirmed")
        is_refusal = line.reasons == ("refusal",)
        cites = list(line.cites) or ([*line.quotes][:1] if standing == "supported" else [])
        self.grounding.checked.append(
            CheckedSentence(text=line.text, standing=standing, reasons=list(line.reasons), citations=cites)
        )
        if not line.frame or (standing == "contradicted" and not is_refusal):
            self.grounding.sentences += 1
            self.grounding.supported += standing == "supported"
            self.grounding.unconfirmed += standing == "unconfirmed"
            self.grounding.removed += not shows
        if not shows:
            self.shown.leave_out(line)
            return
        self._any_shown |= not line.frame
        if mode in ("flag", "off"):
            self._links += self._without_strange_addresses(line)
        doubtful = standing in ("unconfirmed", "contradicted") and not is_refusal
        self.shown.put(line, flagged=doubtful and mode != "off")

    def _without_strange_addresses(self, line: AnswerLine) -> int:
        """Take the addresses out of a line that its passages do not show, and count them."""
        known = frozenset[str]().union(*(self._sources[n].addresses for n in line.cites or self._sources))
        strange = [one for one in written_addresses(line.text) if same_address(one) not in known]
        if strange:
            plain = line.raw if line.kind == "code" else line.text
            for one in strange:
                plain = plain.replace(one, "(address removed)")
            if set(written_addresses(plain)) & set(strange):
                plain = "(address removed)"
            pieces = [piece for piece in line.pieces if piece.kind == "cite"]
            line.pieces = [replace(pieces[0], kind="text", text=plain, numbers=())] if pieces else []
            line.raw = plain
        return len(strange)


def _counts(reason: str) -> bool:
    """Whether a reason is a small number, by which an answer may count its own parts."""
    found = re.match(r"(?:number|unit): (\d+)\b", reason)
    return found is not None and len(found[1]) < 3 and int(found[1]) <= 12


def _split(between: str) -> tuple[str, str]:
    """The white space before a unit, and the list sign or the hashes that begin its line."""
    above, newline, sign = between.rpartition("\n")
    if not newline and not between.strip():
        return between, ""
    gap = "\n" * min(2, above.count("\n") + 1) if newline else ""
    return gap, sign


def _is_finished(chunk: str, unit: AnswerUnit) -> bool:
    """Whether the last unit of an answer that was cut off is whole."""
    text = chunk[unit.start : unit.end]
    if unit.kind == "code":
        return re.search(r"\n[ \t>]*(?:`{3,}|~{3,})\s*\Z", text) is not None
    return re.search(r"[.!?…。！？][\"'”’»)\]*_]*\s*(?:\[[^\[\]]*\]\s*)*\Z", text) is not None or text.endswith("|")
