"""Addresses on the book's site: the one that the user gives, and those of its pages."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from rag.errors import UsageError


def checked_base_url(base_url: str) -> str:
    """The address without a trailing slash. Raises `UsageError` unless it is a plain http(s) address."""
    try:
        parts = urlsplit(base_url.strip())
        # A user name and password would be in every citation.
        plain = not (parts.query or parts.fragment or parts.username or parts.password)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and plain
    except ValueError:
        valid = False
    if not valid:
        shown = base_url if "@" not in base_url else "https://…@" + base_url.rpartition("@")[2]
        hint = "Give the address of the site, such as --base-url https://example.org/docs."
        raise UsageError(f"The base URL {shown!r} is not a plain web address.", code="base_url", hint=hint)
    return base_url.strip().rstrip("/")


def page_url(base_url: str, site_path: str) -> str:
    """The address of a page. `site_path` is empty or begins with a slash."""
    return base_url + quote(site_path)


def relative_url(path: str) -> str:
    """The path of a file as a relative address: `javascript:x.md` would begin with a scheme."""
    return f"./{path}" if ":" in path.split("/")[0] else path
