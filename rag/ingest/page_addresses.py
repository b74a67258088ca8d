"""The address of a file on the site that is built from the source.

Docusaurus: docusaurus.io/docs/create-doc#doc-urls and its default number-prefix parser. mdBook: one `.html` per file.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote, urlsplit

from rag.errors import UsageError

Generator = Literal["docusaurus", "mdbook", "plain"]

_CATEGORY: Final = ("_category_.json", "_category_.yml", "_category_.yaml")
_VERSION_OR_DATE: Final = re.compile(r"\d+[-_.]\d+")
_NUMBER: Final = re.compile(r"\d+\s*[-_.]+\s*(?=[^-_.\s])")
_MDX_IMPORT: Final = re.compile(r"^import\s.*from\s+['\"]@(?:theme|site|docusaurus)/", re.MULTILINE)


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


def detect(root: Path, folders: Iterable[Path], texts: Iterable[str]) -> Generator:
    """The site generator of a source, recognised by its files, and for Docusaurus also by imports in the pages."""
    if (root / "SUMMARY.md").is_file():
        return "mdbook"
    for folder in (root, root.parent):
        if any(next(folder.glob(pattern), None) for pattern in ("docusaurus.config.*", "sidebars.*")):
            return "docusaurus"
    if any((folder / name).is_file() for folder in folders for name in _CATEGORY):
        return "docusaurus"
    return "docusaurus" if any(_MDX_IMPORT.search(text) for text in texts) else "plain"


def without_number(name: str) -> str:
    """The name without the number that orders it. Dates and versions are kept.

    >>> [without_number(name) for name in ("03-nodes", "2021-11-news", "7.0-changes")]
    ['nodes', '2021-11-news', '7.0-changes']
    """
    return name if _VERSION_OR_DATE.match(name) else _NUMBER.sub("", name, count=1)


def is_folder_page(path: str) -> bool:
    """Whether a page is its folder's page: it is named `index`, `README`, or like the folder."""
    stem, folder = _stem(path).lower(), posixpath.basename(posixpath.dirname(path)).lower()
    return stem in ("index", "readme") or (bool(folder) and stem == folder)


def page_url(base_url: str, path: str, generator: Generator, front_matter: Mapping[str, str]) -> str:
    """The page's address under `base_url`, which has no trailing slash. A folder's page has the folder's address."""
    if generator == "docusaurus":
        site_path = _docusaurus_path(path, front_matter)
    elif generator == "mdbook":
        stem = "index" if _stem(path).lower() == "readme" else _stem(path)
        site_path = posixpath.join(posixpath.dirname(path), f"{stem}.html")
    else:
        in_folder = _stem(path).lower() in ("index", "readme")
        site_path = posixpath.dirname(path) if in_folder else posixpath.splitext(path)[0]
    site_path = site_path.strip("/")
    return f"{base_url}/{quote(site_path)}" if site_path else base_url


def _docusaurus_path(path: str, front_matter: Mapping[str, str]) -> str:
    folder = "/" + "/".join(without_number(part) for part in posixpath.dirname(path).split("/"))
    slug = front_matter.get("slug", "").strip()
    if not slug and is_folder_page(path):
        return folder
    name = slug or front_matter.get("id", "").strip() or without_number(_stem(path))
    return posixpath.normpath(posixpath.join(folder, name))


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]
