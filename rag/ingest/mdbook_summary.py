"""mdBook's table of contents (`SUMMARY.md`): the titles of the pages, and the hierarchy of parts and chapters."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
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
    above: tuple[str, ...] = ()
    for node in SyntaxTreeNode(markdown_parser().parse(text)).children:
        if node.type == "heading" and entries:  # a part; what comes before the first chapter is the table's own title
            above = ("".join(_text(node)),)
        _collect_block(node, () if node.type == "paragraph" else above, entries)
    return entries


def _collect(node: SyntaxTreeNode, above: tuple[str, ...], entries: dict[str, Entry]) -> None:
    """Enter the links under a node."""
    for child in node.children:
        _collect_block(child, above, entries)


def _collect_block(block: SyntaxTreeNode, above: tuple[str, ...], entries: dict[str, Entry]) -> None:
    """Enter the links of a block. The first link of a list item is the parent of the lists inside the item."""
    if block.type == "list_item":
        title = next((_links(n, above, entries) for n in block.children if n.type == "paragraph"), "")
        nested = [n for n in block.children if n.type != "paragraph"]
        if nested and title:  # a chapter's own page stands under the chapter, as a folder's page does
            for path, entry in entries.items():
                if entry == Entry(title, above):
                    entries[path] = Entry(title, (*above, title))
        for inner in nested:
            _collect(inner, (*above, title) if title else above, entries)
    elif block.type == "paragraph":
        _links(block, above, entries)
    elif block.type in ("bullet_list", "ordered_list"):
        _collect(block, above, entries)


def _links(paragraph: SyntaxTreeNode, above: tuple[str, ...], entries: dict[str, Entry]) -> str:
    """Enter the links of a paragraph, and return the title of the first."""
    first = ""
    for link in paragraph.walk():
        if link.type != "link":
            continue
        title = "".join(_text(link))
        path = posixpath.normpath(unquote(str(link.attrs.get("href", ""))).partition("#")[0])
        entries.setdefault(path, Entry(title, above))
        first = first or title
    return first


def _text(node: SyntaxTreeNode) -> Iterator[str]:
    return (one.content for one in node.walk() if one.type in ("text", "code_inline"))
