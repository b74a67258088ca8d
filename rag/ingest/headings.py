"""Comparison of titles, and readable names of files."""

from __future__ import annotations

import re
from typing import Final

_LONGEST: Final = 300  # characters of a title
_NUMBER: Final = re.compile(r"\d+\s*[-_.]+\s*(?=[^-_.\s])")
_VERSION_OR_DATE: Final = re.compile(r"\d+[-_.]\d+")


def same_title(one: str, other: str) -> bool:
    """Whether two titles are equal but for case, spaces and punctuation, such as `ROS 2 Basics` and `ROS2 basics`."""
    return title_letters(one) == title_letters(other)


def bounded(title: str) -> str:
    """The title, cut with an ellipsis where it is longer than any that people write: each passage stores its titles.

    >>> len(bounded("x" * 100_000))
    300
    """
    return title if len(title) <= _LONGEST else f"{title[: _LONGEST - 1].rstrip()}…"


def says_it_all(title: str, label: str) -> bool:
    """Whether the title contains every word of the label."""
    return set(re.findall(r"\w+", label.casefold())) <= set(re.findall(r"\w+", title.casefold()))


def readable(name: str) -> str:
    """The name of a file or folder as a title: `getting_started-now` becomes `Getting started now`."""
    words = " ".join(re.split(r"[-_\s]+", name)).strip()
    return words[:1].upper() + words[1:] if words else name


def without_number(name: str) -> str:
    """The name without the number that orders it, by the default rule of Docusaurus. Dates and versions are kept.

    >>> [without_number(name) for name in ("03-nodes", "2021-11-news", "7.0-changes", "module-1-ros2")]
    ['nodes', '2021-11-news', '7.0-changes', 'module-1-ros2']
    """
    number = None if _VERSION_OR_DATE.match(name) else _NUMBER.match(name)
    return name[number.end() :] if number else name


def title_letters(title: str) -> str:
    """What two titles are compared by: their letters and digits; all of a title that has none."""
    letters = "".join(c for c in title.casefold() if c.isalnum())
    return letters or title
