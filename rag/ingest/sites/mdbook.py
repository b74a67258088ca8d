"""mdBook (rust-lang.github.io/mdBook): the table of contents `SUMMARY.md` decides which files are pages."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

from markdown_it.tree import SyntaxTreeNode

from rag.ingest.anchors import HeadingText, github_anchors, typeset_anchors
from rag.ingest.dialects import unfolded
from rag.ingest.fences import fences
from rag.ingest.formats.known_formats import MARKUP
from rag.ingest.includes import Includes, with_braces
from rag.ingest.page import markdown_parser
from rag.ingest.page_draft import PageDraft
from rag.ingest.sites.config_files import as_text
from rag.ingest.sites.site_rules import PageFile, Site
from rag.ingest.source_files import is_file, read_inside, resolved

_SUMMARY: Final = "SUMMARY.md"
_UNFILLED: Final = re.compile(r"^[ \t]*\{\{[\w-]{1,100}\}\}[ \t]*$\n?", re.MULTILINE)
_HIDELINES: Final = re.compile(r"\bhidelines=(?P<mark>[^\s,`]+)")
_HIDDEN: Final = re.compile(r"(?P<indent>\s*)#(?P<mark>[ #]|$)(?P<rest>.*)")


class _Entry(NamedTuple):
    """A page's title in the table of contents, and the titles above it, outermost first."""

    title: str
    above: tuple[str, ...]


class MdBook(Site):
    """One `.html` file for each chapter of the table of contents."""

    name = "mdbook"
    configurations = ("book.toml",)
    kinds = MARKUP

    @cached_property
    def content(self) -> Path:
        has_summary = is_file(self.source / _SUMMARY)
        if self.config is None or (has_summary and self.source.is_relative_to(self.config.parent)):
            return self.source if has_summary else self.source / "src"
        return resolved(self.config.parent / (as_text(self.option("book", "src")) or "src"))

    @cached_property
    def _entries(self) -> dict[str, _Entry]:
        """The entry of each page, by its path."""
        entries: dict[str, _Entry] = {}
        above: tuple[str, ...] = ()
        summary = read_inside(self.content, self.content / _SUMMARY) or ""
        for node in SyntaxTreeNode(markdown_parser().parse(summary)).children:
            if node.type == "heading" and entries:  # a part; the first heading is the table's own title
                above = ("".join(_text(node)),)
            _enter(node, () if node.type == "paragraph" else above, entries)
        return entries

    def is_page(self, file: Path) -> bool:
        return file.is_relative_to(self.content) and self.inner(file) in self._entries

    def site_path(self, page: PageFile) -> str:
        folder, stem = posixpath.split(posixpath.splitext(self.inner(page.file))[0])
        return "/" + posixpath.join(folder, f"{'index' if stem.lower() == 'readme' else stem}.html")

    def site_title(self) -> str:
        return as_text(self.option("book", "title"))

    def site_description(self) -> str:
        return as_text(self.option("book", "description"))

    def usual_title(self, page: PageFile) -> str:
        entry = self._entries.get(self.inner(page.file))
        return (entry.title if entry else "") or super().usual_title(page)

    def breadcrumb(self, page: PageFile) -> tuple[str, ...]:
        entry = self._entries.get(self.inner(page.file))
        return entry.above if entry else super().breadcrumb(page)

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        typeset = self.option("output", "html", "smart-punctuation") is not False
        return typeset_anchors(headings) if typeset else github_anchors(headings)

    def expanded(self, page: PageFile, includes: Includes) -> str:
        return unfolded(without_hidden_lines(with_braces(page.body, page.file.parent, includes)))

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        draft.text = _UNFILLED.sub("", draft.text)  # a program fills `{{table}}` in when the book is built


def _enter(block: SyntaxTreeNode, above: tuple[str, ...], entries: dict[str, _Entry]) -> None:
    """Enter the links of a block. The first link of a list item is the parent of the lists inside the item."""
    if block.type == "list_item":
        title = next((_links(n, above, entries) for n in block.children if n.type == "paragraph"), "")
        nested = [n for n in block.children if n.type != "paragraph"]
        if nested and title:  # a chapter's own page stands under the chapter, as a folder's page does
            for path, entry in entries.items():
                if entry == (title, above):
                    entries[path] = _Entry(title, (*above, title))
        for inner in nested:
            for child in inner.children:
                _enter(child, (*above, title) if title else above, entries)
    elif block.type == "paragraph":
        _links(block, above, entries)
    elif block.type in ("bullet_list", "ordered_list"):
        for child in block.children:
            _enter(child, above, entries)


def _links(paragraph: SyntaxTreeNode, above: tuple[str, ...], entries: dict[str, _Entry]) -> str:
    """Enter the links of a paragraph, and return the title of the first."""
    first = ""
    for link in paragraph.walk():
        if link.type == "link":
            title = "".join(_text(link))
            path = posixpath.normpath(unquote(str(link.attrs.get("href", ""))).partition("#")[0])
            entries.setdefault(path, _Entry(title, above))
            first = first or title
    return first


def _text(node: SyntaxTreeNode) -> Iterator[str]:
    return (one.content for one in node.walk() if one.type in ("text", "code_inline"))


def without_hidden_lines(text: str) -> str:
    """The text without the lines of code that mdBook hides: in Rust those that begin with `#` and a space.

    >>> without_hidden_lines("```rust\\n# fn main() {\\n## x\\n#[test]\\n# }\\n```")
    '```rust\\n# x\\n#[test]\\n```'
    """
    if "rust" not in text and "hidelines=" not in text:
        return text
    lines = text.split("\n")
    hidden: set[int] = set()
    for block in fences(lines):
        if hides := _HIDELINES.search(block.info):
            hidden.update(n for n in block.inside if lines[n].lstrip().startswith(hides["mark"]))
        elif re.match(r"[ \t]*rust\b", block.info):
            for n in block.inside:
                if (marked := _HIDDEN.fullmatch(lines[n])) and marked["mark"] == "#":
                    lines[n] = f"{marked['indent']}#{marked['rest']}"
                elif marked:
                    hidden.add(n)
    return "\n".join(line for n, line in enumerate(lines) if n not in hidden)
