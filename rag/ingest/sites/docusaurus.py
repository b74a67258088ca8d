"""Docusaurus: docusaurus.io/docs/create-doc, /docs/sidebar/items and the options of its plugin content-docs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from rag.ingest.anchors import HeadingText, docusaurus_anchors
from rag.ingest.data_values import from_json
from rag.ingest.dialects import admonitions
from rag.ingest.formats.known_formats import MARKUP
from rag.ingest.page import MarkdownText
from rag.ingest.page_draft import PageDraft
from rag.ingest.patterns import matches_any
from rag.ingest.sites.config_files import as_text, config_options, listed, mapping, option, strings
from rag.ingest.sites.javascript import js_objects
from rag.ingest.sites.mdx import without_magic_comments
from rag.ingest.sites.site_rules import PageFile, Site
from rag.ingest.source_files import is_file, read_inside, resolved
from rag.ingest.titles import without_number

_CATEGORY: Final = ("_category_.json", "_category_.yml", "_category_.yaml")
_INCLUDE: Final = ("**/*.{md,mdx}",)
_EXCLUDE: Final = ("**/_*.{js,jsx,ts,tsx,md,mdx}", "**/_*/**", "**/*.test.{js,jsx,ts,tsx}", "**/__tests__/**")
_DEEPEST: Final = 20  # categories in categories
_FILES_DEEP: Final = 4  # files that name each other
_FILE_ENDINGS: Final = ("", ".js", ".ts", ".mjs", ".cjs", ".json")
_VERSION_IN_ID: Final = re.compile(r"version-[^/]+/")  # in the sidebars of versions that Docusaurus 2 made


@dataclass(frozen=True, slots=True)
class DocsTree:
    """One version of one docs plugin: a folder of pages, and its address below the site's, without slashes around.

    `sidebars` is the file of its sidebars; None where they are made from the folders. `numbered`: number prefixes of
    names are dropped.
    """

    folder: Path
    route: str = ""
    include: tuple[str, ...] = _INCLUDE
    exclude: tuple[str, ...] = _EXCLUDE
    numbered: bool = True
    sidebars: Path | None = None


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


class Docusaurus(Site):
    """Addresses without number prefixes, anchors of github-slugger, and MDX in every file."""

    name = "docusaurus"
    configurations = ("docusaurus.config.js", "docusaurus.config.ts", "docusaurus.config.mjs", "docusaurus.config.cjs")
    kinds = frozenset({".md", ".mdx", ".markdown"})

    @cached_property
    def options(self) -> dict[str, Any]:
        if self.config is None:
            return {}
        return mapping(js_objects(read_inside(self.config.parent, self.config) or "").get("default"))

    @cached_property
    def trees(self) -> tuple[DocsTree, ...]:
        """The docs of the site; without a configuration the folder `docs`, or else the source."""
        if self.config is not None:
            home = self.config.parent
            return tuple(tree for docs in _docs_options(self.options) for tree in _trees(home, docs))
        docs = self.source / "docs"
        return (DocsTree(docs, "docs"),) if docs.is_dir() else (DocsTree(self.source),)

    @cached_property
    def content(self) -> Path:
        inside = [tree.folder for tree in self.trees if tree.folder.is_relative_to(self.source)]
        around = [tree.folder for tree in self.trees if self.source.is_relative_to(tree.folder)]
        return next(iter(around + inside), self.source / "docs")

    def covers(self) -> bool:
        return super().covers() and any(tree.folder == self.content for tree in self.trees)

    def site_title(self) -> str:
        return as_text(self.options.get("title"))

    def site_description(self) -> str:
        return as_text(self.options.get("tagline"))

    def _tree(self, file: Path) -> DocsTree | None:
        return next((tree for tree in self.trees if file.is_relative_to(tree.folder)), None)

    def inner(self, file: Path) -> str:
        tree = self._tree(file)
        return super().inner(file) if tree is None else file.relative_to(tree.folder).as_posix()

    def is_page(self, file: Path) -> bool:
        tree = self._tree(file)
        if tree is None:
            return False
        inner = file.relative_to(tree.folder).as_posix()
        return matches_any(inner, tree.include) and not matches_any(inner, tree.exclude)

    def is_published(self, page: PageFile) -> bool:
        return not page.is_set("draft") and not page.is_set("unlisted")

    # Addresses

    def route(self, base_url: str) -> str:
        """The address that the trees are below: a base URL that ends with the route of the docs is theirs already."""
        path = urlsplit(base_url).path.strip("/")
        base = as_text(self.options.get("baseUrl")).strip("/")
        shortest = min((tree.route for tree in self.trees), key=len, default="")
        if shortest and path != base and f"/{path}".endswith(f"/{shortest}"):
            return base_url.removesuffix(f"/{shortest}")
        return base_url

    def site_path(self, page: PageFile) -> str:
        tree = self._tree(page.file)
        route = f"/{tree.route}" if tree and tree.route else ""
        slug = self._slug(page, numbered=tree is None or tree.numbered)
        slash = self.options.get("trailingSlash")
        if slash is False or (not isinstance(slash, bool) and self.config is None):  # both are served
            slug = slug.rstrip("/")
        elif slash is True:
            slug = slug.rstrip("/") + "/"
        return route + slug if slug != "/" or route else slug

    def _slug(self, page: PageFile, *, numbered: bool) -> str:
        """The address in the tree, as Docusaurus makes it: with a slash at the end for the page of a folder."""
        folder, stem = posixpath.split(posixpath.splitext(self.inner(page.file))[0])
        shown = without_number if numbered else str
        parents = "/" + "/".join(map(shown, folder.split("/")))
        slug = page.text_field("slug")
        if not slug and stem.lower() in ("index", "readme", posixpath.basename(folder).lower() or "."):
            return parents.rstrip("/") + "/"
        name = slug or page.text_field("id") or shown(stem)
        joined = posixpath.normpath(posixpath.join(parents, name))
        return "/" + joined.lstrip("/") + ("/" if name.endswith("/") and joined.strip("/") else "")

    def link(self, page: PageFile, destination: str) -> str:
        """`pathname://` names a file of the site that is no page. Docusaurus puts the site's path before `/path`."""
        bare = destination.removeprefix("pathname://")
        address = super().link(page, bare)
        is_elsewhere = bare.startswith("/") and not bare.startswith("//") and self.base_url is not None
        if not is_elsewhere or self.target(page, bare.partition("#")[0]) is not None:
            return address
        route = self.route(self.base_url or "")
        return address if bare.startswith(f"{urlsplit(route).path}/") else route + bare

    def target(self, page: PageFile, path: str) -> PageFile | None:
        """A file name without leading dots is looked up in the docs, then in the site, then beside the page."""
        if posixpath.splitext(path)[1].lower() in MARKUP:
            tree = self._tree(page.file)
            roots = [*([tree.folder] if tree else []), *([self.config.parent] if self.config is not None else [])]
            places = [] if path.startswith(("./", "../")) else [root / path.lstrip("/") for root in roots]
            places += [] if path.startswith("/") else [page.file.parent / path]
            for place in places:
                if found := self.by_file.get(Path(posixpath.normpath(place))):
                    return found
        return super().target(page, path)

    # Titles

    def breadcrumb(self, page: PageFile) -> tuple[str, ...]:
        """The labels of the categories above the page in its sidebar; without a sidebar those of its folders."""
        tree = self._tree(page.file)
        if tree is None:
            return super().breadcrumb(page)
        folder = page.file.relative_to(tree.folder).parent.as_posix()
        entry = self._entry(tree, page, folder)
        if entry is not None and entry.doc_id:
            return entry.above
        top = tree.folder / (entry.folder if entry else ".")
        below = page.file.relative_to(top).parents[:-1]
        return (*(entry.above if entry else ()), *(self.folder_title(top / one) for one in reversed(below)))

    def _entry(self, tree: DocsTree, page: PageFile, folder: str) -> SidebarEntry | None:
        """The page's place in its sidebar. Docusaurus makes the id of a page of its path, without numbers."""
        if tree.sidebars is None:
            return None
        shown = without_number if tree.numbered else str
        name = page.text_field("id") or shown(posixpath.splitext(page.file.name)[0])
        doc_id = "/".join([*map(shown, folder.split("/")), name]).removeprefix("./")
        sidebars, displayed = self._sidebars[tree.sidebars], page.text_field("displayed_sidebar")
        names = [displayed] if displayed else reversed(sidebars)  # the last one that has the page
        return next((one for name in names for one in sidebars.get(name, ()) if one.holds(doc_id, folder)), None)

    @cached_property
    def _sidebars(self) -> dict[Path, dict[str, list[SidebarEntry]]]:
        """The entries of each sidebar, by the file of the sidebars. A file that cannot be read has none."""
        files = {tree.sidebars for tree in self.trees if tree.sidebars is not None}
        root = self.config.parent if self.config is not None else self.source
        loaded = {file: mapping(_loaded(root, file, {})) for file in files}
        return {f: {name: list(_entries(items, ())) for name, items in bars.items()} for f, bars in loaded.items()}

    def folder_title(self, folder: Path) -> str:
        return self._labels.get(folder) or super().folder_title(folder)

    @cached_property
    def _labels(self) -> dict[Path, str]:
        """The labels that the `_category_` files or else the start pages of folders give to these."""
        folders = {parent for page in self.pages.values() for parent in page.file.parents}
        folders = {folder for folder in folders if folder.is_relative_to(self.source)}
        categories = {
            folder: next(
                filter(None, (config_options(folder / name) for name in _CATEGORY if is_file(folder / name))), {}
            )
            for folder in sorted(folders)
        }
        labels = {folder: as_text(category.get("label")) for folder, category in categories.items()}
        for page in self.pages.values():
            folder, stem = page.file.parent, page.file.stem.lower()
            is_start = stem in ("index", "readme", folder.name.lower())
            if is_start and not labels.get(folder) and "link" not in categories.get(folder, {}):
                title = page.text_field("sidebar_label") or page.text_field("title") or MarkdownText(page.body).title
                labels[folder] = title
        return labels

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        return docusaurus_anchors(headings)

    def is_mdx(self, page: PageFile) -> bool:
        return page.syntax == "mdx" or self.option("markdown", "format") not in ("md", "detect")

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        draft.rewrite_code(without_magic_comments)
        draft.text = admonitions(draft.text)


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
    usual = (("include", _INCLUDE), ("exclude", _EXCLUDE))
    include, exclude = (one if docs.get(name) is None else tuple(strings(docs[name])) for name, one in usual)
    shared = (include, exclude, docs.get("numberPrefixParser") is not False)
    prefix = f"{docs['id']}_" if docs.get("id") not in (None, "default") else ""
    versions = site / f"{prefix}versions.json"
    names = strings(_loaded(site, versions, {})) if is_file(versions) else []
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
    for ending in _FILE_ENDINGS:
        path = Path(posixpath.normpath(file.with_name(file.name + ending)))
        text = read_inside(root, path) if path.suffix in _FILE_ENDINGS[1:] and path not in known else None
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
