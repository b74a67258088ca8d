"""A site that was read over HTTP: every page keeps the address at which it was found, and the ids of its headings."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urljoin

from rag.ingest.generators.generator import PageFile
from rag.ingest.generators.plain import PlainFolder
from rag.ingest.headings import readable
from rag.ingest.site_addresses import page_url

_INDEX: Final = "index.html"


class CrawledSite(PlainFolder):
    """The pages of a site, by the paths under which they were kept. `addresses` holds the address of each path."""

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
