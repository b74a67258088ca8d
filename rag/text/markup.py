"""What of a text is more than words: citation markers, links, addresses, tags, and characters that nobody sees.

`parse` cuts a text into segments in one pass. `rag.answer.sanitizer` decides which are kept.

`visible` removes what a reader cannot see: escape sequences, control characters, zero-width and direction marks, hidden
tags. They can repaint a terminal, hide an order or disguise a line. Stored text is never changed, since citations count
its code points; it is cleaned on its way into a prompt or onto a screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final, Literal, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from rag.text.english import word_lists as cited
from rag.text.orders import stated
from rag.text.sentences import code_spans

SegmentKind = Literal["text", "code", "marker", "link", "tag", "author", "strange", "void"]

# A character of an address; the backslash too, which browsers read as a slash.
_URL_SIGN: Final = r"[^\s<>\"`\[\]|“”]"
# A name that ends in one of these counts as an address without a scheme, since chat clients turn it into a link.
# Endings that files share (.md, .py, .rs, .sh) are missing.
_TOP_LEVEL_DOMAINS: Final = (
    "com|org|net|edu|gov|info|biz|io|ai|app|dev|xyz|site|online|shop|store|club|top|link|live|icu|tech|cloud|space|"
    "website|page|fun|vip|win|work|ru|cn|uk|de|fr|eu|us|ca|jp|br|in|co|tv|gg|ly|to|me|pl|nl|ch|se|kr|pro|mobi|museum|"
    r"name|zip|mov|рф|рус|укр|бел|中国|xn--[a-z0-9-]{2,59}|example|test|invalid|onion"
)
_BARE_HOST_END: Final = re.compile(
    rf"[.．｡](?:{_TOP_LEVEL_DOMAINS})(?![A-Za-z0-9_-]|\.[A-Za-z0-9])(?::\d{{1,5}})?(?:[/?#]{_URL_SIGN}{{0,500}})?"
    r"|@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"
    # s3://bucket/x, magnet:?xt=x; `gs://` alone is a scheme
    r"|:(?:(?:(?<=[a-z]:)(?<!http:)(?<!https:)(?<!ftp:)|(?<=[a-z]\d:))//(?=[/.]{0,3}\w)|(?<=magnet:)\?"
    rf"|(?:{cited.AFTER_SCHEME})(?=\w|\+\d))"
    rf"{_URL_SIGN}{{1,2000}}",
    re.IGNORECASE,
)
_HOST_START: Final = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]{1,15}:[/\\]{0,3}|//)?[\w.+%@-]{0,200}[\w-]\Z"
)  # `$` would look across a line break
_ADDRESS: Final = re.compile(rf"(?:https?://|ftp://|www\.|mailto:){_URL_SIGN}{{1,2000}}", re.IGNORECASE)
_DESTINATION: Final = re.compile(r"\]\([ \t]{0,3}<?([^\s()<>]{1,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200}){0,3})")

_WEB_HOST: Final = re.compile(r"https?://[\w.:\[\]-]+", re.IGNORECASE)
_MARKUP_SIGN: Final = re.compile(r"[\s<>\[\]\\\"'`|]")

_GAP: Final = r"[ \t]{0,3}+"
_SEPARATOR: Final = rf"(?:[ \t]{{0,3}}+{cited.SEPARATOR}[ \t]{{0,3}}+)"
_NUMBER: Final = rf"(?:{cited.SOURCE_WORD}[ \t:.#№]{{0,3}}+|[#№])?+\d{{1,4}}+"
_NUMBERS: Final = rf"{_NUMBER}(?:{_SEPARATOR}{_NUMBER}){{0,20}}+"
# [1†source], [1, p. 3]
_PLACE: Final = rf"(?:[ \t]?(?:†|:[ \t]|,[ \t](?={cited.PLACE_WORD}))[^\[\]【】\n]{{0,80}})?"
_TARGET: Final = (
    r"\([ \t]{0,3}(?P<%s><[^<>\n]{0,2000}>|[^\s()<>]{0,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200}){0,3})"
    r"(?:[ \t]{1,3}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'))?[ \t]{0,3}\)"
)
_INNER: Final = r"(?:\\.|[^\[\]\\\n]{1,300}+){0,20}+"
_LABEL: Final = rf"(?:\\.|[^\[\]\\\n]{{1,300}}+|\[{_INNER}\](?:\([^()\s]{{0,500}}+\))?+){{0,20}}+"
_BRACKETED_FORMS: Final = (
    rf"\[(?P<n6>\d{{1,4}}\][{cited.DASHES}]\[\d{{1,4}})\](?!\()",  # [1]-[3]
    rf"\\\[{_GAP}(?P<n7>{_NUMBERS}){_GAP}\\\]",  # \[1\]
    rf"\[(?P<square>(?P<two>\[)?[\^†]?{_GAP}(?P<n1>{_NUMBERS}){_PLACE}{_GAP}\](?(two)\]))(?:{_TARGET % 'd1'})?",
    rf"\[(?P<label>{_LABEL})\](?:{_TARGET % 'd2'}|(?P<ref>\[\^?{_GAP}{_NUMBERS}{_GAP}\]))",
    rf"[【［〔](?:{_GAP}(?P<n2>{_NUMBERS}){_PLACE}|(?P<odd>[^【】［］\n]{{0,100}}†[^【】［］\n]{{0,100}})){_GAP}[】］〕]",
    rf"!\[(?P<image>{_LABEL})\](?:{_TARGET % 'd3'}|\[[^\[\]\n]{{0,100}}\])",
    rf"\[(?P<strange>[ \t^†+{cited.DASHES}]{{0,3}}\d[\d \t.,;:/&+#^{cited.DASHES}]{{0,300}}+)\]",
    rf"\[(?P<author2>{cited.WORKS})\](?!\()",
)
_UNBRACKETED_FORMS: Final = (
    rf"<[sS][uU][pP]>[ \t]?\[?(?P<n3>{_NUMBERS})\]?[ \t]?</[sS][uU][pP]>",
    r"<(?P<auto>(?:[A-Za-z][A-Za-z0-9+.-]{1,20}:|www\.)[^<>\s]{0,2000}|[^<>\s@]{1,100}@[^<>\s]{1,200})>",
    r"<(?P<script>(?i:(?:script|style)(?:\s[^<>]{0,500})?>(?:[^<]|<(?!/s)){0,2000}</(?:script|style)\s{0,9})>)",
    r"<(?P<tag>!--(?:[^-]|-(?!->)){0,2000}-->|[/!?]?[A-Za-z][A-Za-z0-9-]{0,30}(?:[\s/][^<>]{0,2000})?>)",
    rf"\({cited.SEE}(?P<n4>{cited.SOURCE_WORD}[ \t:.#]{{0,3}}{_NUMBERS})\)",
    rf"\({cited.AFTER_SOURCE_WORD}(?P<n5>{_NUMBERS})\)",
    rf"\((?P<author>{cited.WORKS_IN_PARENTHESES})\)",
    *(rf"{first}(?P<url{first}>{rest}{_URL_SIGN}{{1,2000}})" for first, rest in (
        ("h", "(?:[tT]{2}[pP][sS]?://)"), ("H", "(?:[tT]{2}[pP][sS]?://)"), ("f", "(?:tps?://|ile://)"),
        ("w", r"[wW]{2}\."), ("W", r"[wW]{2}\."), ("m", "ailto:"), ("j", "avascript:"), ("d", "ata:[a-z]+/"),
    )),
)  # fmt: skip
# Every branch begins with a literal character, so that the engine skips to the next one without trying the branches.
_TOKEN: Final = re.compile("|".join(_BRACKETED_FORMS + _UNBRACKETED_FORMS))
_UNBRACKETED: Final = re.compile("|".join(_UNBRACKETED_FORMS))
# Code points that a token may extend beyond the last closing bracket of the text.
_LONGEST_TOKEN_END: Final = 2600
_NUMBER_OR_RANGE: Final = re.compile(rf"\d{{1,4}}|{cited.RANGE_SIGN}")
MOST_PASSAGES: Final = 99  # of a turn; a larger number with an address is that of an issue or the like
_LONGEST_RANGE: Final = 20  # markers; "1-9999" is not ten thousand of them
# The last group of each form of marker, and the group that holds its numbers.
_MARKER_GROUPS: Final = {"square": "n1", "d1": "n1", "n2": "n2", "odd": "n2", "n3": "n3", "n4": "n4", "n5": "n5",
                         "n6": "n6", "n7": "n7"}  # fmt: skip

# Escape sequences (ECMA-48): CSI with its parameters, OSC such as a hyperlink, and two-byte sequences.
_SEQUENCE: Final = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    "|(?:\x1b\\]|\x9d)[^\x07\x1b\x9c\n]{0,2000}(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]{0,8}[0-Z\\\\^-~]"
)
# An escape sequence that the end of the text cuts off.
OPEN_SEQUENCE: Final = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}$|(?:\x1b\\]|\x9d)[^\x07\x1b\x9c\n]{0,2000}\x1b?$|\x1b[ -/]{0,8}$"
)
# Control characters except tab and line feed; soft hyphen; direction marks, zero-width and invisible mathematical
# characters; interlinear anchors; lone surrogates; variation selectors and tags, which can spell out hidden text.
HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
# What JSON may hold as it is and a terminal must not get: the hidden characters, and the separators of lines.
UNPRINTABLE: Final = re.compile(f"{HIDDEN.pattern}|[\u2028\u2029]")
_LINE_BREAK: Final = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_BREAKS: Final = {ord("\n"): " ", ord("\t"): " "}
_CONTROLS: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
# They stand for brackets around numbers that are the book's own and no marker; no visible text has these characters.
BOOK_BRACKETS: Final = "\x04\x05"
_WRITTEN: Final = str.maketrans(BOOK_BRACKETS, "[]")


class Segment(NamedTuple):
    """A stretch of the text, `raw`, of one kind.

    A "marker" has the `numbers` that it cites, possibly none. A "tag" of a script has its code with it. A "link" has
    its `words`, maybe with markup, and its `url`. An "author" is a citation by name and year. "void" is an image.
    "strange" is a number in brackets that cannot be a marker: `[-1]`, `[1.5]`, `[123456]`.
    """

    kind: SegmentKind
    raw: str
    numbers: tuple[int, ...] = ()
    words: str = ""
    url: str = ""


def parse(text: str) -> list[Segment]:
    """Cut the text into segments; their `raw` joined is the text. Linear in the length of the text.

    >>> [(segment.kind, segment.raw) for segment in parse("`a[0]` is 5[1] https://a.org.")]
    [('code', '`a[0]`'), ('text', ' is 5'), ('marker', '[1]'), ('text', ' '), ('link', 'https://a.org'), ('text', '.')]
    """
    found: list[Segment] = []
    position = 0
    closed = max(map(text.rfind, "]】］〕"))
    for start, end in [*(code_spans(text) if "`" in text else []), (len(text), len(text))]:
        position = _read(text, position, start, closed, found)
        if end > position:
            found.append(Segment("code", text[position:end]))
            position = end
    return found


def _read(text: str, begin: int, end: int, closed: int, found: list[Segment]) -> int:
    """Append the segments of `text[begin:end]`; return their end, which is later if a link's words hold the code."""
    position = begin
    while (match := _next(text, position, closed)) and match.start() < end:
        segment = _segment(match)
        found.extend(_words(text[position : match.start()]))
        found.append(segment)
        position = match.start() + len(segment.raw)
    if position < end:
        found.extend(_words(text[position:end]))
    return max(position, end)


def _next(text: str, position: int, closed: int) -> re.Match[str] | None:
    """The next token. After the last closing bracket, at `closed`, no bracket can open one."""
    found = _TOKEN.search(text, position, closed + _LONGEST_TOKEN_END) if position <= closed else None
    return found or _UNBRACKETED.search(text, position)


def _words(text: str) -> Iterator[Segment]:
    """The segments of the text between two tokens; host names become links."""
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
    if name in _MARKER_GROUPS:
        numbers = expand(match[_MARKER_GROUPS[name]] or "")
        if name == "d1" and (raw[1] in "#№" or min(numbers, default=0) > MOST_PASSAGES):
            return Segment("link", raw, words=match["n1"], url=match["d1"].strip("<>"))  # an issue: [#186](...)
        return Segment("marker", raw, numbers)
    if name in ("label", "d2", "ref"):
        return _link(match)
    if name == "auto":
        return Segment("link", raw, url=match["auto"])
    if name in ("tag", "script"):
        return Segment("tag", raw)
    if name in ("image", "d3"):
        return Segment("void", raw)
    if name == "strange":
        return Segment("strange", raw)
    if name in ("author", "author2"):
        return Segment("author", raw, words=match[name])
    url = trimmed(raw) or raw
    return Segment("link", url, url=url)


def _link(match: re.Match[str]) -> Segment:
    """An inline link. Of `[words][1]` only `[words]`: the marker is the next token."""
    if match["ref"] is not None:
        return Segment("link", match[0].removesuffix(match["ref"]), words=match["label"])
    return Segment("link", match[0], words=match["label"], url=match["d2"].strip("<>"))


def expand(numbers: str) -> tuple[int, ...]:
    """The numbers that a marker cites, each once.

    >>> expand("1, 3-5, 3")
    (1, 3, 4, 5)
    """
    found: list[int] = []
    in_range = False
    for part in _NUMBER_OR_RANGE.findall(numbers):
        if not part[0].isdigit():
            in_range = True
            continue
        number = int(part)
        if in_range and found and found[-1] < number < found[-1] + _LONGEST_RANGE:
            found += range(found[-1] + 1, number)
        found.append(number)
        in_range = False
    return tuple(dict.fromkeys(found))


def without_markers(text: str) -> str:
    """The text without its citation markers and the space before each; code is left alone."""
    return MarkedText(text).bare


class MarkedText:
    """A text with its segments, parsed once, when they are first asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

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
        return as_written("".join(kept))


def as_written(text: str) -> str:
    """The text with the book's own brackets as they are shown."""
    return text.translate(_WRITTEN)


def addresses_in(text: str) -> frozenset[str]:
    """Every address in the text, in the form of `same_address`, except those in orders to the model."""
    text = stated(text)
    links = [match[1] for match in _DESTINATION.finditer(text)]
    return frozenset(map(same_address, written_addresses(text) + links))


def written_addresses(text: str) -> list[str]:
    """The addresses in the text as written, code included, the longest first."""
    found = [trimmed(match[0]) for match in _ADDRESS.finditer(text)]
    found += [text[start:end] for start, end in bare_names(text)]
    return sorted(set(found), key=lambda one: (-len(one), one))


def bare_names(text: str) -> list[tuple[int, int]]:
    """Spans of host names, mail addresses and addresses of rare schemes, such as `shop.example.com/x`, in order."""
    spans: list[tuple[int, int]] = []
    for match in _BARE_HOST_END.finditer(text):
        begin = spans[-1][1] if spans else 0
        if spans and match.start() == begin:  # continues the address before it
            spans[-1] = (spans[-1][0], begin + len(trimmed(match[0])))
            continue
        name = _HOST_START.search(text[max(begin, match.start() - 201) : match.start()])
        if name and (match[0][0] == "@" or re.search(r"[^\W\d_]", name[0])):
            start = match.start() - len(name[0])
            spans.append((start, start + len(trimmed(text[start : match.end()]))))
    return spans


def trimmed(url: str) -> str:
    """The address without the punctuation after it; a closing parenthesis stays if the address has its opening."""
    while url:
        last = url[-1]
        if last in ".,;:!?'*_~\\{}。，、）】」’…" or (last == ")" and url.count(")") > url.count("(")):
            url = url[:-1]
        else:
            break
    return url


def same_address(url: str) -> str:
    """The form by which addresses are compared: unquoted, without scheme, `www.` and trailing slash."""
    plain = re.sub(r"\\([_*~])", r"\1", url.strip().strip("<>"))  # Markdown escapes
    bare = re.sub(r"^(?:[a-z]+://|mailto:)", "", unquote(plain).casefold())
    return bare.removeprefix("www.").rstrip("/")


def safe_address(url: str) -> str:
    """The address as the target of a Markdown link, escaped so that it cannot end the link; "#" for unsafe schemes."""
    text = re.sub(r"\s", "%20", url.strip())
    for character in "<>\\\"'`":
        text = text.replace(character, f"%{ord(character):02X}")
    if text.count("(") != text.count(")") or text.find(")") < text.find("("):
        text = text.replace("(", "%28").replace(")", "%29")
    return text if _scheme(text) in ("", "http", "https") else "#"


def plain_address(url: str) -> str:
    """The address of a passage as it may stand in Markdown, as text or as the target of a link.

    Signs that would begin a link, a tag or code are percent-encoded, hidden characters are removed, and only a web
    address keeps its scheme, so a file's name cannot run a script.

    >>> [plain_address(url) for url in ("a/b.md#c", "[x](javascript:alert(1)).md", "javascript:alert(1).md")]
    ['a/b.md#c', '%5Bx%5D(javascript:alert(1)).md', 'javascript%3Aalert(1).md']
    """
    text = visible(url.strip())
    scheme = _scheme(text)
    if scheme not in ("", "http", "https"):
        text = text.replace(":", "%3A")
    host = _WEB_HOST.match(text)
    at = host.end() if host else 0  # the brackets of http://[::1]/ stay
    text = text[:at] + _MARKUP_SIGN.sub(lambda sign: quote(sign[0], safe=""), text[at:])
    if text.count("(") != text.count(")") or text.find(")") < text.find("("):
        text = text.replace("(", "%28").replace(")", "%29")
    return text


def _scheme(url: str) -> str:
    try:
        return urlsplit(url).scheme.lower()
    except ValueError:
        return "unreadable"


def without_controls(text: str) -> str:
    """The text without escape sequences and control characters; tab and line breaks stay."""
    return _CONTROLS.sub("", _SEQUENCE.sub("", text))


def is_plain(text: str) -> bool:
    """Whether the text is plain ASCII, as most text is. Takes a tenth of the time of a regex search."""
    return text.isascii() and text.translate(_BREAKS).isprintable()


def visible(text: str, instead: str = "") -> str:
    """The text as a reader sees it. A character `instead` replaces each hidden one, so that offsets stay right."""
    if is_plain(text):
        return text
    if not instead:
        text = _SEQUENCE.sub("", text)
    return HIDDEN.sub(instead, text)


def plain_lines(text: str) -> str:
    """The visible text, with every kind of line break as a line feed."""
    return visible(_LINE_BREAK.sub("\n", text))
