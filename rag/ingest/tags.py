"""Remove JSX components and HTML tags from a text whose code is masked, and keep the text that a reader sees.

A tag is removed only if it is certainly one: it closes itself, has a partner, or is one of HTML's void elements. So
`Vec<T>`, `<angle>` and `a < b > c` in prose are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rag.ingest.dialects import pictured
from rag.ingest.spans import paired

_HTML = """
    a abbr address article aside audio b bdi bdo big blockquote body br button caption center cite code col colgroup
    dd del details dfn div dl dt em embed figcaption figure font footer form header hr i iframe img input ins kbd
    label li link main mark meta nav object ol option p param path picture pre q s samp section select small source
    span strike strong sub summary sup svg table tbody td textarea tfoot th thead time title tr track tt u ul var
    video wbr
"""
_VOID = "br col embed hr img input link meta param source track wbr"
_NO_WORDS = "blockquote center dd div dl dt em font li ol p small span strong sub sup table tbody td th thead tr tt ul"
_SPACED = "br dd dt li p td th tr div summary figcaption caption"
HTML: Final = frozenset(_HTML.split())
VOID: Final = frozenset(_VOID.split())
# Nobody writes these in brackets as words of a text, as in `cd <path>`.
NO_WORDS: Final = frozenset(_NO_WORDS.split())
SPACED: Final = frozenset(_SPACED.split())  # replaced by a space, so that texts on both sides stay apart
REACH: Final = 4_000  # most characters of an attribute: without a limit a hostile page takes quadratic time
_OPEN: Final = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w.-]*)(?=[\s/>])")
_BRACKET: Final = re.compile(r"['\"()\[\]{}]")
_ATTRIBUTE: Final = re.compile(r"\s*(?P<key>[A-Za-z_@:][\w:.@-]*)(?P<value>\s*=\s*)?")
_BLANK_END: Final = re.compile(r"[^\S\n]*(?:\n|\Z)")
# Raised letters such as those of `1st` and `1er` mean no power; a note's number without a sign would change a number.
_RAISED: Final = re.compile(
    r"(?P<base>[^\s<>^]|</(?:i|em|b|strong|var|span|code|a)>)<sup(?:\s[^<>]{0,200})?>\s{0,9}"
    r"(?P<power>(?:[-+−–]|&minus;)?(?:\d[\d.,]{0,20}[a-z]?|[ijkmnpqtxyzNT]))\s{0,9}</sup>",
)
_LABEL: Final = re.compile(r"label:\s*(['\"])(?P<label>.*?)\1\s*,\s*value:\s*(['\"])(?P<value>.*?)\3")


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag at `text[begin:end]`. An attribute that is an expression (`x={1}`) is stored under its name and `{}`."""

    begin: int
    end: int
    name: str
    attributes: dict[str, str]
    closing: bool
    alone: bool  # `<X />`


def with_powers(text: str) -> str:
    """HTML with `^` in place of the tags around raised numbers: 2^32 is not 232.

    >>> with_powers("10<sup>6</sup>, the 1<sup>st</sup>")
    '10^6, the 1<sup>st</sup>'
    """
    return _RAISED.sub(r"\g<base>^\g<power>", text) if "<sup" in text else text


def balanced(text: str, begin: int, reach: int = REACH) -> int:
    """The index after the bracket that closes the one at `begin`, not counting strings; -1 if none is within `reach`.

    >>> balanced("f(')', [1]) + 2", 1)
    11
    """
    depth, after = 0, begin
    for found in _BRACKET.finditer(text, begin, begin + reach):
        if found.start() < after:
            continue
        if found[0] in "'\"":
            # A string ends on its line; otherwise the quote is an apostrophe in prose.
            close = text.find(found[0], found.end(), begin + reach)
            after = close + 1 if close > 0 and "\n" not in text[found.end() : close] else found.end()
        elif found[0] in "([{":
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return found.end()
    return -1


def read_tag(text: str, begin: int) -> Tag | None:
    """The tag at `begin`, by JSX's grammar: names, quoted values, braces. None if there is no tag."""
    opening = _OPEN.match(text, begin)
    if not opening:
        return None
    attributes: dict[str, str] = {}
    at = opening.end()
    while True:
        ending = re.compile(r"\s*(/?)>").match(text, at)
        if ending:
            return Tag(begin, ending.end(), opening["name"], attributes, bool(opening["close"]), bool(ending[1]))
        spread = re.compile(r"\s*\{").match(text, at)
        attribute = _ATTRIBUTE.match(text, at)
        if spread:
            at = balanced(text, spread.end() - 1)
        elif attribute:
            at = _read_value(text, attribute, attributes)
        if at < 0 or not (spread or attribute):
            return None


def _read_value(text: str, attribute: re.Match[str], attributes: dict[str, str]) -> int:
    """Read the value of an attribute into `attributes`. Returns the index after it, -1 if it is malformed."""
    at = attribute.end()
    if attribute["value"] is None:
        return at
    if text[at : at + 1] == "{":
        end = balanced(text, at)
        inner = text[at + 1 : end - 1].strip()
        if end > 0 and inner[:1] in "'\"\0" and inner[:1] == inner[-1:]:
            attributes[attribute["key"]] = inner.strip("'\"")
        elif end > 0:
            attributes[attribute["key"] + "{}"] = inner
        return end
    quoted = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^\s\"'=<>{}]+)").match(text, at)
    if not quoted:
        return -1
    attributes[attribute["key"]] = " ".join(next(g for g in quoted.groups() if g is not None).split())
    return quoted.end()


def strip_tags(text: str, *, mdx: bool, inline: Callable[[Tag], str | None] = lambda _: None) -> str:
    """The text without components and HTML tags; `inline(tag)` gives what replaces a self-closing component.

    In MDX a component that fills its line is removed even without a partner.
    """
    found = (tag for opening in _OPEN.finditer(text) if (tag := read_tag(text, opening.start())))
    tags = [tag for tag in found if tag.name[0].isupper() or tag.name.lower() in HTML]
    pairs = paired(None if tag.alone else (tag.name, tag.closing) for tag in tags)
    tabs = [tag.attributes.get("values{}", "") for tag in tags if tag.name == "Tabs"]
    labels = {m["value"]: m["label"] for values in tabs for m in _LABEL.finditer(values)}
    pieces: list[str] = []
    at = 0
    written = False  # whether the line so far has text
    for n, tag in enumerate(tags):
        if tag.begin < at or not (n in pairs or _stands_alone(text, tag, mdx=mdx)):
            continue
        before = text[at : tag.begin]
        if starts := not _written(written, before):
            before = before.rstrip(" \t") if tag.name[0].islower() or _fills_line(text, tag) else before
        stand_in = _stand_in(tag, labels, inline, starts=starts, alone=_fills_line(text, tag))
        if stand_in == " " and (text[tag.end : tag.end + 1] or "\n").isspace():
            stand_in = ""
        pieces += [before, stand_in]
        written = _written(_written(written, before), stand_in)
        at = tag.end
    return "".join(pieces) + text[at:]


def _written(before: bool, piece: str) -> bool:
    """Whether the last line has text after a piece was added to it."""
    _, newline, line = piece.rpartition("\n")
    return bool(line.strip()) or (before and not newline)


def _stands_alone(text: str, tag: Tag, *, mdx: bool) -> bool:
    """Whether a tag without a partner is certainly markup: prose has no `</div>` and no `<a href="…">`."""
    if tag.alone or tag.name in VOID or tag.name in NO_WORDS or (mdx and _fills_line(text, tag)):
        return True
    return tag.name in HTML and (any(tag.attributes.values()) or tag.closing)


def _fills_line(text: str, tag: Tag) -> bool:
    """Whether nothing else is in the lines of a tag. Only the blanks around it are read: a line may hold many tags."""
    at = tag.begin
    while at > 0 and text[at - 1] != "\n" and text[at - 1].isspace():
        at -= 1
    return (at == 0 or text[at - 1] == "\n") and _BLANK_END.match(text, tag.end) is not None


def _stand_in(
    tag: Tag, labels: dict[str, str], inline: Callable[[Tag], str | None], *, starts: bool, alone: bool
) -> str:
    """What replaces a tag: a tab's label, a caption, an image's description, or nothing. `alone`: it fills its line."""
    if tag.name[0].islower():
        if tag.name == "img":
            alt = tag.attributes.get("alt", "")
            return pictured(alt) if alone else alt
        if tag.name == "li" and starts and not tag.closing:
            return "- "
        return " " if tag.name in SPACED and not starts else ""
    if tag.alone:
        return inline(tag) or ""
    if tag.closing:
        return ""
    caption = tag.attributes.get("label") or tag.attributes.get("caption") or tag.attributes.get("title") or ""
    if tag.name == "TabItem":
        value = tag.attributes.get("value", "")
        caption = tag.attributes.get("label") or labels.get(value, value)
        return f"\n\n{caption}:\n\n" if caption else ""
    if number := tag.attributes.get("number"):
        caption = f"{tag.name} {number}: {caption}" if caption else f"{tag.name} {number}"
    return f"\n\n{caption}\n\n" if caption and starts else ""
