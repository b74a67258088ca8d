"""A page of Markdown and its blocks, parsed once for masking, for the title and for the chunks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from rag.book import Document

CONTAINERS: Final = frozenset({"bullet_list", "ordered_list", "list_item", "blockquote"})
_CUSTOM_ID: Final = re.compile(r"\s*\{#([^{}]*)\}\s*$")


@dataclass(frozen=True, slots=True)
class Block:
    """The block at the lines `begin` up to `end` of a page, counted from 0, `end` excluded.

    `kind` is markdown-it's name for it. Lists, list items and quotes have `children`. A heading has a `level` (1 to 6),
    its plain `text`, and the id that it sets with `{#id}`, None where it sets none.
    """

    kind: str
    begin: int
    end: int
    children: tuple[Block, ...] = ()
    level: int = 0
    text: str = ""
    custom_id: str | None = None


class MarkdownText:
    """A text and its blocks, which are parsed at their first use."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the top level, in order.

        Inline markup is parsed only in headings: nothing else needs it, and it takes most of a parser's time.
        """
        references: dict[str, Any] = {}
        root = SyntaxTreeNode(markdown_parser("inline").parse(self.text, references))
        return tuple(_blocks(root, references))

    @property
    def code_lines(self) -> list[tuple[int, int]]:
        """The line ranges of the indented code blocks, at any depth."""
        return [(block.begin, block.end) for block in _walk(self.blocks) if block.kind == "code_block"]

    @property
    def title(self) -> str:
        """The text of the first heading of level 1 outside lists and quotes; empty where there is none."""
        return next((block.text for block in self.blocks if block.level == 1), "")


@dataclass(frozen=True, slots=True)
class Page(Document):
    """A document with the blocks of its text."""

    parsed: MarkdownText = field(kw_only=True, compare=False, repr=False)


def parsed(document: Document) -> MarkdownText:
    """The document's text with its blocks: those of a `Page`, unless its text was replaced."""
    if isinstance(document, Page) and document.parsed.text == document.text:
        return document.parsed
    return MarkdownText(document.text)


@cache
def markdown_parser(*disabled: str) -> MarkdownIt:
    """CommonMark with tables. HTML is plain text here: cleaning has removed the tags that were markup."""
    return MarkdownIt("commonmark").enable("table").disable(["html_block", "html_inline", *disabled])


def _blocks(parent: SyntaxTreeNode, references: dict[str, Any]) -> Iterator[Block]:
    for node in parent.children:
        if node.map is None:
            continue
        children = tuple(_blocks(node, references)) if node.type in CONTAINERS else ()
        level, text, custom_id = 0, "", None
        if node.type == "heading":
            level = int(node.tag[1])
            text, custom_id = _heading_text(node.children[0].content, references)
        yield Block(node.type, *node.map, children, level, text, custom_id)


def _walk(blocks: tuple[Block, ...]) -> Iterator[Block]:
    for block in blocks:
        yield block
        yield from _walk(block.children)


def _heading_text(source: str, references: dict[str, Any]) -> tuple[str, str | None]:
    """A heading's plain text, and the id that it sets itself."""
    (inline,) = markdown_parser().parseInline(source, references)
    text = " ".join("".join(_plain(inline.children or [])).split())
    custom = _CUSTOM_ID.search(text)
    return (text[: custom.start()], custom[1].strip()) if custom else (text, None)


def _plain(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "image":
            yield from _plain(token.children or [])
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        else:
            yield token.content
