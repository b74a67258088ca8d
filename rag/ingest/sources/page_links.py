"""What a crawl reads of a page: its links, its canonical address, and whether its links may be followed."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

LINKS: Final = 20_000  # of one page


class PageLinks(HTMLParser):
    """Reads the links of a page as they are written. `base` is the address that they are relative to, if it says so."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.canonical = ""
        self.base = ""
        self.follow = True
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
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

    def _meta(self, given: dict[str, str]) -> None:
        content = given.get("content", "")
        if given.get("name", "").lower() == "robots" and re.search(r"nofollow|none", content, re.I):
            self.follow = False
        if given.get("http-equiv", "").lower() == "refresh" and (
            target := re.search(r"url\s*=\s*(\S+)", content, re.I)
        ):
            self.links.append(target[1].strip("'\""))
