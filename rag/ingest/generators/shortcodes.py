"""Hugo's shortcodes (gohugo.io/content-management/shortcodes). Unknown ones are replaced by their inner text."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from rag.ingest.dialects import titled
from rag.ingest.fences import fenced, language_of
from rag.ingest.formats.text_files import front_matter
from rag.ingest.generators.config_files import option
from rag.ingest.generators.generator import PageFile
from rag.ingest.includes import Includes
from rag.ingest.spans import paired

_TAG: Final = re.compile(
    r"\{\{(?P<open>[<%])(?:\s*+(?P<escaped>/\*.{0,2000}?\*/)\s*+"
    r"|\s*+(?P<close>/?)\s*+(?P<name>[\w./-]{1,100}?)(?P<arguments>(?:\s[^{}]{0,4000}?)?)\s*(?P<alone>/?)\s*)"
    r"[>%]\}\}",
    re.DOTALL,
)
_ARGUMENT: Final = re.compile(
    r"(?:(?P<key>[\w-]+)=)?(?:\"(?P<double>(?:[^\"\\]|\\.)*)\"|`(?P<raw>[^`]*)`|(?P<bare>[^\s\"`=]+))"
)
_ADDRESSES: Final = frozenset({"ref", "relref"})
_FIGURES: Final = frozenset({"figure", "img", "image", "imgproc", "picture"})
_FENCES: Final = frozenset({"highlight", "code", "codeblock", "code-toggle", "codenew", "code-block"})
_INCLUDES: Final = frozenset({"include", "readfile", "include-file", "snippet", "content", "code_sample"})
_TABS: Final = frozenset({"tab", "tabitem", "tab-item", "codetab"})
_TITLED: Final = re.compile(
    "note|warning|tip|caution|info|important|danger|alert|hint|callout|admonition|notice|question|success|example|quote"
    "|pageinfo|details|expand|collapse|accordion-item"
)
_FOLDED: Final = frozenset({"details", "expand", "collapse", "accordion-item"})
_SINCE: Final = {"new-in": "New in version {}.", "deprecated-in": "Deprecated in version {}."}


@dataclass(frozen=True, slots=True)
class ShortcodePage:
    """The page that shortcodes stand in, the folders of the files that they name, and the site's parameters."""

    page: PageFile
    folders: Sequence[Path]
    includes: Includes
    params: Mapping[str, Any] = field(default_factory=dict)


class _Open(NamedTuple):
    """A shortcode whose end has not been read yet, and where its inner text begins in the written pieces."""

    name: str
    arguments: dict[str, str]
    begin: int


def expand_shortcodes(text: str, place: ShortcodePage) -> str:
    """The text with its shortcodes replaced. Raises `ValueError` if it includes too much."""
    if "{{" not in text:
        return text
    tags = list(_TAG.finditer(text))
    is_paired = paired(
        None if tag["escaped"] or tag["alone"] else (tag["name"].lower(), bool(tag["close"])) for tag in tags
    )
    pieces: list[str] = []
    stack: list[_Open] = []
    at = 0
    for n, tag in enumerate(tags):
        pieces.append(text[at : tag.start()])
        at = tag.end()
        if tag["escaped"]:
            inner = tag["escaped"][2:-2].strip()
            pieces.append(f"{{{{{tag['open']} {inner} {'>' if tag['open'] == '<' else '%'}}}}}")
        elif tag["close"]:
            if n in is_paired:
                opened = stack.pop()
                inner = "".join(pieces[opened.begin :])
                pieces[opened.begin :] = [_wrapped(opened.name, opened.arguments, inner)]
        elif n in is_paired:
            stack.append(_Open(tag["name"].lower(), _arguments(tag["arguments"]), len(pieces)))
        else:
            pieces.append(_alone(tag["name"].lower(), _arguments(tag["arguments"]), place))
    return "".join(pieces) + text[at:]


def _arguments(text: str) -> dict[str, str]:
    """The arguments of a shortcode, by name or by number."""
    found: dict[str, str] = {}
    for place, argument in enumerate(_ARGUMENT.finditer(text or "")):
        value = next(v for v in (argument["double"], argument["raw"], argument["bare"]) if v is not None)
        found[(argument["key"] or str(place)).lower()] = value.replace('\\"', '"')
    return found


def _first(arguments: dict[str, str], *names: str) -> str:
    return next((arguments[name] for name in names if arguments.get(name)), "")


def _wrapped(name: str, arguments: dict[str, str], inner: str) -> str:
    """What a shortcode with inner text becomes."""
    name = name.rpartition("/")[2]
    if name in _FENCES:
        language = "" if name == "code-toggle" else _first(arguments, "lang", "language", "0")
        return f"\n{fenced(inner.strip(chr(10)), language)}\n"
    if name in _TABS:
        label = _first(arguments, "header", "name", "title", "label", "tabname", "0")
        return f"\n\n{titled(label)}\n\n{inner}\n\n" if label else inner
    if _TITLED.fullmatch(name):
        label = _first(arguments, "title", "summary", "heading", "header")
        if not label and name in _FOLDED:
            label = _first(arguments, "0")
        label = label or _first(arguments, "1") or name.capitalize()
        return f"\n\n{titled(label)}\n\n{inner}\n\n"
    return _caption(arguments) + inner if name in _FIGURES else inner


def _caption(arguments: dict[str, str]) -> str:
    words = _first(arguments, "caption", "title", "alt")
    return f"\n\n{words}\n\n" if words else ""


def _alone(name: str, arguments: dict[str, str], place: ShortcodePage) -> str:
    """What a shortcode without inner text becomes."""
    last = name.rpartition("/")[2]
    if last in _ADDRESSES:
        return _first(arguments, "path", "0")
    if last in _FIGURES:
        return _caption(arguments)
    if last in _INCLUDES or name.startswith("include"):
        return _included(_first(arguments, "file", "path", "0"), place, as_code=last == "code_sample")
    if last in ("param", "params"):
        return _parameter(_first(arguments, "0"), place)
    if last in _SINCE:
        return _SINCE[last].format(_first(arguments, "0").lstrip("v"))
    return _first(arguments, "text")


def _parameter(name: str, place: ShortcodePage) -> str:
    """A parameter of the page, or else of the site, whose names are in lower case."""
    fields, names = place.page.fields, name.split(".")
    own = option(fields.get("params"), *names) or option(fields, *names)
    value = own or option(place.params, *name.lower().split("."))
    return str(value) if isinstance(value, (str, int, float)) else ""


def _included(name: str, place: ShortcodePage, *, as_code: bool) -> str:
    """The text of a file that a shortcode includes, without its front matter."""
    text = place.includes.read(name.lstrip("/"), *place.folders)
    if text is None:
        return ""
    suffix = posixpath.splitext(name)[1].lower()
    if as_code or suffix not in (".md", ".markdown", ".html", ".txt", ""):
        return f"\n{fenced(text.strip(chr(10)), language_of(name))}\n"
    below = replace(place, includes=place.includes.below())
    return expand_shortcodes(front_matter(text)[1], below).strip("\n")
