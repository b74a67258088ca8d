"""What the configuration and the sidebars of a Docusaurus site say of its docs: docusaurus.io/docs/sidebar/items."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rag.ingest.data_values import from_json
from rag.ingest.generators.config_files import as_text, listed, mapping, option, strings
from rag.ingest.generators.js_literals import js_objects
from rag.ingest.source_files import read_inside, resolved

_INCLUDE: Final = ("**/*.{md,mdx}",)
_EXCLUDE: Final = ("**/_*.{js,jsx,ts,tsx,md,mdx}", "**/_*/**", "**/*.test.{js,jsx,ts,tsx}", "**/__tests__/**")
_CHOSEN: Final = (("include", _INCLUDE), ("exclude", _EXCLUDE))
_DEEPEST: Final = 20  # categories in categories
_FILES_DEEP: Final = 4  # files that name each other
_ENDINGS: Final = ("", ".js", ".ts", ".mjs", ".cjs", ".json")
_VERSION_IN_ID: Final = re.compile(r"version-[^/]+/")  # in the sidebars of versions that Docusaurus 2 made


@dataclass(frozen=True, slots=True)
class DocsTree:
    """One version of one docs plugin: a folder of pages and where they are on the site.

    `route` is the address of the folder below the site's, without slashes at its ends. `sidebars` is the file of its
    sidebars; None where they are made from the folders.
    """

    folder: Path
    route: str = ""
    include: tuple[str, ...] = _INCLUDE
    exclude: tuple[str, ...] = _EXCLUDE
    numbered: bool = True  # whether number prefixes of names are dropped
    sidebars: Path | None = None


@dataclass(frozen=True, slots=True)
class SiteOptions:
    """The docs of a site. `base` is the path of the site on its host; `trailing_slash` is None if it is not set."""

    trees: tuple[DocsTree, ...]
    base: str = ""
    trailing_slash: bool | None = None
    title: str = ""
    tagline: str = ""
    mdx: str = "mdx"  # how `.md` files are read: "mdx", "md", or "detect" by their endings


def site_options(config: Path) -> SiteOptions:
    """The options of a configuration file. Computed options have their defaults."""
    options = mapping(js_objects(read_inside(config.parent, config) or "").get("default"))
    slash, form = options.get("trailingSlash"), option(options, "markdown", "format")
    return SiteOptions(
        tuple(tree for docs in _docs_options(options) for tree in _trees(config.parent, docs)),
        as_text(options.get("baseUrl")).strip("/"),
        slash if isinstance(slash, bool) else None,
        as_text(options.get("title")),
        as_text(options.get("tagline")),
        form if form in ("md", "detect") else "mdx",
    )


def _docs_options(options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The options of each docs plugin: that of the classic preset, and others in `plugins`."""
    presets, plugins = _named(options.get("presets")), _named(options.get("plugins"))
    for name, given in presets:
        if name.endswith("classic") and given.get("docs") is not False:
            yield mapping(given.get("docs"))
    for name, given in plugins:
        if name.endswith("content-docs"):
            yield given
    if not presets and not plugins:
        yield {}


def _named(value: Any) -> list[tuple[str, dict[str, Any]]]:
    """The names and the options of presets or plugins."""
    named = [[*listed(one), {}] for one in listed(value)]
    return [(one[0], mapping(one[1])) for one in named if isinstance(one[0], str)]


def _trees(site: Path, docs: Mapping[str, Any]) -> Iterator[DocsTree]:
    """The versions of one docs plugin. The last version has the plugin's own address, and the current one `next`."""
    route = str(docs.get("routeBasePath", "docs")).strip("/")
    include, exclude = (usual if docs.get(name) is None else tuple(strings(docs[name])) for name, usual in _CHOSEN)
    shared = (include, exclude, docs.get("numberPrefixParser") is not False)
    prefix = f"{docs['id']}_" if docs.get("id") not in (None, "default") else ""
    names = _version_names(site / f"{prefix}versions.json")
    only = strings(docs["onlyIncludeVersions"]) if docs.get("onlyIncludeVersions") is not None else None
    if only is not None:
        names = [name for name in names if name in only]
    has_current = docs.get("includeCurrentVersion") is not False and (only is None or "current" in only)
    last = docs.get("lastVersion") or (names[0] if names else "current")
    for name in ["current"] * has_current + names:
        own = option(docs, "versions", name, "path")
        path = own if isinstance(own, str) else "" if name == last else "next" if name == "current" else name
        if name == "current":
            folder, sidebars = str(docs.get("path") or "docs"), as_text(docs.get("sidebarPath"))
        else:
            folder = f"{prefix}versioned_docs/version-{name}"
            sidebars = f"{prefix}versioned_sidebars/version-{name}-sidebars.json"
        address = "/".join(filter(None, (route, path.strip("/"))))
        yield DocsTree(resolved(site / folder), address, *shared, resolved(site / sidebars) if sidebars else None)


def _version_names(file: Path) -> list[str]:
    try:
        return strings(from_json(read_inside(file.parent, file) or "[]"))
    except (ValueError, RecursionError):
        return []


@dataclass(frozen=True, slots=True)
class SidebarEntry:
    """A page in a sidebar, by `doc_id`, or all pages of a `folder` of the docs. The other one is empty."""

    above: tuple[str, ...]
    doc_id: str = ""
    folder: str = ""

    def holds(self, doc_id: str, folder: str) -> bool:
        """Whether a page with that id, in that folder, is this entry or in its folder."""
        if self.doc_id:
            return self.doc_id == doc_id
        return self.folder == "." or f"{folder}/".startswith(f"{self.folder}/")


class Sidebars:
    """The sidebars in a file, by their names. A file that cannot be read, or computes everything, has none."""

    def __init__(self, root: Path, file: Path) -> None:
        self._entries = {name: list(_entries(items, ())) for name, items in mapping(_loaded(root, file, {})).items()}

    def entry(self, doc_id: str, folder: str, displayed: str = "") -> SidebarEntry | None:
        """Where a page is. `displayed` names its sidebar; otherwise it is the last one that has the page."""
        names = [displayed] if displayed else reversed(self._entries)
        found = (one for name in names for one in self._entries.get(name, ()) if one.holds(doc_id, folder))
        return next(found, None)


def _entries(items: Any, above: tuple[str, ...]) -> Iterator[SidebarEntry]:
    """The entries of a list of items, or of the short form in which the labels of categories are keys."""
    if len(above) > _DEEPEST:
        return
    if isinstance(items, dict) and "type" not in items:
        for label, inner in items.items():
            yield from _entries(inner, (*above, as_text(label)))
        return
    for item in items if isinstance(items, list) else ():
        if isinstance(item, str):
            yield SidebarEntry(above, doc_id=_VERSION_IN_ID.sub("", item, count=1))
        elif isinstance(item, dict):
            yield from _entry(item, above) if "type" in item else _entries(item, above)


def _entry(item: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[SidebarEntry]:
    """The entries of an item. The page that a category links to is shown under the category's label."""
    kind = item["type"]
    if kind == "doc":
        yield from _entries([as_text(item.get("id"))], above)
    elif kind == "autogenerated":
        yield SidebarEntry(above, folder=posixpath.normpath(as_text(item.get("dirName"))))
    elif kind == "category":
        inside = (*above, as_text(item.get("label")))
        if option(item, "link", "type") == "doc":
            yield from _entries([as_text(option(item, "link", "id"))], inside)
        yield from _entries(item.get("items"), inside)


def _loaded(root: Path, file: Path, known: dict[Path, Any], depth: int = 0) -> Any:
    """The value of a file of JSON or JavaScript, whose ending may be missing; `known` are those read already."""
    for ending in _ENDINGS:
        path = Path(posixpath.normpath(file.with_name(file.name + ending)))
        text = read_inside(root, path) if path.suffix in _ENDINGS[1:] and path not in known else None
        if text is not None:
            known[path] = None  # while it is read: files may name each other
            try:
                known[path] = from_json(text) if path.suffix == ".json" else _exported(root, path, text, known, depth)
            except (ValueError, RecursionError):
                return None
        if path in known:
            return known[path]
    return None


def _exported(root: Path, file: Path, text: str, known: dict[Path, Any], depth: int) -> Any:
    def imported(name: str) -> Any:
        return _loaded(root, file.parent / name, known, depth + 1) if depth < _FILES_DEEP else None

    return js_objects(text, imported).get("default")
