"""Sitemaps: the lists of pages that sites keep for search engines, described at sitemaps.org."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

from rag.ingest.sources.site_client import LARGEST

SITEMAPS: Final = 50  # files of one index
ADDRESSES: Final = 50_000  # the limit of the protocol for one file


def sitemap_pages(url: str, fetch: Callable[[str], bytes | None]) -> list[str]:
    """The addresses in a sitemap, and in those that an index lists; none if it is missing or broken."""
    pages: list[str] = []
    waiting, seen = [url], {url}
    while waiting:
        content = fetch(waiting.pop(0))
        names, found = _entries(content) if content else ("", [])
        if names == "sitemapindex":
            new = [one for one in found if one not in seen][: SITEMAPS - len(seen)]
            seen.update(new)
            waiting += new
        else:
            pages += found[: ADDRESSES - len(pages)]
    return pages


def _entries(content: bytes) -> tuple[str, list[str]]:
    """The name of the root, and the addresses of a sitemap."""
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    if content.startswith(b"\x1f\x8b"):
        content = _unpacked(content)
    try:
        root = fromstring(content, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError, RecursionError):
        return "", []
    places = [one.text.strip() for one in root.iter() if str(one.tag).endswith("}loc") and one.text]
    return str(root.tag).rpartition("}")[2], places[:ADDRESSES]


def _unpacked(content: bytes) -> bytes:
    """The content of a gzip file, at most `LARGEST` bytes of it."""
    try:
        return zlib.decompressobj(wbits=31).decompress(content, LARGEST)
    except zlib.error:
        return b""
