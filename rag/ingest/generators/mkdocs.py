"""MkDocs, with Material's extensions of Markdown: mkdocs.org/user-guide and squidfunk.github.io/mkdocs-material."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from rag.ingest.anchors import HeadingText, python_markdown_anchors
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.includes import read_inside
from rag.ingest.page import plain_inline


class _ConfigLoader(yaml.BaseLoader):
    """YAML with every value a string. Tags such as `!ENV` and `!!python/name:` are ignored and build no objects."""


def _untagged(loader: yaml.BaseLoader, _: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None


_ConfigLoader.add_multi_constructor("", _untagged)


class MkDocs(Generator):
    """A folder for each page, titles from `nav`, and anchors of Python-Markdown."""

    name = "mkdocs"
    configurations = ("mkdocs.yml", "mkdocs.yaml")

    @cached_property
    def options(self) -> dict[str, Any]:
        """The configuration, empty where there is none that can be read."""
        if self.config is None:
            return {}
        try:
            loaded = yaml.load(read_inside(self.config.parent, self.config) or "", Loader=_ConfigLoader)
        except (yaml.YAMLError, ValueError, RecursionError):
            return {}
        return loaded if isinstance(loaded, dict) else {}

    @cached_property
    def content(self) -> Path:
        if self.config is None:
            return self.source
        docs = self.options.get("docs_dir", "docs")
        return (self.config.parent / (docs if isinstance(docs, str) else "docs")).resolve()

    @cached_property
    def _nav(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """The title and the titles above it of each page in `nav`, by its path. A title may be empty."""
        return {path: (title, above) for path, title, above in _entries(self.options.get("nav"), ())}

    def is_page(self, file: Path) -> bool:
        return file.is_relative_to(self.content) and not self._hidden_by_index(file)

    def _hidden_by_index(self, file: Path) -> bool:
        return file.stem == "README" and (file.parent / "index.md").is_file()

    def site_path(self, page: PageFile) -> str:
        folder, stem = posixpath.split(posixpath.splitext(self.inner(page.file))[0])
        is_index = stem in ("index", "README")
        if self.options.get("use_directory_urls", "true") == "false":
            return "/" + posixpath.join(folder, "index.html" if is_index else f"{stem}.html")
        path = folder if is_index else posixpath.join(folder, stem)
        return f"/{path}/" if path else "/"

    def title(self, page: PageFile) -> str:
        return self._nav.get(self.inner(page.file), ("", ()))[0] or super().title(page)

    def breadcrumb(self, page: PageFile) -> tuple[str, ...]:
        entry = self._nav.get(self.inner(page.file))
        return entry[1] if entry else super().breadcrumb(page)

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        return python_markdown_anchors(headings)


def _entries(nav: Any, above: tuple[str, ...], depth: int = 0) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The path, the title and the titles above it of each page in a `nav`."""
    for item in nav if isinstance(nav, list) and depth < 20 else ():
        for title, value in item.items() if isinstance(item, dict) else [("", item)]:
            if isinstance(value, str):
                yield posixpath.normpath(value), plain_inline(str(title)), above
            else:
                yield from _entries(value, (*above, plain_inline(str(title))), depth + 1)
