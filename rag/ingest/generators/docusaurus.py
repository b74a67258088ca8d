"""Docusaurus: docusaurus.io/docs/create-doc and docusaurus.io/docs/api/plugins/@docusaurus/plugin-content-docs."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Final

import yaml

from rag.ingest.anchors import HeadingText, docusaurus_anchors
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.headings import without_number
from rag.ingest.includes import read_inside
from rag.ingest.mdx import clean
from rag.ingest.page import MarkdownText

_CATEGORY: Final = ("_category_.json", "_category_.yml", "_category_.yaml")
_SITE_IMPORT: Final = re.compile(r"^import\s.*from\s+['\"]@(?:theme|site|docusaurus)/", re.MULTILINE)


class Docusaurus(Generator):
    """Addresses without number prefixes, anchors of github-slugger, and MDX in every file."""

    name = "docusaurus"
    configurations = ("docusaurus.config.js", "docusaurus.config.ts", "docusaurus.config.mjs", "docusaurus.config.cjs")

    @classmethod
    def recognises(cls, source: Path, files: Sequence[Path]) -> str:
        if sidebars := next(source.glob("sidebars.*"), None):
            return sidebars.name
        for folder in sorted({file.parent for file in files}):
            for name in _CATEGORY:
                if (folder / name).is_file():
                    return (folder / name).relative_to(source).as_posix()
        for file in files:
            if _SITE_IMPORT.search(read_inside(source, file) or ""):
                return f"an import of its theme in {file.relative_to(source).as_posix()}"
        return ""

    @cached_property
    def content(self) -> Path:
        if self.config is not None:
            return self.config.parent / "docs"
        return self.source / "docs" if (self.source / "docs").is_dir() else self.source

    def site_path(self, page: PageFile) -> str:
        inner = self.inner(page.file)
        folder = "/" + "/".join(map(without_number, posixpath.dirname(inner).split("/")))
        stem = posixpath.splitext(posixpath.basename(inner))[0]
        slug = page.text_field("slug")
        if not slug and _is_folder_page(inner):
            path = folder
        else:
            path = posixpath.join(folder, slug or page.text_field("id") or without_number(stem))
        path = posixpath.normpath(path).lstrip("/")
        return f"/{path}" if path and path != "." else ""

    def folder_title(self, folder: Path) -> str:
        return _category_label(self.source, folder) or super().folder_title(folder)

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        return docusaurus_anchors(headings)

    def convert(self, page: PageFile) -> MarkdownText:
        return clean(page.body, file=page.file, root=self.include_root, mdx=True, rule=self.anchors)


def _is_folder_page(path: str) -> bool:
    """Whether a page is its folder's page: it is named `index`, `README`, or like the folder."""
    stem = posixpath.splitext(posixpath.basename(path))[0].lower()
    folder = posixpath.basename(posixpath.dirname(path)).lower()
    return stem in ("index", "readme") or (bool(folder) and stem == folder)


@cache
def _category_label(root: Path, folder: Path) -> str:
    """The label in a folder's `_category_` file; empty where there is none."""
    for name in _CATEGORY:
        text = read_inside(root, folder / name)
        if text is None:
            continue
        try:
            loaded = json.loads(text) if name.endswith(".json") else yaml.load(text, Loader=yaml.BaseLoader)
        except (ValueError, yaml.YAMLError, RecursionError):
            continue
        if isinstance(loaded, dict) and isinstance(label := loaded.get("label"), str):
            return " ".join(label.split())
    return ""
