"""What a model writes beside words: citation markers, links, addresses, tags. One parser reads all of it.

`parse` cuts a text into segments in one pass. `rag.answer.compose` decides what becomes of a segment, since an address
may stay only where the cited passage has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from rag.text.english.orders import without_orders
from rag.text.sentences import code_spans

URL: Final = r"[^\s<>\"`\[\]|“”]"  # a character of an address; the backslash too, which browsers read as a slash
# Names without a scheme count as addresses where they end in one of these, since programs make links of them. Endings
# that files have too (.md, .py, .rs, .sh) are not among them.
_ENDINGS: Final = (
    "com|org|net|edu|gov|info|biz|io|ai|app|dev|xyz|site|online|shop|store|club|top|link|live|icu|tech|cloud|space|"
    "website|page|fun|vip|win|work|ru|cn|uk|de|fr|eu|us|ca|jp|br|in|co|tv|gg|ly|to|me|pl|nl|ch|se|kr|pro|mobi|museum|"
    r"name|zip|mov|рф|рус|укр|бел|中国|xn--[a-z0-9-]{2,59}|example|test|invalid|onion"
)
_BARE: Final = re.compile(
    rf"[.．｡](?:{_ENDINGS})(?![A-Za-z0-9_-]|\.[A-Za-z0-9])(?::\d{{1,5}})?(?:[/?#]{URL}{{0,500}})?"
    r"|@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}",
    re.IGNORECASE,
)
_HOST_NAME: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]{1,15}:[/\\]{0,3}|//)?[\w.+%@-]{0,200}[\w-]$")
_ADDRESS: Final = re.compile(rf"(?:https?://|ftp://|www\.|mailto:){URL}{{1,2000}}", re.IGNORECASE)
_DESTINATION: Final = re.compile(r"\]\([ \t]{0,3}<?([^\s()<>]{1,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200}){0,3})")


def bare_names(text: str) -> list[tuple[int, int]]:
    """Spans of host names and mail addresses without a scheme, such as `shop.example.com/x`, in order."""
    spans: list[tuple[int, int]] = []
    for match in _BARE.finditer(text):
        begin = spans[-1][1] if spans else 0
        if spans and match.start() == begin:  # one word with the address before it
            spans[-1] = (spans[-1][0], begin + len(trimmed(match[0])))
            continue
        name = _HOST_NAME.search(text[max(begin, match.start() - 201) : match.start()])
        if name and (match[0][0] == "@" or re.search(r"[^\W\d_]", name[0])):
            start = match.start() - len(name[0])
            spans.append((start, start + len(trimmed(text[start : match.end()]))))
    return spans


def trimmed(url: str) -> str:
    """The address without the punctuation of the sentence behind it; a closing parenthesis stays with its opening."""
    while url:
        last = url[-1]
        if last in ".,;:!?'*_~\\{}。，、）】」’…" or (last == ")" and url.count(")") > url.count("(")):
            url = url[:-1]
        else:
            break
    return url


def same_address(url: str) -> str:
    """A form in which addresses are compared: unquoted, without scheme, `www.` and a slash at the end."""
    plain = re.sub(r"\\([_*~])", r"\1", url.strip().strip("<>"))  # escapes of Markdown
    bare = re.sub(r"^(?:[a-z]+://|mailto:)", "", unquote(plain).casefold())
    return bare.removeprefix("www.").rstrip("/")


def addresses_in(text: str) -> frozenset[str]:
    """Every address that the text states, in the form of `same_address`; not those in orders to a reader of it."""
    text = without_orders(text)
    links = [match[1] for match in _DESTINATION.finditer(text)]
    return frozenset(map(same_address, written_addresses(text) + links))


def written_addresses(text: str) -> list[str]:
    """The addresses in the text as they are written, code or not, the longest first."""
    found = [trimmed(match[0]) for match in _ADDRESS.finditer(text)]
    found += [text[start:end] for start, end in bare_names(text)]
    return sorted(set(found), key=len, reverse=True)


def safe_address(url: str) -> str:
    """An address to write behind a link's words: nothing in it ends the link, and no scheme of it runs a program."""
    text = re.sub(r"\s", "%20", url.strip())
    for sign in "<>\\\"'`":
        text = text.replace(sign, f"%{ord(sign):02X}")
    if text.count("(") != text.count(")") or text.find(")") < text.find("("):
        text = text.replace("(", "%28").replace(")", "%29")
    return text if _scheme(text) in ("", "http", "https") else "#"


def _scheme(url: str) -> str:
    try:
        return urlsplit(url).scheme.lower()
    except ValueError:
        return "unreadable"


Kind = Literal["text", "code", "marker", "link", "tag", "author", "strange", "void"]

_GAP: Final = r"[ \t]{0,3}+"
DASHES: Final = "‐‑‒–—―−~-"
_SEP: Final = rf"(?:[ \t]{{0,3}}+(?:,[ \t]{{0,3}}and|[,;/{DASHES}]|and|to|&)[ \t]{{0,3}}+)"
_WORD: Final = (
    r"(?:[Ss]ources?|[Pp]assages?|[Rr]ef(?:erence)?s?|[Cc]it(?:e|ations?)|[Dd]oc(?:ument)?s?|[Cc]hunks?|[Cc]ontext)"
)
_NUMBER: Final = rf"(?:{_WORD}[ \t:.#№]{{0,3}}+|[#№])?+\d{{1,4}}+"
_NUMBERS: Final = rf"{_NUMBER}(?:{_SEP}{_NUMBER}){{0,20}}+"
_PLACE: Final = (
    r"(?:[ \t]?(?:†|:[ \t]|,[ \t](?=p\.|pp\.|page|sec|ch|line|§))[^\[\]【】\n]{0,80})?"  # [1†source], [1, p. 3]
)
_DEST: Final = (
    r"\([ \t]{0,3}(?P<%s><[^<>\n]{0,2000}>|[^\s()<>]{0,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200}){0,3})"
    r"(?:[ \t]{1,3}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'))?[ \t]{0,3}\)"
)
_INNER: Final = r"(?:\\.|[^\[\]\\\n]{1,300}+){0,20}+"
_LABEL: Final = rf"(?:\\.|[^\[\]\\\n]{{1,300}}+|\[{_INNER}\](?:\([^()\s]{{0,500}}+\))?+){{0,20}}+"
_NAME: Final = r"[A-Z][\w'’-]{1,40}(?:,? (?:et al\.?|and|&|[A-Z][\w'’.-]{0,40})){0,6}"
_WORK: Final = rf"{_NAME},? (?:1[5-9]|20)\d\d[a-z]?(?:, pp?\. ?\d{{1,5}})?"
_BRACKETED: Final = (
    rf"\[(?P<square>(?P<two>\[)?[\^†]?{_GAP}(?P<n1>{_NUMBERS}){_PLACE}{_GAP}\](?(two)\]))(?:{_DEST % 'd1'})?",
    rf"\[(?P<label>{_LABEL})\](?:{_DEST % 'd2'}|(?P<ref>\[\^?{_GAP}{_NUMBERS}{_GAP}\]))",
    rf"[【［〔](?:{_GAP}(?P<n2>{_NUMBERS}){_PLACE}|(?P<odd>[^【】［］\n]{{0,100}}†[^【】［］\n]{{0,100}})){_GAP}[】］〕]",
    rf"!\[(?P<image>{_LABEL})\](?:{_DEST % 'd3'}|\[[^\[\]\n]{{0,100}}\])",
    rf"\[(?P<strange>[ \t^†+{DASHES}]{{0,3}}\d[\d \t.,;:/&+#^{DASHES}]{{0,300}}+)\]",
    rf"\[(?P<author2>(?:see |cf\. )?{_WORK}(?:; ?{_WORK}){{0,5}})\](?!\()",
)
_OTHERS: Final = (
    rf"<[sS][uU][pP]>[ \t]?\[?(?P<n3>{_NUMBERS})\]?[ \t]?</[sS][uU][pP]>",
    r"<(?P<auto>(?:[A-Za-z][A-Za-z0-9+.-]{1,20}:|www\.)[^<>\s]{0,2000}|[^<>\s@]{1,100}@[^<>\s]{1,200})>",
    r"<(?P<tag>!--(?:[^-]|-(?!->)){0,2000}-->|[/!?]?[A-Za-z][A-Za-z0-9-]{0,30}(?:[\s/][^<>]{0,2000})?>)",
    rf"\((?:see )?(?P<n4>{_WORD}[ \t:.#]{{0,3}}{_NUMBERS})\)",
    rf"\((?:(?<=[Ss]ource \()|(?<=ources \()|(?<=assage \()|(?<=assages \())(?P<n5>{_NUMBERS})\)",
    rf"\((?P<author>(?:see |cf\. |e\.g\.,? )?{_WORK}(?:; ?{_WORK}){{0,5}})\)",
    *(rf"{first}(?P<url{first}>{rest}{URL}{{1,2000}})" for first, rest in (
        ("h", "(?:[tT]{2}[pP][sS]?://)"), ("H", "(?:[tT]{2}[pP][sS]?://)"), ("f", "(?:tps?://|ile://)"),
        ("w", r"[wW]{2}\."), ("W", r"[wW]{2}\."), ("m", "ailto:"), ("j", "avascript:"), ("d", "ata:[a-z]+/"),
    )),
)  # fmt: skip
# Every branch begins with a literal sign, so the engine skips to the next of these signs without trying the branches.
_TOKEN: Final = re.compile("|".join(_BRACKETED + _OTHERS))
_UNBRACKETED: Final = re.compile("|".join(_OTHERS))
_REACH: Final = 2600  # code points of a token behind its last closing bracket, at most
_NUMBER_IN: Final = re.compile(rf"\d{{1,4}}|[{DASHES}]|\bto\b")
LONGEST_RANGE: Final = 20


class Segment(NamedTuple):
    """A stretch of the text, `raw`. A marker has `numbers`, none where it names no number that could be one.

    A link has its `words` (a text of its own) and its `url`; "void" is what goes without a word, such as an image, and
    "strange" a number in brackets that is no marker's: `[-1]`, `[1.5]`, `[123456]`.
    """

    kind: Kind
    raw: str
    numbers: tuple[int, ...] = ()
    words: str = ""
    url: str = ""


def parse(text: str) -> list[Segment]:
    """The text in segments; their `raw` joined is the text. Takes time in proportion to the text, whatever it is."""
    found: list[Segment] = []
    position = 0
    closed = max(map(text.rfind, "]】］〕"))
    for start, end in [*(code_spans(text) if "`" in text else []), (len(text), len(text))]:
        position = _read(text, position, start, closed, found)
        if end > position:
            found.append(Segment("code", text[position:end]))
            position = end
    return found


def _next(text: str, position: int, closed: int) -> re.Match[str] | None:
    """The next token. Behind the last closing bracket, at `closed`, an opening one opens nothing."""
    found = _TOKEN.search(text, position, closed + _REACH) if position <= closed else None
    return found or _UNBRACKETED.search(text, position)


def _read(text: str, begin: int, end: int, closed: int, found: list[Segment]) -> int:
    """Read up to inline code; return where that begins to count, since a link may hold code in its words."""
    position = begin
    while (match := _next(text, position, closed)) and match.start() < end:
        segment = _segment(match)
        found.extend(_words(text[position : match.start()]))
        found.append(segment)
        position = match.start() + len(segment.raw)
    if position < end:
        found.extend(_words(text[position:end]))
    return max(position, end)


def _words(text: str) -> Iterator[Segment]:
    """Text between two tokens, host names in it apart."""
    position = 0
    for start, end in bare_names(text):
        if start > position:
            yield Segment("text", text[position:start])
        yield Segment("link", text[start:end], url=text[start:end])
        position = end
    if position < len(text):
        yield Segment("text", text[position:])


def _segment(match: re.Match[str]) -> Segment:
    raw, name = match[0], match.lastgroup or ""
    if name in _MARKERS:
        return Segment("marker", raw, expand(match[_MARKERS[name]] or ""))
    if name in ("label", "d2", "ref"):
        return _link(match)
    if name == "auto":
        return Segment("link", raw, url=match["auto"])
    if name == "tag":
        return Segment("tag", raw)
    if name in ("image", "d3"):
        return Segment("void", raw)
    if name == "strange":
        return Segment("strange", raw)
    if name in ("author", "author2"):
        return Segment("author", raw, words=match[name])
    url = trimmed(raw) or raw
    return Segment("link", url, url=url)


# The last group of each form of a marker, and the group of its numbers.
_MARKERS: Final = {"square": "n1", "d1": "n1", "n2": "n2", "odd": "n2", "n3": "n3", "n4": "n4", "n5": "n5"}


def _link(match: re.Match[str]) -> Segment:
    """A link in line; `[words][1]` is words with a marker behind them, which is read next."""
    if match["ref"] is not None:
        return Segment("link", match[0].removesuffix(match["ref"]), words=match["label"])
    return Segment("link", match[0], words=match["label"], url=match["d2"].strip("<>"))


def expand(numbers: str) -> tuple[int, ...]:
    """`1, 3-5` → (1, 3, 4, 5); a range is at most twenty long, so that `1-9999` is not ten thousand markers."""
    found: list[int] = []
    ranged = False
    for part in _NUMBER_IN.findall(numbers):
        if not part[0].isdigit():
            ranged = True
            continue
        number = int(part)
        if ranged and found and found[-1] < number < found[-1] + LONGEST_RANGE:
            found += range(found[-1] + 1, number)
        found.append(number)
        ranged = False
    return tuple(dict.fromkeys(found))


def without_markers(text: str) -> str:
    """The text without its citation markers and the space before each; code is left alone."""
    return MarkedText(text).bare


class MarkedText:
    """A text with its segments, parsed once, when they are first asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __bool__(self) -> bool:
        return bool(self.text)

    def changed(self, text: str) -> MarkedText:
        """The given text; this very object where nothing has changed."""
        return self if text == self.text else MarkedText(text)

    @cached_property
    def segments(self) -> list[Segment]:
        return parse(self.text)

    @cached_property
    def bare(self) -> str:
        """The text without its citation markers and the space before each; code is left alone."""
        kept: list[str] = []
        for segment in self.segments:
            if segment.kind == "marker":
                if kept:
                    kept[-1] = kept[-1].rstrip(" \t")
            else:
                kept.append(segment.raw)
        return "".join(kept)
