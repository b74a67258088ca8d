"""A site generator: its rules for pages, titles, addresses, anchors and syntax.

A new generator is a subclass of `Generator` that overrides what it does differently, named in `known_generators.py`.
The rules of the base class are those of a folder that no generator publishes.
"""

from __future__ import annotations

import posixpath
from abc import ABC
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, get_args

from rag.ingest.anchors import HeadingText, github_anchors
from rag.ingest.formats.file_format import Syntax
from rag.ingest.headings import readable, without_number
from rag.ingest.mdx import clean
from rag.ingest.page import MarkdownText

GeneratorName = Literal["docusaurus", "mkdocs", "mdbook", "hugo", "sphinx", "jekyll", "plain"]
GENERATORS: Final = get_args(GeneratorName)
_FOLDER_PAGES: Final = frozenset({"index", "readme"})


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file that has been read. `path` is its POSIX path relative to the source, which its passages are stored with.

    `body` is its text without front matter, and `fields` is the front matter.
    """

    path: str
    file: Path
    body: str
    syntax: Syntax
    fields: Mapping[str, Any] = field(default_factory=dict)

    def text_field(self, name: str) -> str:
        """A field of the front matter as one line of text; empty where it is missing or no text."""
        value = self.fields.get(name)
        return " ".join(value.split()) if isinstance(value, str) else ""

    def is_set(self, name: str) -> bool:
        """Whether a field of the front matter says yes."""
        value = self.fields.get(name)
        return value is True or (isinstance(value, str) and value.strip().lower() in ("true", "yes", "on"))


class Generator(ABC):
    """The rules by which one source becomes a site.

    `source` is the folder that is read. `config` is the generator's configuration file, None where the generator was
    named, or recognised without one; `reason` says which. Nothing outside `include_root` is ever put into a page.
    """

    name: ClassVar[GeneratorName]
    configurations: ClassVar[tuple[str, ...]] = ()  # the names of its configuration files, as patterns

    def __init__(self, source: Path, *, config: Path | None, reason: str) -> None:
        self.source = source
        self.config = config
        self.reason = reason
        self.pages: dict[str, PageFile] = {}

    @classmethod
    def recognises(cls, source: Path, files: Sequence[Path]) -> str:
        """Why a source without a configuration file is this generator's; empty if nothing says so."""
        return ""

    @cached_property
    def content(self) -> Path:
        """The folder that addresses are relative to. It may be above the source or below it."""
        return self.source

    @property
    def include_root(self) -> Path:
        """The folder that includes may not leave."""
        return self.source if self.config is None else _above_both(self.content, self.config.parent)

    def covers(self) -> bool:
        """Whether the source is a part of the site, or the site a part of the source."""
        overlap = self.content.is_relative_to(self.source) or self.source.is_relative_to(self.content)
        return overlap and self.content.is_dir()

    def inner(self, file: Path) -> str:
        """The POSIX path of a file relative to the content folder."""
        return file.relative_to(self.content).as_posix()

    # Which files are pages

    def is_page(self, file: Path) -> bool:
        """Whether the file is a page by its place. Files that begin with `_` are parts of others."""
        return file.is_relative_to(self.content) and not file.name.startswith("_")

    def is_published(self, page: PageFile) -> bool:
        """Whether the front matter lets the site publish the page."""
        return True

    def enter(self, pages: Collection[PageFile]) -> None:
        """Take note of all pages, before the first one is asked for its address, its title or its text."""
        self.pages = {page.path: page for page in pages}

    # Where they are on the site

    def site_path(self, page: PageFile) -> str:
        """The address below the base URL: empty, or beginning with a slash."""
        folder, stem = posixpath.split(posixpath.splitext(self.inner(page.file))[0])
        path = folder if stem.lower() in _FOLDER_PAGES else posixpath.join(folder, stem)
        return f"/{path}" if path else ""

    def route(self, base_url: str) -> str:
        """The address of the content folder on the site, below the address that the user gave."""
        return base_url

    # What they are called

    def title(self, page: PageFile) -> str:
        """A title that the generator's own files give, which counts more than the page's first heading."""
        return page.text_field("title")

    def usual_title(self, page: PageFile) -> str:
        """The title of a page that has neither a title nor a heading: the name of its file or, if that says nothing,
        of its folder."""
        folder, stem = posixpath.split(posixpath.splitext(page.path)[0])
        if stem.lower().lstrip("_") in _FOLDER_PAGES and folder:
            stem = posixpath.basename(folder)
        return readable(without_number(stem))

    def breadcrumb(self, page: PageFile) -> tuple[str, ...]:
        """The titles above the page, outermost first."""
        root = self.content if self.content.is_relative_to(self.source) else self.source
        parents = page.file.relative_to(root).parents[:-1] if page.file.is_relative_to(root) else ()
        return tuple(self.folder_title(root / parent) for parent in reversed(parents))

    def folder_title(self, folder: Path) -> str:
        """The title of a folder in a breadcrumb."""
        return readable(without_number(folder.name))

    # Their text

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        """The anchors of all headings of a page, in order."""
        return github_anchors(headings)

    def convert(self, page: PageFile) -> MarkdownText:
        """The page as plain Markdown. Raises `ValueError` if it includes too much."""
        if page.syntax == "plain":
            return MarkdownText(page.body, self.anchors)
        mdx = page.syntax == "mdx"
        return clean(page.body, file=page.file, root=self.include_root, mdx=mdx, rule=self.anchors)


def _above_both(one: Path, other: Path) -> Path:
    """The deepest folder that holds both; `one` if that would be the root of the file system."""
    above = next(folder for folder in (one, *one.parents) if other.is_relative_to(folder))
    return above if above != above.parent else one
