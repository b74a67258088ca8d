"""Rewrite the links of a page, whose passages are read apart from it.

Every link gets the address that it has on the site, a reference link becomes an inline link, an image its description,
and a footnote its text in parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, urlsplit

from rag.errors import UsageError
from rag.ingest.dialects import pictured
from rag.ingest.page_draft import PageDraft

Resolve = Callable[[str], str]
Unknown = Callable[[str, str], str | None]

_UNSAFE: Final = re.compile(r"[\s()<>]")  # what would end the target of a link
NOTE: Final = 400  # most characters of a footnote that is put into the text; a longer one becomes a paragraph
_TARGET: Final = r"<[^<>\n]{0,2000}>|[^\s()<>]{0,2000}(?:\([^\s()<>]{0,500}\)[^\s()<>]{0,500}){0,3}"
_TITLE: Final = r"(?:[ \t]{0,20}\s(?:\"(?:[^\"\\\n]|\\.){0,500}+\"|'(?:[^'\\\n]|\\.){0,500}+'|\([^()\n]{0,500}\)))?"
_INNER: Final = r"[^\[\]\n]{0,500}+(?:\n[^\[\]\n]{1,500}+){0,3}+"
_LABEL: Final = rf"{_INNER}(?:\[{_INNER}\]{_INNER}){{0,4}}"
_IMAGE: Final = re.compile(
    rf"!\[(?P<alt>{_LABEL})\](?:\([ \t]{{0,3}}(?:{_TARGET}){_TITLE}[^()\n]{{0,50}}\)|\[[^\[\]\n]{{0,200}}\])"
)
_DEFINITION: Final = re.compile(  # it may stand in a list or a quote; code has been masked
    r"^[ \t>]{0,20}\[(?P<label>[^\]\[\n^][^\]\[\n]{0,300})\]:[ \t]{0,40}\n?[ \t]{0,8}"
    rf"(?P<target><[^<>\n]{{0,2000}}>|[^\s<][^\s]{{0,2000}}|){_TITLE}[ \t]*+$\n?",
    re.MULTILINE,
)
_DATA: Final = re.compile(r"\(\s{0,3}<?data:[^\s()<>]*>?")  # a picture in the page, of any length
_INLINE: Final = re.compile(
    rf"(?<=\])\((?P<space>[ \t\n]{{0,3}})(?P<target>{_TARGET})(?P<title>{_TITLE})[ \t\n]{{0,3}}\)"
)
_REFERENCE: Final = re.compile(
    rf"(?<![\\!\]])\[(?P<text>{_LABEL})\](?:\[(?P<label>[^\[\]\n]{{0,300}})\](?!\[)|(?![(\[:]))"
)
_NOTE: Final = re.compile(
    r"^\[\^(?P<name>[^\[\]\s]{1,100})\]:[ \t]*(?P<text>[^\n]*(?:\n(?:[ \t]{2,}[^\n]+|[ \t]*(?=\n(?: {4}|\t)\S)))*)\n?",
    re.MULTILINE,
)
_QUOTED_NOTE: Final = re.compile(
    r"^(?:[ \t]*>)+[ \t]?\[\^(?P<name>[^\[\]\s]{1,100})\]:[ \t]*"
    r"(?P<text>[^\n]*(?:\n(?:[ \t]*>)+[ \t]*(?!\[\^)[^\s>][^\n]*)*)\n?",
    re.MULTILINE,
)
_NOTE_MARK: Final = re.compile(r"[ \t]?\[\^(?P<name>[^\[\]\s]{1,100})\]")


def rewrite_links(draft: PageDraft, resolve: Resolve, unknown: Unknown = lambda *_: None) -> None:
    """Rewrite every link of the draft; `resolve` returns the address of a destination as the page writes it.

    `unknown` returns what a reference becomes whose label is not defined, from its text and its label; None leaves it.
    """
    if "[" not in draft.text:
        return
    text = _DATA.sub("(data:", draft.text)
    text = _footnotes(text) if "[^" in text else text
    text = _IMAGE.sub(_described, text)
    text = _references(draft, text, unknown)
    text = _INLINE.sub(lambda link: f"({_escaped(resolve(link['target'].strip('<>')))})", text)
    text = re.sub(rf"(?<!\\)\[({_LABEL})\]\(\)", r"\1", text)
    draft.text = re.sub(r"(?<!\\)\[\s*\]\([^()\n]*\)", "", text)  # what was only an image without a description


def _described(image: re.Match[str]) -> str:
    """An image as its description, which is marked where the image is a paragraph of its own."""
    text, begin, end = image.string, image.start(), image.end()
    before = text[text.rfind("\n", 0, begin) + 1 : begin]
    after = text[end : text.find("\n", end) if "\n" in text[end:] else len(text)]
    alone = not before.strip(" \t>") and not after.strip()
    return pictured(image["alt"]) if alone else " ".join(image["alt"].split())


def _escaped(address: str) -> str:
    return re.sub(_UNSAFE, lambda sign: quote(sign[0]), address)


def _references(draft: PageDraft, text: str, unknown: Unknown) -> str:
    """The text with its reference links as inline links, and without the definitions that they name."""
    targets: dict[str, str] = {}

    def define(definition: re.Match[str]) -> str:
        target = definition["target"]
        bare = target if target.startswith("<") else _escaped(target)
        targets.setdefault(_key(draft.restored(definition["label"])), bare)
        return ""

    def refer(link: re.Match[str]) -> str:
        label = link["label"] or link["text"]
        target = targets.get(_key(draft.restored(label)))
        if target is not None:
            return f"[{link['text']}]({target})"
        shown = unknown(link["text"], label) if link["label"] is not None else None
        return link[0] if shown is None else shown

    text = _DEFINITION.sub(define, text)
    return _REFERENCE.sub(refer, text) if targets or "][" in text else text


def _key(label: str) -> str:
    return " ".join(label.split()).casefold()


def _footnotes(text: str) -> str:
    """The text with each footnote at its first mark, and long ones as paragraphs where they are defined."""
    notes: dict[str, str] = {}

    def define(note: re.Match[str]) -> str:
        words = " ".join(note["text"].split())
        short = len(words) <= NOTE and "\n\n" not in note["text"]
        notes.setdefault(note["name"], words if short else "")
        return "" if short else re.sub(r"^[ \t]+", "", note["text"], flags=re.MULTILINE) + "\n"

    def define_quoted(note: re.Match[str]) -> str:
        notes.setdefault(note["name"], " ".join(re.sub(r"\n[ \t>]*", " ", note["text"]).split()))
        return ""

    def place(mark: re.Match[str]) -> str:
        words = notes.get(mark["name"])
        if words is None:
            return mark[0]
        notes[mark["name"]] = ""  # a second mark does not repeat it
        return f" ({words})" if words else ""

    return _NOTE_MARK.sub(place, _NOTE.sub(define, _QUOTED_NOTE.sub(define_quoted, text)))


# What stands in an address only percent-encoded, and a percent sign that encodes nothing.
_NOT_IN_ADDRESS: Final = re.compile(r"[\s<>\"{}|\\^`]|%(?![0-9A-Fa-f]{2})")


def checked_base_url(base_url: str) -> str:
    """The address without a trailing slash. Raises `UsageError` unless it is a plain http(s) address."""
    address = base_url.strip()
    try:
        parts = urlsplit(address)
        # A user name and password would be in every citation.
        plain = not (parts.query or parts.fragment or parts.username or parts.password)
        written = address.isprintable() and not _NOT_IN_ADDRESS.search(address) and "[" not in parts.path
        reached = bool(parts.hostname) and parts.hostname != "." and parts.port != 0
        valid = parts.scheme in ("http", "https") and plain and written and reached
    except ValueError:
        valid = False
    if not valid:
        shown = base_url if "@" not in base_url else "https://…@" + base_url.rpartition("@")[2]
        hint = "Give the address of the site, such as --base-url https://example.org/docs."
        raise UsageError(f"The base URL {shown!r} is not a plain web address.", code="base_url", hint=hint)
    return address.rstrip("/")


def page_url(base_url: str, site_path: str) -> str:
    """The address of a page. `site_path` is empty or begins with a slash."""
    return base_url + quote(site_path)


def relative_url(path: str) -> str:
    """The path of a file as a relative address: `javascript:x.md` would begin with a scheme."""
    return f"./{path}" if ":" in path.split("/")[0] else path
