"""MkDocs, its fork ProperDocs, and Zensical, with Material's extensions.

Described at mkdocs.org, squidfunk.github.io/mkdocs-material, properdocs.org and zensical.org.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from rag.ingest.anchors import (
    AnchorRule,
    HeadingText,
    notebook_anchors,
    python_markdown_slug,
    unicode_slug,
    unique_by_underscore,
)
from rag.ingest.generators.config_files import as_text, config_text, is_false, listed, mapping, option, strings
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.generators.markdown_includes import with_included
from rag.ingest.generators.mkdocs_syntax import rewrite_mkdocs, unfolded, with_snippets
from rag.ingest.includes import Includes
from rag.ingest.page import MarkdownText, plain_inline
from rag.ingest.page_draft import PageDraft
from rag.ingest.patterns import is_ignored
from rag.ingest.source_files import is_file, is_folder, resolved

_LEFT_OUT: Final = ".*\n/templates/"  # what MkDocs itself leaves out
_UNICODE_SLUGS: Final = re.compile(
    r"slugify:\s*!!python/\S*(?:pymdownx\.slugs|slugify_unicode)|slugify\b.{0,50}pymdownx\.slugs"
)
_INCLUDES: Final = "include-markdown"
_SNIPPETS: Final = "pymdownx.snippets"
_PACKAGES: Final = frozenset({"pymdownx", "markdown"})
_EXAMPLES: Final = "docs_src"  # the folder beside the docs in which FastAPI and its family keep their examples
_REPOSITORY: Final = (".git", "pyproject.toml", "setup.py", "package.json", "Cargo.toml", "go.mod")
_REFERENCES: Final = frozenset({"autorefs", "mkdocstrings"})  # plugins for which `[text][name]` names an object
_VARIABLES: Final = ("macros", "markdownextradata")  # plugins that take a page as a template of Jinja
_BLOGS: Final = ("material/blog", "blog")
_BLOG_PLACE: Final = re.compile(r"\{(date|slug|file|categories)\}")
_PART_OF_DATE: Final = re.compile(r"y+|M+|d+")
_BLOG_DATE: Final = re.compile(r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})")


class MkDocs(Generator):
    """A folder for each page, titles from `nav`, and anchors of Python-Markdown."""

    name = "mkdocs"
    tells_missing = True
    configurations = ("mkdocs.yml", "mkdocs.yaml", "properdocs.yml", "properdocs.yaml", "zensical.toml")
    title_options = (("site_name",),)
    description_option = ("site_description",)
    sign = (
        "a note of Python-Markdown",
        re.compile(r"^[ ]*(?:!!!|\?\?\?\+?)[ ]+[a-z][\w-]*[ ]*(?:\"[^\"\n]*\"[ ]*)?$", re.M),
    )

    @cached_property
    def options(self) -> dict[str, Any]:
        is_zensical = self.config is not None and self.config.suffix == ".toml"
        return mapping(super().options.get("project")) if is_zensical else super().options

    @cached_property
    def content(self) -> Path:
        if self.config is None:
            return self.source
        return resolved(self.config.parent / (as_text(self.option("docs_dir")) or "docs"))

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
    def _blog(self) -> _Blog | None:
        options = next((self.plugins[name] for name in _BLOGS if name in self.plugins), None)
        return None if options is None or is_false(options.get("enabled")) else _Blog(options)

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

    def new_includes(self) -> Includes:
        return Includes(self.include_root, *self._examples, named=self._snippet_folders, tells_missing=True)

    @cached_property
    def _snippet_folders(self) -> list[Path]:
        """The folders that the configuration names for snippets, and those of the files that it names."""
        home = self.config.parent if self.config is not None else self.content
        places = [home / path for path in strings(option(self.extensions, _SNIPPETS, "base_path")) or ["."]]
        return [one.parent if is_file(one) else one for one in places]

    def expanded(self, page: PageFile, includes: Includes) -> str:
        added = strings(option(self.extensions, _SNIPPETS, "auto_append"))
        text = with_included(page.body, page.file, self.content, includes) if _INCLUDES in self.plugins else page.body
        text = "\n\n".join([text, *(f'--8<-- "{name}"' for name in added)])
        return unfolded(with_snippets(text, [*self._snippet_folders, self.content, page.file.parent], includes))

    @cached_property
    def _examples(self) -> list[Path]:
        """The folders of examples above the configuration, in the repository that the source belongs to."""
        home = self.config.parent if self.config is not None else self.content
        sources = (self.source, *self.source.parents)
        marks = ((one, one / name) for one in sources for name in _REPOSITORY)  # `.git` is a file in a worktree
        repository = next((one for one, mark in marks if is_file(mark) or is_folder(mark)), self.source)
        above = [folder / _EXAMPLES for folder in home.parents if folder.is_relative_to(repository)]
        return [folder for folder in above if is_folder(folder)]

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        templated = any(name in self.plugins for name in _VARIABLES)
        rewrite_mkdocs(draft, self._variable if templated else None, self.extensions)

    def unknown_reference(self, text: str, label: str) -> str | None:
        return (text or label) if _REFERENCES & self.plugins.keys() else None

    def _variable(self, name: str) -> str:
        """The value of a variable of the macros plugin; empty for one that is computed."""
        value = self.option("extra", *name.split("."))
        return value if isinstance(value, str) else ""


def _named(given: Any) -> dict[str, Any]:
    """The options of plugins or extensions, which are a list of names and of mappings, or one mapping."""
    found: dict[str, Any] = {}
    for one in listed(given):
        named = {one: {}} if isinstance(one, str) else mapping(one)
        found |= {str(name): mapping(options) for name, options in named.items()}
    for package in _PACKAGES & found.keys():  # `[markdown_extensions.pymdownx.keys]` of TOML is nested
        found |= {f"{package}.{name}": mapping(one) for name, one in found[package].items()}
    return found


def _entries(nav: Any, above: tuple[str, ...], depth: int = 0) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The path, the title and the titles above it of each page in a `nav`."""
    for item in nav if isinstance(nav, list) and depth < 20 else ():
        for title, value in item.items() if isinstance(item, dict) else [("", item)]:
            if isinstance(value, str):
                yield posixpath.normpath(value), plain_inline(str(title)), above
            else:
                yield from _entries(value, (*above, plain_inline(str(title))), depth + 1)


class _Blog:
    """Material's blog plugin, which gives posts their addresses, by its options. Paths are relative to the docs."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._folder = posixpath.normpath(as_text(options.get("blog_dir")) or "blog")
        posts = (as_text(options.get("post_dir")) or "{blog}/posts").replace("{blog}", self._folder)
        self._posts = posixpath.normpath(posts)
        self._address = as_text(options.get("post_url_format")) or "{date}/{slug}"
        self._date = as_text(options.get("post_url_date_format")) or "yyyy/MM/dd"
        self._separator = as_text(options.get("post_slugify_separator")) or "-"
        most = as_text(options.get("post_url_max_categories"))
        self._categories = int(most) if most.isdecimal() else 1

    def holds(self, inner: str) -> bool:
        """Whether a file is a post."""
        return inner.startswith(f"{self._posts}/")

    def path(self, page: PageFile) -> str:
        """The path of the page that the plugin makes of a post."""
        date = page.fields.get("date")
        day = _BLOG_DATE.match(str(option(date, "created") or date or ""))
        title = plain_inline(page.text_field("title")) or MarkdownText(page.body).title or page.file.stem
        categories = listed(page.fields.get("categories"))[: self._categories]
        values = {
            "date": _PART_OF_DATE.sub(lambda part: _number(part[0], day), self._date) if day else "",
            "slug": page.text_field("slug") or unicode_slug(title, self._separator),
            "file": page.file.stem,
            "categories": "/".join(unicode_slug(str(one), "-") for one in categories),
        }
        address = _BLOG_PLACE.sub(lambda place: values[place[1]], self._address)
        return posixpath.normpath(posixpath.join(self._folder, f"{address.strip('/')}.md"))


def _number(part: str, day: re.Match[str]) -> str:
    """The part of a date that a run of letters names: `yyyy`, `yy`, `MM`, `M`, `dd` or `d`."""
    digits = day[part[0].lower()]
    return digits if len(part) > 2 or (len(part) == 2 and part[0] != "y") else str(int(digits[-2:]))
