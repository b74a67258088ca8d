"""The support check: do the passages say what a sentence of the answer says?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Final, Literal

from rag.grounding.code_words import unstated_code, unstated_lines
from rag.grounding.evidence import Sources, Support, Word, support, words_of
from rag.grounding.facts import absent_numbers, doubtful_facts
from rag.grounding.names import exchanged
from rag.grounding.passages import SourceLine, line, read
from rag.grounding.polarity import contradictions, unlimited
from rag.grounding.slots import Slots
from rag.text.english.stopwords import IDLE, LIGHT

Sort = Literal["claim", "heading", "lead", "code", "remark"]

_MARKER: Final = re.compile(r"[\[【]\^?\d{1,3}(?:[,\s–-]{1,3}\^?\d{1,3}){0,20}[\]】]")
_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s|\s*\*\*[^*\n]{1,80}\*\*:?\s*$")
_FENCE: Final = re.compile(r"\s*(?:`{3,}|~{3,})")
_BULLET: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)")
_OF_SOURCES = (
    "the|these|this|those|my|your|our|any|both|provided|given|cited|retrieved|available|above|following|reference"
)
_SOURCES = (
    rf"(?:(?:{_OF_SOURCES})\s+){{0,3}}"
    r"(?:documents?|passages?|texts?|books?|chapters?|contexts?|sources?|excerpts?|sections?|materials?|information|"
    r"articles?|pages?|manuals?|documentation)(?:\s+(?:provided|given|above|I have|here))?"
)
_OF_INFORMATION = (
    "any|the|some|further|more|enough|sufficient|specific|definite|definitive|exact|precise|explicit|direct|additional|"
    "detailed|clear|other|particular|current"
)
_INFORMATION = (
    rf"(?:(?:{_OF_INFORMATION})\s+){{0,3}}"
    r"(?:information|details?|data|mention|answers?|evidence|figures?|numbers?|statistics|knowledge|explanation|"
    r"indication|reference|description|\w+\s+(?:figures?|numbers?|information|data|details?|name))"
)
_TELL = (
    r"(?:mention|say|provide|specify|contain|state|include|give|address|describe|cover|discuss|offer|explain|have|tell|"
    r"indicate|list|name|information|details?)"
)
_TOLD = (
    r"(?:mentioned|specified|stated|provided|given|described|covered|discussed|addressed|explained|included|available|"
    r"found)"
)
_LACKS: Final = re.compile(
    r"\bI\s+(?:do not|don['’]?t|did not|didn['’]?t|cannot|can['’]?t|can not|could not|couldn['’]?t|am not able|"
    r"am unable|was unable|was not able|have not|haven['’]?t|have no|lack|am not sure|am sorry|apologi[sz]e)\b"
    rf"|\b{_SOURCES}\s+(?:do(?:es)?\s*(?:not|n['’]t)|did not|fails? to|lacks?|contains? no|"
    rf"(?:provide|give|make|offer|mention|include|have|has)s? no)\b(?:\s+\w+ly)?\s*{_TELL}?"
    rf"|\bthere (?:is|are|was|were)\s+(?:no|not (?:any|enough))\s+{_INFORMATION}\b"
    rf"|\b(?:no|not enough)\s+{_INFORMATION}\s+(?:(?:is|are|was|were)\s+)?"
    r"(?:given|provided|available|found|about|on|regarding|in the)\b"
    rf"|\b(?:is|are|was|were)\s*(?:not|n['’]t)\s+(?:\w+ly\s+)?{_TOLD}(?:\s+(?:in|by|here)\s+{_SOURCES}|\s+here)?\s*\.?\s*$",
    re.IGNORECASE,
)
_TALK_WORDS: Final = """
yes no sure certainly of course absolutely correct right exactly indeed true hello hi sorry ok okay great good fair
question questions you re are welcome thanks thank for asking the that this these those they it is s all a an point i
hope hopes helps help helpful useful answer answers answered your let me know if have any more other further about
please ask feel free can with anything else to would like want need here just only some few several examples example
in summary short conclusion brief as mentioned said noted described explained discussed earlier above before
previously and or also on clear clarify details information not so well ve m ll
"""
_TALK: Final = frozenset(_TALK_WORDS.split())
_POINTS: Final = re.compile(rf"\W*here(?: is|['’]s| are) (?:what|how) {_SOURCES}\b|.*\?\W*$", re.IGNORECASE | re.DOTALL)
_ADDRESSES: Final = re.compile(r"\byou(?:r|rs)?\b|://|www\.|@|`", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_]+|\d")
_WRAPS: Final = re.compile(
    r"\W*(?:(?:yes|no|sure|certainly|of course|absolutely|correct|right|indeed|sorry|unfortunately|nevertheless|"
    r"nonetheless|however|overall|in (?:summary|short|conclusion|addition|fact|general|other words|a few words)|"
    r"additionally|furthermore|moreover|therefore|thus|also|besides|for (?:example|instance)|that said|specifically|"
    r"notably|in particular|finally|to (?:summari[sz]e|sum up|conclude)|"
    rf"(?:according to|based on|as (?:stated|described|mentioned|explained|noted) in|from|per) {_SOURCES})\s*[,:]\s*"
    r"|as (?:i |we )?(?:mentioned|said|noted|described|explained|discussed|stated)"
    r"(?:(?: (?:earlier|above|before|previously))[,:]?|(?: in [\w\s]{1,40})?[,:])\s+"
    r"|it is true that\s+|(?:it is|it['’]s|it) (?:also )?(?:important|worth|interesting|useful|essential|crucial) "
    r"(?:to (?:note|mention|know|remember|point out|understand)|noting|mentioning)(?: that)?,?\s+"
    rf"|{_SOURCES} (?:also )?(?:says?|states?|mentions?|explains?|notes?|describes?|shows?|indicates?) that\s+)",
    re.IGNORECASE,
)
_JOINT: Final = re.compile(
    r"[,;]?\s+(?:but|however|although|though|nevertheless)\b[,;]?\s*|;\s+|\s*,\s*(?=(?:the|there|it|they|he|she|this|these)\b)"
)
_FRAMED: Final = re.compile(
    rf"\b{_SOURCES}\s+(?:do(?:es)?\s+)?(?:states?|says?|mentions?|claims?) that\b", re.IGNORECASE
)
_LONG: Final = 2000  # code points beyond which a sentence is not looked through for what wraps it


def is_code(sentence: str) -> bool:
    """Is it a fenced block?"""
    return bool(_FENCE.match(sentence))


def claim_of(sentence: str) -> tuple[Sort, str]:
    """The sort of a sentence, and what is left of it without what it is wrapped in."""
    if is_code(sentence):
        return "code", sentence
    text = _MARKER.sub("", sentence).strip()
    if _HEADING.match(text):
        return "heading", text.lstrip("# ").strip("* ")
    if bullet := _BULLET.match(text):
        text = text[bullet.end() :]
    if len(text) > _LONG:
        return "claim", text
    if all(word in _TALK for word in _WORD.findall(text.lower())):
        return "remark", ""
    if text.rstrip("*_ ").endswith((":", "：")) or _POINTS.match(text):
        return "lead", text
    stated = _stated(_unwrapped(text))
    return ("claim", stated) if stated else ("remark", text)


def _unwrapped(text: str) -> str:
    for _ in range(4):
        match = _WRAPS.match(text)
        if not match or match.end() == len(text):
            break
        text = text[match.end() :]
    return text[:1].upper() + text[1:]


def _stated(text: str) -> str:
    """What is left of a sentence without its parts that say only that something is not known."""
    if not _LACKS.search(text) or _FRAMED.search(text) or _ADDRESSES.search(text):
        return text
    parts = [part for part in _JOINT.split(text) if part and part.strip()]
    kept = [_unwrapped(part) for part in parts if not _LACKS.search(part) and len(part.split()) > 3]
    return " ".join(kept)


LONGEST: Final = 100  # tokens of a sentence that are checked together
LONGEST_TEXT: Final = 5000  # code points; no sentence is longer
STRANGE: Final = 1  # words of a heading or a lead that no passage has
MOST_CODE: Final = 20  # reasons of one kind that are given
CLOSE: Final = 0.4  # share of a sentence's words, by weight, that the passages must hold near one another


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the check found.

    `reasons` say why a sentence is not supported, each as "kind: what", the kind one of number, unit, name, code,
    negation, comparison and distant; a supported sentence has none. `sort` is "claim" for a sentence that states
    something, else what it is instead: a "heading", a "lead" ("The steps are:"), a "code" block, a "remark" about the
    conversation or about what the passages do not say. These need no citation; their numbers and their code are looked
    for, and a heading or a lead may hold one word of content at most that no passage has. `passage` is the index of the
    passage, and `start` and `end` the place in it, in code points, of the one sentence that supports a claim best;
    None and 0, 0 without one. `score` is the share of the sentence, by weight, that the passages say, 0..1.
    """

    supported: bool
    reasons: tuple[str, ...]
    sort: Sort
    passage: int | None
    start: int
    end: int
    score: float

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the reasons: the words before their colons."""
        return tuple(reason.partition(":")[0] for reason in self.reasons)


def check(sentence: str, passages: Sequence[str], *, known: str = "") -> Verdict:
    """Is this sentence of an answer supported by the passages that it cites?

    Plain text in: the sentence without or with its markers, the passages' texts as they were shown. `known` holds text
    that the passages stand under (titles, headings, breadcrumbs): names in it may be said, but it supports nothing by
    itself. Never raises; takes time in proportion to the text.
    """
    if len(sentence) > LONGEST_TEXT and not is_code(sentence):
        return Verdict(False, ("distant: it is too long for one sentence",), "claim", None, 0, 0, 0.0)
    sort, text = claim_of(sentence)
    unstated = unstated_lines(sentence, passages) if sort == "code" else unstated_code(sentence, passages)
    code = [f"code: {word} is not in the passages" for word in islice(unstated, MOST_CODE)]
    if sort == "code":
        return Verdict(not code, tuple(code), sort, None, 0, 0, 0.0 if code else 1.0)
    said = line(text, 0, len(text))
    sources = Sources([read(passage) for passage in passages], frozenset(line(known, 0, len(known)).places))
    if sort != "claim":
        absent = (*absent_numbers(said, sources), *code, *_strange(sort, said, sources))
        return Verdict(not absent, absent, sort, None, 0, 0, 0.0 if absent else 1.0)
    if len(said.tokens) <= LONGEST:
        return _judged(said, sources, code)
    pieces = [_judged(piece, sources, code) for piece in _pieces(text, said)]
    reasons = tuple(dict.fromkeys(reason for piece in pieces for reason in piece.reasons))
    first = pieces[0]
    return replace(first, supported=not reasons, reasons=reasons, score=min(piece.score for piece in pieces))


def _strange(sort: Sort, said: SourceLine, sources: Sources) -> Iterator[str]:
    """A heading or a lead is made of the passages' words, of such as "overview", and of one other at most."""
    if sort in ("heading", "lead"):
        words = [token for token in said.tokens if token.content and not token.digits]
        usual = LIGHT | IDLE | sources.known
        strange = [t.word for t in words if not sources.forms(t.key) and t.word not in usual and t.key not in usual]
        if len(strange) > STRANGE:
            yield f"distant: the passages say nothing of {strange[0]} and {strange[1]}"


def _pieces(text: str, said: SourceLine) -> list[SourceLine]:
    """What is too long for a sentence, in pieces: the check of one takes time in proportion to its length squared."""
    starts = [said.tokens[index].start for index in range(0, len(said.tokens), LONGEST)]
    return [line(text, start, end) for start, end in pairwise([*starts, len(text)])]


def _judged(said: SourceLine, sources: Sources, code: Sequence[str]) -> Verdict:
    words = words_of(said, sources)
    slots = Slots(said, words, sources)
    found = support(words, sources)
    reasons = [
        *doubtful_facts(said, sources, slots),
        *code,
        *contradictions(said, words, slots),
        *unlimited(said, sources),
    ]
    reasons += [] if reasons else exchanged(said, sources, slots)
    if found.share < CLOSE or not sources.sites or _speaks_of_itself(said, sources):
        reasons.append("distant: the passages say nothing like it")
    passage, start, end = _evidence(found, words, sources)
    return Verdict(not reasons, tuple(dict.fromkeys(reasons)), "claim", passage, start, end, round(found.share, 4))


def _speaks_of_itself(said: SourceLine, sources: Sources) -> bool:
    """Does it say "I" where no passage does?"""
    return any(token.word == "i" and token.capital for token in said.tokens) and "i" not in sources.holders


def _evidence(found: Support, words: Sequence[Word], sources: Sources) -> tuple[int | None, int, int]:
    """The one line of the best stretch that holds most of the sentence."""
    best, most = None, 0.0
    for number in found.best:
        held = sum(w.weight for w in words if number in sources.lines_with(w.forms))
        if held > most and not sources.sites[number].line.heading:
            best, most = sources.sites[number], held
    return (best.passage, best.line.start, best.line.end) if best else (None, 0, 0)
