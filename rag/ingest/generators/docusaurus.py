"""Docusaurus: docusaurus.io/docs/create-doc and docusaurus.io/docs/api/plugins/@docusaurus/plugin-content-docs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from rag.ingest.anchors import HeadingText, docusaurus_anchors
from rag.ingest.formats.known_formats import MARKUP
from rag.ingest.generators.config_files import as_text, config_options
from rag.ingest.generators.docusaurus_site import DocsTree, SidebarEntry, Sidebars, SiteOptions, site_options
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.mdx import without_magic_comments
from rag.ingest.page import MarkdownText
from rag.ingest.page_draft import PageDraft
from rag.ingest.patterns import matches_any
from rag.ingest.source_files import is_file, is_folder
from rag.ingest.titles import without_number

_CATEGORY: Final = ("_category_.json", "_category_.yml", "_category_.yaml")


class Docusaurus(Generator):
    """Addresses without number prefixes, anchors of github-slugger, and MDX in every file."""

    name = "docusaurus"
    configurations = ("docusaurus.config.js", "docusaurus.config.ts", "docusaurus.config.mjs", "docusaurus.config.cjs")

    sign = ("an import of its theme", re.compile(r"^import\s.*from\s+['\"]@(?:theme|site|docusaurus)/", re.MULTILINE))

    @classmethod
    def own_file(cls, source: Path, files: Sequence[Path]) -> Path | None:
        if sidebars := next(source.glob("sidebars.*"), None):
            return sidebars
        folders = sorted({file.parent for file in files})
        return next((folder / name for folder in folders for name in _CATEGORY if is_file(folder / name)), None)

    @cached_property
    def site(self) -> SiteOptions:
        if self.config is not None:
            return site_options(self.config)
        docs, sidebars = self.source / "docs", next(iter(sorted(self.source.glob("sidebars.*"))), None)
        tree = DocsTree(docs, "docs") if is_folder(docs) else DocsTree(self.source)
        return SiteOptions((replace(tree, sidebars=sidebars),))

    def site_title(self) -> str:
        return self.site.title

    def site_description(self) -> str:
        return self.site.tagline

    @cached_property
    def content(self) -> Path:
        inside = [tree.folder for tree in self.site.trees if tree.folder.is_relative_to(self.source)]
        around = [tree.folder for tree in self.site.trees if self.source.is_relative_to(tree.folder)]
        return next(iter(around + inside), self.source / "docs")

    def covers(self) -> bool:
        return super().covers() and any(tree.folder == self.content for tree in self.site.trees)

    def _tree(self, file: Path) -> DocsTree | None:
        return next((tree for tree in self.site.trees if file.is_relative_to(tree.folder)), None)

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

    def route(self, base_url: str) -> str:
        """The address that the trees are below: a base URL that ends with the route of the docs is theirs already."""
        path = urlsplit(base_url).path.strip("/")
        shortest = min((tree.route for tree in self.site.trees), key=len, default="")
        if shortest and path != self.site.base and f"/{path}".endswith(f"/{shortest}"):
            return base_url.removesuffix(f"/{shortest}")
        return base_url

    def site_path(self, page: PageFile) -> str:
        tree = self._tree(page.file)
        route = f"/{tree.route}" if tree and tree.route else ""
        slug = self._slug(page, numbered=tree is None or tree.numbered)
        slash = self.site.trailing_slash
        if slash is False or (slash is None and self.config is None):  # both are served; without is shorter
            slug = slug.rstrip("/")
        elif slash is True:
            slug = slug.rstrip("/") + "/"
        return route + slug if slug != "/" or route else slug

    def _slug(self, page: PageFile, *, numbered: bool) -> str:
        """The address in the tree, as Docusaurus makes it: with a slash at the end for the page of a folder."""
        inner = self.inner(page.file)
        folder, stem = posixpath.split(posixpath.splitext(inner)[0])
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
        base = urlsplit(self.route(self.base_url or "")).path
        return address if bare.startswith(f"{base}/") else self.route(self.base_url or "") + bare

    def target(self, page: PageFile, path: str) -> PageFile | None:
        """A file name without leading dots is looked up in the docs, then in the site, then beside the page."""
        if posixpath.splitext(path)[1].lower() in MARKUP:
            tree = self._tree(page.file)
            roots = [tree.folder] if tree else []
            roots += [self.config.parent] if self.config is not None else []
            places = [] if path.startswith(("./", "../")) else [root / path.lstrip("/") for root in roots]
            places += [] if path.startswith("/") else [page.file.parent / path]
            for place in places:
                if found := self.by_real_file.get(Path(posixpath.normpath(place))):
                    return found
        return super().target(page, path)

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
        return self._sidebars[tree.sidebars].entry(doc_id, folder, page.text_field("displayed_sidebar"))

    @cached_property
    def _sidebars(self) -> dict[Path, Sidebars]:
        files = {tree.sidebars for tree in self.site.trees}
        return {file: Sidebars(self.include_root, file) for file in files if file is not None}

    def folder_title(self, folder: Path) -> str:
        return self._labels.get(folder) or super().folder_title(folder)

    @cached_property
    def _labels(self) -> dict[Path, str]:
        """The labels that the `_category_` files or else the start pages of folders give to these."""
        folders = {self.source}
        for page in self.pages.values():
            folder = page.file.parent
            while folder not in folders:
                folders.add(folder)
                folder = folder.parent
        categories = {
            folder: next(filter(None, (config_options(folder / name) for name in _CATEGORY)), {})
            for folder in sorted(folders)
        }
        labels = {folder: as_text(category.get("label")) for folder, category in categories.items()}
        for page in self.pages.values():
            folder, stem = page.file.parent, page.file.stem.lower()
            is_start = stem in ("index", "readme", folder.name.lower())
            if is_start and not labels[folder] and "link" not in categories[folder]:
                title = page.text_field("sidebar_label") or page.text_field("title") or MarkdownText(page.body).title
                labels[folder] = title
        return labels

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        return docusaurus_anchors(headings)

    def is_mdx(self, page: PageFile) -> bool:
        return page.syntax == "mdx" or (page.syntax == "markdown" and self.site.mdx == "mdx")

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        draft.rewrite_code(without_magic_comments)
        super().rewrite(draft, page)
