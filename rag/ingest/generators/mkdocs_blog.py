"""Posts of Material's blog plugin, which have addresses of their own.

Described at squidfunk.github.io/mkdocs-material/plugins/blog.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rag.ingest.anchors import unicode_slug
from rag.ingest.generators.config_files import as_text, is_false
from rag.ingest.generators.generator import PageFile
from rag.ingest.page import MarkdownText, plain_inline

_NAMES: Final = ("material/blog", "blog")
_PLACE: Final = re.compile(r"\{(date|slug|file|categories)\}")
_DATE: Final = re.compile(r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})")
_PART_OF_DATE: Final = re.compile(r"y+|M+|d+")


@dataclass(frozen=True, slots=True)
class Blog:
    """The options of the plugin. Paths are relative to the docs."""

    folder: str
    posts: str
    address: str
    date: str
    separator: str
    categories: int

    def holds(self, inner: str) -> bool:
        """Whether a file is a post."""
        return inner.startswith(f"{self.posts}/")

    def path(self, page: PageFile) -> str:
        """The path of the page that the plugin makes of a post."""
        date = page.fields.get("date")
        day = _DATE.match(str((date.get("created") if isinstance(date, dict) else date) or ""))
        listed = page.fields.get("categories")
        values = {
            "date": _PART_OF_DATE.sub(lambda part: _number(part[0], day), self.date) if day else "",
            "slug": page.text_field("slug") or unicode_slug(self._title(page), self.separator),
            "file": page.file.stem,
            "categories": "/".join(
                unicode_slug(str(one), "-") for one in (listed if isinstance(listed, list) else ())[: self.categories]
            ),
        }
        address = _PLACE.sub(lambda place: values[place[1]], self.address)
        return posixpath.normpath(posixpath.join(self.folder, f"{address.strip('/')}.md"))

    def _title(self, page: PageFile) -> str:
        return plain_inline(page.text_field("title")) or MarkdownText(page.body).title or page.file.stem


def blog_of(plugins: Mapping[str, Any]) -> Blog | None:
    """The blog of a site; None where it has none."""
    options = next((plugins[name] for name in _NAMES if name in plugins), None)
    if options is None or is_false(options.get("enabled")):
        return None
    folder = posixpath.normpath(as_text(options.get("blog_dir")) or "blog")
    posts = (as_text(options.get("post_dir")) or "{blog}/posts").replace("{blog}", folder)
    most = as_text(options.get("post_url_max_categories"))
    return Blog(
        folder,
        posixpath.normpath(posts),
        as_text(options.get("post_url_format")) or "{date}/{slug}",
        as_text(options.get("post_url_date_format")) or "yyyy/MM/dd",
        as_text(options.get("post_slugify_separator")) or "-",
        int(most) if most.isdecimal() else 1,
    )


def _number(part: str, day: re.Match[str]) -> str:
    """The part of a date that a run of letters names: `yyyy`, `yy`, `MM`, `M`, `dd` or `d`."""
    digits = day[part[0].lower()]
    return digits if len(part) > 2 or (len(part) == 2 and part[0] != "y") else str(int(digits[-2:]))
