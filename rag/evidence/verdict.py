"""The support check: whether the cited passages say what a sentence of the answer says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Final, Literal

from rag.evidence.analyzed_text import TextLine, read, typed
from rag.evidence.doubts import Comparison, score
from rag.evidence.mentions import Mentions, Reason
from rag.evidence.number_check import NumberCheck
from rag.evidence.word_contexts import Sources, Word, share_held
from rag.evidence.words import Token, key_of
from rag.text.english.numerals import DERIVES, EXAMPLES, OWN_NUMBER
from rag.text.english.phrases import ADDRESSES, CLAUSE_BEGINS, CLAUSE_JOINT, CREDITS, LACKS, POINTS, REMARK_WORDS, WRAPS
from rag.text.english.speech_acts import HEADING_WORDS
from rag.text.english.stopwords import LIGHT, STOP_WORDS
from rag.types import Standing

Sort = Literal["claim", "heading", "lead", "code", "remark"]

LONGEST: Final = 100  # tokens of a sentence that are checked at once
LONGEST_TEXT: Final = 4000  # code points; a longer text is no sentence
LONGEST_WRAPPED: Final = 2000  # code points; a longer sentence is taken as it is
MOST_WRAPS: Final = 4  # phrases before a claim that are removed
STRANGE: Final = 1  # words of a heading or a lead that may be missing in the passages
CLOSE: Final = 0.4  # least share of a claim, by weight, that the passages hold
CLAUSE_CLOSE: Final = 0.3  # the same of each of its clauses
QUOTED: Final = 0.9  # the same of a claim in another language than English
CLAUSE_WORDS: Final = 2  # content words with which a clause states something by itself
SENTENCE_ENDS: Final = ".!?"
SCATTERED: Final = "distant: no sentence of the passages says its parts together"

_UNREAD: Final[Reason] = ("unconfirmed", "language: it is not in English, so it was not checked")
_sources: Final = lru_cache(maxsize=32)(Sources)  # the sentences of a paragraph cite the same few passages
_FIRST_WORD: Final = re.compile(r"\A[a-z]+(?![\w.(:/=]|-[\w-])")  # and no code word, such as `state_text` or `uv.lock`
_MARKER: Final = re.compile(r"(`[^`\n]*`)|[\[【]\^?\d{1,3}(?:[,\s–-]{1,3}\^?\d{1,3}){0,20}[\]】]")
_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s|\s*\*\*[^*\n]{1,80}\*\*:?\s*$")
_FENCE: Final = re.compile(r"\s*(?:`{3,}|~{3,})")
_BULLET: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)")
_WORD: Final = re.compile(r"[^\W\d_]+|\d")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the check of one sentence.

    `standing` is "contradicted" when it states a number, name or code word that the passages do not have,
    "supported" when the passages say it in these or nearly these words, "unconfirmed" in between. `reasons` say why it
    is not supported, each as "kind: what"; kinds are number, unit, name, code, address, negation, comparison, distant,
    order and language.

    `sort` is "claim" for what states something, else "heading", "lead" ("The steps are:"), "code" for a fenced block,
    or "remark" about the conversation or what the passages do not say. Only claims need support, but the numbers and
    code of every sort are looked up, and a heading or lead may hold one content word at most that no passage has.

    `passage` is the index of the passage, `start` and `end` the place in it, in code points, of the one sentence that
    supports a claim best; None, 0 and 0 if there is none. `score` is the share of the claim, by weight, that the
    passages hold, 0 to 1.
    """

    standing: Standing
    reasons: tuple[str, ...]
    sort: Sort
    passage: int | None
    start: int
    end: int
    score: float

    @property
    def supported(self) -> bool:
        return self.standing == "supported"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the reasons."""
        return tuple(reason.partition(":")[0] for reason in self.reasons)


def check(sentence: str, passages: Sequence[str], *, known: str = "", beside: Sequence[str] = ()) -> Verdict:
    """Whether the passages that a sentence of an answer cites support it.

    `known` are titles and the like: the sentence may use its names, but it supports no claim by
    itself. `beside` are texts that are not cited, such as the other passages and the question: what they have is
    unconfirmed and not contradicted. Takes time linear in the length of the text. Raises `TypeError` if `passages` is
    one text.

    >>> verdict = check("Atlas weighs 98 kg.", ["Atlas is a robot. It weighs 89 kg."])
    >>> verdict.supported, verdict.reasons
    (False, ('number: 98 kg is not in the passages', 'distant: the passages say nothing like it'))
    """
    require_texts(passages)
    sources = _sources(tuple(passages), known)
    mentions = Mentions(sources.texts, beside)
    sentence = typed(sentence)
    if _FENCE.match(sentence):
        return _verdict(mentions.block(sentence), "code")
    if len(sentence) > LONGEST_TEXT:
        return _verdict([("contradicted", "distant: it is too long for one sentence")], "claim")
    sort, text = claim_of(sentence)
    text, derives = _unnumbered(text, sources)
    derives = derives or DERIVES.match(sentence) is not None
    line = read(text).whole
    if sources.foreign(text):
        return _check_foreign(text, Comparison(line, sources), mentions, derives=derives)
    reasons = list(mentions.reasons(read(text)))
    if sort != "claim":
        missing = NumberCheck(Comparison(line, sources), text, mentions, derives=derives).reasons()
        return _verdict([*missing, *reasons, *_strange(sort, line, sources)], sort)
    cuts = [*(token.start for token in line.tokens[::LONGEST][1:]), len(text)]  # time grows with the square of length
    lines = [TextLine(text, *piece) for piece in pairwise([0, *cuts])] if len(cuts) > 1 else [line]
    pieces = [Comparison(piece, sources) for piece in lines]
    against = [reason for piece in pieces for reason in _against(text, piece, mentions, derives=derives)]
    return _verdict([*against, *reasons], sort, pieces[0], min(share_held(piece.words) for piece in pieces))


def _check_foreign(text: str, claim: Comparison, mentions: Mentions, *, derives: bool) -> Verdict:
    """The verdict of a claim in a language of which nothing is known: of numbers, code and whole quotations alone."""
    found = (*NumberCheck(claim, text, mentions, derives=derives).reasons(), *mentions.code(text))
    certain = [reason for reason in found if reason[0] == "contradicted"]
    share = share_held(claim.words)
    quoted = share >= QUOTED and _is_stretch(claim.said, claim.sources)
    return _verdict(certain if quoted else [*certain, _UNREAD], "claim", claim, share)


def require_texts(passages: Sequence[str]) -> None:
    """Raise `TypeError` for one text in place of a list: each of its letters would be a passage."""
    if isinstance(passages, str | bytes):
        raise TypeError("passages must be a list of texts, not one text: put it into a list.")


def _verdict(found: Iterable[Reason], sort: Sort, claim: Comparison | None = None, share: float = 0.0) -> Verdict:
    """The verdict of the worst reason, what is certain first, with the line that holds most of the claim."""
    ordered = sorted(found, key=lambda reason: reason[0] != "contradicted")
    reasons = {reason.casefold(): reason for _, reason in reversed(ordered)}
    standing: Standing = ordered[0][0] if ordered else "supported"
    score, passage, start, end = 0.0 if ordered else 1.0, None, 0, 0
    if claim:
        score, lines = round(share, 4), claim.sources.lines
        for number in (at for at in claim.fullest[::-1] if not lines[at].heading):
            passage, start, end = claim.sources.homes[number], lines[number].start, lines[number].end
    return Verdict(standing, tuple(reversed(reasons.values())), sort, passage, start, end, score)


def claim_of(sentence: str) -> tuple[Sort, str]:
    """The sort of a sentence, and its text without markers, bullets and the phrases around its claim.

    >>> claim_of("- According to the text, Atlas walks [1].")
    ('claim', 'Atlas walks .')
    """
    text = _MARKER.sub(lambda found: found[1] or "", sentence).strip()  # brackets in code, `list[0]`, are no marker
    if _HEADING.match(text):
        return "heading", text.lstrip("# ").strip("* ")
    if bullet := _BULLET.match(text):
        text = text[bullet.end() :]
    if len(text) > LONGEST_WRAPPED:
        return "claim", text
    if all(word in REMARK_WORDS for word in _WORD.findall(text.lower())):
        return "remark", ""
    if text.rstrip("*_ ").endswith((":", "：")) or POINTS.match(text):
        return "lead", _unwrapped(text)
    stated = _stated(_unwrapped(CREDITS.sub("", text)))
    return ("claim", stated) if stated else ("remark", text)


def _unnumbered(text: str, sources: Sources) -> tuple[str, bool]:
    """The text without a number of the answer's own, as in "Step 1:", "(a)" or "Third,"; whether "Week 3:" derives one.

    If the passages number the same, as in "on day 3", its number is a claim.
    """
    label = OWN_NUMBER.match(text)
    if label is None or (label["noun"] and key_of(label["noun"].lower()) in sources.numbered):
        return text, False
    if label.end() == len(text) and not label["noun"]:
        return text, False
    return text[label.end() :], (label["noun"] or "").lower() in EXAMPLES


def _unwrapped(text: str) -> str:
    """The text without phrases such as "According to the book," before its claim."""
    for _ in range(MOST_WRAPS):
        match = WRAPS.match(text)
        if not match or match.end() == len(text):
            break
        text = text[match.end() :]
    return _FIRST_WORD.sub(lambda first: first[0].capitalize(), text)


def _stated(text: str) -> str:
    """The text without its clauses that say only that something is not known."""
    if not LACKS.search(text) or ADDRESSES.search(text):
        return text
    clauses = [clause for clause in CLAUSE_JOINT.split(text) if clause and clause.strip()]
    return " ".join(_unwrapped(clause) for clause in clauses if not LACKS.search(clause) and len(clause.split()) > 3)


def _strange(sort: Sort, sentence: TextLine, sources: Sources) -> Iterator[Reason]:
    """The reason against a heading or a lead with two content words that are neither general nor in a passage."""
    if sort in ("heading", "lead"):
        words = [token for token in sentence.tokens if token.content and not token.digits]
        general = LIGHT | STOP_WORDS | HEADING_WORDS | sources.known
        strange = [t.word for t in words if t.key not in sources.holders and general.isdisjoint((t.word, t.key))]
        if len(strange) > STRANGE:
            yield "unconfirmed", f"distant: the passages say nothing of {strange[0]} and {strange[1]}"


def _against(text: str, claim: Comparison, mentions: Mentions, *, derives: bool) -> Iterator[Reason]:
    """The reasons against a claim."""
    yield from NumberCheck(claim, text, mentions, derives=derives).reasons()
    if _is_copied(claim):
        return
    yield from (("unconfirmed", doubt) for doubt in claim.doubts())
    said, held = claim.said.tokens, claim.sources.holders
    of_itself = "i" not in held and any(token.word == "i" and token.capital for token in said)  # and no passage does
    invented = 0 < _strange_end(claim.words) >= len(claim.words) // 2
    if share_held(claim.words) < CLOSE or invented or of_itself or not claim.sources.lines:
        yield "unconfirmed", "distant: the passages say nothing like it"
    elif any(
        share_held(clause) < CLAUSE_CLOSE or _strange_end(clause) > len(clause) / 2 for clause in _clauses(text, claim)
    ):
        yield "unconfirmed", "distant: the passages say nothing like one of its clauses"
    elif score(claim) > 0:
        yield "unconfirmed", SCATTERED


def _is_copied(claim: Comparison) -> bool:
    """Whether a line has the claim word for word as one of its sentences: an item of a list may have several."""
    said = [token.word for token in claim.said.tokens]
    said = said[:-1] if said and said[-1] in SENTENCE_ENDS else said
    for number in claim.fullest[:3]:
        line = [*SENTENCE_ENDS[:1], *(token.word for token in claim.sources.lines[number].tokens), *SENTENCE_ENDS[:1]]
        for at in range(len(line) - len(said) - 1):
            after = at + len(said) + 1
            if line[at] in SENTENCE_ENDS and line[after] in SENTENCE_ENDS and line[at + 1 : after] == said:
                return True
    return False


def _is_stretch(said: TextLine, sources: Sources) -> bool:
    """Whether a passage has all words of a claim in a row."""
    words = _spaced(said.tokens)
    return any(words in _spaced(text.whole.tokens) for text in sources.texts)


def _spaced(tokens: Sequence[Token]) -> str:
    return "".join(f" {token.word} " for token in tokens if token.word[0].isalnum())


def _strange_end(words: Sequence[Word]) -> int:
    """The number of last words that the passages lack. They are the predicate, which a rare subject could outweigh.

    A claim is distant if it is a half, rounded down: "Widgets cure headaches". A clause is if it is more than a half.
    """
    return sum(1 for _ in takewhile(lambda word: not word.key, reversed(words)))


def _clauses(text: str, claim: Comparison) -> list[list[Word]]:
    """The words of each main clause. A clause of few words belongs to the one before it."""
    said = claim.said
    cuts = [match.end() for match in CLAUSE_BEGINS.finditer(text, said.start, said.end)]
    clauses: list[list[Word]] = []
    for start, end in pairwise([said.start, *cuts, said.end]):
        inside = [word for word in claim.words if start <= said.tokens[word.index].start < end]
        if clauses and min(len(inside), len(clauses[-1])) < CLAUSE_WORDS:
            clauses[-1] += inside
        else:
            clauses.append(inside)
    return clauses
