"""Jekyll: jekyllrb.com/docs/permalinks, /docs/collections and /docs/front-matter; kramdown.gettalong.org/syntax."""

from __future__ import annotations

import datetime
import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rag.ingest.anchors import HeadingText, kramdown_anchors
from rag.ingest.formats.file_format import Loader
from rag.ingest.formats.known_formats import HTML, MARKDOWN
from rag.ingest.generators.config_files import as_text, is_false, is_true, listed, mapping, option
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.generators.liquid import LiquidPage, expand_liquid, rewrite_kramdown
from rag.ingest.includes import Includes
from rag.ingest.page import MarkdownText
from rag.ingest.page_draft import PageDraft
from rag.ingest.patterns import is_ignored, matches_any
from rag.ingest.source_files import resolved

_POST: Final = re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})-(?P<title>.*)")
_NO_PAGES: Final = frozenset({"404.html", "search.html"})
_LEFT_OUT: Final = ("vendor/", "node_modules/", "Gemfile", ".*")
_STYLES: Final = {
    "date": "/:categories/:year/:month/:day/:title:output_ext",
    "pretty": "/:categories/:year/:month/:day/:title/",
    "none": "/:categories/:title:output_ext",
}
_PAGES: Final = {"pretty": "/:path/:basename/", "other": "/:path/:basename:output_ext"}


class Jekyll(Generator):
    """Pages with front matter, posts and collections, at addresses that `permalink` gives, and kramdown's anchors."""

    name = "jekyll"
    configurations = ("_config.yml", "_config.yaml")
    title_options = (("title",), ("name",))
    description_option = ("description",)
    _redirects: dict[str, PageFile]

    sign = (
        "a tag of Liquid or kramdown",
        re.compile(
            r"\{%-?\s*(?:include|highlight|endhighlight|link|post_url|raw|assign|for|if)\b|^\{:[ .#]", re.MULTILINE
        ),
    )

    @classmethod
    def own_file(cls, source: Path, files: Sequence[Path]) -> Path | None:
        return next((file for file in files if file.parent.name == "_posts"), None)

    @cached_property
    def content(self) -> Path:
        if self.config is None:
            return self.source
        return resolved(self.config.parent / as_text(self.options.get("source")))

    @cached_property
    def _collections(self) -> dict[str, dict[str, Any]]:
        """The options of the collections that are published, by their names; the posts are one."""
        given = self.options.get("collections")
        named = given if isinstance(given, dict) else dict.fromkeys(map(str, listed(given)))
        found = {str(name): mapping(options) for name, options in named.items()}
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
        return super().reads(suffix) or (suffix in HTML.suffixes and find_spec("bs4") is not None)

    def loader(self, suffix: str) -> Loader:
        """HTML too has front matter and Liquid here. It is read as text, and `convert` turns it into Markdown."""
        return MARKDOWN if suffix in HTML.suffixes else super().loader(suffix)

    def is_page(self, file: Path) -> bool:
        if not file.is_relative_to(self.content):
            return False
        inner = self.inner(file)
        if collection := self._collection(file):
            return collection in self._collections and (collection != "posts" or bool(_POST.match(file.stem)))
        patterns = map(str, listed(self.options.get("exclude")))
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
        return any("optional-front-matter" in str(one) for one in listed(self.options.get("plugins")))

    def _value(self, page: PageFile, name: str) -> Any:
        """A value of the page's front matter, else the one that `defaults` gives for its path."""
        if name in page.fields:
            return page.fields[name]
        inner, kind = self.inner(page.file), self._collection(page.file) or "pages"
        found: Any = None
        for one in listed(self.options.get("defaults")):
            values = mapping(option(one, "values"))
            if name in values and _is_in(mapping(option(one, "scope")), inner, kind):
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
        given = page.fields.get("categories") or page.fields.get("category")
        named = given.split() if isinstance(given, str) else map(str, listed(given))
        above = [part for part in self.inner(page.file).split("/")[:-1] if not part.startswith("_")]
        categories = "/".join(dict.fromkeys(part.lower().replace(" ", "-") for part in [*above, *named]))
        title = page.text_field("slug") or name["title"]
        parts = {"year": year, "month": month, "day": day, "title": title, "slug": title, "categories": categories}
        return parts | {"i_month": month.lstrip("0"), "i_day": day.lstrip("0"), "short_year": year[-2:]}

    def _date(self, written: str) -> tuple[str, ...] | None:
        """The year, month and day of a date on the site's clock (UTC, if it has no `timezone`); None for no date."""
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
        return None

    def other_names(self, page: PageFile) -> Iterable[object]:
        """The name that `post_url` uses, and the addresses that lead to the page."""
        if self._collection(page.file) == "posts":
            yield f"_posts/{page.file.stem}"
        yield from listed(page.fields.get("redirect_from"))

    # Syntax

    def unknown_reference(self, text: str, label: str) -> str | None:
        """`[x][]` without a definition is defined by a loop of Liquid, as a rule."""
        return text if text and text == label else None

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        return kramdown_anchors(headings)

    def convert(self, page: PageFile) -> MarkdownText:
        if _is_html(page):
            texts = HTML.load(self.expanded(page, self.includes(page)).encode())
            page = replace(page, body="".join(text.body for text in texts), syntax="plain")
        return super().convert(page)

    def expanded(self, page: PageFile, includes: Includes) -> str:
        if is_false(page.fields.get("render_with_liquid")):
            return page.body
        templates = self.content / (as_text(self.options.get("includes_dir")) or "_includes")
        values = {"site": self.options, "page": page.fields}
        return expand_liquid(page.body, LiquidPage(page.file.parent, templates, values, includes))

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        rewrite_kramdown(draft)


def _is_html(page: PageFile) -> bool:
    return page.file.suffix.lower() in HTML.suffixes


def _is_in(scope: Mapping[str, Any], inner: str, kind: str) -> bool:
    """Whether a scope of `defaults` holds a page."""
    path, of_kind = str(scope.get("path") or "").strip("/"), scope.get("type")
    inside = not path or inner == path or inner.startswith(f"{path}/") or ("*" in path and matches_any(inner, [path]))
    return inside and of_kind in (None, "", kind)


def _filled(template: str, values: Mapping[str, str]) -> str:
    """The address that a template makes; an index page has the address of its folder."""
    known = {**values, "output_ext": ".html"}
    filled = re.sub(r":([a-z_]+)", lambda match: known.get(match[1], ""), template)
    return re.sub(r"/index(?:\.html)?/?$", "/", re.sub(r"/{2,}", "/", "/" + filled))
