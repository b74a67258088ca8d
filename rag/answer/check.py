"""Whether passages support a sentence: what is certain by comparing tokens, and five plain signals for the rest.

No rule knows what words mean. A judge decides where there is one; without it the signals say what deserves a mark.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rapidfuzz.distance import LCSseq

from rag.answer.evidence import NUMBER_WORDS, Source, Token, clip, tokens
from rag.text.addresses import addresses_in, same_address, undisguised
from rag.text.sentences import code_spans
from rag.text.visible import normal
from rag.text.words import STOP_WORDS, WORD, content_stems, stem, words
from rag.types import Quote, Standing

# Fitted once, by logistic regression, on the labelled claims of `bench/claims`; `signals` has their meaning.
WEIGHTS: Final = (1.1, 0.59, -0.51, -1.12, -0.93)
BIAS: Final = 0.39
THRESHOLD: Final = 0.67  # of the chance that a claim is true
COPIED: Final = 0.8  # share of a sentence's words in the order of a line from which it is a copy of that line
LEAST: Final = 0.4  # share of a sentence's words that stand together, below which it is never supported
REPAIR: Final = 0.7  # share of a sentence's words from which a passage is cited that the model did not name
LIKELY: Final = 3  # passages that a sentence without a citation may rest on
COUNTED: Final = 12  # numbers up to it may count the parts of the answer itself, in a heading or a lead-in
# Words of extent, cause and order. One of them that the passage lacks says more than the passage does.
_STRONG_WORDS: Final = """
after all always any because before both cannot each entirely entire every except faster fewer first instead last less
more most must never no none nor not only rather same since slower than unless until without
"""
_STRONG: Final = frozenset(_STRONG_WORDS.split())
_DENIALS: Final = frozenset({"no", "not", "never", "none", "nor", "neither", "without", "cannot"})
_NAME: Final = re.compile(r"(?<=[\w,;:)] )[(\"“]?([A-Z][^\W_]*[^\W\d_]\w*)")
NOT_IN_WORDS: Final = "words: the passages say it in other words, or do not say it"


@dataclass(slots=True)
class Finding:
    """What the passages say of a sentence.

    `cites` are the numbers of the passages that it rests on, best first, and `quotes` the stretch of each. `whole` says
    that it is a sentence of a passage. `repaired` says that it cites another passage than was written.
    """

    standing: Standing
    reasons: tuple[str, ...] = ()
    cites: tuple[int, ...] = ()
    quotes: dict[int, Quote] = field(default_factory=dict)
    whole: bool = False
    repaired: bool = False


class Loss(NamedTuple):
    """A token that the cited passages lack. `holders` have it; None if nothing of the turn does."""

    reason: str
    holders: tuple[Source, ...] | None


def check(text: str, cited: Sequence[Source], turn: Sequence[Source], question: str = "") -> Finding:
    """Check a sentence without markers against the passages that it cites, or if it cites none against all."""
    sources = list(cited or turn)
    for among in (sources, turn):
        if quoted := {one.number: quote for one in among if (quote := one.quotation(text))}:
            others = (one.number for one in cited if among is sources and one.number not in quoted)
            return Finding("supported", (), (*quoted, *others), quoted, whole=True, repaired=among is not sources)
    ranked = rank(text, sources)
    if not cited:
        ranked = ranked[: 1 if ranked and ranked[0].share >= REPAIR else LIKELY]
    lost = losses(text, [one.source for one in ranked], turn, question)
    certain = tuple(loss.reason for loss in lost if loss.holders is None)
    elsewhere = [one for one in turn if lost and all(one in (loss.holders or ()) for loss in lost)]
    standing: Standing = "contradicted" if certain else "unconfirmed" if lost else "supported"
    reasons, repaired = certain or tuple(loss.reason for loss in lost), False
    if elsewhere:
        other = rank(text, elsewhere)[0]
        if other.share >= REPAIR and not losses(text, [other.source], turn, question):
            ranked, standing, reasons, repaired = [other], "supported", (), True
        else:
            ranked = [*ranked, other]
    if standing == "supported" and not _is_likely(text, ranked):
        standing, reasons = "unconfirmed", (NOT_IN_WORDS,)
    quotes = {one.source.number: clip(one.source.passage.text, *one.span) for one in ranked}
    return Finding(standing, reasons, tuple(quotes), quotes, repaired=repaired)


def _is_likely(text: str, ranked: Sequence[RankedSource]) -> bool:
    """Whether the signals speak for a sentence of which nothing is certainly wrong."""
    sources = [one.source for one in ranked]
    together = max((one.share for one in ranked), default=0.0)
    denies = _denies(words(text)) and not any(_denies(source.words) for source in sources)
    return together >= LEAST and not denies and not _is_altered(text, sources) and chance(text, sources) >= THRESHOLD


def _is_altered(text: str, sources: Sequence[Source]) -> bool:
    """Whether a sentence copies a line of a passage but for a word of it, or without its "not"."""
    spoken = [NUMBER_WORDS.get(word, word) for word in words(text)]
    lines = (sentence.words for source in sources for sentence in source.sentences)
    line = max(lines, key=lambda one: len(set(one).intersection(spoken)) - len(one) / 50, default=())
    line = tuple(NUMBER_WORDS.get(word, word) for word in line)
    shared = LCSseq.similarity(spoken, list(line))
    stems = {stem(word) for word in line}
    other = [word for word in Counter(spoken) - Counter(line) if word not in STOP_WORDS or word in _STRONG]
    strange = any(stem(word) not in stems for word in other)
    return shared >= COPIED * len(spoken) and (strange or (_denies(line) and not _denies(spoken)))


def losses(
    text: str, cited: Sequence[Source], turn: Sequence[Source], question: str = "", *, code: bool = False
) -> list[Loss]:
    """The numbers, units, code words and addresses that the cited passages lack, and where else they stand."""
    found = []
    shown = frozenset[str]().union(*(source.addresses for source in cited))
    addresses = written_addresses(text)
    for address in addresses:
        if same_address(address) not in shown:
            holders = tuple(source for source in turn if same_address(address) in source.addresses)
            found.append(Loss(f"address: {address} is not in the passages", holders or None))
    asked, named = normal(question), normal(" ".join(addresses))
    for token in tokens(text, code=code):
        if not any(source.has(token) for source in cited) and not (token.kind == "code" and token.text in named):
            holders = tuple(source for source in turn if source.has(token))
            near = bool(holders) or _is_near(token, turn, asked)
            number = Token("number", token.text.partition(" ")[0])
            kind = "number" if token.kind == "unit" and not any(source.has(number) for source in turn) else token.kind
            found.append(Loss(f"{kind}: {token.text} is not in the passages", holders if near else None))
    return found


def _is_near(token: Token, turn: Sequence[Source], asked: str) -> bool:
    """Whether the question has the token, or the passages have every word of a code word."""
    if re.search(rf"(?<!\w){re.escape(token.text)}(?!\w)", asked):
        return True
    parts = WORD.findall(token.text)
    return token.kind == "code" and len(parts) > 1 and all(any(part in one.words for one in turn) for part in parts)


def written_addresses(text: str) -> list[str]:
    """The addresses that a reader finds in a text, disguised ones too. In code a host name is a code word."""
    spans = code_spans(text)
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    prose = " ".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    in_code = [one for start, end in spans for one in addresses_in(text[start:end].strip("`")) if "://" in one]
    return list(dict.fromkeys([*addresses_in(undisguised(prose)), *in_code]))


class RankedSource(NamedTuple):
    """A passage with the share of a sentence's words in two neighbouring sentences of it, and the span of one."""

    share: float
    span: tuple[int, int]
    source: Source


class BestPlace(NamedTuple):
    """The place of a passage with most words of a sentence: their share in two neighbouring sentences, the span and the
    words of the better one, and the words around it.
    """

    share: float
    span: tuple[int, int]
    sentence: tuple[str, ...]
    words: tuple[str, ...]


def rank(text: str, sources: Sequence[Source]) -> list[RankedSource]:
    """The passages by the share of the words that stand together in each, best first."""
    wanted = frozenset(content_stems(text))
    found = [RankedSource(place.share, place.span, source) for source in sources for place in [_place(wanted, source)]]
    return sorted(found, key=lambda one: -one.share)


def _place(wanted: frozenset[str], source: Source) -> BestPlace:
    sentences = source.sentences
    if not sentences:
        return BestPlace(0.0, (0, len(source.passage.text)), (), ())
    named = wanted & source.known_stems
    stems = [*(sentence.stems for sentence in sentences), frozenset[str]()]
    counts = [len(wanted & (stems[at] | stems[at + 1] | named)) for at in range(len(sentences))]
    at = max(range(len(counts)), key=counts.__getitem__)
    share = counts[at] / len(wanted) if wanted else 1.0
    if len(wanted & stems[at + 1]) > len(wanted & stems[at]):
        at += 1
    around = sentences[max(0, at - 1) : at + 2]
    best = sentences[at]
    return BestPlace(share, (best.start, best.end), best.words, tuple(word for one in around for word in one.words))


def chance(text: str, sources: Sequence[Source]) -> float:
    """The chance that a sentence of which nothing is certainly wrong is true, by its signals."""
    total = BIAS + sum(weight * signal for weight, signal in zip(WEIGHTS, signals(text, sources), strict=True))
    return 1 / (1 + math.exp(-total))


def signals(text: str, sources: Sequence[Source]) -> tuple[float, ...]:
    """Five signs, each from 0 to 2: the share of the words that stand in this order around one place of a passage; the
    share of the sentence's second half there; the words of extent, cause and order that the place lacks; a "not" of the
    place that the sentence lacks; a name that the passages lack.
    """
    told = content_stems(text)
    place = max((_place(frozenset(told), source) for source in sources), default=BestPlace(0.0, (0, 0), (), ()))
    spoken, around = words(text), set(place.words)
    stems = [stem(word) for word in place.words if word not in STOP_WORDS]
    in_order = LCSseq.similarity(told, stems) / max(1, len(told))
    later = told[len(told) // 2 :]
    half = sum(one in set(stems) for one in later[:1000]) / max(1, len(later[:1000]))
    strong = len(_STRONG.intersection(spoken) - around)
    denial = not _denies(spoken) and _denies(place.sentence)
    names = {word for name in _NAME.findall(text) for word in words(name)} - STOP_WORDS
    strange = any(all(name not in one.words and stem(name) not in one.stems for one in sources) for name in names)
    return in_order, half, float(min(strong, 2)), float(denial), float(strange)


def _denies(spoken: Iterable[str]) -> bool:
    return any(word in _DENIALS or word.endswith("n't") for word in spoken)
