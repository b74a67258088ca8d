"""What the configuration of a Docusaurus site says of its docs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rag.ingest.data_values import from_json
from rag.ingest.generators.config_files import as_text, listed, mapping, option, strings
from rag.ingest.generators.js_literals import js_objects
from rag.ingest.source_files import read_inside, resolved

_INCLUDE: Final = ("**/*.{md,mdx}",)
_EXCLUDE: Final = (
    "**/_*.{js,jsx,ts,tsx,md,mdx}",
    "**/_*/**",
    "**/*.test.{js,jsx,ts,tsx}",
    "**/__tests__/**",
)
_CHOSEN: Final = (("include", _INCLUDE), ("exclude", _EXCLUDE))


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
