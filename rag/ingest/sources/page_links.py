"""What a crawl reads of a page: its links, its canonical address, and whether its links may be followed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rag.ingest.formats.reader_process import read_apart
from rag.ingest.html_markdown import decoded_html

LINKS: Final = 20_000  # of one page
# For one page. The parser looks through all open elements at each end tag.
SECONDS: Final = 20.0


@dataclass(slots=True)
class PageLinks:
    """The links of a page as they are written. `base` is the address that they are relative to, if it says so."""

    links: list[str] = field(default_factory=list)
    canonical: str = ""
    base: str = ""
    follow: bool = True

    @classmethod
    def of(cls, raw: bytes) -> PageLinks:
        """Read in the process for files. Raises `ValueError` if the page is no text, or takes too long."""
        return cls(**read_apart(__name__, "page_links", raw, seconds=SECONDS))

    def start(self, tag: str, given: Mapping[str, str]) -> None:
        """What the parser calls at every start tag."""
        if tag in ("a", "area") and "nofollow" not in given.get("rel", "").split() and len(self.links) < LINKS:
            self.links.append(given.get("href", ""))
        elif tag == "link":
            kinds = given.get("rel", "").lower().split()
            if "canonical" in kinds:
                self.canonical = self.canonical or given.get("href", "")
            elif "next" in kinds or "prev" in kinds:
                self.links.append(given.get("href", ""))
        elif tag == "base":
            self.base = self.base or given.get("href", "")
        elif tag == "meta":
            self._meta(given)

    def close(self) -> None:
        """What the parser calls at the end."""

    def _meta(self, given: Mapping[str, str]) -> None:
        content = given.get("content", "")
        if given.get("name", "").lower() == "robots" and re.search(r"nofollow|none", content, re.I):
            self.follow = False
        if given.get("http-equiv", "").lower() == "refresh" and (
            target := re.search(r"url\s*=\s*(\S+)", content, re.I)
        ):
            self.links.append(target[1].strip("'\""))


def page_links(raw: bytes) -> PageLinks:
    """What a page says. Raises `ValueError` for bytes that are no text."""
    from lxml import etree

    found = PageLinks()
    parser = etree.HTMLParser(target=found)
    parser.feed(decoded_html(raw) or " ")
    parser.close()
    return found
