"""The anchors of a page's headings, by the rule of the generator that publishes the page.

A rule takes all headings of a page. An empty `custom` id marks a heading that has no anchor.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

# Unicode categories that a slug keeps: letters, digits, marks and connectors such as `_`.
_SLUG: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "Mn", "Mc", "Me", "Pc"})


class HeadingText(NamedTuple):
    """A heading as its anchor is made from it: its level (1 to 6), its text as it is written, and the id that it sets.

    In `typeset`, two or three hyphens outside code are one dash.
    """

    level: int
    text: str
    custom: str | None = None
    typeset: str = ""


AnchorRule = Callable[[Sequence[HeadingText]], list[str]]


def github_anchors(headings: Sequence[HeadingText]) -> list[str]:
    """GitHub's rule: slugs, and `-1`, `-2` added to repeated ones. An id that a heading sets itself is not numbered.

    >>> github_anchors([HeadingText(2, "Set up")] * 3)
    ['set-up', 'set-up-1', 'set-up-2']
    """
    seen: dict[str, int] = {}
    return [_numbered(slugify(h.text), seen) if h.custom is None else h.custom for h in headings]


def typeset_anchors(headings: Sequence[HeadingText]) -> list[str]:
    """GitHub's rule after a typographer, as in mdBook and Hugo."""
    return github_anchors([h._replace(text=h.typeset) for h in headings])


def docusaurus_anchors(headings: Sequence[HeadingText]) -> list[str]:
    """github-slugger's rule for all headings but those of level 1, which have no anchor on the site."""
    return ["" if h.level == 1 else a for h, a in zip(headings, github_anchors(headings), strict=True)]


def python_markdown_anchors(headings: Sequence[HeadingText], slug: Callable[[str], str]) -> list[str]:
    """Python-Markdown's numbering, by a rule of slugs: `_1`, `_2` are added to ids that are taken.

    >>> python_markdown_anchors([HeadingText(2, "Über uns"), HeadingText(2, "Uber uns")], ascii_slug)
    ['uber-uns', 'uber-uns_1']
    """
    taken = {h.custom for h in headings if h.custom}
    used: dict[str, int] = {}  # for each slug the number up to which all are taken
    anchors = []
    for heading in headings:
        anchor = slug(" ".join(heading.text.split())) if heading.custom is None else heading.custom
        if heading.custom is None and (not anchor or anchor in taken):
            found = re.fullmatch(r"(.*)_([0-9]+)", anchor)
            base, number = (found[1], int(found[2])) if found else (anchor, 0)
            number = max(number, used.get(base, 0))
            while (anchor := f"{base}_{number + 1}") in taken:
                number += 1
            used[base] = number + 1
        taken.add(anchor)
        anchors.append(anchor)
    return anchors


def ascii_slug(text: str, separator: str = "-") -> str:
    """The default of `toc.slugify` in Python-Markdown."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^\w\s-]", "", plain).strip().lower()
    return re.sub(rf"[{re.escape(separator)}\s]+", lambda _: separator, plain)


def unicode_slug(text: str, separator: str = "-") -> str:
    """The rule of pymdownx.slugs in lower case, which keeps letters of all scripts."""
    plain = re.sub(r"[^\w\- ]", "", unicodedata.normalize("NFC", text)).strip().lower()
    return plain.replace(" ", separator)


def notebook_anchors(headings: Sequence[HeadingText]) -> list[str]:
    """The rule of nbconvert: the heading as it is, with hyphens for its spaces.

    >>> notebook_anchors([HeadingText(2, "Load the Data")])
    ['Load-the-Data']
    """
    return ["-".join(h.text.split()) if h.custom is None else h.custom for h in headings]


def slugify(heading: str) -> str:
    """Lower case, only letters, digits, marks, `_` and `-`, with a hyphen for every space (github-slugger's rule)."""
    kept = (c for c in heading.lower() if c in "- " or unicodedata.category(c) in _SLUG)
    return "".join(kept).replace(" ", "-")


def _numbered(slug: str, seen: dict[str, int]) -> str:
    """github-slugger's numbering: a number is skipped where the numbered slug is taken."""
    anchor = slug
    while anchor in seen:
        seen[slug] += 1
        anchor = f"{slug}-{seen[slug]}"
    seen[anchor] = 0
    return anchor
