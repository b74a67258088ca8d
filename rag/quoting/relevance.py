"""Score the units of the passages by how well they answer the question.

A score has three parts: the share of the question's terms that the unit holds, weighted by rarity; how well the form
of the unit suits the question; and the cosine of the unit and the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from rag.ports import Embedder
from rag.prompt.passage_format import NumberedPassage
from rag.text.english.phrases import ABOUT_ITSELF, ASIDE, CAPTION, COPULA, POINTER, WALKS_THROUGH
from rag.text.english.requests import QuestionShape, shape
from rag.text.sentences import Unit, units
from rag.text.terms import Term, keys, stem, terms, weigh

EMBEDDED: Final = 16  # best units, which are embedded: about 10 ms each on one core
EMBEDDED_CHARACTERS: Final = 320  # of a unit
LONG_CODE: Final = 16  # lines; longer code is quoted in part
CONTEXT_WEIGHT: Final = 0.8  # of a term that only the headings or the lead of a unit hold
RANK_PENALTY: Final = 0.02  # for each passage that is ranked higher

_LABELLED: Final = re.compile(r"(?:\*\*[^*\n]{1,80}\*\*|`[^`\n]{1,80}`)(?: \([^)]*\))?:|\*\*[^*\n]{1,80}:\*\*")
_INTRODUCED: Final = re.compile(r"((?:[^\W_][\w-]*[ -]){1,7})\(\**([A-Z][A-Za-z]{0,6}[A-Z]s?)\**\)")
_MARKER: Final = re.compile(r"`[^`]*`|(\[\d+\])")


@dataclass(slots=True)
class ScoredSentence:
    """A unit of a passage, its context and its score."""

    passage: NumberedPassage
    unit: Unit
    index: int  # of the unit in its passage
    heading: str
    lead: str  # the line that introduces it, or ""
    own: frozenset[str]  # keys of the unit
    context: frozenset[str]  # keys of its headings and its lead
    aside: bool  # it is in a section that answers nothing, such as exercises
    opens: bool  # it is the first unit of its section
    leads: str  # kind of the unit that it introduces, or ""
    said: bool = False  # an earlier answer quoted it
    held: float = 0.0  # weighted share of the question's terms, 0 to 1
    cosine: float = 0.0  # of the unit and the question; 0 if not embedded
    score: float = 0.0


@dataclass(slots=True)
class SentenceScores:
    """The scored units of the passages for one question."""

    question: str
    shape: QuestionShape
    terms: list[Term]
    passages: list[list[ScoredSentence]]  # all units of each passage
    ranked: list[ScoredSentence] = field(default_factory=list)  # quotable units, the best first
    everything: frozenset[str] = frozenset()  # keys of all passages


def read(
    question: str, passages: Sequence[NumberedPassage], embedder: Embedder | None, *, said: str = ""
) -> SentenceScores:
    """Score the units of the passages. Units that the earlier answers in `said` quote are not ranked."""
    answered = " ".join(said.split())
    wanted = _with_abbreviations(terms(question), passages)
    reading = SentenceScores(question, shape(question), wanted, [_candidates(passage) for passage in passages])
    everything: set[str] = set()
    for rank, candidates in enumerate(reading.passages):
        for candidate in candidates:
            everything |= candidate.own | candidate.context
            candidate.said = " ".join(candidate.unit.text.split()) in answered
            candidate.held = held(wanted, candidate)
            candidate.score = candidate.held + fitness(candidate, reading) - RANK_PENALTY * rank
    reading.everything = frozenset(everything)
    quotable = [c for candidates in reading.passages for c in candidates if is_quotable(c)]
    quotable.sort(key=lambda c: -c.score)
    if embedder is not None:
        _add_cosines(question, quotable[:EMBEDDED], embedder)
    reading.ranked = sorted(quotable, key=lambda c: -c.score)
    return reading


def fitness(candidate: ScoredSentence, reading: SentenceScores) -> float:
    """What the form of a unit adds to its score or takes from it, by what the question asks for."""
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
    """What makes a unit a poor quotation, as a number up to 0."""
    unit = candidate.unit
    fault = 0.5 if candidate.aside else 0.0
    if speaks_of_itself(unit.text) or CAPTION.match(unit.text):
        fault += 0.25
    if WALKS_THROUGH.search(unit.text) or (unit.kind == "lead" and not candidate.leads):
        fault += 0.1
    if unit.kind == "code":
        fault += (0.0 if asked.steps else 0.15) + (0.1 if unit.text.count("\n") > LONG_CODE else 0.0)
    return -fault


def speaks_of_itself(sentence: str) -> bool:
    """Whether the sentence is about the book itself: "This chapter covers ..."."""
    return bool(ABOUT_ITSELF.match(sentence))


def _defines(text: str, wanted: Sequence[Term]) -> float:
    """How much the sentence defines the terms: "X is ...", "**X** refers to ...", "**X**: ...". 0 to 0.35."""
    label = _LABELLED.match(text)
    if label and (labelled := share(wanted, keys(label[0]))) >= 0.65:
        return 0.2 * labelled
    verb = COPULA.search(text, 0, 160)
    if verb is None or share(wanted, keys(text[: verb.start()])) < 0.99:
        return 0.0
    # "A node is ..." defines a node; "The nodes that we saw above are ..." does not.
    others = len(re.findall(r"\w[\w'’-]*", re.sub(r"\([^()]*\)", "", text[: verb.start()]))) - len(wanted)
    return 0.35 if others <= 2 else 0.15 if others <= 6 else 0.05


def share(wanted: Sequence[Term], found: frozenset[str]) -> float:
    """The share of the terms, by weight, that a set of keys holds; 0 without terms."""
    total = weigh(wanted)
    return sum(term.weight for term in wanted if term.within(found)) / total if total else 0.0


def _with_abbreviations(wanted: list[Term], passages: Sequence[NumberedPassage]) -> list[Term]:
    """The terms, extended by the abbreviations that the passages introduce.

    "Quality of Service (QoS)" makes "qos" a form of "quality" and of "service" if the question has both, and makes the
    two words together a form of "QoS" if the question has that.
    """
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
    """The last words of `before` if their initials are the abbreviation: "quality of service" for "qos"; else none."""
    words = re.findall(r"[^\W_]+", before.lower())
    tail = words[-len(short) :]
    return tail if "".join(word[0] for word in tail) == short else []


def held(wanted: Sequence[Term], candidate: ScoredSentence) -> float:
    """The share of the terms, by weight, that a unit holds; a term that only its context holds counts 0.8."""
    total = weigh(wanted)
    if not total:
        return 0.0
    found = 0.0
    for term in wanted:
        if term.within(candidate.own):
            found += term.weight
        elif term.within(candidate.own | candidate.context):
            found += CONTEXT_WEIGHT * term.weight
    return found / total


def is_quotable(candidate: ScoredSentence) -> bool:
    """Whether a unit may be quoted: no heading, no question, nothing quoted before, and no [1] outside code."""
    unit = candidate.unit
    if candidate.said:
        return False
    if unit.kind == "heading" or unit.text.rstrip("*_ ").endswith("?") or POINTER.search(unit.text[:60]):
        return False
    return unit.kind == "code" or not any(m[1] for m in _MARKER.finditer(unit.text))


def _add_cosines(question: str, candidates: Sequence[ScoredSentence], embedder: Embedder) -> None:
    """Embed the units and add their cosines to their scores. Vectors have length 1."""
    texts = [embedded_text(candidate) for candidate in candidates]
    query = embedder.embed_query(question)
    for candidate, vector in zip(candidates, embedder.embed_documents(texts), strict=True):
        candidate.cosine = sum(a * b for a, b in zip(query, vector, strict=True))
        candidate.score += candidate.cosine


def embedded_text(candidate: ScoredSentence) -> str:
    """The text that is embedded for a unit: heading, lead and the start of the unit."""
    parts = [candidate.heading, candidate.lead, candidate.unit.text[:EMBEDDED_CHARACTERS]]
    return "\n".join(part for part in parts if part)


def _candidates(passage: NumberedPassage) -> list[ScoredSentence]:
    """The units of a passage with their context, not scored."""
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
        titles = [title for _, title in path]
        own_lead = lead if lead and unit.block == lead_block + 1 else ""
        context = title_keys | keys(" ".join([*titles, own_lead]))
        aside = any(ASIDE.fullmatch(title.strip(" .:0123456789")) for title in [*crumbs[-2:], *titles])
        opens = index == 0 or found[-1].unit.kind == "heading"
        leads = _introduced_kind(unit, cut[index + 1 : index + 2])
        found.append(
            ScoredSentence(passage, unit, index, heading, own_lead, keys(unit.text), context, aside, opens, leads)
        )
        if unit.kind == "lead":
            lead, lead_block = unit.text, unit.block
    return found


def _introduced_kind(unit: Unit, after: Sequence[Unit]) -> str:
    """The kind of the list, table or code block right after a unit, or ""."""
    if not after or after[0].block != unit.block + 1 or after[0].kind not in ("item", "table", "code"):
        return ""
    return after[0].kind
