"""Score the blocks of the passages by how well they answer the question.

The score of a block is a weighted sum of eight features: its cosine and that of its headings, how well it matches the
question's terms, the rank of its passage, and how its form suits the question. `bench/ranking.py` fits the weights.

One vector for a whole block hides that a single word of the question has no counterpart in it. With an embedder that
gives the vectors of tokens, each token of the question is compared with every token of the block, and its best match
counts (late interaction; Khattab and Zaharia 2020, "ColBERT").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Final

from rag.ports import Embedder, TokenEmbedder, TokenVectors
from rag.quoting.blocks import NumberedPassage, QuoteBlock, faults, is_other_field, is_quotable, runs
from rag.quoting.english.directions import directions, leaves_out, wants_without
from rag.quoting.english.phrases import COPULA, LEANING, NO_DEFINITION, SECOND_QUESTION, SIDES
from rag.quoting.english.speech_acts import QuestionShape, shape
from rag.quoting.terms import (
    Term,
    in_language,
    is_version,
    keys,
    respelt_terms,
    terms,
    told_apart,
    weigh,
    with_abbreviations,
)
from rag.quoting.vocabulary import is_english, is_foreign, language_of

EMBEDDED: Final = 14  # best blocks, which are embedded: about 15 ms each on one core
EMBEDDED_CHARACTERS: Final = 420  # of a block
CONTEXT_WEIGHT: Final = 0.8  # of a term that only the headings of a block hold
NAMES_ALL: Final = 0.5  # least of `asks_same` of a title that names the things that are compared and hardly more
# Weights of the features of a score: the logits of a softmax over the blocks of a question (`bench/ranking.py`).
COSINE: Final = 2.7  # of the block and the question
PATH: Final = 1.3  # cosine of the headings above the block and the question
MATCH: Final = 3.9  # mean match of the question's terms, by their rarity
WORDS: Final = 2.6  # share of the terms that the block holds, as long as its tokens are not compared
RANK: Final = 0.28  # taken for each passage that is ranked higher
SHOWS: Final = 1.6  # of code, for a question that asks how
FAULTS: Final = 1.5  # taken for `faults`
DEFINES: Final = 3.0  # of what `defines` finds, for a question that asks what something is
OPENS: Final = 1.0  # of the block that opens its passage, for such a question
SAME_WAY: Final = 0.2  # of a block that names the direction that the question asks for, such as removing
OTHER_WAY: Final = 0.9  # taken from a block that names the opposite only
WITHOUT: Final = 0.9  # of a sentence that leaves out what the question wants left out, if it has all terms
LATER: Final = 0.75  # of a defining sentence behind the second of its block
OWN_WORDS: Final = 0.5  # least share that the passages lack of an error message about something else
HELD: Final = 0.8  # least match of a term that a block holds as a word
DEFAULT: Final = 1.0  # of a table that has the default that is asked for, besides what its rank takes
COMPARES: Final = 1.0  # of a block whose heading or label names just the things that a question compares
OTHER_FIELD: Final = 1.5  # taken from a field such as "*Required*: No." without whose label the question does
OTHER_VERSION: Final = 2.5  # taken from a block without the version that is asked for
VERSION: Final = 1.5  # of a block with the number of a version, for a question that asks which one
SPLIT: Final = 0.6  # of a code word such as UV_INDEX_URL whose parts a text has, but not together

_LABELLED: Final = re.compile(r"(?:\*\*[^*\n]{1,80}\*\*|`[^`\n]{1,80}`)(?: \([^)]*\))?:|\*\*[^*\n]{1,80}:\*\*")
_ASKS_VERSION: Final = re.compile(r"\W*(?:which|what)\b[^?]*\bversions?\b(?! control)", re.IGNORECASE)
_VERSION: Final = re.compile(r"(?<![\d.])\d+\.\d+|\b\d+\+")
_DEFAULT: Final = re.compile(r"\bdefaults?\b", re.IGNORECASE)
_ASIDE: Final = re.compile(r"^(?:In|With|For|Within) [^,]{1,60}, |\([^()]*\)")
_IDENTIFIER: Final = re.compile(r"[a-z][A-Z]|[A-Z][A-Z][a-z]|\w_\w|^[A-Z]+\d{3,}$")


@dataclass
class Reading:
    """The scored blocks of the passages for one question."""

    question: str
    shape: QuestionShape
    terms: list[Term]
    subject: list[Term]  # those of what it asks to define: "What is a node, and how do I start one?" asks it of a node
    runs: list[list[QuoteBlock]]  # all blocks, by run
    ranked: list[QuoteBlock] = field(default_factory=list)  # quotable blocks, the best first
    everything: frozenset[str] = frozenset()  # keys of all passages
    missing: float = 0.0  # what the passages lack, 0 to 1: see `_missing`
    foreign: bool = False  # the passages are in another language than English

    @cached_property
    def sides(self) -> list[list[Term]]:
        """What the question compares."""
        return sides(self.question, self.terms) if self.shape.comparison else []

    @property
    def inner(self) -> list[Term]:
        """Of each side the term beside the word between them: "copy" and "move" of "copy and move on import"."""
        return [side[0 if n else -1] for n, side in enumerate(self.sides)]


def read(
    question: str,
    passages: Sequence[NumberedPassage],
    embedder: Embedder | None,
    *,
    said: str = "",
    follow_up: str = "",
) -> Reading:
    """Score the blocks of the passages. Those that earlier answers in `said` quote need all terms of the follow-up."""
    answered, own = " ".join(said.split()), terms(follow_up)
    cut = runs(passages)
    every = [block for found in cut for block in found]
    everything = frozenset[str]().union(*(block.own | block.context for block in every))
    written = "\n".join(passage.text for passage in passages)
    foreign = is_foreign(written)
    texts = [f"{passage.title}\n{passage.text}" for passage in passages]
    wanted = with_abbreviations(terms(question), texts)
    if foreign:
        own = in_language(language_of(written), own, follow_up, written)
        wanted = told_apart(in_language(language_of(written), wanted, question, written), question, everything)
    asked = shape(question)
    wanted, question = respelt_terms(wanted, question, texts, everything)
    missing = _missing(wanted, everything, message=asked.message)
    if asked.message and missing < OWN_WORDS:
        wanted = [term for term in wanted if term.within(everything)]
    opening = keys(SECOND_QUESTION.split(question)[0])
    subject = [term for term in wanted if term.within(opening)] or wanted
    reading = Reading(question, asked, wanted, subject, cut, everything=everything, missing=missing, foreign=foreign)
    for block in every:
        quoted = bool(answered) and " ".join(block.units[-1].text.split()) in answered
        block.said = quoted and not (own and all(term.within(block.own) for term in own))
        _score(block, reading)
    quotable = [block for block in every if is_quotable(block)]
    if embedder is not None:
        add_meaning(question, wanted, cut, quotable, embedder, by_token=not foreign)
    reading.ranked = sorted(quotable, key=lambda block: -block.score)
    return reading


def _score(block: QuoteBlock, reading: Reading) -> None:
    """Set the score of a block without its cosine, and the scores of its units."""
    block.unit_scores = [held(reading.terms, keys(unit.text), block.context) for unit in block.units]
    whole = held(reading.terms, block.own, block.context)
    block.held = (whole + max(block.unit_scores)) / 2
    block.score = WORDS * block.held + fitness(block, reading)


def fitness(block: QuoteBlock, reading: Reading) -> float:
    """What the place and the form of a block add to its score or take from it, by what the question asks for."""
    asked = reading.shape
    fit = -RANK * block.rank - FAULTS * faults(block, reading.question)
    if not (asked.reason or asked.message):
        fit += _direction(block, reading)
    if any(is_version(term) and not term.within(block.own | block.context) for term in reading.terms):
        fit -= OTHER_VERSION
    if _ASKS_VERSION.match(reading.question) and _VERSION.search(block.text):
        fit += VERSION
    if is_other_field(block, reading.question):
        fit -= OTHER_FIELD
    if _has_default(block, reading):
        fit += RANK * block.rank + DEFAULT
    if asked.comparison:
        labelled = any(names_all(reading, unit.text) for unit in block.units)
        fit += COMPARES * (labelled or names_all(reading, block.heading, is_title=True))
    if asked.definition:
        return fit + DEFINES * max(definitions(block, reading.subject)) + (OPENS if block.place == 0 else 0.0)
    return fit + (SHOWS if asked.steps and block.form == "code" else 0.0)


def _has_default(block: QuoteBlock, reading: Reading) -> bool:
    """Whether a table with a column of defaults has a row with all else that a question for a default asks for."""
    others = [term for term in reading.terms if not _DEFAULT.fullmatch(term.word)]
    if block.form != "table" or len(others) == len(reading.terms):
        return False
    head, *rows = "\n".join(unit.text for unit in block.units[block.lead :]).split("\n")
    if not _DEFAULT.search(head):
        return False
    held = ([term.within(own) or (term.within(block.context) and None) for term in others] for own in map(keys, rows))
    return any(True in row and False not in row for row in held)


def _direction(block: QuoteBlock, reading: Reading) -> float:
    """What a block gains or loses by what it does with its subject: adds or removes it, turns it on or off."""
    asked = directions(reading.question)
    wanted = {one for one in asked if -one not in asked}
    there = directions(f"{block.heading}.\n{block.text}") if wanted else frozenset()
    other_way = any(-one in there and one not in there for one in wanted)
    fit = -OTHER_WAY if other_way else SAME_WAY if wanted & there else 0.0
    if wants_without(reading.question):
        said = [score for score, unit in zip(block.unit_scores, block.units, strict=True) if leaves_out(unit.text)]
        fit += WITHOUT * max([*said, block.held if leaves_out(block.heading) else 0.0])
    return fit


def sides(question: str, wanted: Sequence[Term]) -> list[list[Term]]:
    """What a question compares: for each side the terms that the other sides lack."""
    parts = [keys(part) for part in SIDES.split(question)]
    found = [[term for term in wanted if term.within(part)] for part in parts]
    common = {term for term in wanted if all(term in side for side in found)}
    return [own for side in found if (own := [term for term in side if term not in common])]


def names_all(reading: Reading, text: str, *, is_title: bool = False) -> bool:
    """Whether a title, or the label of an entry such as "**A and B**:", names what a question compares, hardly more."""
    label = None if is_title else _LABELLED.match(text)
    title = text if is_title else label[0] if label else ""
    inner, there = reading.inner, keys(title)
    named = len(inner) > 1 and all(term.within(there) for term in inner)
    return named and asks_same(reading.terms, title) >= NAMES_ALL


def asks_same(wanted: Sequence[Term], heading: str) -> float:
    """How much a heading is about the terms and nothing else, 0 to 1."""
    there = share(wanted, keys(heading))
    if not there:
        return 0.0
    others = terms(heading)
    back = share(others, frozenset[str]().union(*(term.forms | term.parts | keys(term.word) for term in wanted)))
    return there * back


def definitions(block: QuoteBlock, wanted: Sequence[Term]) -> list[float]:
    """How much each unit of a block defines the terms; a sentence behind the second counts less than an opening."""
    return [
        defines(unit.text, wanted) * (1.0 if n < 2 or unit.kind == "item" else LATER)
        for n, unit in enumerate(block.units)
    ]


def defines(text: str, wanted: Sequence[Term]) -> float:
    """How much the sentence defines the terms: "X is ...", "**X** refers to ...", "**X**: ...". 0 to 0.35."""
    label = _LABELLED.match(text)
    if label and (labelled := share(wanted, keys(label[0]))) >= 0.65:
        return 0.2 * labelled
    verb = COPULA.search(text, 0, 160)
    subject = text[: verb.start()] if verb else ""
    if verb is None or share(wanted, keys(subject)) < 0.99:
        return 0.2 if _is_subject(text, wanted) else 0.0
    # "A node is ..." defines a node; "The nodes that we saw above are ..." does not.
    words = re.findall(r"\w[\w'’-]*", _ASIDE.sub("", subject))
    others = len(words) - len(wanted)
    if words[0].endswith("ing") and not share(wanted, keys(words[0])):  # "Using nodes is ..."
        return 0.05
    if NO_DEFINITION.match(text, verb.end()) or LEANING.search(subject):
        return 0.05
    return 0.35 if others <= 2 else 0.15 if others <= 6 else 0.05


def _is_subject(text: str, wanted: Sequence[Term]) -> bool:
    """Whether a sentence begins with the terms and nothing else: "A trait object points to ..."."""
    words = [word.lower() for word in re.findall(r"\w[\w'’-]*", text[:160])]
    begin = 1 if words[:1] and words[0] in ("a", "an", "the") else 0
    end = begin + sum(max(1, len(term.parts)) for term in wanted)
    return len(words) > end and share(wanted, keys(" ".join(words[begin:end]))) > 0.99


def share(wanted: Sequence[Term], found: frozenset[str]) -> float:
    """The share of the terms, by weight, that a set of keys holds; 0 without terms."""
    total = weigh(wanted)
    return sum(term.weight for term in wanted if term.within(found)) / total if total else 0.0


def _missing(wanted: Sequence[Term], known: frozenset[str], *, message: bool) -> float:
    """How much the passages lack: the weight of the rarest term that none of them has.

    An error message names files, lines and values of its own. Of a message it is the share of such terms, or 0 if the
    passages have an identifier of it, such as the name of the exception.
    """
    if message:
        named = (term for term in wanted if _is_identifier(term.word))
        return 0.0 if any(term.within(known) for term in named) else 1 - share(wanted, known)
    return max((term.weight for term in wanted if not term.within(known)), default=0.0)


def _is_identifier(word: str) -> bool:
    """Whether a word of a message names an exception, an error or a variable: `BorrowMutError`, `E0382`, `EACCES`."""
    return bool(_IDENTIFIER.search(word)) or (len(word) > 3 and word.isupper() and not is_english(word.lower()))


def held(wanted: Sequence[Term], own: frozenset[str], context: frozenset[str]) -> float:
    """The share of the terms, by weight, that a text holds; a term that only its context holds counts 0.8."""
    total = weigh(wanted)
    if not total:
        return 0.0
    every = own | context
    found = 0.0
    for term in wanted:
        if not term.within(every):
            continue
        part = 1.0 if term.within(own) else CONTEXT_WEIGHT
        joined = not term.named or not term.parts or not term.forms.isdisjoint(every)
        found += term.weight * part * (1.0 if joined else SPLIT)
    return found / total


def add_meaning(
    question: str,
    wanted: Sequence[Term],
    passages: Sequence[Sequence[QuoteBlock]],
    quotable: Sequence[QuoteBlock],
    embedder: Embedder,
    *,
    by_token: bool = True,
) -> None:
    """Add to the scores the cosines of all headings and of the best quotable blocks, and those of their terms.

    A model of English tells nothing by the tokens of another language, so `by_token` is False there.
    """
    tokens = embedder.embed_tokens([question])[0] if by_token and isinstance(embedder, TokenEmbedder) else None
    query = tokens.vector if tokens else embedder.embed_query(question)
    _add_paths(query, passages, embedder)
    candidates = sorted(quotable, key=lambda block: -block.score)[:EMBEDDED]
    texts = [f"{block.heading}\n{block.text[:EMBEDDED_CHARACTERS]}" for block in candidates]
    if tokens and isinstance(embedder, TokenEmbedder):
        _compare(candidates, embedder.embed_tokens(texts), tokens, wanted, token_places(question, tokens, wanted))
    else:
        for block, cosine in zip(candidates, _cosines(query, embedder.embed_documents(texts)), strict=True):
            block.cosine = cosine
    for block in candidates:
        block.score += COSINE * block.cosine


def _add_paths(query: Sequence[float], passages: Sequence[Sequence[QuoteBlock]], embedder: Embedder) -> None:
    """Add the cosines of the headings to the scores of the blocks below them."""
    paths = {block: " ".join(block.path) for found in passages for block in found}
    texts = list(dict.fromkeys(paths.values()))
    cosine = dict(zip(texts, _cosines(query, embedder.embed_documents(texts)), strict=True))
    for block, path in paths.items():
        block.path_cosine = cosine[path]
        block.score += PATH * block.path_cosine


def _compare(
    candidates: Sequence[QuoteBlock],
    vectors: Sequence[TokenVectors],
    asked: TokenVectors,
    wanted: Sequence[Term],
    places: Sequence[Sequence[int]],
) -> None:
    """Set the cosines of the blocks, and how well each matches the terms; a term that it holds counts `HELD`.

    The mean match takes the place of the share of the terms in the score.
    """
    total = weigh(wanted)
    cosines = _cosines(asked.vector, [each.vector for each in vectors])
    for block, cosine, matches in zip(candidates, cosines, term_matches(asked, places, vectors), strict=True):
        block.cosine = cosine
        every = block.own | block.context
        found = [
            max(match, HELD) if term.within(every) else 0.0 if is_version(term) else match
            for term, match in zip(wanted, matches, strict=True)
        ]
        block.weakest = min(found, default=0.0)
        weighted = sum(term.weight * match for term, match in zip(wanted, found, strict=True))
        block.match = weighted / total if total else 0.0
        block.score += MATCH * block.match - WORDS * block.held


def _cosines(query: Sequence[float], vectors: Sequence[Sequence[float]]) -> list[float]:
    """The cosines of the question's vector and others. All have length 1."""
    import numpy as np

    return (np.asarray(vectors) @ np.asarray(query)).tolist() if vectors else []


def term_matches(
    question: TokenVectors, places: Sequence[Sequence[int]], texts: Sequence[TokenVectors]
) -> list[list[float]]:
    """For each text the cosines of the question's terms and their best matches in it.

    `places` has the tokens of each term; for one without tokens the mean of all tokens of the question counts. A text
    or a question without tokens matches nothing: 0.
    """
    import numpy as np

    found = [[0.0] * len(places) for _ in texts]
    filled = [i for i, text in enumerate(texts) if len(text.tokens)]
    if not filled or not len(question.tokens):
        return found
    starts = [0, *accumulate(len(texts[i].tokens) for i in filled[:-1])]
    similarities = question.tokens @ np.concatenate([texts[i].tokens for i in filled]).T
    every = range(len(question.tokens))
    for i, best in zip(filled, np.maximum.reduceat(similarities, starts, axis=1).T, strict=True):
        found[i] = [float(best[list(place or every)].mean()) for place in places]
    return found


def token_places(question: str, vectors: TokenVectors, wanted: Sequence[Term]) -> list[list[int]]:
    """The tokens of each term, by their positions; none for a term that the question does not have as written."""
    found = []
    for term in wanted:
        words = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(term.word)}(?!\w)", question)]
        found.append(
            [i for i, (a, b) in enumerate(vectors.spans) if any(a < end and start < b for start, end in words)]
        )
    return found
