"""Headings: their plain text, their anchor on a site, and names made readable."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

_CUSTOM_ID: Final = re.compile(r"\s*\{#([^{}]*)\}\s*$")
_SLUG: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "Mn", "Mc", "Me", "Pc"})


@cache
def markdown() -> MarkdownIt:
    """CommonMark with tables. HTML is text here: cleaning has removed the tags that were markup."""
    return MarkdownIt("commonmark").enable("table").disable(["html_block", "html_inline"])


def heading_text(token: Token) -> tuple[str, str | None]:
    """The plain text of a heading's inline token, and the id it sets itself (`{#id}`), None where it sets none."""
    text = " ".join("".join(_plain(token.children or [])).split())
    custom = _CUSTOM_ID.search(text)
    return (text[: custom.start()], custom[1].strip()) if custom else (text, None)


def _plain(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "image":
            yield from _plain(token.children or [])
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        else:
            yield token.content


def first_title(text: str) -> str:
    """The text of a page's first heading of the first level; empty where it has none."""
    tokens = markdown().parse(text)
    for n, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h1" and token.level == 0:
            return heading_text(tokens[n + 1])[0]
    return ""


class Anchors:
    """The anchors of one page, as GitHub and Docusaurus make them: slugs, the second of a kind with `-1`."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def next(self, heading: str, custom: str | None) -> str:
        """The anchor of the next heading; an id that the heading sets takes no number."""
        if custom is not None:
            return custom
        slug = anchor = slugify(heading)
        while anchor in self._seen:
            self._seen[slug] += 1
            anchor = f"{slug}-{self._seen[slug]}"
        self._seen[anchor] = 0
        return anchor


def slugify(heading: str) -> str:
    """Lower case, letters, digits, marks, `_` and `-` only, a hyphen for every space (github-slugger's rule)."""
    kept = (c for c in heading.lower() if c in "- " or unicodedata.category(c) in _SLUG)
    return "".join(kept).replace(" ", "-")


def same_title(one: str, other: str) -> bool:
    """Whether two titles read the same: `ROS 2 Basics` and `ROS2 basics` do."""
    return _letters(one) == _letters(other)


def says_it_all(title: str, label: str) -> bool:
    """Whether every word of a label is in the title."""
    return set(re.findall(r"\w+", label.casefold())) <= set(re.findall(r"\w+", title.casefold()))


def _letters(title: str) -> str:
    letters = "".join(c for c in title.casefold() if c.isalnum())
    return letters or title


def readable(name: str) -> str:
    """A file's or folder's name as a title: `getting_started-now` is `Getting started now`."""
    words = " ".join(re.split(r"[-_\s]+", name)).strip()
    return words[:1].upper() + words[1:] if words else name
