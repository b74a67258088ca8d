"""mdBook's table of contents: the titles of the pages, and which page stands under which."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from markdown_it.tree import SyntaxTreeNode

from rag.ingest.headings import markdown


@dataclass(frozen=True, slots=True)
class Entry:
    """A page's title in the table of contents, and the titles above it, outermost first."""

    title: str
    above: tuple[str, ...]


def read(file: Path) -> dict[str, Entry]:
    """Page path to its entry; empty when the file cannot be read (rust-lang.github.io/mdBook/format/summary)."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        return {}
    entries: dict[str, Entry] = {}
    _collect(SyntaxTreeNode(markdown().parse(text)), (), entries)
    return entries


def _collect(node: SyntaxTreeNode, above: tuple[str, ...], entries: dict[str, Entry]) -> None:
    """Walks lists; the first link of an item is the parent of the lists in it."""
    for child in node.children:
        if child.type == "list_item":
            title = next((_links(n, above, entries) for n in child.children if n.type == "paragraph"), "")
            nested = [n for n in child.children if n.type != "paragraph"]
            if nested and title:  # a chapter's own page belongs to the chapter, like a folder's page to the folder
                for path, entry in entries.items():
                    if entry == Entry(title, above):
                        entries[path] = Entry(title, (*above, title))
            for inner in nested:
                _collect(inner, (*above, title) if title else above, entries)
        elif child.type == "paragraph":
            _links(child, above, entries)
        elif child.type in ("bullet_list", "ordered_list"):
            _collect(child, above, entries)


def _links(paragraph: SyntaxTreeNode, above: tuple[str, ...], entries: dict[str, Entry]) -> str:
    """Enters the links of a paragraph; returns the first one's title."""
    first = ""
    for link in paragraph.walk():
        if link.type != "link":
            continue
        title = "".join(n.content for n in link.walk() if n.type in ("text", "code_inline"))
        path = posixpath.normpath(unquote(str(link.attrs.get("href", ""))).partition("#")[0])
        entries.setdefault(path, Entry(title, above))
        first = first or title
    return first
