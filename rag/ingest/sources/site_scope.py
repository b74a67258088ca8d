"""Which addresses belong to a site: those under the prefix that the user gave."""

from __future__ import annotations

import mimetypes
import posixpath
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

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
        """The address that a link of a page leads to, without its fragment; None if it is not in the scope.

        Addresses with a query are left out: a calendar or a search has endlessly many.
        """
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
