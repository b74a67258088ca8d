"""MkDocs and Zensical, with Material's extensions of Markdown.

Described at mkdocs.org/user-guide, squidfunk.github.io/mkdocs-material and zensical.org/docs.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from rag.ingest.admonitions import alerts
from rag.ingest.anchors import (
    AnchorRule,
    HeadingText,
    notebook_anchors,
    python_markdown_slug,
    unicode_slug,
    unique_by_underscore,
)
from rag.ingest.generators.config_files import as_text, config_options, config_text, is_false
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.generators.mkdocs_blog import Blog, blog_of
from rag.ingest.generators.mkdocs_snippets import SnippetFolders, with_snippets
from rag.ingest.generators.mkdocs_syntax import rewrite_mkdocs, unfolded
from rag.ingest.includes import Allowance
from rag.ingest.masking import PageDraft
from rag.ingest.page import plain_inline
from rag.ingest.patterns import is_ignored
from rag.ingest.source_files import is_file, is_folder, resolved

_LEFT_OUT: Final = ".*\n/templates/"  # what MkDocs itself leaves out
_UNICODE_SLUGS: Final = re.compile(
    r"slugify:\s*!!python/\S*(?:pymdownx\.slugs|slugify_unicode)|slugify\b.{0,50}pymdownx\.slugs"
)
_PACKAGES: Final = frozenset({"pymdownx", "markdown"})
_EXAMPLES: Final = "docs_src"  # the folder beside the docs in which FastAPI and its family keep their examples
_REPOSITORY: Final = (".git", "pyproject.toml", "setup.py", "package.json", "Cargo.toml", "go.mod")
_REFERENCES: Final = frozenset({"autorefs", "mkdocstrings"})  # plugins for which `[text][name]` names an object
_VARIABLES: Final = ("macros", "markdownextradata")  # plugins that take a page as a template of Jinja


class MkDocs(Generator):
    """A folder for each page, titles from `nav`, and anchors of Python-Markdown."""

    name = "mkdocs"
    configurations = ("mkdocs.yml", "mkdocs.yaml", "zensical.toml")

    @cached_property
    def options(self) -> dict[str, Any]:
        """The configuration, empty where there is none that can be read."""
        options = config_options(self.config)
        if self.config is None or self.config.suffix != ".toml":
            return options
        project = options.get("project")
        return project if isinstance(project, dict) else {}

    @cached_property
    def content(self) -> Path:
        if self.config is None:
            return self.source
        docs = self.options.get("docs_dir", "docs")
        return resolved(self.config.parent / (docs if isinstance(docs, str) else "docs"))

    @cached_property
    def _nav(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """The title and the titles above it of each page in `nav`, by its path. A title may be empty."""
        return {path: (title, above) for path, title, above in _entries(self.options.get("nav"), ())}

    @cached_property
    def extensions(self) -> dict[str, Any]:
        """The options of each Markdown extension, by its name."""
        return _named(self.options.get("markdown_extensions"))

    @cached_property
    def plugins(self) -> dict[str, Any]:
        return _named(self.options.get("plugins"))

    def reads(self, suffix: str) -> bool:
        return super().reads(suffix) or (suffix == ".ipynb" and "mkdocs-jupyter" in self.plugins)

    def is_page(self, file: Path) -> bool:
        if not file.is_relative_to(self.content):
            return False
        if file.stem == "README" and is_file(file.parent / "index.md"):
            return False
        inner = self.inner(file)
        left_out = [str(self.options.get(name) or "") for name in ("exclude_docs", "draft_docs")]
        return not is_ignored(inner, "\n".join([_LEFT_OUT, *left_out]))

    @cached_property
    def _blog(self) -> Blog | None:
        return blog_of(self.plugins)

    def _is_post(self, page: PageFile) -> bool:
        return self._blog is not None and self._blog.holds(self.inner(page.file))

    def is_published(self, page: PageFile) -> bool:
        return not (page.is_set("draft") and self._is_post(page))

    def site_path(self, page: PageFile) -> str:
        inner = self._blog.path(page) if self._blog is not None and self._is_post(page) else self.inner(page.file)
        folder, stem = posixpath.split(posixpath.splitext(inner)[0])
        is_index = stem in ("index", "README")
        if is_false(self.options.get("use_directory_urls")):
            return "/" + posixpath.join(folder, "index.html" if is_index else f"{stem}.html")
        path = folder if is_index else posixpath.join(folder, stem)
        return f"/{path}/" if path else "/"

    def site_title(self) -> str:
        return as_text(self.options.get("site_name"))

    def title(self, page: PageFile) -> str:
        return self._nav.get(self.inner(page.file), ("", ()))[0] or super().title(page)

    def breadcrumb(self, page: PageFile) -> tuple[str, ...]:
        entry = self._nav.get(self.inner(page.file))
        return entry[1] if entry else super().breadcrumb(page)

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        toc = self.extensions.get("toc") or self.extensions.get("markdown.extensions.toc") or {}
        separator = toc.get("separator") or "-"
        if _UNICODE_SLUGS.search(config_text(self.config)):
            return unique_by_underscore(headings, lambda text: unicode_slug(text, separator))
        return unique_by_underscore(headings, lambda text: python_markdown_slug(text, separator))

    def anchor_rule(self, page: PageFile) -> AnchorRule:
        return notebook_anchors if page.file.suffix == ".ipynb" else self.anchors

    # Its syntax

    def expanded(self, page: PageFile, allowance: Allowance) -> str:
        snippets = self.extensions.get("pymdownx.snippets") or {}
        paths = snippets.get("base_path") or ["."]
        home = self.config.parent if self.config is not None else self.content
        bases = [home / path for path in (paths if isinstance(paths, list) else [paths]) if isinstance(path, str)]
        folders = SnippetFolders([*bases, self.content, page.file.parent], [self.include_root, *self._examples])
        added = snippets.get("auto_append") or []
        ends = [f'--8<-- "{name}"' for name in (added if isinstance(added, list) else [added])]
        return unfolded(with_snippets("\n\n".join([page.body, *ends]), folders, allowance))

    @cached_property
    def _examples(self) -> list[Path]:
        """The folders of examples above the configuration, in the repository that the source belongs to."""
        home = self.config.parent if self.config is not None else self.content
        sources = (self.source, *self.source.parents)
        repository = next((one for one in sources if any(map(_exists, (one / n for n in _REPOSITORY)))), self.source)
        above = [folder / _EXAMPLES for folder in home.parents if folder.is_relative_to(repository)]
        return [folder for folder in above if is_folder(folder)]

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        templated = any(name in self.plugins for name in _VARIABLES)
        rewrite_mkdocs(draft, self._variable if templated else None, self.extensions)
        draft.text = alerts(draft.text)

    def unknown_reference(self, text: str, label: str) -> str | None:
        return (text or label) if _REFERENCES & self.plugins.keys() else None

    def _variable(self, name: str) -> str:
        """The value of a variable of the macros plugin; empty for one that is computed."""
        value: Any = self.options.get("extra")
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value if isinstance(value, str) else ""


def _exists(path: Path) -> bool:
    """Whether there is such a file or folder; `.git` is a file in a worktree."""
    return is_file(path) or is_folder(path)


def _named(listed: Any) -> dict[str, Any]:
    """The options of plugins or extensions, which are a list of names and of mappings, or one mapping."""
    found: dict[str, Any] = {}
    for one in [listed] if isinstance(listed, dict) else listed if isinstance(listed, list) else ():
        for name, options in one.items() if isinstance(one, dict) else [(one, {})]:
            if isinstance(name, str):
                found[name] = options if isinstance(options, dict) else {}
    for package in _PACKAGES & found.keys():  # `[markdown_extensions.pymdownx.keys]` of TOML is nested
        found |= {f"{package}.{name}": one if isinstance(one, dict) else {} for name, one in found[package].items()}
    return found


def _entries(nav: Any, above: tuple[str, ...], depth: int = 0) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The path, the title and the titles above it of each page in a `nav`."""
    for item in nav if isinstance(nav, list) and depth < 20 else ():
        for title, value in item.items() if isinstance(item, dict) else [("", item)]:
            if isinstance(value, str):
                yield posixpath.normpath(value), plain_inline(str(title)), above
            else:
                yield from _entries(value, (*above, plain_inline(str(title))), depth + 1)
