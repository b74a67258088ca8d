"""A text, read once: its tokens, quantities, denials and lines, and the forms in which words are looked up in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import islice, pairwise, takewhile
from pathlib import Path
from typing import Final

from rag.evidence.numbers import quantities
from rag.evidence.quantity import Quantity
from rag.evidence.words import Token, key_of, tokens
from rag.text.english.stopwords import STOP_WORDS
from rag.text.english.word_lists import (
    BEGIN_SETS_OF_DAYS,
    CARRIERS,
    CUES,
    DENYING_NOTHING,
    EITHER,
    IMPLYING,
    SCOPE_ENDS,
    SETS_OF_DAYS,
    UNSPOKEN,
    WHOLES,
)
from rag.text.sentences import units

REACH: Final = 6  # tokens between a "not" and a word that it may concern
SCOPE: Final = 2  # content words that one cue denies
_ENDS: Final = SCOPE_ENDS | CUES
_FILE: Final = Path(__file__).parent.parent / "data" / "opposites.txt"
TITLE_WORDS: Final = 14  # at most, of a title without a mark
DIGITS: Final = re.compile(r"\d+(?:[.,]\d+)*")
LETTERS: Final = re.compile(r"[^\W\d_]+")
_HYPHENS: Final = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_IN_WORDS: Final = str.maketrans("‐‑", "--")  # which some models write even in code: `--no‑cache`
_SEMICOLON: Final = re.compile(r";\s+")
_ROW: Final = re.compile(r"[^\n]+")
# Code, where a backslash is one, or a sign that Markdown would read but for the backslash before it.
_ESCAPED: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\\(?P<sign>[!-/:-@\[-`{-~])", re.DOTALL)
_JOINT: Final = rf"[\s-]+(?:(?:{'|'.join(sorted(UNSPOKEN))})[\s-]+)?"  # between the words of an acronym


class TextLine:
    """A sentence, item, row or heading at `text[start:end]`, in code points. A heading or lead `introduces` others."""

    def __init__(self, text: str, start: int, end: int, *, heading: bool = False, introduces: bool = False) -> None:
        self.start, self.end, self.heading = start, end, heading
        self.introduces = heading or introduces
        self.tokens = tokens(text, start, end)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        return quantities(self.tokens)

    @cached_property
    def readings(self) -> tuple[Quantity, ...]:
        """The quantities, and the two that each may be instead."""
        return tuple(reading for quantity in self.quantities for reading in (quantity, *quantity.parts))

    @cached_property
    def places(self) -> dict[str, tuple[int, ...]]:
        """The indices of the tokens by key. Keys of quantities begin with "#"."""
        found: dict[str, list[int]] = {}
        for index, token in enumerate(self.tokens):
            found.setdefault(token.key, []).append(index)
        for quantity in self.readings:
            for key in quantity.keys:
                found.setdefault(key, []).append(quantity.first)
        for index, key in _days(self.tokens):
            found.setdefault(key, []).append(index)
        return {key: tuple(at) for key, at in found.items()}

    @cached_property
    def denied(self) -> frozenset[int]:
        """The indices of the tokens that it denies."""
        return scopes(self.tokens)

    @cached_property
    def denials(self) -> tuple[int, ...]:
        """The indices of the words that deny something, with a "not" or without one."""
        return (*cues(self.tokens), *(at for at, token in enumerate(self.tokens) if token.key in implied()))

    def denies_near(self, index: int) -> bool:
        """Whether it denies something near a token."""
        return any(
            abs(at - index) <= REACH and not any(t.breaks for t in self.tokens[min(at, index) : max(at, index)])
            for at in self.denials
        )

    @cached_property
    def names(self) -> tuple[int, ...]:
        """The indices of the tokens that are taken for names."""
        return tuple(index for index, token in enumerate(self.tokens) if token.is_name)

    @cached_property
    def telling(self) -> dict[str, str]:
        """The words that say what it is about, by key: neither function words nor words of every question."""
        return {token.key: token.word for token in self.tokens if token.content and token.word not in STOP_WORDS}

    @cached_property
    def counted(self) -> frozenset[int]:
        """The indices of the tokens of quantities, units included."""
        return frozenset(index for quantity in self.quantities for index in range(quantity.first, quantity.last + 1))


class AnalyzedText:
    """A passage, its titles, or a sentence of the answer. Each form of it is made once."""

    def __init__(self, text: str) -> None:
        self.text = typed(text)

    @cached_property
    def whole(self) -> TextLine:
        return TextLine(self.text, 0, len(self.text))

    @cached_property
    def lines(self) -> tuple[TextLine, ...]:
        """Its sentences, each cut at semicolons, items, rows and headings."""
        return tuple(line for line in _lines(self.text) if line.tokens)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the words of all its lines."""
        return frozenset(key for line in self.lines for key in line.places)

    @cached_property
    def folded(self) -> str:
        return folded(self.text)

    @cached_property
    def spaced(self) -> str:
        """The text on one line; if signs of it are escaped, on a second line as a reader sees it."""
        shown = _ESCAPED.sub(lambda found: found["sign"] or found[0], self.text)
        return "\n".join(" ".join(form.split()) for form in dict.fromkeys([self.text, shown]))

    @cached_property
    def parts(self) -> frozenset[str]:
        """Every run of letters, folded."""
        return frozenset(LETTERS.findall(self.folded))

    @cached_property
    def words(self) -> frozenset[str]:
        """Every run of letters, as written."""
        return frozenset(LETTERS.findall(self.text))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Every run of digits, and its parts between points and commas."""
        runs = DIGITS.findall(self.text)  # folded, "2½" would be 21⁄2
        return frozenset(plain_number(part) for run in runs for part in (run, *re.split("[.,]", run)))

    def spells_out(self, acronym: str) -> bool:
        """Whether words in a row have these initials: an SSD is a solid-state drive.

        One of three or more may be elsewhere: "the anterior cruciate ligament and the posterior one" spells out PCL.
        """
        letters = acronym.casefold()
        initials = [f"{re.escape(letter)}[^\\W\\d_]+" for letter in letters]
        elsewhere = [at for at, letter in enumerate(letters) if len(letters) > 2 and self._initials.issuperset(letter)]
        forms = [initials, *([*initials[:at], r"[^\W\d_]+", *initials[at + 1 :]] for at in elsewhere)]
        return any(re.search(rf"\b{_JOINT.join(form)}", self.folded) for form in forms)

    @cached_property
    def _initials(self) -> frozenset[str]:
        """The first letters of its words without those that an acronym leaves out."""
        return frozenset(part[0] for part in self.parts - UNSPOKEN)


@lru_cache(maxsize=512)
def read(text: str) -> AnalyzedText:
    """Read a text. The result is cached, since the sentences of an answer cite the same few passages."""
    return AnalyzedText(text)


def typed(text: str) -> str:
    """A text of the same length with the hyphen of a keyboard for those of a typesetter."""
    return text.translate(_IN_WORDS)


def folded(text: str) -> str:
    """A text for comparing: compatible characters (NFKC) and hyphens are one, and case does not count."""
    return unicodedata.normalize("NFKC", text).translate(_HYPHENS).casefold()


def plain_number(number: str) -> str:
    """A number for comparing: "1,000" is "1000", "5.0" is "5"."""
    plain = re.sub(r",(?=\d{3}\b)", "", number)
    return re.sub(r"(?:\.0)+$", "", plain).lstrip("0") or "0"


def _lines(text: str) -> Iterator[TextLine]:
    begin = _title_end(text)
    if begin:
        yield TextLine(text, 0, begin, heading=True)
    for unit in units(text):
        start = max(unit.start, begin)
        start += len(text[start : unit.end]) - len(text[start : unit.end].lstrip())
        if unit.kind == "table":
            for number, row in enumerate(_ROW.finditer(text, start, unit.end)):
                yield TextLine(text, row.start(), row.end(), introduces=not number)
        elif unit.end > start:
            cuts = (
                [cut.end() for cut in _SEMICOLON.finditer(text, start, unit.end)]
                if unit.kind in ("sentence", "item")
                else []
            )
            for first, last in pairwise([start, *cuts, unit.end]):
                yield TextLine(text, first, last, heading=unit.kind == "heading", introduces=unit.kind == "lead")


def _title_end(text: str) -> int:
    """Where the title of a passage ends: a short first line without closing punctuation. 0 if there is none."""
    first, newline, rest = text.partition("\n")
    words = first.split()
    if not newline or not words or len(words) > TITLE_WORDS or first.rstrip()[-1] in ".!?:;,|`->":
        return 0
    following = rest.lstrip()[:1]
    return 0 if following.isalpha() and not following.isupper() else len(first)


def _days(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """The keys of all words for a set of days, each with its place: those of "weekday" at "Monday to Friday"."""
    words = [token.word for token in tokens]
    for at in (at for at, word in enumerate(words) if word in BEGIN_SETS_OF_DAYS):
        found = (SETS_OF_DAYS.get(tuple(words[at : at + length])) for length in (1, 2, 3))
        yield from ((at, key_of(word)) for days in found for word in days or ())


def scopes(tokens: Sequence[Token]) -> frozenset[int]:
    """The indices of the denied tokens: the next one or two content words after a cue, or only the "all" of "not all".

    A token in the scope of two cues is not denied.
    >>> from rag.evidence.words import tokens
    >>> sorted(scopes(tokens("It does not lift heavy boxes."))), sorted(scopes(tokens("Not all robots walk.")))
    ([3, 4], [1])
    """
    found: set[int] = set()
    for cue in cues(tokens):
        clause = islice(enumerate(tokens), cue + 1, cue + 1 + REACH)
        reach = [at for at, _ in takewhile(lambda place: not (place[1].breaks or place[1].word in _ENDS), clause)]
        wholes = [index for index in reach if tokens[index].word in WHOLES]
        found.symmetric_difference_update(wholes[:1] or _contents(tokens, reach))
    return frozenset(found)


def cues(tokens: Sequence[Token]) -> list[int]:
    """The indices of the words that deny something; "not only", "no more than" and `--no-cache` deny nothing."""
    found = []
    for index, token in enumerate(tokens):
        if token.word in CUES:
            after = tokens[index + 1].word if index + 1 < len(tokens) else ""
            option = [token.word for token in tokens[max(0, index - 2) : index]] == ["-", "-"]
            either = [token.word for token in tokens[max(0, index - 2) : index]] in EITHER.get(token.word, ())
            if not option and not either and after not in DENYING_NOTHING.get(token.word, ()):
                found.append(index)
    return found


def _contents(tokens: Sequence[Token], reach: Sequence[int]) -> list[int]:
    found: list[int] = []
    content = 0
    for index in reach:
        token = tokens[index]
        has_opposite = token.key in opposites()
        if has_opposite or token.content:
            found.append(index)
        if token.content and token.key not in CARRIERS:
            content += 1
            if content == SCOPE or has_opposite:
                break  # "not possible to lift" denies "possible", but not "lift"
    return found


@cache
def opposites() -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """For each key of the file of opposites, the keys of its own side and those of the other side."""
    same: dict[str, set[str]] = {}
    other: dict[str, set[str]] = {}
    for pair in _FILE.read_text(encoding="utf-8").splitlines():
        left, right = ({key_of(word) for word in side.split()} for side in pair.split(" - "))
        for side, facing in ((left, right), (right - left, left)):
            for key in side:
                same.setdefault(key, set()).update(side)
                other.setdefault(key, set()).update(facing)
    return {key: (frozenset(same[key]), frozenset(other[key] - same[key])) for key in same}


@cache
def listed() -> frozenset[str]:
    """The words of the file of opposites."""
    return frozenset(_FILE.read_text(encoding="utf-8").split())


@cache
def implied() -> frozenset[str]:
    """Keys of words that deny without a "not"."""
    return frozenset(key_of(word) for word in IMPLYING)
