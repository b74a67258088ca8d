"""What no generator makes: a folder of pages, a built site, or a site that was read over HTTP."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urljoin

from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.links import page_url
from rag.ingest.source_files import is_file
from rag.ingest.titles import readable

_INDEX: Final = "index.html"

_SITE_KINDS: Final = frozenset({".html", ".htm", ".xhtml", ".pdf", ".epub"})
_NO_PAGES: Final = frozenset({"404.html", "search.html", "genindex.html", "py-modindex.html", "print.html"})
_NO_FOLDERS: Final = frozenset({"search", "genindex", "py-modindex"})  # of Sphinx, with a folder for each page


class PlainFolder(Generator):
    """Addresses are paths without the endings of Markdown, and anchors are GitHub's."""

    name = "plain"

    @cached_property
    def is_built_site(self) -> bool:
        """Whether the folder is a built site, which may also hold the sources of its pages."""
        return is_file(self.source / "index.html") and not any(
            is_file(self.source / name) for name in ("index.md", "README.md", "index.rst")
        )

    def reads(self, suffix: str) -> bool:
        return suffix in _SITE_KINDS or not self.is_built_site

    def is_page(self, file: Path) -> bool:
        listing = file.name in _NO_PAGES or (file.name == "index.html" and self.inner(file.parent) in _NO_FOLDERS)
        return super().is_page(file) and not (self.is_built_site and listing)


class CrawledSite(PlainFolder):
    """The pages of a site that was read over HTTP. `addresses` has the address of each by its path."""

    def __init__(self, source: Path, addresses: Mapping[str, str]) -> None:
        super().__init__(source, config=None, reason="it is a site")
        self.addresses = addresses

    def reads(self, suffix: str) -> bool:
        return True

    def is_page(self, file: Path) -> bool:
        return True

    def url(self, page: PageFile) -> str:
        """The page's own address, or the one under the base URL that the user gave."""
        if self.base_url is None:
            return self.addresses[page.path]
        return page_url(self.base_url, f"/{unquote(page.path.removesuffix(_INDEX))}")

    def link(self, page: PageFile, destination: str) -> str:
        """Links are relative to the address at which the page was found."""
        return urljoin(self.addresses[page.path], destination)

    def usual_title(self, page: PageFile) -> str:
        path = unquote(page.path.removesuffix(_INDEX).rstrip("/"))
        return readable(posixpath.splitext(posixpath.basename(path))[0]) or self.addresses[page.path]
