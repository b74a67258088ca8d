"""Titles: how they are compared, made of the names of files, and chosen for a whole book."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rag.book import Document

_LONGEST: Final = 300  # characters of a title
_NUMBER: Final = re.compile(r"\d+\s*[-_.]+\s*(?=[^-_.\s])")
_SECTION: Final = re.compile(r"\d{1,3}(?:\.\d{1,3})*[.):]?\s+")
_VERSION_OR_DATE: Final = re.compile(r"\d+[-_.]\d+")
# Names of files that hold the title of a book; the earlier, the more likely.
_START: Final = ("title-page", "title", "index", "readme", "_index", "home")
# Titles of start pages that do not name the book.
_GENERAL: Final = frozenset(
    {"index", "home", "readme", "introduction", "intro", "overview", "welcome", "documentation", "docs", "title page"}
    | {"getting started", "quick start", "quickstart", "start", "about", "contents", "table of contents", "summary"}
)
# Names of folders that hold the pages of a book and say nothing about it.
_FOLDERS: Final = frozenset({"docs", "doc", "src", "source", "content", "pages", "book", "documentation", "website"})
LONGEST: Final = 120  # characters
LEAST_LINKS: Final = 5  # of a page that is nothing but links
_RELEASES: Final = re.compile(
    r"change[-_ ]?logs?|release[-_ ]?notes?|whats?[-_ ]?new|what.s new(?: in .*)?|release notes for .*|version history",
    re.IGNORECASE,
)
_RELEASE_FILES: Final = frozenset({"CHANGES", "HISTORY", "NEWS", "RELEASES"})
_LINK: Final = re.compile(r"\[[^\[\]]{0,300}\]\([^()\s]{0,2000}\)")


def same_title(one: str, other: str) -> bool:
    """Whether two titles are equal but for case, spaces and punctuation, such as `ROS 2 Basics` and `ROS2 basics`."""
    return title_letters(one) == title_letters(other)


def is_numbered(title: str, other: str) -> bool:
    """Whether a title is another one after the number of a section, as in `4. Miscellaneous`."""
    number = _SECTION.match(title)
    return number is not None and same_title(title[number.end() :], other)


def names_no_page(title: str) -> bool:
    """Whether a title says only that its page is the first one of a folder."""
    return title.casefold() in ("index", "home", "readme")


def bounded(title: str) -> str:
    """The title, cut with an ellipsis where it is longer than people write: each passage stores its titles."""
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


def page_kind(path: str, title: str, text: str) -> str:
    """ "release notes" or "links" for a page that is little else, by its name and its text; empty for any other.

    >>> page_kind("HISTORY.md", "History", "1.0: ..."), page_kind("a.md", "History of pumps", "Pumps are old.")
    ('release notes', '')
    """
    page = PurePosixPath(path)
    named = [page.stem, title, *page.parent.parts]
    if any(map(_RELEASES.fullmatch, named)) or page.stem in _RELEASE_FILES:
        return "release notes"
    body = re.sub(r"^#+ .*$", "", text, flags=re.MULTILINE)
    links, rest = len(_LINK.findall(body)), len(re.findall(r"\w+", _LINK.sub("", body)))
    return "links" if links >= LEAST_LINKS and rest < links else ""


def title_letters(title: str) -> str:
    """What two titles are compared by: their letters and digits; all of a title that has none."""
    letters = "".join(c for c in title.casefold() if c.isalnum())
    return letters or title


def book_title(source: str, documents: Sequence[Document], site: str = "") -> str:
    """The title in the site's configuration, or the title of the start page, or the name of the source's folder.

    A title that names no book, such as `Documentation`, is passed over.

    >>> from rag.book import Document
    >>> page = Document("/books/uv/docs", "index.md", "index.md", "uv", "", "")
    >>> book_title(page.source, [page])
    'uv'
    >>> book_title("/books/uv/docs", [])
    'uv'
    >>> book_title("https://docs.example/sitemap.xml", [])
    'docs.example'
    """
    from rag.ingest.page import plain_inline

    if (configured := plain_inline(site)) and configured.casefold() not in _GENERAL:
        return configured[:LONGEST]
    pages = {PurePosixPath(document.path): document for document in documents}
    starts = [path for path in pages if path.stem.lower() in _START]
    for path in sorted(starts, key=lambda path: (len(path.parts), _START.index(path.stem.lower()), path)):
        title = pages[path].title.strip()
        if len(path.parts) == 1 and title and title.casefold() not in _GENERAL:
            return title[:LONGEST]
    if len(pages) == 1:
        return next(iter(pages.values())).title[:LONGEST]
    folders = [part for part in PurePosixPath(source).parts if part not in ("/", "")]
    if len(folders) > 2 and "://" in source and folders[-1].endswith((".xml", ".xml.gz")):  # a sitemap
        folders.pop()
    while len(folders) > 1 and folders[-1].lower() in _FOLDERS:
        folders.pop()
    return folders[-1][:LONGEST] if folders else ""
