"""Citations as models write them, resolved to the passages of this turn.

A model cites by number, `[1]`, `[1, 2]`, or by the name of a chapter, page or file, `(see Chapter 2)`, `(Ch. 2, page
2)`, `[Title](url)`. Each passage has a set of names: titles, headings, chapter, file and page, with and without their
numbers. A citation in words means every passage whose names are all of its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from rag.text.addresses import same_address
from rag.text.visible import normal
from rag.types import Passage

_WORD: Final = re.compile(r"\d+|[^\W\d_]+")
_SOURCE: Final = r"(?:(?:source|passage|ref|reference|chunk|quelle|fuente)s?[ .:#]{0,3})?"
_NUMBERS: Final = rf"\^?{_SOURCE}\d{{1,4}}(?:\s{{0,3}}(?:,|;|&|and|[-–—])\s{{0,3}}{_SOURCE}\d{{1,4}}){{0,30}}"
_URL: Final = r"[^()\s]{0,500}(?:\([^()\s]{0,100}\)[^()\s]{0,100})?"
_FORMS: Final = re.compile(
    r"(?P<ticks>`+)(?s:.{1,2000}?)(?P=ticks)(?!`)"
    r"|!\[(?P<image>[^\[\]\n]{0,300})\](?:\([^()\n]{0,2000}\)|\[[^\[\]\n]{0,100}\])?"
    r"|\[(?P<first>\d{1,4})\] ?[-–—] ?\[(?P<last>\d{1,4})\]"
    rf"|\\?[\[【［](?P<numbers>{_NUMBERS})(?:†[^\]】\n]{{0,80}}|,? (?:pp?|page)s?\b[^\[\]\n]{{0,30}})?\\?[\]】］]"
    rf"(?:\(<?(?P<numbered_url>{_URL})>?\))?"
    rf"|\[(?P<label>(?:[^\[\]\n]|\\.){{1,300}})\]\([ \t]?<?(?P<url>{_URL})>?(?:[ \t]+[\"'][^\"'\n]{{0,300}}[\"'])?\)"
    r"|\[(?P<bracket>[^\[\]\n]{1,300})\]"
    rf"|\((?P<spoken>(?:source|passage)s? \d{{1,4}}(?:(?:, | and )\d{{1,4}}){{0,9}})\)"
    r"|(?P<words>\b(?:source|passage)s? )\(?(?P<said>\d{1,2}(?:(?:, | and )\d{1,2}){0,9})\b\)?"
    r"|\((?P<parenthesis>(?:[^()\n]|\([^()\n]{0,100}\)){1,300})\)"
    r"|<sup>\[?(?P<raised>\d{1,3}(?:, ?\d{1,3}){0,9})\]?</sup>",
    re.IGNORECASE,
)
_SORTS: Final = {
    "ch": "chapter", "chap": "chapter", "chapters": "chapter", "p": "page", "pp": "page", "pg": "page", "pages": "page",
    "sec": "section", "sect": "section", "sections": "section", "pt": "part", "parts": "part",
}  # fmt: skip
_KINDS: Final = ("chapter", "section", "part", "page", "appendix", "lesson", "module", "unit")
_AROUND_WORDS: Final = """
a according also and as at book cf document described docs file from guide in manual of on per section chapter page part
see source sources textbook the title to under
"""
_AROUND: Final = frozenset(_AROUND_WORDS.split())
_JOINT: Final = re.compile(r"\s*(?:[,;&]|\band\b)\s*", re.IGNORECASE)
_MOST_NAMES: Final = 12
_CITES: Final = re.compile(
    r"(?:see |from |in |source:? )*(?:the )?"
    r"(?:(?:ch(?:ap(?:ter)?)?|sec(?:tion)?|p(?:p|age)?)s?\.? \d|\S+\.(?:mdx?|pdf|html?|rst|txt|epub|ipynb)\b)"
)
_NAMES_A_PAGE: Final = re.compile(r"from (?!\d)[A-Z]|[Ss]ources?:")  # "(from Welding)", but not "(from each parent)"
_NUMBERED: Final = re.compile(
    r"\W*(?:(?P<kind>chapter|section|part|appendix|lesson|module|unit)[ _-]*)?(?P<number>\d+(?:\.\d+)*)(?=[\W_]|$)",
    re.I,
)
_INDEX_FILES: Final = ("index", "_index", "readme")
# Before a link whose words belong to the sentence: "is described in [Nodes](nodes.md)".
_NEEDS_WORD: Final = re.compile(
    r"\b(?:a|an|and|as|at|by|for|from|in|of|on|or|see|the|to|with|under|via)[*_]{0,3} ?$", re.I
)
_LONGEST_RANGE: Final = 20


@dataclass(slots=True)
class AnswerPiece:
    """A stretch of a sentence: text, inline code, or a citation of passages.

    `named` says that a citation is in words, so that of its passages those count that support the sentence. `url` is
    the target of a link whose words, `text`, belong to the sentence; it cites the passages of that page.
    """

    kind: Literal["text", "code", "cite", "link"]
    text: str = ""
    numbers: tuple[int, ...] = ()
    named: bool = False
    url: str = ""


@dataclass(slots=True)
class CitedText:
    """A sentence in pieces. `unknown` counts citations of no passage, `images` what is never shown."""

    pieces: list[AnswerPiece]
    unknown: int = 0
    images: int = 0


class Citations:
    """Reads the citations of an answer over the passages of one turn."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._numbers = frozenset(passage.number for passage in passages)

    @cached_property
    def _names(self) -> list[tuple[Passage, frozenset[tuple[str, ...]], int]]:
        found = [(passage, frozenset(filter(None, _names_of(passage)))) for passage in self._passages]
        return [(passage, names, max(map(len, names), default=0)) for passage, names in found]

    def read(self, text: str) -> CitedText:
        """The sentence in pieces, with every citation resolved or counted as unknown."""
        reading, at = CitedText([]), 0
        for match in _FORMS.finditer(text):
            pieces = self._pieces(match, text, reading)
            if pieces is not None:
                if match.start() > at:
                    reading.pieces.append(AnswerPiece("text", text[at : match.start()]))
                reading.pieces += pieces
                at = match.end()
        if at < len(text):
            reading.pieces.append(AnswerPiece("text", text[at:]))
        return reading

    def _pieces(self, match: re.Match[str], text: str, reading: CitedText) -> list[AnswerPiece] | None:
        """What a form stands for; None if it is plain text."""
        if match["ticks"]:
            return [AnswerPiece("code", match[0])]
        if match["image"] is not None:
            reading.images += 1
            return []
        if match["numbers"] or match["first"] or match["spoken"] or match["raised"]:
            return self._numbered(match, text, reading)
        if match["label"] is not None:
            return self._link(match, text, reading)
        if match["said"]:
            said = expand(match["said"].replace("and", ","))
            ours = self._numbers.issuperset(said) and not self._is_written(match[0])
            return [AnswerPiece("text", match["words"]), AnswerPiece("cite", "", said)] if ours else None
        if match["bracket"] and re.match(r"\[\d", text[match.end() : match.end() + 2]):
            return [AnswerPiece("text", match["bracket"])]  # [words][1], with a marker behind them
        name = match["bracket"] or match["parenthesis"] or ""
        found, unknown = self.named(name)
        if found:
            reading.unknown += unknown
            return [AnswerPiece("cite", "", found, named=True)]
        is_citation = _CITES.match(name.lower()) or _NAMES_A_PAGE.match(name)
        if is_citation and not self._is_written(match[0]):
            reading.unknown += 1
            return [AnswerPiece("cite")]
        return None

    def _numbered(self, match: re.Match[str], text: str, reading: CitedText) -> list[AnswerPiece] | None:
        if match["first"]:
            numbers = expand(f"{match['first']}-{match['last']}")
        else:
            numbers = expand(match["numbers"] or match["spoken"] or match["raised"])
        known = tuple(number for number in numbers if number in self._numbers)
        glued = match.start() > 0 and (text[match.start() - 1].isalnum() or text[match.start() - 1] in "_)")
        around = text[max(0, match.start() - 12) : match.end()] if glued else match[0]
        literal = around.rpartition(" ")[2] if glued else around
        if (len(known) < len(numbers) or glued) and self._is_written(literal):
            return None  # `lemons[0]`, the interval [0, 1]
        reading.unknown += len(numbers) - len(known)
        return [AnswerPiece("cite", "", known)]

    def _link(self, match: re.Match[str], text: str, reading: CitedText) -> list[AnswerPiece]:
        label, url = match["label"], match["url"]
        source = re.match(r"[Ss]ource:\s*", label)
        named = label[source.end() :] if source else label
        numbers = self._at(url, named)
        before, after = text[: match.start()].rpartition("|")[2], text[match.end() : match.end() + 20]
        has_before = re.search(r"\w", before[-200:]) is not None
        goes_on = re.match(r"[*_]{0,3}[ \t]+(?!and \[)[a-z(]", after) is not None
        is_word = not source and (
            label.lstrip("*_ ")[:1].islower()
            or goes_on
            or not has_before
            or _NEEDS_WORD.search(before[-12:]) is not None
        )
        if is_word:
            return [AnswerPiece("link", label, numbers, named=True, url=url)]
        if numbers:
            return [AnswerPiece("cite", "", numbers, named=True)]
        if self._is_written(url) and not source:
            return [AnswerPiece("link", label, url=url)]
        reading.unknown += 1
        return [AnswerPiece("cite")]

    def _is_written(self, text: str) -> bool:
        """Whether a passage has these very signs."""
        return any(text in passage.text for passage in self._passages)

    def _at(self, url: str, name: str) -> tuple[int, ...]:
        """The passages at the address of a link, those of its name if there are several; else those of its name."""
        if name.strip().isdecimal() and int(name) in self._numbers:
            return (int(name),)
        address, page = same_address(url), same_address(url.partition("#")[0])
        exact = [one.number for one in self._passages if "#" in url and same_address(one.link) == address]
        there = [one.number for one in self._passages if page and same_address(one.url.partition("#")[0]) == page]
        meant = self.named(name)[0]
        return tuple(exact or [number for number in there if number in meant] or there or (() if url else meant))

    def named(self, text: str) -> tuple[tuple[int, ...], int]:
        """The passages that a citation in words means, and how many of its names mean none."""
        words = _name_words(text)
        if not words or len(words) > 60:
            return (), 0
        if whole := self._all(words):
            return whole, 0
        found: list[int] = []
        unknown, kind = 0, ""
        parts = [part for part in _JOINT.split(text) if part][:_MOST_NAMES]
        for part in parts if len(parts) > 1 else ():
            own = _name_words(part)
            kind = next((word for word in own if word in _KINDS), kind)
            numbers = self._all(own) or (self._all((kind, *own)) if kind and own and own[0].isdecimal() else ())
            found += numbers
            unknown += not numbers
        return (tuple(dict.fromkeys(found)), unknown) if found else ((), 0)

    def _all(self, words: tuple[str, ...]) -> tuple[int, ...]:
        """The passages whose names are all of the words."""
        return tuple(passage.number for passage, names, most in self._names if _consists_of(words, names, most))


def expand(numbers: str) -> tuple[int, ...]:
    """The numbers that a marker cites, each once.

    >>> expand("1, 3-5, 3")
    (1, 3, 4, 5)
    """
    found: list[int] = []
    ranged = False
    for part in re.findall(r"\d{1,4}|[-–—]", numbers):
        if not part.isdecimal():
            ranged = True
            continue
        number = int(part)
        if ranged and found and found[-1] < number < found[-1] + _LONGEST_RANGE:
            found += range(found[-1] + 1, number)
        found.append(number)
        ranged = False
    return tuple(dict.fromkeys(found))


def _name_words(name: str) -> tuple[str, ...]:
    """A name as words: "Ch. 02-install.md" is chapter, 2, install, md."""
    found = _WORD.findall(normal(name).replace("§", "section "))
    return tuple(_SORTS.get(word, word.lstrip("0") or word) for word in found)


def _consists_of(words: tuple[str, ...], names: frozenset[tuple[str, ...]], longest: int) -> bool:
    """Whether the words are names, with words such as "the" and "section" before, between and after them.

    >>> _consists_of(("chapter", "2", "the", "quick", "start"), frozenset({("chapter", "2"), ("quick", "start")}), 2)
    True
    """
    if words in names:
        return True
    ends, named = {0}, {-1}  # where a part may end, and where after a name
    for at in range(len(words)):
        if at in ends:
            lengths = [n for n in range(1, min(longest, len(words) - at) + 1) if words[at : at + n] in names]
            ends |= {at + n for n in lengths}
            named |= {at + n for n in lengths}
            if words[at] in _AROUND:
                ends.add(at + 1)
                named |= {at + 1} if at in named else set()
    return len(words) in ends and len(named) > 1 and not _AROUND.issuperset(words)


def _names_of(passage: Passage) -> Iterator[tuple[str, ...]]:
    """The names by which a citation may mean a passage, as words."""
    crumbs = passage.breadcrumb.split(" > ")
    for title in (passage.title, passage.chapter or "", passage.heading, *crumbs):
        yield _name_words(title)
        yield from _numbered_names(title)
    for path in (passage.source_file_path, passage.url.partition("#")[0].partition("://")[2] or passage.url):
        folder, _, file = path.rstrip("/").rpartition("/")
        stem = file.rpartition(".")[0] or file
        stem = folder.rpartition("/")[2] if stem.lower() in _INDEX_FILES and folder else stem
        yield from map(_name_words, (path, file, stem))
        yield from _numbered_names(stem)
    if passage.page_number is not None:
        yield ("page", str(passage.page_number))


def _numbered_names(title: str) -> Iterator[tuple[str, ...]]:
    """The names that the number of a part gives: "4.1 Ownership" is "Chapter 4", "Section 4.1" and "Ownership"."""
    found = _NUMBERED.match(title)
    if found:
        yield _name_words(title[found.end() :])
        numbers = _name_words(found["number"])
        for kind in [found["kind"].lower()] if found["kind"] else _KINDS[:3]:
            yield from ((kind, *numbers[:end]) for end in range(1, len(numbers) + 1))
