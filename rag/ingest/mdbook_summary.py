"""mdBook's table of contents (`SUMMARY.md`): the titles of the pages and the hierarchy of chapters."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from urllib.parse import unquote

from markdown_it.tree import SyntaxTreeNode

from rag.ingest.page import markdown_parser


@dataclass(frozen=True, slots=True)
class Entry:
    """A page's title in the table of contents, and the titles above it, outermost first."""

    title: str
    above: tuple[str, ...]


def read(text: str) -> dict[str, Entry]:
    """The entry of each page, by its path.

    The format is described at rust-lang.github.io/mdBook/format/summary.
    """
    entries: dict[str, Entry] = {}
    _collect(SyntaxTreeNode(markdown_parser().parse(text)), (), entries)
    return entries


def _collect(node: SyntaxTreeNode, above: tuple[str, ...], entries: dict[str, Entry]) -> None:
    """Enter the links under a node. The first link of a list item is the parent of the lists inside the item."""
    for child in node.children:
        if child.type == "list_item":
            title = next((_links(n, above, entries) for n in child.children if n.type == "paragraph"), "")
            nested = [n for n in child.children if n.type != "paragraph"]
            if nested and title:  # a chapter's own page stands under the chapter, as a folder's page does
                for path, entry in entries.items():
                    if entry == Entry(title, above):
                        entries[path] = Entry(title, (*above, title))
            for block in nested:
                _collect(block, (*above, title) if title else above, entries)
        elif child.type == "paragraph":
            _links(child, above, entries)
        elif child.type in ("bullet_list", "ordered_list"):
            _collect(child, above, entries)


def _links(paragraph: SyntaxTreeNode, above: tuple[str, ...], entries: dict[str, Entry]) -> str:
    """Enter the links of a paragraph, and return the title of the first."""
    first = ""
    for link in paragraph.walk():
        if link.type != "link":
            continue
        title = "".join(n.content for n in link.walk() if n.type in ("text", "code_inline"))
        path = posixpath.normpath(unquote(str(link.attrs.get("href", ""))).partition("#")[0])
        entries.setdefault(path, Entry(title, above))
        first = first or title
    return first
