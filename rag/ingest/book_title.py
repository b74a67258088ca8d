"""The title of a book: that of its site's configuration or of its start page, else the name of its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from rag.book import Document
from rag.ingest.page import plain_inline

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


def book_title(source: str, documents: Sequence[Document], site: str = "") -> str:
    """The title in the site's configuration, or the title of the start page, or the name of the source's folder.

    A title that names no book, such as `Documentation`, is passed over.

    >>> page = Document("/books/uv/docs", "index.md", "index.md", "uv", "", "")
    >>> book_title(page.source, [page])
    'uv'
    >>> book_title("/books/uv/docs", [])
    'uv'
    >>> book_title("https://docs.example/sitemap.xml", [])
    'docs.example'
    """
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
