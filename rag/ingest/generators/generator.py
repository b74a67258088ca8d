"""A site generator: its rules for pages, titles, addresses, anchors and syntax.

A new generator is a subclass of `Generator`, which has the rules of a folder that no generator publishes. It overrides
what it does differently, and is named in `known_generators.py`.
"""

from __future__ import annotations

import posixpath
import re
from abc import ABC
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from html import unescape
from pathlib import Path
from typing import Any, ClassVar, Final, Literal
from urllib.parse import quote, unquote, urljoin

from rag.ingest.anchors import AnchorRule, HeadingText, github_anchors
from rag.ingest.data_values import unicode_text
from rag.ingest.dialects import admonitions, alerts
from rag.ingest.formats.file_format import LoadedText, Loader
from rag.ingest.formats.known_formats import BY_SUFFIX, MARKUP
from rag.ingest.generators.config_files import as_text, config_options, is_true, option
from rag.ingest.includes import Includes
from rag.ingest.links import page_url, relative_url, rewrite_links
from rag.ingest.mdx import MdxPage, rewrite_mdx, unindented
from rag.ingest.page import MarkdownText
from rag.ingest.page_draft import PageDraft, begin, finish, strip_html
from rag.ingest.rst_markdown import RstMarkdown
from rag.ingest.rst_syntax import BookPlace, parse_rst
from rag.ingest.source_files import is_folder
from rag.ingest.tags import strip_tags
from rag.ingest.titles import readable, without_number

GeneratorName = Literal["docusaurus", "mkdocs", "mdbook", "hugo", "sphinx", "jekyll", "plain"]
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ENDINGS: Final = ("", ".md", ".mdx", "/index.md", "/README.md", "/index.mdx", "/index.html", ".html")
_FOLDER_PAGES: Final = frozenset({"index", "readme"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFile(LoadedText):
    """A text of a file. `path`, with which its passages are stored, is relative to the source."""

    path: str
    file: Path

    @classmethod
    def of(cls, text: LoadedText, path: str, file: Path) -> PageFile:
        path = f"{path}/{text.part}" if text.part else path
        return cls(path=path, file=file, **{one.name: getattr(text, one.name) for one in fields(text)})

    def text_field(self, name: str) -> str:
        """A field of the front matter as one line of text; empty where it is missing or no text."""
        return as_text(self.fields.get(name))

    def is_set(self, name: str) -> bool:
        """Whether a field of the front matter says yes."""
        return is_true(self.fields.get(name))


class Generator(ABC):
    """The rules by which one source becomes a site.

    `source` is the folder that is read, and `config` the generator's configuration file, if there is one; `reason` says
    why this generator was chosen. Nothing outside `include_root` is ever put into a page.
    """

    name: ClassVar[GeneratorName]
    configurations: ClassVar[tuple[str, ...]] = ()  # the names of its configuration files
    title_options: ClassVar[tuple[tuple[str, ...], ...]] = ()  # where the configuration has the title of the site
    description_option: ClassVar[tuple[str, ...]] = ()  # where it says what the site is about
    # What only its pages hold, and what that is called, if it has such a sign.
    sign: ClassVar[tuple[str, re.Pattern[str]] | None] = None
    tells_missing: ClassVar[bool] = False  # whether it tells of a missing file that a page includes
    signed: ClassVar[frozenset[str]] = MARKUP - {".rst"}  # the endings of pages in which the sign is looked for

    def __init__(self, source: Path, *, config: Path | None, reason: str) -> None:
        self.source = source
        self.config = config
        self.reason = reason
        self.pages: dict[str, PageFile] = {}
        self.base_url: str | None = None
        self._included: list[tuple[str, Includes]] = []  # by the path of the page

    @classmethod
    def own_file(cls, source: Path, files: Sequence[Path]) -> Path | None:
        """A file of the source that only this generator has; None where there is none."""
        return None

    @cached_property
    def options(self) -> dict[str, Any]:
        """The configuration; empty where there is none that can be read."""
        return config_options(self.config)

    def option(self, *names: str) -> Any:
        """The option at a path of names; None where there is none."""
        return option(self.options, *names)

    @cached_property
    def content(self) -> Path:
        """The folder that addresses are relative to. It may be above the source or below it."""
        return self.source

    @property
    def include_root(self) -> Path:
        """The folder that includes may not leave. The configuration cannot change it: it could name the whole disk."""
        return self.source if self.config is None else _above_both(self.source, self.config.parent)

    def reads(self, suffix: str) -> bool:
        """Whether files with this ending can be pages of the site."""
        return suffix in MARKUP

    def loader(self, suffix: str) -> Loader:
        """What reads the files with this ending."""
        return BY_SUFFIX[suffix]

    def covers(self) -> bool:
        """Whether the source is a part of the site, or the site a part of the source."""
        overlap = self.content.is_relative_to(self.source) or self.source.is_relative_to(self.content)
        return overlap and is_folder(self.content)

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

    def enter(self, pages: Collection[PageFile], base_url: str | None) -> None:
        """Register all pages, before the address, the title or the text of any page is needed."""
        self.pages = {page.path: page for page in pages}
        self.base_url = base_url

    # Where they are on the site

    def site_path(self, page: PageFile) -> str:
        """The address below the base URL: empty, or beginning with a slash."""
        inner, suffix = posixpath.splitext(self.inner(page.file))
        folder, stem = posixpath.split(inner)
        if suffix.lower() not in MARKUP:  # such a file is served as it is
            is_index = f"{stem}{suffix}" in ("index.html", "index.htm")
            return posixpath.join("/", folder, "") if is_index else f"/{inner}{suffix}"
        path = folder if stem.lower() in _FOLDER_PAGES else posixpath.join(folder, stem)
        return f"/{path}" if path else ""

    def route(self, base_url: str) -> str:
        """The address of the content folder on the site, below the address that the user gave."""
        return base_url

    # What they are called

    def site_title(self) -> str:
        """The title of the whole site by its configuration; empty where it has none."""
        return next(filter(None, (as_text(self.option(*names)) for names in self.title_options)), "")

    def site_description(self) -> str:
        """What the site says of itself in its configuration; empty where it says nothing."""
        return as_text(self.option(*self.description_option)) if self.description_option else ""

    def description(self, page: PageFile) -> str:
        """What a page says of itself in its front matter; for the start page without such, what the site says."""
        own = page.text_field("description")
        if own or page.file.parent != self.content or page.file.stem.lower() not in _FOLDER_PAGES:
            return own
        title, about = self.site_title(), self.site_description()
        return f"**{title}**: {about}" if title and about and title.casefold() not in about.casefold() else about

    def title(self, page: PageFile) -> str:
        """The title in the generator's own files, which takes precedence over the page's first heading."""
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
        return (*(self.folder_title(root / parent) for parent in reversed(parents)), *page.above)

    def folder_title(self, folder: Path) -> str:
        """The title of a folder in a breadcrumb."""
        return readable(without_number(folder.name))

    # Their text

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        """The anchors of all headings of a page, in order."""
        return github_anchors(headings)

    def anchor_rule(self, page: PageFile) -> AnchorRule:
        """The rule for the anchors of one page, where it depends on the kind of its file."""
        return self.anchors

    def convert(self, page: PageFile) -> MarkdownText:
        """The page as plain Markdown. Raises `ValueError` if it includes too much."""
        description = " ".join(unescape(strip_tags(self.description(page), mdx=False)).split())
        if page.syntax == "rst":
            return self.rst_text(page.body, self.place(page, self.includes(page)), page)
        if page.syntax == "plain":
            return self._plain_text(page)
        includes = self.includes(page)
        mdx = self.is_mdx(page)
        text = self.expanded(page, includes)
        draft = begin(unindented(text) if mdx else text, self.anchor_rule(page), indented=not mdx)
        if mdx:
            rewrite_mdx(draft, MdxPage(page.file, self.include_root, includes), partial(partial, self.link_in, page))
        else:
            self.rewrite(draft, page)
            draft.text = alerts(draft.text)
            strip_html(draft)
            rewrite_links(draft, partial(self.link, page), self.unknown_reference)
        return finish(draft, description)

    def includes(self, page: PageFile) -> Includes:
        """The files that a page may include. `refused` tells of those that may not be read."""
        includes = self.new_includes()
        self._included.append((page.path, includes))
        return includes

    def new_includes(self) -> Includes:
        """The files that any page may include."""
        return Includes(self.include_root, tells_missing=self.tells_missing)

    @property
    def refused(self) -> dict[str, dict[str, str]]:
        """By page the names of the files that it includes and that are not read, and why, see `Includes`."""
        found: dict[str, dict[str, str]] = {}
        for path, includes in self._included:
            if includes.refused:
                found[path] = dict(sorted((found.get(path, {}) | includes.refused).items()))
        return found

    @property
    def included(self) -> set[Path]:
        """The files that pages include and that were read."""
        return {file for _, includes in self._included for file in includes.used}

    @property
    def above(self) -> str:
        """The folder above the source that holds files which its pages include; empty where there is none."""
        outside = {file for _, includes in self._included for file in includes.outside}
        holds = (one for one in self.source.parents if all(file.is_relative_to(one) for file in outside))
        return next(holds).as_posix() if outside else ""

    def _plain_text(self, page: PageFile) -> MarkdownText:
        """A page that its loader wrote as plain Markdown: only its links change."""
        if page.page_lines:  # they count the lines of this text
            return MarkdownText(page.body, self.anchors)
        draft = begin(page.body, self.anchors)
        rewrite_links(draft, partial(self.link, page))
        return finish(draft)

    def rst_text(self, text: str, place: BookPlace, page: PageFile) -> MarkdownText:
        """A text of reStructuredText as Markdown. Raises `ValueError` if it includes too much."""
        rule = self.anchor_rule(page)
        markdown = RstMarkdown(parse_rst(text, place), partial(self.link, page), numbered=rule == self.anchors).text
        return MarkdownText(unicode_text(markdown), self.anchors)  # the directive `unicode` can make any character

    def place(self, page: PageFile, includes: Includes) -> BookPlace:
        """What a page with directives and roles knows of the book: without Sphinx, only files to include."""
        return BookPlace(lambda name: includes.read(name, page.file.parent))

    def is_mdx(self, page: PageFile) -> bool:
        """Whether the page is read as MDX, where indented lines are no code."""
        return page.syntax == "mdx"

    def expanded(self, page: PageFile, includes: Includes) -> str:
        """The text of a page with the files that it includes, also those inside its code."""
        return page.body

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        """Turn the generator's own syntax into Markdown or HTML. Code is masked."""
        draft.text = admonitions(draft.text)

    # Its links

    def url(self, page: PageFile) -> str:
        """The address of a page: on the site, or its path where no base URL was given."""
        if page.part:
            whole = replace(page, path=page.path.removesuffix(f"/{page.part}"), part="")
            return f"{self.url(whole)}#{quote(page.part)}"
        if self.base_url is None:
            return relative_url(page.path)
        return page_url(self.route(self.base_url), self.site_path(page))

    def link(self, page: PageFile, destination: str) -> str:
        """The address that a link of a page leads to."""
        if _SCHEME.match(destination) or destination.startswith("//"):
            return destination
        path, hash_, fragment = destination.partition("#")
        target = self.target(page, unquote(path.partition("?")[0])) if path else page
        if target is not None:
            return self.url(target) + (hash_ + fragment if not target.part else "")
        if page.part:
            return ""  # a file inside the book that is no chapter, such as a picture
        if self.base_url is None:
            return destination
        if (missing := self._missing(page, unquote(path))) is not None:
            return self.url(missing) + hash_ + fragment
        return urljoin(self.url(page), destination)

    def unknown_reference(self, text: str, label: str) -> str | None:
        """What a reader sees of `[text][label]` where the page does not define the label; None for its source."""
        return None

    def link_in(self, page: PageFile, file: Path, destination: str) -> str:
        """The address that a link of a file leads to which the page includes. A partial names pages from its place."""
        path, hash_, fragment = destination.partition("#")
        named = posixpath.splitext(path)[1].lower() in MARKUP and not _SCHEME.match(path)
        there = Path(posixpath.normpath(file.parent / unquote(path)))
        if file != page.file and named and there in self.by_real_file:
            return self.url(self.by_real_file[there]) + hash_ + fragment
        return self.link(page, destination)

    def _missing(self, page: PageFile, path: str) -> PageFile | None:
        """The page of a file that a link names and the source lacks, such as one that is written when the site is."""
        if posixpath.splitext(path)[1].lower() not in MARKUP or path.startswith("/"):
            return None
        file = Path(posixpath.normpath(page.file.parent / path))
        if not file.is_relative_to(self.content):
            return None
        return PageFile("", "markdown", path=self.inner(file), file=file)

    def target(self, page: PageFile, path: str) -> PageFile | None:
        """The page that a link names by a file or by an address; None for a link that leads elsewhere."""
        if path.startswith("/"):
            file = path[1:]
        else:
            file = posixpath.normpath(posixpath.join(posixpath.dirname(self._place(page)), path))
        for ending in _ENDINGS:
            name = file + ending
            if found := self._by_file.get(name.removeprefix("./")):
                return found
        found = self._by_address.get(_bare(urljoin(self.site_path(page) or "/", path)))
        return found or self._by_other_name.get(path.strip("/"))

    def _place(self, page: PageFile) -> str:
        """The path of a page below the content folder; that of a part goes on inside its file."""
        return posixpath.join(self.inner(page.file), page.part) if page.part else self.inner(page.file)

    @cached_property
    def by_real_file(self) -> dict[Path, PageFile]:
        return {page.file: page for page in self.pages.values()}

    @cached_property
    def _by_file(self) -> dict[str, PageFile]:
        return {self._place(page): page for page in self.pages.values()}

    def other_names(self, page: PageFile) -> Iterable[object]:
        """Names by which links lead to a page, beside its file and its address."""
        return ()

    @cached_property
    def _by_other_name(self) -> dict[str, PageFile]:
        return {str(name).strip("/"): page for page in self.pages.values() for name in self.other_names(page)}

    @cached_property
    def _by_address(self) -> dict[str, PageFile]:
        return {_bare(self.site_path(page)): page for page in self.pages.values()}


def _bare(site_path: str) -> str:
    """An address by which pages are compared: without a slash, `index.html` or `.html` at its end."""
    return re.sub(r"(?:/index)?(?:\.html)?/*$", "", site_path)


def _above_both(one: Path, other: Path) -> Path:
    """The deepest folder that holds both; `one` if that would be the root of the file system."""
    above = next(folder for folder in (one, *one.parents) if other.is_relative_to(folder))
    return above if above != above.parent else one
