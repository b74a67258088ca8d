"""Which sentences of the passages answer the question, and whether any does.

Each quotable unit is compared with the question in two ways: by the question's terms that it holds, weighted by how
rare they are, and by the cosine of its embedding to the question's. `judge` puts the best of them into one probability
that the passages answer the question at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from rag.ports import Embedder
from rag.prompt.passage_format import NumberedPassage
from rag.text.english.questions import QuestionShape, shape
from rag.text.sentences import Unit, units
from rag.text.terms import Term, keys, stem, terms, weigh

EMBEDDED: Final = 16  # units that are embedded: about 10 ms each on one core
LONG_CODE: Final = 16  # lines beyond which code is quoted in part
EMBEDDED_CHARACTERS: Final = 320

_ASIDE: Final = re.compile(  # sections that ask, point elsewhere or list literature, and answer nothing
    r"(?:chapter |section )?(?:(?:review|discussion|practice|study|check|self-assessment|hands-on|coding)\s+)*"
    r"(?:exercises?|questions?|references|further reading|bibliography|learning objectives|see also|quiz)",
    re.IGNORECASE,
)
_POINTER: Final = re.compile(
    r"(?:previous|next) (?:chapter|page|section)\b|after (?:completing|reading) this", re.IGNORECASE
)
_ABOUT_ITSELF: Final = re.compile(
    r"(?:in )?(?:this|the next|the previous) (?:chapter|section|page|guide|book|tutorial|lesson)\b", re.IGNORECASE
)
_CAPTION: Final = re.compile(r"\W*(?:listing|figure|fig\.|table|filename|file)\b[ \d.-]*:", re.IGNORECASE)
_WALKS_THROUGH: Final = re.compile(  # sentences that hold only where they stand
    r"\bListing \d|\b[Ll]et['’]s\b|\b(?:earlier|previous|next|last) (?:section|chapter|example|exercise)\b|"
    r"\b(?:section|discussed|covered|saw|learned) in Chapter \d|\]\["
)
_COPULA: Final = re.compile(
    r"\b(?:is|are|was|means?|refers? to|represents?|describes?|stands? for|consists? of|provides?|enables?|allows?|"
    r"lets?|combines?|denotes?|defines?)\b"
)
_LABELLED: Final = re.compile(r"(?:\*\*[^*\n]{1,80}\*\*|`[^`\n]{1,80}`)(?: \([^)]*\))?:|\*\*[^*\n]{1,80}:\*\*")
_INTRODUCED: Final = re.compile(r"((?:[^\W_][\w-]*[ -]){1,7})\(\**([A-Z][A-Za-z]{0,6}[A-Z]s?)\**\)")
_MARKER: Final = re.compile(r"`[^`]*`|(\[\d+\])")


@dataclass(slots=True)
class ScoredSentence:
    """A unit of a passage with where it stands. `own` are its keys, `context` those of its headings and its lead."""

    passage: NumberedPassage
    unit: Unit
    index: int
    heading: str
    lead: str
    own: frozenset[str]
    context: frozenset[str]
    aside: bool
    opens: bool  # it is the first of its section
    leads: str  # the kind of what follows that it introduces, "" where nothing does
    said: bool = False  # an earlier answer quoted it
    held: float = 0.0  # weighted share of the question's terms that it holds, 0..1
    cosine: float = 0.0
    score: float = 0.0


@dataclass(slots=True)
class SentenceScores:
    """The passages as read for one question: their units, scored, and the question's terms."""

    question: str
    shape: QuestionShape
    terms: list[Term]
    passages: list[list[ScoredSentence]]
    ranked: list[ScoredSentence] = field(default_factory=list)
    everything: frozenset[str] = frozenset()


def read(
    question: str, passages: Sequence[NumberedPassage], embedder: Embedder | None, *, said: str = ""
) -> SentenceScores:
    """Score every quotable unit of the passages; `ranked` holds the best first. What `said` holds is not said again."""
    known = " ".join(said.split())
    wanted = _with_abbreviations(terms(question), passages)
    reading = SentenceScores(question, shape(question), wanted, [_candidates(passage) for passage in passages])
    everything: set[str] = set()
    for rank, candidates in enumerate(reading.passages):
        for candidate in candidates:
            everything |= candidate.own | candidate.context
            candidate.said = " ".join(candidate.unit.text.split()) in known
            candidate.held = held(wanted, candidate)
            candidate.score = candidate.held + fitness(candidate, reading) - 0.02 * rank
    reading.everything = frozenset(everything)
    quotable = [c for candidates in reading.passages for c in candidates if is_quotable(c)]
    quotable.sort(key=lambda c: -c.score)
    if embedder is not None:
        _compare(question, quotable[:EMBEDDED], embedder)
    reading.ranked = sorted(quotable, key=lambda c: -c.score)
    return reading


def fitness(candidate: ScoredSentence, reading: SentenceScores) -> float:
    """What the form of a unit adds to or takes from its score: is it the kind of thing that was asked for?"""
    unit, asked = candidate.unit, reading.shape
    fit = _faults(candidate, asked)
    if candidate.opens:
        about = share(reading.terms, keys(candidate.heading))
        defining = asked.definition and candidate.leads != "code"
        fit += about * (0.3 if defining else 0.15) if about >= 0.6 else 0.0
    if asked.definition and unit.kind in ("sentence", "lead", "item"):
        fit += _defines(unit.text, reading.terms)
    if asked.comparison and unit.kind == "table":
        fit += 0.2
    if asked.steps and unit.kind in ("code", "lead"):
        fit += 0.05
    if asked.listing and unit.kind in ("lead", "table"):
        fit += 0.08
    if asked.wanted in ("number", "year"):
        fit += 0.1 if re.search(r"\d", unit.text) else -0.1
    return fit


def _faults(candidate: ScoredSentence, asked: QuestionShape) -> float:
    """What makes a unit a poor quotation whatever was asked: below zero, or zero."""
    unit = candidate.unit
    fault = 0.5 if candidate.aside else 0.0
    if speaks_of_itself(unit.text) or _CAPTION.match(unit.text):
        fault += 0.25
    if _WALKS_THROUGH.search(unit.text) or (unit.kind == "lead" and not candidate.leads):
        fault += 0.1
    if unit.kind == "code":
        fault += (0.0 if asked.steps else 0.15) + (0.1 if unit.text.count("\n") > LONG_CODE else 0.0)
    return -fault


def speaks_of_itself(sentence: str) -> bool:
    """Is it "This chapter covers ...", which tells what the book does and not what is so?"""
    return bool(_ABOUT_ITSELF.match(sentence))


def _defines(text: str, wanted: Sequence[Term]) -> float:
    """Does the sentence say what the thing is: "X is ...", "**X** refers to ...", "**X**: ..."?"""
    label = _LABELLED.match(text)
    if label and (said := share(wanted, keys(label[0]))) >= 0.65:
        return 0.2 * said
    verb = _COPULA.search(text, 0, 160)
    if verb is None or share(wanted, keys(text[: verb.start()])) < 0.99:
        return 0.0
    # "A node is ..." defines a node; "The nodes that we saw above are ..." says something about some nodes.
    others = len(re.findall(r"\w[\w'’-]*", re.sub(r"\([^()]*\)", "", text[: verb.start()]))) - len(wanted)
    return 0.35 if others <= 2 else 0.15 if others <= 6 else 0.05


def share(wanted: Sequence[Term], found: frozenset[str]) -> float:
    """The share of the terms, by weight, that a set of keys covers; 0 without terms."""
    total = weigh(wanted)
    return sum(term.weight for term in wanted if term.within(found)) / total if total else 0.0


def _with_abbreviations(wanted: list[Term], passages: Sequence[NumberedPassage]) -> list[Term]:
    """The terms, knowing the abbreviations that the passages introduce: "Quality of Service (QoS)" makes QoS a form
    of "quality" and of "service" in a question that has both, and the two words a form of "QoS" in one that has it."""
    by_term = list(wanted)
    for passage in passages:
        for match in _INTRODUCED.finditer(f"{passage.title}\n{passage.text}"):
            short = match[2].removesuffix("s").lower()
            words = _spelt_out(match[1], short)
            if not words:
                continue
            stems = frozenset(stem(word) for word in words if len(word) > 2)
            spoken = [i for i, term in enumerate(by_term) if stem(term.word.lower()) in stems]
            if stems == {stem(by_term[i].word.lower()) for i in spoken}:
                for i in spoken:
                    by_term[i] = replace(by_term[i], forms=by_term[i].forms | {short})
            for i, term in enumerate(by_term):
                if term.word.lower() == short and not term.parts:
                    by_term[i] = replace(term, parts=stems)
    return by_term


def _spelt_out(before: str, short: str) -> list[str]:
    """The last words of `before` whose initials are the abbreviation: "Quality of Service" for "qos"."""
    words = re.findall(r"[^\W_]+", before.lower())
    tail = words[-len(short) :]
    return tail if "".join(word[0] for word in tail) == short else []


def held(wanted: Sequence[Term], candidate: ScoredSentence) -> float:
    """The share of the terms, by weight, that a unit holds; what only its headings or its lead hold counts less."""
    total = weigh(wanted)
    if not total:
        return 0.0
    got = 0.0
    for term in wanted:
        if term.within(candidate.own):
            got += term.weight
        elif term.within(candidate.context) or term.within(candidate.own | candidate.context):
            got += 0.8 * term.weight
    return got / total


def is_quotable(candidate: ScoredSentence) -> bool:
    """Headings answer nothing, a question is no answer, and a unit that holds [1] would cite what it does not mean."""
    unit = candidate.unit
    if candidate.said:
        return False
    if unit.kind == "heading" or unit.text.rstrip("*_ ").endswith("?") or _POINTER.search(unit.text[:60]):
        return False
    return unit.kind == "code" or not any(m[1] for m in _MARKER.finditer(unit.text))


def _compare(question: str, candidates: Sequence[ScoredSentence], embedder: Embedder) -> None:
    texts = [embedded_text(candidate) for candidate in candidates]
    asked = embedder.embed_query(question)
    for candidate, vector in zip(candidates, embedder.embed_documents(texts), strict=True):
        candidate.cosine = sum(a * b for a, b in zip(asked, vector, strict=True))
        candidate.score += candidate.cosine


def embedded_text(candidate: ScoredSentence) -> str:
    parts = [candidate.heading, candidate.lead, candidate.unit.text[:EMBEDDED_CHARACTERS]]
    return "\n".join(part for part in parts if part)


def _candidates(passage: NumberedPassage) -> list[ScoredSentence]:
    crumbs = [part.strip() for part in passage.title.split(">")]
    path: list[tuple[int, str]] = []
    lead = ""
    lead_block = -1
    found: list[ScoredSentence] = []
    title_keys = keys(passage.title)
    cut = units(passage.text)
    for index, unit in enumerate(cut):
        if unit.kind == "heading":
            path = [*(step for step in path if step[0] < unit.depth), (unit.depth, unit.text)]
            lead = ""
        heading = path[-1][1] if path else crumbs[-1]
        own_lead = lead if lead and unit.block == lead_block + 1 else ""
        context = title_keys | keys(" ".join([*(title for _, title in path), own_lead]))
        aside = any(
            _ASIDE.fullmatch(name.strip(" .:0123456789")) for name in [*crumbs[-2:], *(title for _, title in path)]
        )
        opens = index == 0 or found[-1].unit.kind == "heading"
        leads = _introduced_kind(unit, cut[index + 1 : index + 2])
        found.append(
            ScoredSentence(passage, unit, index, heading, own_lead, keys(unit.text), context, aside, opens, leads)
        )
        if unit.kind == "lead":
            lead, lead_block = unit.text, unit.block
    return found


def _introduced_kind(unit: Unit, after: Sequence[Unit]) -> str:
    if not after or after[0].block != unit.block + 1 or after[0].kind not in ("item", "table", "code"):
        return ""
    return after[0].kind
