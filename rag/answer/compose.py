"""Make a model's text fit to be shown: markers in one form, and no address that the book does not have.

What is removed takes along the space before it and brackets that held nothing else. A removal can join its neighbours
to something new (`[1[9]]`, `htt<b>ps://`), so the result is parsed again, and signs that would form an unchecked marker
or address are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Final

from rag.text.english.phrases import ATTRIBUTED, SEE
from rag.text.markup import MarkedText, Segment, addresses_in, parse, safe_address, same_address, written_addresses
from rag.text.orders import blanked
from rag.text.sentences import code_spans

_BETWEEN: Final = " \t.,;:|*_"
_HOLE: Final = "\x00"  # stands for something removed; no visible text has this character
_TAG: Final = "\x01"  # stands for a removed tag, which separates no words
_AGAIN: Final = "\x02"  # stands for a repeated marker
_BREAK: Final = "\x03"  # stands for a removed tag of a block, which separates words
_BLOCK_TAG: Final = re.compile(
    r"</?(?:article|blockquote|br|caption|center|dd|details|div|dl|dt|figcaption|figure|footer|h[1-6]|header|hr|li|main|nav|ol|"
    r"option|p|pre|section|summary|table|tbody|td|tfoot|th|thead|title|tr|ul)\b",
    re.IGNORECASE,
)
_REPEATED: Final = re.compile(f"[ \t]*[,;]?[ \t]*{_AGAIN}+")
_HOLLOW: Final = re.compile(
    f"[ \t]*(?:\\((?:[\\s,;:–-]*{_HOLE})+[\\s,;:–-]*\\)|\\[(?:\\s*{_HOLE})+\\s*\\]|<(?:\\s*{_HOLE})+\\s*>)"
)
# A hole in a list with commas: its last element, or its first in brackets.
_LISTED: Final = re.compile(
    f"[ \t]*[,;][ \t]*{_HOLE}++(?=[)\\].,;!?]|$)|(?<=\\(){_HOLE}++[,;][ \t]*|{_HOLE}++[,;][ \t]*(?=\\[)"
)
_HELD: Final = re.compile(f"(?P<before>(?:^|(?<=\n)))(?:{_HOLE}[ \t]*)+|[ \t]*{_HOLE}++(?![\\[\\w])|{_HOLE}++")
_LOOKS: Final = re.compile(r"[\[【［〔]\s*\d{1,4}\s*[\]】］〕]")
_NAMES: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_WORD: Final = re.compile(r"\w+")
_BRACKETS: Final = re.compile(r"[\[\]【】<>]|\]?\(|\)(?=\()")
_KEPT_TAGS: Final = re.compile(
    r"</?(?!script|style|iframe|object|embed|form|img|svg|link|meta|a\b|video|audio|base)[^=]*>"
)
_OPENS_TAG: Final = re.compile(r"<(?:[/!?]?[A-Za-z]|!--)")


class Composer:
    """Makes text fit to be shown. It knows the passages of one turn by number: their texts, addresses and titles."""

    def __init__(
        self,
        texts: dict[int, str],
        addresses: dict[int, tuple[str, ...]] | None = None,
        titles: dict[int, str] | None = None,
    ) -> None:
        self._texts = texts
        self._own = {n: frozenset(map(same_address, urls)) for n, urls in (addresses or {}).items()}
        self._titled = {n: frozenset(filter(_NAMES.fullmatch, addresses_in(t))) for n, t in (titles or {}).items()}

    def numbers(self, text: MarkedText) -> tuple[int, ...]:
        """The passages of this turn that the text names, in order, each once."""
        return tuple(dict.fromkeys(n for one in _flat(text.segments) for n in one.numbers if n in self._texts))

    def compose(self, text: MarkedText, cited: AbstractSet[int] = frozenset()) -> Composed:
        """The text as it may be shown. It cites what it names itself; `cited` may lend it their addresses.

        >>> Composer({1: "A node is a process."}).compose(MarkedText("A node (Source 1) runs [9].")).plain.text
        'A node [1] runs.'
        """
        sources = {*self.numbers(text), *cited}
        allowed = self.allowed(sources)
        first = once = Composed(self, allowed, sources)
        first.plain = text.changed(first.run(text.segments))
        for _ in range(4):
            if _is_settled(first.plain, once.shown, allowed):
                return first
            segments = text.segments if once is first else first.plain.segments
            once = Composed(self, allowed, sources, strip=True)
            first.plain = MarkedText(once.run(segments))
        first.plain = MarkedText("")
        return first

    def bare(self, plain: MarkedText) -> str:
        """What a composed text claims: without its markers, and without "According to [1]," before it."""
        return SEE.sub("", _without_lead(plain).bare).strip()

    def clauses(self, plain: MarkedText) -> list[tuple[str, list[int]]]:
        """The parts of a composed text with the markers that end each; empty where fewer than two parts have markers.

        >>> Composer({}).clauses(MarkedText("A node runs [1], and a topic carries messages [2]."))
        [('A node runs', [1]), ('and a topic carries messages', [2])]
        """
        parts: list[tuple[str, list[int]]] = []
        words = ""
        for one in _without_lead(plain).segments:
            if one.kind != "marker":
                words += one.raw
            elif words.strip(_BETWEEN) or not parts:
                parts.append((words.strip(_BETWEEN), list(one.numbers)))
                words = ""
            else:
                parts[-1][1].extend(one.numbers)
        if words.strip(_BETWEEN):  # the last marker covers what follows it
            parts.append((words.strip(_BETWEEN), parts[-1][1] if parts else []))
        return parts if len(parts) > 1 else []

    def only(self, plain: MarkedText, kept: Collection[int]) -> MarkedText:
        """A composed text without the markers of other passages than those kept."""
        parts = [_HOLE if one.kind == "marker" and one.numbers[0] not in kept else one.raw for one in plain.segments]
        return plain.changed(_HELD.sub("", _LISTED.sub("", "".join(parts))))

    def allowed(self, cited: AbstractSet[int]) -> Allowed:
        """The addresses that a text may show which cites these passages, and names like "Crates.io" in their titles.

        A text that cites none, such as a heading, may show such names of all titles.
        """
        found = [addresses_in(self._texts[number]) | self._own.get(number, frozenset()) for number in cited]
        titled = [self._titled.get(number, frozenset()) for number in cited] if cited else self._titled.values()
        return Allowed(frozenset().union(*found, *titled), [self._texts[number] for number in cited])


class Allowed:
    """The addresses that an answer may show, since its cited passages have them.

    A name such as `request.app` reads as a host name. It is an attribute when the passages have each of its words.
    """

    def __init__(self, addresses: frozenset[str], texts: Sequence[str]) -> None:
        self._addresses = addresses
        self._texts = texts

    def __contains__(self, url: str) -> bool:
        return same_address(url) in self._addresses or (_NAMES.fullmatch(url) is not None and self._is_attribute(url))

    def strange(self, text: str) -> list[str]:
        """The addresses in a text that are not allowed."""
        return [url for url in written_addresses(text) if url not in self]

    def _is_attribute(self, name: str) -> bool:
        return self._words.issuperset(re.findall(r"\w+", name.casefold()))

    @cached_property
    def _words(self) -> frozenset[str]:
        """The words of the passages outside their addresses: the "com" of "shop.com" is no word."""
        found: set[str] = set()
        for text in self._texts:
            prose = blanked(text, code_spans(text))
            shown = text.casefold()
            addresses = (one for one in written_addresses(text) if not _NAMES.fullmatch(one))
            for url in [*written_addresses(prose), *addresses]:
                shown = shown.replace(url.casefold(), " ")
            found.update(_WORD.findall(shown))
        return frozenset(found)


class Composed:
    """One reading of a text, and what it found. `strip` also drops the brackets between what is kept.

    `plain` has known markers as `[n]`. `unknown` counts markers that name no passage, `links` removed addresses.
    `holes` are the addresses, and the inline code with an address, that left a gap among the words.
    """

    def __init__(self, composer: Composer, allowed: Allowed, cited: AbstractSet[int], *, strip: bool = False):
        self._known = composer._texts
        self._sources = [composer._texts[number] for number in cited]
        self._allowed = allowed
        self._strip = strip
        self.plain = MarkedText("")
        self.shown: list[tuple[int, ...]] = []
        self.holes: list[str] = []
        self._group: set[int] = set()  # the markers that stand before this place, next to one another
        self.unknown = self.links = 0

    def run(self, segments: Sequence[Segment]) -> str:
        joined = ""
        for segment in segments:
            if segment.kind != "marker" and segment.raw.strip(" \t,;"):
                self._group = set()
            joined += self._one(segment)
        joined = _REPEATED.sub("", joined)
        joined = re.sub(
            rf"(?<=[^\s{_HOLE}{_TAG}{_BREAK}]){_TAG}*{_BREAK}[{_TAG}{_BREAK}]*(?=[\w(\[“\"'`])", " ", joined
        ).replace(_BREAK, _TAG)
        joined = re.sub(rf"(?<=[ \t]){_TAG}+[ \t]+|{_TAG}", "", joined)
        joined = _HOLLOW.sub(_HOLE, _LISTED.sub("", joined))
        return _without_open_tag(_HELD.sub("", joined))

    def _one(self, segment: Segment) -> str:
        match segment.kind:
            case "marker":
                return self._marker(segment)
            case "link":
                return self._link(segment)
            case "tag":
                if self._stands(segment.raw) and _KEPT_TAGS.fullmatch(segment.raw):
                    return self._text(segment.raw)
                self.links += len(self._allowed.strange(segment.raw))
                return _BREAK if _BLOCK_TAG.match(segment.raw) else _TAG
            case "strange" | "author":
                is_the_book_s = self._stands(segment.raw)
                self.unknown += not is_the_book_s
                return segment.raw if is_the_book_s else _HOLE
            case "void":
                self.links += 1
                return _HOLE
            case "code":
                strange = self._allowed.strange(segment.raw)
                self.links += len(strange)
                self.holes += [segment.raw] if strange else []
                return _HOLE if strange else segment.raw
            case _:
                return self._text(segment.raw)

    def _text(self, raw: str) -> str:
        # What follows a marker must not make a link of it.
        if self._strip:
            return _BRACKETS.sub("", raw)
        return f" {raw}" if raw.startswith("(") and self.shown else raw

    def _marker(self, segment: Segment) -> str:
        known = [n for n in segment.numbers if n in self._known]
        self.unknown += len(segment.numbers) - len(known) or (not segment.numbers)
        new = [n for n in known if n not in self._group]
        self._group |= set(new)
        self.shown += [(n,) for n in new]
        return "".join(f"[{n}]" for n in new) or (_AGAIN if known else _HOLE)

    def _link(self, segment: Segment) -> str:
        if not segment.url:  # words with a marker behind them
            return f"{self._nested(segment.words)} "
        if segment.url in self._allowed:
            if not segment.words:
                return segment.raw
            return f"[{self._nested(segment.words)}]({safe_address(segment.url)})"
        self.links += 1
        if words := self._nested(segment.words):
            return words
        self.holes.append(segment.url)
        return _HOLE

    def _nested(self, words: str) -> str:
        return "".join(map(self._one, parse(words))) if words else ""

    def _stands(self, raw: str) -> bool:
        return any(raw in source for source in self._sources)


def _without_open_tag(text: str) -> str:
    """The text without an HTML tag at its end that a line break parts from its end. In code it is no tag."""
    begin = text.rfind("<")
    if begin <= text.rfind(">") or not _OPENS_TAG.match(text, begin):
        return text
    return text if any(start < begin < end for start, end in code_spans(text)) else text[:begin].rstrip()


def _without_lead(plain: MarkedText) -> MarkedText:
    """A composed text without "According to [1]," before it."""
    return plain.changed(ATTRIBUTED.sub(lambda match: match["lead"], plain.text))


def _flat(segments: Sequence[Segment]) -> list[Segment]:
    """The segments, each link preceded by the segments of its words that are no plain text."""
    found: list[Segment] = []
    for one in segments:
        if one.kind == "link" and one.words:
            found += [inner for inner in _flat(parse(one.words)) if inner.kind != "text"]
        found.append(one)
    return found


def _is_settled(plain: MarkedText, shown: Sequence[tuple[int, ...]], allowed: Allowed) -> bool:
    """Whether a reader finds the markers that are meant, nothing that looks like another, and no foreign address."""
    found = _flat(plain.segments)
    if [one.numbers for one in found if one.kind == "marker"] != list(shown):
        return False
    if any(one.kind == "text" and _LOOKS.search(one.raw) for one in found):
        return False
    return all(one.url in allowed for one in found if one.url) and not allowed.strange(plain.text)
