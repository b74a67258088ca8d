"""Jekyll: jekyllrb.com/docs/permalinks, /docs/collections and /docs/front-matter; kramdown.gettalong.org/syntax."""

from __future__ import annotations

import datetime
import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urljoin
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rag.ingest.admonitions import alerts
from rag.ingest.anchors import HeadingText, kramdown_anchors
from rag.ingest.formats.file_format import Loader
from rag.ingest.formats.html_files import HtmlLoader
from rag.ingest.formats.markdown_files import MarkdownLoader
from rag.ingest.generators.config_files import as_text, config_options, is_false, is_true
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.generators.liquid import LiquidPage, expand_liquid, rewrite_kramdown
from rag.ingest.includes import Allowance
from rag.ingest.masking import PageDraft
from rag.ingest.page import MarkdownText
from rag.ingest.patterns import is_ignored, matches_any
from rag.ingest.source_files import read_inside, resolved

_POST: Final = re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})-(?P<title>.*)")
_TAG: Final = re.compile(
    r"\{%-?\s*(?:include|highlight|endhighlight|link|post_url|raw|assign|for|if)\b|^\{:[ .#]", re.MULTILINE
)
_NO_PAGES: Final = frozenset({"404.html", "search.html"})
_LEFT_OUT: Final = ("vendor/", "node_modules/", "Gemfile", ".*")
_STYLES: Final = {
    "date": "/:categories/:year/:month/:day/:title:output_ext",
    "pretty": "/:categories/:year/:month/:day/:title/",
    "ordinal": "/:categories/:year/:y_day/:title:output_ext",
    "weekdate": "/:categories/:year/W:week/:short_day/:title:output_ext",
    "none": "/:categories/:title:output_ext",
}
_PAGES: Final = {"pretty": "/:path/:basename/", "other": "/:path/:basename:output_ext"}


class Jekyll(Generator):
    """Pages with front matter, posts and collections, at addresses that `permalink` gives, and kramdown's anchors."""

    name = "jekyll"
    configurations = ("_config.yml", "_config.yaml")
    _redirects: Mapping[str, PageFile] = MappingProxyType({})

    @classmethod
    def recognises(cls, source: Path, files: Sequence[Path]) -> str:
        for file in files:
            if file.parent.name == "_posts":
                return file.relative_to(source).as_posix()
        for file in files:
            if file.suffix.lower() != ".rst" and _TAG.search(read_inside(source, file) or ""):
                return f"a tag of Liquid or kramdown in {file.relative_to(source).as_posix()}"
        return ""

    @cached_property
    def options(self) -> dict[str, Any]:
        return config_options(self.config)

    def site_title(self) -> str:
        return as_text(self.options.get("title")) or as_text(self.options.get("name"))

    @cached_property
    def content(self) -> Path:
        if self.config is None:
            return self.source
        folder = self.options.get("source")
        return resolved(self.config.parent / (folder if isinstance(folder, str) else "."))

    @cached_property
    def _collections(self) -> dict[str, dict[str, Any]]:
        """The options of the collections that are published, by their names; the posts are one."""
        given = self.options.get("collections")
        named = (
            given.items() if isinstance(given, dict) else [(n, {}) for n in given] if isinstance(given, list) else ()
        )
        found = {str(name): options if isinstance(options, dict) else {} for name, options in named}
        published = {name: options for name, options in found.items() if is_true(options.get("output"))}
        return published | {"posts": found.get("posts", {})}

    def _collection(self, file: Path) -> str:
        """The collection that a file is in by its folder; empty for none."""
        inner = self.inner(file).removeprefix(f"{str(self.options.get('collections_dir') or '').strip('/')}/")
        if "_posts" in inner.split("/")[:-1]:
            return "posts"
        first, slash, _ = inner.partition("/")
        return first[1:] if slash and first.startswith("_") else ""

    # Pages

    def reads(self, suffix: str) -> bool:
        return super().reads(suffix) or (suffix in HtmlLoader.suffixes and find_spec("bs4") is not None)

    def loader(self, suffix: str) -> Loader:
        """HTML too has front matter and Liquid here. It is read as text, and `convert` turns it into Markdown."""
        return MarkdownLoader() if suffix in HtmlLoader.suffixes else super().loader(suffix)

    def is_page(self, file: Path) -> bool:
        if not file.is_relative_to(self.content):
            return False
        inner = self.inner(file)
        if collection := self._collection(file):
            return collection in self._collections and (collection != "posts" or bool(_POST.match(file.stem)))
        excluded = self.options.get("exclude")
        patterns = [str(one) for one in excluded] if isinstance(excluded, list) else []
        hidden = any(part.startswith(("_", "#", "~")) for part in inner.split("/"))
        return not hidden and not is_ignored(inner, "\n".join((*_LEFT_OUT, *patterns)))

    def is_published(self, page: PageFile) -> bool:
        """A file without front matter is copied as it is, so it is no page, except that GitHub renders it."""
        is_html = _is_html(page)
        copied = is_html or (self.config is not None and not self._renders_all)
        if not page.fields and copied and not page.has_head:
            return False
        if is_html and page.file.name in _NO_PAGES:
            return False
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        is_future = str(page.fields.get("date") or "")[:10] > today and not is_true(self.options.get("future"))
        return not is_false(self._value(page, "published")) and not page.is_set("draft") and not is_future

    def enter(self, pages: Collection[PageFile], base_url: str | None) -> None:
        """Pages with `redirect_to` only lead to others."""
        super().enter([page for page in pages if "redirect_to" not in page.fields], base_url)
        self._redirects = {self.site_path(page): page for page in pages if "redirect_to" in page.fields}

    @property
    def _renders_all(self) -> bool:
        plugins = self.options.get("plugins")
        return isinstance(plugins, list) and any("optional-front-matter" in str(one) for one in plugins)

    def _value(self, page: PageFile, name: str) -> Any:
        """A value of the page's front matter, else the one that `defaults` gives for its path."""
        if name in page.fields:
            return page.fields[name]
        inner, kind = self.inner(page.file), self._collection(page.file) or "pages"
        found: Any = None
        defaults = self.options.get("defaults")
        for one in defaults if isinstance(defaults, list) else ():
            scope, values = (one.get("scope"), one.get("values")) if isinstance(one, dict) else (None, None)
            if isinstance(values, dict) and name in values and _is_in(scope, inner, kind):
                found = values[name]
        return found

    # Addresses

    def site_path(self, page: PageFile) -> str:
        collection = self._collection(page.file)
        inner = self.inner(page.file)
        stem = posixpath.splitext(posixpath.basename(inner))[0]
        template = self._value(page, "permalink")
        style = self.options.get("permalink")
        if collection == "posts":
            usual = style if isinstance(style, str) else "date"
            template = template or self._collections["posts"].get("permalink") or _STYLES.get(usual, usual)
            return _filled(_STYLES.get(str(template), str(template)), self._post_values(page, stem))
        if collection:
            path = posixpath.splitext(inner.partition(f"_{collection}/")[2])[0]
            template = template or self._collections[collection].get("permalink") or "/:collection/:path:output_ext"
            values = {"collection": collection, "path": path, "name": stem, "title": page.text_field("slug") or stem}
            return _filled(str(template), values)
        ends_in_slash = isinstance(style, str) and (style == "pretty" or style.endswith("/"))
        usual = _PAGES["pretty" if ends_in_slash else "other"]
        values = {"path": posixpath.dirname(inner), "basename": stem}
        return _filled(str(template) if template else usual, values)

    def _post_values(self, page: PageFile, stem: str) -> dict[str, str]:
        found = _POST.match(stem)
        name = found.groupdict() if found else {"year": "", "month": "", "day": "", "title": stem}
        date = self._date(str(page.fields.get("date") or ""))
        year, month, day = date or (name["year"], name["month"].zfill(2), name["day"].zfill(2))
        given = page.fields.get("categories") or page.fields.get("category") or []
        listed = given.split() if isinstance(given, str) else [str(one) for one in given]
        above = [part for part in self.inner(page.file).split("/")[:-1] if not part.startswith("_")]
        categories = "/".join(dict.fromkeys(part.lower().replace(" ", "-") for part in [*above, *listed]))
        title = page.text_field("slug") or name["title"]
        parts = {"year": year, "month": month, "day": day, "title": title, "slug": title, "categories": categories}
        return parts | {"i_month": month.lstrip("0"), "i_day": day.lstrip("0"), "short_year": year[-2:]}

    def _date(self, written: str) -> tuple[str, ...] | None:
        """The year, month and day of a date on the site's clock; None for what is no date.

        A time that names its own zone may be on another day there. Without `timezone`, UTC is taken, since the clock of
        the machine that builds the site is not known.
        """
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}[T ]\d{1,2}:\d{2}(?::\d{2})?\s*(?:[+-]\d{2}:?\d{2}|Z)", written):
            try:
                moment = datetime.datetime.fromisoformat(re.sub(r"\s+(?=[+-]|Z)", "", written))
                return tuple(moment.astimezone(self._zone).strftime("%Y %m %d").split())
            except (ValueError, OverflowError):
                pass
        found = re.match(r"(\d{4})-(\d{2})-(\d{2})", written)
        return found.groups() if found else None

    @cached_property
    def _zone(self) -> datetime.tzinfo:
        try:
            return ZoneInfo(as_text(self.options.get("timezone")) or "UTC")
        except (ValueError, OSError, ZoneInfoNotFoundError):
            return datetime.UTC

    def target(self, page: PageFile, path: str) -> PageFile | None:
        if found := super().target(page, path):
            return found
        if redirect := self._redirects.get(urljoin(self.site_path(page), path)):
            return super().target(redirect, str(redirect.fields["redirect_to"]))
        return self._posts.get(path.strip("/")) or self._former.get(path.strip("/"))

    @cached_property
    def _former(self) -> dict[str, PageFile]:
        """The pages by the addresses that lead to them (`redirect_from`)."""
        found: dict[str, PageFile] = {}
        for page in self.pages.values():
            given = page.fields.get("redirect_from")
            for address in [given] if isinstance(given, str) else given if isinstance(given, list) else ():
                found.setdefault(str(address).strip("/"), page)
        return found

    @cached_property
    def _posts(self) -> dict[str, PageFile]:
        """The posts by the names that `post_url` uses."""
        posts = (page for page in self.pages.values() if self._collection(page.file) == "posts")
        return {f"_posts/{posixpath.splitext(page.file.name)[0]}": page for page in posts}

    # Syntax

    def unknown_reference(self, text: str, label: str) -> str | None:
        """`[x][]` without a definition is defined by a loop of Liquid, as a rule."""
        return text if text and text == label else None

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        return kramdown_anchors(headings)

    def convert(self, page: PageFile) -> MarkdownText:
        if not _is_html(page):
            return super().convert(page)
        texts = HtmlLoader().load(self.expanded(page, Allowance()).encode())
        return super().convert(replace(page, body="".join(text.body for text in texts), syntax="plain"))

    def expanded(self, page: PageFile, allowance: Allowance) -> str:
        if is_false(page.fields.get("render_with_liquid")):
            return page.body
        folder = self.options.get("includes_dir")
        includes = self.content / (folder if isinstance(folder, str) else "_includes")
        values: dict[str, Mapping[str, Any]] = {"site": self.options, "page": page.fields}
        place = LiquidPage(page.file.parent, includes, self.include_root, values, allowance)
        return expand_liquid(page.body, place)

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        rewrite_kramdown(draft)
        draft.text = alerts(draft.text)


def _is_html(page: PageFile) -> bool:
    return page.file.suffix.lower() in HtmlLoader.suffixes


def _is_in(scope: object, inner: str, kind: str) -> bool:
    """Whether a scope of `defaults` holds a page."""
    if not isinstance(scope, dict):
        return True
    path, of_kind = str(scope.get("path") or "").strip("/"), scope.get("type")
    inside = not path or inner == path or inner.startswith(f"{path}/") or ("*" in path and matches_any(inner, [path]))
    return inside and of_kind in (None, "", kind)


def _filled(template: str, values: Mapping[str, str]) -> str:
    """The address that a template makes; an index page has the address of its folder."""
    filled = re.sub(r":([a-z_]+)", lambda match: _part(match[1], values), template)
    path = re.sub(r"/{2,}", "/", "/" + filled)
    return re.sub(r"/index(?:\.html)?/?$", "/", path)


def _part(name: str, values: Mapping[str, str]) -> str:
    return ".html" if name == "output_ext" else values.get(name, "")
