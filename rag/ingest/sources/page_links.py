"""Where a crawl goes on: the links of a page, sitemaps (see sitemaps.org), and which addresses belong to the site."""

from __future__ import annotations

import mimetypes
import posixpath
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from rag.ingest.formats.html_files import decoded_html
from rag.ingest.formats.reader_process import read_apart
from rag.ingest.sources.site_client import LARGEST

LINKS: Final = 20_000  # of one page
# For one page. The parser looks through all open elements at each end tag.
SECONDS: Final = 20.0
SITEMAPS: Final = 50  # files of one index
ADDRESSES: Final = 50_000  # the limit of the protocol for one file
_PORTS: Final = {"http": 80, "https": 443}
_FILE: Final = re.compile(r"\.(?:x?html?|php|aspx?|jsp|xml|gz)$", re.I)


@dataclass(frozen=True, slots=True)
class SiteScope:
    """The addresses under a prefix, which ends in a slash; `origin` is its scheme, host and port."""

    origin: str
    prefix: str

    @classmethod
    def of(cls, url: str) -> SiteScope:
        """The scope of a start page: its folder. The last part of a path is a folder unless it looks like a file."""
        normal = _normal(url)
        path = urlsplit(normal).path
        if not path.endswith("/"):
            path = path.rpartition("/")[0] + "/" if _FILE.search(path) else path + "/"
        parts = urlsplit(normal)
        return cls(f"{parts.scheme}://{parts.netloc}", path)

    def address(self, link: str, base: str) -> str | None:
        """The address of a link without its fragment; None outside the scope, and for one with a query."""
        try:
            url = urljoin(base, link.strip())
            parts = urlsplit(url)
            if parts.scheme not in _PORTS or not parts.hostname or parts.query:
                return None
            normal = _normal(url)
        except ValueError:
            return None
        one, other = urlsplit(normal), urlsplit(self.origin)
        same = one.netloc == other.netloc and (one.scheme == other.scheme or (one.port is None and other.port is None))
        inside = one.path.startswith(self.prefix) or f"{one.path}/" == self.prefix
        return self.origin + one.path if same and inside else None

    def path(self, url: str) -> str:
        """The path of a page as a file: `guide/` is `guide/index.html`, and `guide` is `guide.html`."""
        whole = urlsplit(url).path
        path = "" if f"{whole}/" == self.prefix else whole.removeprefix(self.prefix).lstrip("/")
        if not path or path.endswith("/"):
            return f"{path}index.html"
        return path if re.search(r"\.x?html?$", path, re.I) else f"{path}.html"


def other_kind(url: str) -> str:
    """The ending of an address that is no page, such as `.png`; empty for one that may be a page."""
    suffix = posixpath.splitext(urlsplit(url).path)[1].lower()
    kind = mimetypes.guess_type(f"x{suffix}")[0] if suffix else None
    return suffix if kind is not None and kind not in ("text/html", "application/xhtml+xml") else ""


def _normal(url: str) -> str:
    """An address without fragment and query, default port, dots in its path, and with all signs quoted alike."""
    parts = urlsplit(url)
    port = parts.port
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    place = host if port is None or port == _PORTS.get(parts.scheme) else f"{host}:{port}"
    path = quote(urlsplit(urljoin("http://host/", parts.path or "/")).path, safe="/%:@!$&'()*+,;=~-._")
    return urlunsplit((parts.scheme, place, re.sub(r"/{2,}", "/", path) or "/", "", ""))


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

    try:
        if content.startswith(b"\x1f\x8b"):
            content = zlib.decompressobj(wbits=31).decompress(content, LARGEST)
        root = fromstring(content, forbid_dtd=True)
    except (zlib.error, ParseError, DefusedXmlException, ValueError, LookupError, RecursionError):
        return "", []
    places = [one.text.strip() for one in root.iter() if str(one.tag).endswith("}loc") and one.text]
    return str(root.tag).rpartition("}")[2], places[:ADDRESSES]
