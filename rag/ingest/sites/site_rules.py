"""A site: its rules for pages, titles, addresses, anchors and syntax.

`Site` has the rules of a folder that no generator publishes: addresses are paths, anchors are GitHub's, and the block
syntaxes of all generators are cleaned. A generator is a subclass that overrides what it does differently.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from html import unescape
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import quote, unquote, urljoin

from rag.ingest.anchors import AnchorRule, HeadingText, github_anchors
from rag.ingest.dialects import admonitions, alerts, unfolded, with_own_ids, without_shortcodes, without_templates
from rag.ingest.formats.file_format import LoadedText, Loader
from rag.ingest.formats.known_formats import BY_SUFFIX, MARKUP
from rag.ingest.includes import Includes, with_braces, with_include_tags, with_snippets
from rag.ingest.links import page_url, relative_url, rewrite_links
from rag.ingest.page import MarkdownText
from rag.ingest.page_draft import PageDraft, begin, finish, strip_html
from rag.ingest.sites.config_files import as_text, config_options, is_true, option
from rag.ingest.sites.mdx import MdxPage, rewrite_mdx, unindented
from rag.ingest.source_files import is_file, is_folder
from rag.ingest.tags import strip_tags
from rag.ingest.titles import readable, without_number

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ENDINGS: Final = ("", ".md", ".mdx", "/index.md", "/README.md", "/index.mdx", "/index.html", ".html")
_FOLDER_PAGES: Final = frozenset({"index", "readme"})
_BUILT_KINDS: Final = frozenset({".html", ".htm", ".xhtml", ".pdf", ".epub"})
_OF_PROGRAMS: Final = frozenset({".html", ".htm", ".xhtml", ".txt", ".text", ".ipynb"})  # templates, data and the like
DOCUMENTS: Final = BY_SUFFIX.keys() - MARKUP - _OF_PROGRAMS  # such as PDF, beside the pages of a site
_NO_PAGES: Final = frozenset({"404.html", "search.html", "genindex.html", "py-modindex.html", "print.html"})
_NO_FOLDERS: Final = frozenset({"search", "genindex", "py-modindex"})  # of Sphinx, with a folder for each page
_INDEX: Final = "index.html"


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


class Site:
    """The rules by which one source is read.

    `source` is the folder that is read, and `config` the generator's configuration file, if there is one; `reason` says
    why these rules were chosen, and `advice` what would be better than reading this folder. Nothing outside
    `include_root` is ever put into a page.
    """

    name: ClassVar[str] = "plain"
    configurations: ClassVar[tuple[str, ...]] = ()  # the names of its configuration files
    kinds: ClassVar[frozenset[str]] = frozenset()  # the endings of its pages; empty: any that can be read

    def __init__(
        self, source: Path, *, config: Path | None = None, reason: str = "", advice: str = "", root: Path | None = None
    ) -> None:
        self.source = source
        self.config = config
        self.reason = reason
        self.advice = advice
        self.include_root = root or source
        self.pages: dict[str, PageFile] = {}
        self.base_url: str | None = None
        self._included: list[tuple[str, Includes]] = []  # by the path of the page

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

    def covers(self) -> bool:
        """Whether the source is a part of the site, or the site a part of the source."""
        overlap = self.content.is_relative_to(self.source) or self.source.is_relative_to(self.content)
        return overlap and is_folder(self.content)

    def loader(self, suffix: str) -> Loader:
        """What reads the files with this ending."""
        return BY_SUFFIX[suffix]

    def inner(self, file: Path) -> str:
        """The POSIX path of a file relative to the content folder."""
        return file.relative_to(self.content).as_posix()

    # Which files are pages

    def reads(self, file: Path) -> bool:
        """Whether a file is read: a page of the site, or a document such as a PDF beside its pages."""
        if self.is_document(file):
            return file.is_relative_to(self.content) and not file.name.startswith("_")
        return (not self.kinds or file.suffix.lower() in self.kinds) and self.is_page(file)

    def is_document(self, file: Path) -> bool:
        """Whether a file of a generator's site is none of its pages and yet of the book."""
        return bool(self.kinds) and file.suffix.lower() in DOCUMENTS

    @cached_property
    def _is_built(self) -> bool:
        """Whether the folder is a built site, which may also hold the sources of its pages."""
        return is_file(self.source / _INDEX) and not any(
            is_file(self.source / name) for name in ("index.md", "README.md", "index.rst")
        )

    def is_page(self, file: Path) -> bool:
        """Whether the file is a page, or a document of its own, by its place and its kind."""
        if file.name.startswith("_"):
            return False
        if not self._is_built:
            return True
        listing = file.name in _NO_PAGES or (file.name == _INDEX and self.inner(file.parent) in _NO_FOLDERS)
        return file.suffix.lower() in _BUILT_KINDS and not listing

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
            is_index = f"{stem}{suffix}" in (_INDEX, "index.htm")
            return posixpath.join("/", folder, "") if is_index else f"/{inner}{suffix}"
        path = folder if stem.lower() in _FOLDER_PAGES else posixpath.join(folder, stem)
        return f"/{path}" if path else ""

    def route(self, base_url: str) -> str:
        """The address of the content folder on the site, below the address that the user gave."""
        return base_url

    # What they are called

    def site_title(self) -> str:
        """The title of the whole site by its configuration; empty where it has none."""
        return ""

    def site_description(self) -> str:
        """What the site says of itself in its configuration; empty where it says nothing."""
        return ""

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
        if page.syntax == "plain":
            return self._plain_text(page)
        if self.is_mdx(page):
            return self._mdx_text(page)
        return self._markdown_text(page)

    def is_mdx(self, page: PageFile) -> bool:
        """Whether the page is read as MDX, where indented lines are no code."""
        return page.syntax == "mdx"

    def _mdx_text(self, page: PageFile) -> MarkdownText:
        home = self.config.parent if self.config is not None else self.source
        draft = begin(unindented(page.body), self.anchors, indented=False)
        rewrite_mdx(draft, MdxPage(page.file, home, self.includes(page)), partial(partial, self.link_in, page))
        return self._finished(draft, page)

    def _markdown_text(self, page: PageFile) -> MarkdownText:
        draft = begin(self.expanded(page, self.includes(page)), self.anchor_rule(page))
        self.rewrite(draft, page)
        draft.text = alerts(with_own_ids(draft.text))
        strip_html(draft)
        rewrite_links(draft, partial(self.link, page), self.unknown_reference)
        return self._finished(draft, page)

    def _finished(self, draft: PageDraft, page: PageFile) -> MarkdownText:
        """The text of a draft, below the page's description."""
        return finish(draft, " ".join(unescape(strip_tags(self.description(page), mdx=False)).split()))

    def _plain_text(self, page: PageFile) -> MarkdownText:
        """A page that its loader wrote as plain Markdown: only its links change."""
        if page.page_lines:  # they count the lines of this text
            return MarkdownText(page.body, github_anchors)
        draft = begin(page.body, self.anchors)
        rewrite_links(draft, partial(self.link, page))
        return finish(draft)

    def includes(self, page: PageFile) -> Includes:
        """The files that a page may include. `refused` tells of those that are not read."""
        includes = Includes(self.source, self.include_root)
        self._included.append((page.path, includes))
        return includes

    @property
    def refused(self) -> dict[str, dict[str, str]]:
        """By page the names of the files that it includes and that are not read, and why."""
        return {path: dict(sorted(includes.refused.items())) for path, includes in self._included if includes.refused}

    @property
    def included(self) -> Counter[str]:
        """The files of the source that pages include and that are no pages themselves, counted by their endings."""
        used = {file for _, includes in self._included for file in includes.used}
        used -= {page.file for page in self.pages.values()}
        return Counter(file.suffix.lower() for file in used if file.is_relative_to(self.source))

    def expanded(self, page: PageFile, includes: Includes) -> str:
        """The text of a page with the files that it includes, also those inside its code, and without block syntax."""
        folders = (page.file.parent, self.source, self.include_root)
        text = with_include_tags(page.body, page.file, self.content, includes)
        return unfolded(with_braces(with_snippets(text, folders, includes), page.file.parent, includes))

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        """Turn the generator's own syntax into Markdown or HTML. Code is masked."""
        draft.text = without_shortcodes(without_templates(admonitions(draft.text), draft.keep))

    # Their links

    def url(self, page: PageFile) -> str:
        """The address of a page: on the site, or its path where no base URL was given."""
        if page.part:
            whole = replace(page, path=page.path.removesuffix(f"/{page.part}"), part="")
            return f"{self.url(whole)}#{quote(page.part)}"
        if self.base_url is None:
            return relative_url(page.path)
        if self.is_document(page.file):
            return page_url(self.base_url, Site.site_path(self, page))
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

    def link_in(self, page: PageFile, file: Path, destination: str) -> str:
        """The address that a link of a file leads to which the page includes. A partial names pages from its place."""
        path, hash_, fragment = destination.partition("#")
        there = Path(posixpath.normpath(file.parent / unquote(path)))
        if file != page.file and "://" not in path and there in self.by_file:
            return self.url(self.by_file[there]) + hash_ + fragment
        return self.link(page, destination)

    def unknown_reference(self, text: str, label: str) -> str | None:
        """What a reader sees of `[text][label]` where the page does not define the label; None for its source."""
        return None

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
            if found := self._by_place.get((file + ending).removeprefix("./")):
                return found
        return self._by_address.get(_bare(urljoin(self.site_path(page) or "/", path)))

    def _place(self, page: PageFile) -> str:
        """The path of a page below the content folder; that of a part goes on inside its file."""
        return posixpath.join(self.inner(page.file), page.part) if page.part else self.inner(page.file)

    @cached_property
    def by_file(self) -> dict[Path, PageFile]:
        """The pages by their files."""
        return {page.file: page for page in self.pages.values()}

    @cached_property
    def _by_place(self) -> dict[str, PageFile]:
        return {self._place(page): page for page in self.pages.values()}

    @cached_property
    def _by_address(self) -> dict[str, PageFile]:
        return {_bare(self.site_path(page)): page for page in self.pages.values()}


class CrawledSite(Site):
    """The pages of a site that was read over HTTP. `addresses` has the address of each by its path."""

    def __init__(self, source: Path, addresses: Mapping[str, str]) -> None:
        super().__init__(source, reason="it is a site")
        self.addresses = addresses

    def is_page(self, file: Path) -> bool:
        return True

    def url(self, page: PageFile) -> str:
        """The page's own address, or the one under the base URL that the user gave."""
        if self.base_url is None:
            return self.addresses[page.path]
        return page_url(self.base_url, f"/{unquote(page.path.removesuffix(_INDEX))}")

    def link(self, page: PageFile, destination: str) -> str:
        """Links are relative to the address at which the page was found."""
        return urljoin(self.addresses[page.path], destination)

    def usual_title(self, page: PageFile) -> str:
        path = unquote(page.path.removesuffix(_INDEX).rstrip("/"))
        return readable(posixpath.splitext(posixpath.basename(path))[0]) or self.addresses[page.path]


def _bare(site_path: str) -> str:
    """An address by which pages are compared: without a slash, `index.html` or `.html` at its end."""
    return re.sub(r"(?:/index)?(?:\.html)?/*$", "", site_path)
