"""Make a model's text fit to be shown: markers in one form, and no address that the book does not have.

A removal includes the space before it and brackets that become empty. The text around it may then form new markup
(`[1[9]]`, `htt<b>ps://`), so the result is parsed again, and characters that form such markup are dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from rag.answer.cited_passage import ATTRIBUTE, CitedPassage
from rag.answer.lines import AnswerLine
from rag.text.english.phrases import ATTRIBUTED, NEEDS_OBJECT, REFERS, SEE
from rag.text.markup import MarkedText, Segment, as_written, parse, safe_address, same_address, written_addresses
from rag.text.sentences import code_spans
from rag.types import Grounding

_BETWEEN: Final = " \t.,;:|*_"
_HOLE: Final = "\x00"  # in place of something removed; no visible text has this character
_TAG: Final = "\x01"  # in place of a removed tag, which separates no words
_AGAIN: Final = "\x02"  # in place of a repeated marker
_BREAK: Final = "\x03"  # in place of a removed tag of a block, which separates words
_BLOCK_TAG: Final = re.compile(
    r"</?(?:article|blockquote|br|caption|center|dd|details|div|dl|dt|figcaption|figure|footer|h[1-6]|header|hr|li|main|nav|ol|"
    r"option|p|pre|section|summary|table|tbody|td|tfoot|th|thead|title|tr|ul)\b",
    re.IGNORECASE,
)
_TAGS: Final = re.compile(rf"(?P<before>[ \t]*)(?P<tags>[{_TAG}{_BREAK}]+)(?P<after>[ \t]*)(?=(?P<word>[\w(\[“\"'`])?)")
_REPEATED: Final = re.compile(f"[ \t]*[,;]?[ \t]*{_AGAIN}+")
_HOLLOW: Final = re.compile(
    f"[ \t]*(?:\\((?:\\w+[ \t])?(?:[\\s,;:–-]*{_HOLE})+[\\s,;:–-]*\\)"
    f"|\\[(?:\\s*{_HOLE})+\\s*\\]|<(?:\\s*{_HOLE})+\\s*>)"
)
# A hole in a list of markers: its last element, "[1] and _", or its first, also in brackets.
_AND: Final = r"(?:,[ \t]+)?(?:[,;&/–-]|\b(?:and|or|und|et|y|e|en)\b)"
_LISTED: Final = re.compile(
    f"[ \t]*[,;][ \t]*{_HOLE}++(?=[)\\].,;!?]|$)|(?<=\\])[ \t]*{_AND}[ \t]*{_HOLE}++(?=[)\\].,;!?]|$)"
    f"|(?<=\\(){_HOLE}++[,;][ \t]*|{_HOLE}++[ \t]*{_AND}[ \t]*(?=\\[)"
)
_HELD: Final = re.compile(f"(?P<before>(?:^|(?<=\n)))(?:{_HOLE}[ \t]*)+|[ \t]*{_HOLE}++(?![\\[\\w])|{_HOLE}++")
_DANGLING: Final = re.compile(
    f"(?<=[\\w\\])`*]){REFERS}{_HOLE}++\\)?(?=[ \\t]*(?:\\[\\d+\\][ \\t]*)*(?:[.!?]|$))", re.IGNORECASE
)
# Markdown and full stops by which an address is written so that only a reader takes it for one: `evil\.com`.
_DISGUISE: Final = re.compile(r"\\(?=[.\-_:/@])|(?<=\S)\*{1,3}|\*{1,3}(?=\S)|(?<!\w)_{1,2}|_{1,2}(?!\w)")
# Other signs in place of its full stop. Before "com" a comma is one; "N·m", "en,de" and "fin . de" are none.
_GENERIC: Final = "com|org|net|info|biz|xyz"
_DISGUISED_DOT: Final = re.compile(
    r"(?P<host>[\w-]{2,63})(?:[。︒](?=[A-Za-z])"
    r"|(?:[·•․‧∙⋅]| {0,2}[\[({<] ?(?:\.|dot|punkt|punto|point|ponto|punt) ?[\])}>] {0,2})"
    rf"(?=(?:{_GENERIC}|shop|store|online|site|example|de|fr|nl|uk|eu|ru|cn|io|pl|se|ch)\b)"
    rf"| {{1,2}}\. {{0,2}}(?=(?:{_GENERIC}|shop|example|fr|nl|uk|eu|ru|cn)\b)"
    rf"|,(?=(?:{_GENERIC})\b))",
    re.IGNORECASE,
)
_DISGUISED_AT: Final = re.compile(r"(?<=\w) ?[\[({<] ?(?:at|arroba) ?[\])}>] ?(?=[\w-]{1,63}\.\w)", re.IGNORECASE)
_DISGUISED_SCHEME: Final = re.compile(r"\b(?P<scheme>h ?t ?t ?p(?: ?s)?|f ?t ?p) ?:? ?/ ?/ ?(?=\w)", re.IGNORECASE)
_FULL_WIDTH: Final = re.compile("[＠．／０-９Ａ-Ｚａ-ｚ]|：(?=[/／])")
_LOOKS: Final = re.compile(r"[\[【［〔]\s*\d{1,4}\s*[\]】］〕]")
_BRACKETS: Final = re.compile(r"[\[\]【】<>]|\]?\(|\)(?=\()")
_KEPT_TAGS: Final = re.compile(
    r"</?(?!script|style|iframe|object|embed|form|img|svg|link|meta|a\b|video|audio|base)[^=]*>"
)
_OPENS_TAG: Final = re.compile(r"<(?:[/!?]?[A-Za-z]|!--)")


class Sanitizer:
    """Makes text fit to be shown. It knows the passages of one turn by number.

    `links` counts the addresses that it took out of lines, `counts` the markers that name no passage.
    """

    def __init__(self, sources: Mapping[int, CitedPassage], counts: Grounding) -> None:
        self._sources = sources
        self._counts = counts
        self.links = 0

    def numbers(self, text: MarkedText) -> tuple[int, ...]:
        """The passages of this turn that the text names, in order, each once."""
        found = dict.fromkeys(number for segment in _flat(text.segments) for number in segment.numbers)
        return tuple(number for number in found if number in self._sources)

    def clean(self, line: AnswerLine, cited: Iterable[int] = ()) -> Sanitized:
        """Make a line fit to be shown, and count what is taken out of it."""
        sanitized = self.sanitize(line.marked, cited)
        self._counts.unknown_markers += sanitized.unknown
        self.links += sanitized.links
        line.marked = sanitized.plain
        return sanitized

    def sanitize(self, text: MarkedText, cited: Iterable[int] = ()) -> Sanitized:
        """The text as it may be shown. It cites what it names itself; `cited` may lend it their addresses.

        >>> Sanitizer({}, Grounding()).sanitize(MarkedText("A node <b>runs (Source 9).")).plain.text
        'A node runs.'
        """
        allowed = self.allowed({*self.numbers(text), *cited})
        text = text.changed(allowed.revealed(text.text))
        first = once = Sanitized(self._sources, allowed)
        first.plain = text.changed(first.run(text.segments))
        for _ in range(4):
            if _is_settled(first.plain, once.shown, allowed):
                return first
            segments = text.segments if once is first else first.plain.segments
            once = Sanitized(self._sources, allowed, strip=True)
            first.plain = MarkedText(once.run(segments))
        first.plain = MarkedText("")
        return first

    def bare(self, plain: MarkedText) -> str:
        """What a clean text claims: without its markers, and without "According to [1]," before it."""
        return SEE.sub("", _without_lead(plain).bare).strip()

    def clauses(self, plain: MarkedText) -> list[tuple[str, list[int]]]:
        """The parts of a clean text with the markers that end each; empty where fewer than two parts have markers.

        >>> Sanitizer({}, Grounding()).clauses(MarkedText("A node runs [1], and a topic carries messages [2]."))
        [('A node runs', [1]), ('and a topic carries messages', [2])]
        """
        parts: list[tuple[str, list[int]]] = []
        words = ""
        for segment in _without_lead(plain).segments:
            if segment.kind != "marker":
                words += segment.raw
            elif words.strip(_BETWEEN) or not parts:
                parts.append((words.strip(_BETWEEN), list(segment.numbers)))
                words = ""
            else:
                parts[-1][1].extend(segment.numbers)
        if words.strip(_BETWEEN):  # the last marker covers what follows it
            parts.append((words.strip(_BETWEEN), parts[-1][1] if parts else []))
        return [(as_written(words), numbers) for words, numbers in parts] if len(parts) > 1 else []

    def only(self, plain: MarkedText, kept: Collection[int]) -> MarkedText:
        """A clean text without the markers of other passages than those kept."""
        lost = [segment.kind == "marker" and segment.numbers[0] not in kept for segment in plain.segments]
        parts = [_HOLE if is_lost else segment.raw for segment, is_lost in zip(plain.segments, lost, strict=True)]
        return plain.changed(_HELD.sub("", _LISTED.sub("", "".join(parts))))

    def allowed(self, cited: Iterable[int]) -> AllowedAddresses:
        """The addresses that a text may show which cites these passages."""
        return AllowedAddresses([self._sources[number] for number in cited], self._sources.values())


class AllowedAddresses:
    """The addresses that a text may show: those of the passages that it cites.

    A name such as `request.app` is an attribute when they have each of its words. What cites none, such as a heading,
    may show names like "Crates.io" in all titles.
    """

    def __init__(self, cited: Sequence[CitedPassage], turn: Iterable[CitedPassage]) -> None:
        self.cited = cited
        found = (source.addresses for source in cited) if cited else (source.dotted_names for source in turn)
        self._addresses = frozenset[str]().union(*found)

    def __contains__(self, url: str) -> bool:
        words = re.findall(r"\w+", url.casefold()) if ATTRIBUTE.fullmatch(url) else ()
        of_words = words and all(any(word in source.plain_words for source in self.cited) for word in words)
        return same_address(url) in self._addresses or bool(of_words)

    def strange(self, text: str) -> list[str]:
        """The addresses in a text that are not allowed."""
        return [url for url in written_addresses(text) if url not in self]

    def revealed(self, text: str) -> str:
        """The text, or if that shows a strange address which the text disguises, the text in plain letters."""
        plain = self._undisguised(text)
        if plain == text:
            return text
        own = {_DISGUISE.sub("", address) for address in self._addresses}  # "scss/_links.scss" has such a sign itself
        strange = {url for url in self.strange(plain) if same_address(url) not in own}
        return plain if strange - set(self.strange(text)) else text

    def _undisguised(self, text: str) -> str:
        """The text with its addresses in plain letters, where no cited passage has them as they are written."""
        plain = _FULL_WIDTH.sub(lambda sign: unicodedata.normalize("NFKC", sign[0]), _DISGUISE.sub("", text))
        plain = _DISGUISED_SCHEME.sub(lambda found: f"{found['scheme'].replace(' ', '')}://", plain)
        plain = _DISGUISED_DOT.sub(lambda found: found[0] if self._has(found[0]) else f"{found['host']}.", plain)
        return _DISGUISED_AT.sub("@", plain)

    def _has(self, words: str) -> bool:
        return any(words in source.text for source in self.cited)


class Sanitized:
    """One reading of a text, and what it found. `strip` also drops the brackets between what is kept.

    `plain` has known markers as `[n]`. `unknown` counts markers that name no passage, `links` removed addresses.
    `holes` are the addresses, and the inline code with an address, that left a gap among the words; with `stump` a gap
    is the object of the word before it, so that what is left makes no sense.
    """

    def __init__(self, known: Collection[int], allowed: AllowedAddresses, *, strip: bool = False):
        self._known = known
        self._allowed = allowed
        self._strip = strip
        self.plain = MarkedText("")
        self.shown: list[tuple[int, ...]] = []
        self.holes: list[str] = []
        self._group: set[int] = set()  # the markers right before this place
        self.unknown = self.links = 0
        self.stump = False

    def run(self, segments: Sequence[Segment]) -> str:
        joined = ""
        for segment in segments:
            if segment.kind != "marker" and segment.raw.strip(" \t,;"):
                self._group = set()
            holes, shown = len(self.holes), self._one(segment)
            self.stump |= len(self.holes) > holes and NEEDS_OBJECT.search(joined[-40:]) is not None
            joined += shown
        joined = _TAGS.sub(_without_tags, _REPEATED.sub("", joined))
        joined = _DANGLING.sub(_HOLE, _HOLLOW.sub(_HOLE, _LISTED.sub("", joined)))
        return _without_open_tag(_HELD.sub("", joined))

    def _one(self, segment: Segment) -> str:
        match segment.kind:
            case "marker":
                return self._marker(segment)
            case "link":
                return self._link(segment)
            case "tag":
                if self._is_written(segment.raw) and _KEPT_TAGS.fullmatch(segment.raw):
                    return self._text(segment.raw)
                self.links += len(self._allowed.strange(segment.raw))
                return _BREAK if _BLOCK_TAG.match(segment.raw) else _TAG
            case "strange" | "author":
                is_the_book_s = self._is_written(segment.raw)
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
        if not segment.url:  # words with a marker after them
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

    def _is_written(self, raw: str) -> bool:
        return any(raw in source.text for source in self._allowed.cited)


def _without_tags(tags: re.Match[str]) -> str:
    """What stays of removed tags: white space that was on either side, or between words that a block tag parts."""
    parted = _BREAK in tags["tags"] and tags["word"] and tags.string[: tags.start()][-1:].strip(f"\n{_HOLE}")
    return str(tags["before"] or tags["after"] or (" " if parted else ""))


def _without_open_tag(text: str) -> str:
    """The text without an HTML tag at its end that a line break parts from its end. In code it is no tag."""
    begin = text.rfind("<")
    if begin <= text.rfind(">") or not _OPENS_TAG.match(text, begin):
        return text
    return text if any(start < begin < end for start, end in code_spans(text)) else text[:begin].rstrip()


def _without_lead(plain: MarkedText) -> MarkedText:
    """A clean text without "According to [1]," before it."""
    return plain.changed(ATTRIBUTED.sub(lambda match: match["lead"], plain.text))


def _flat(segments: Sequence[Segment]) -> list[Segment]:
    """The segments, each link preceded by the segments of its words that are no plain text."""
    found: list[Segment] = []
    for segment in segments:
        if segment.kind == "link" and segment.words:
            found += [inner for inner in _flat(parse(segment.words)) if inner.kind != "text"]
        found.append(segment)
    return found


def _is_settled(plain: MarkedText, shown: Sequence[tuple[int, ...]], allowed: AllowedAddresses) -> bool:
    """Whether a reader finds the markers that are meant, nothing that looks like another, and no foreign address."""
    found = _flat(plain.segments)
    if [segment.numbers for segment in found if segment.kind == "marker"] != list(shown):
        return False
    looks = any(segment.kind == "text" and _LOOKS.search(segment.raw) for segment in found)
    foreign = any(segment.url not in allowed for segment in found if segment.url)
    return not (looks or foreign or allowed.strange(plain.text))
