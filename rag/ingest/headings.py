"""Anchors of headings, comparison of titles, and readable names of files."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Unicode categories that a slug keeps: letters, digits, marks and connectors such as `_`.
_SLUG: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "Mn", "Mc", "Me", "Pc"})


class Anchors:
    """The anchors of one page, as GitHub and Docusaurus make them: slugs, and `-1`, `-2` added to repeated ones.

    >>> anchors = Anchors()
    >>> [anchors.next(heading, None) for heading in ("Set up", "Set up", "Set up")]
    ['set-up', 'set-up-1', 'set-up-2']
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def next(self, heading: str, custom: str | None) -> str:
        """The anchor of the next heading. An id that the heading sets itself (`custom`) is never numbered."""
        if custom is not None:
            return custom
        slug = anchor = slugify(heading)
        while anchor in self._seen:
            self._seen[slug] += 1
            anchor = f"{slug}-{self._seen[slug]}"
        self._seen[anchor] = 0
        return anchor


def slugify(heading: str) -> str:
    """Lower case, only letters, digits, marks, `_` and `-`, with a hyphen for every space (github-slugger's rule)."""
    kept = (c for c in heading.lower() if c in "- " or unicodedata.category(c) in _SLUG)
    return "".join(kept).replace(" ", "-")


def same_title(one: str, other: str) -> bool:
    """Whether two titles are equal but for case, spaces and punctuation, such as `ROS 2 Basics` and `ROS2 basics`."""
    return _letters(one) == _letters(other)


def says_it_all(title: str, label: str) -> bool:
    """Whether the title contains every word of the label."""
    return set(re.findall(r"\w+", label.casefold())) <= set(re.findall(r"\w+", title.casefold()))


def readable(name: str) -> str:
    """The name of a file or folder as a title: `getting_started-now` becomes `Getting started now`."""
    words = " ".join(re.split(r"[-_\s]+", name)).strip()
    return words[:1].upper() + words[1:] if words else name


def _letters(title: str) -> str:
    letters = "".join(c for c in title.casefold() if c.isalnum())
    return letters or title
