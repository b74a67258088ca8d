"""A page of Markdown and its blocks, parsed once for masking, for the title and for the chunks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from rag.book import Document
from rag.ingest.anchors import AnchorRule, HeadingText, github_anchors

CONTAINERS: Final = frozenset({"bullet_list", "ordered_list", "list_item", "blockquote"})
_DASHES: Final = re.compile("-{2,3}")
_CUSTOM_ID: Final = re.compile(r"\s*\{#([^{}]*)\}\s*$")


@dataclass(frozen=True, slots=True)
class Block:
    """The block at the lines `begin` up to `end` of a page, counted from 0, `end` excluded.

    `kind` is markdown-it's name for it. Lists, list items and quotes have `children`. A heading has a `level` (1 to 6),
    its plain `text`, and its `anchor` on the site, empty where it has none.
    """

    kind: str
    begin: int
    end: int
    children: tuple[Block, ...] = ()
    level: int = 0
    text: str = ""
    anchor: str = ""


class MarkdownText:
    """A text and its blocks, parsed at first use. `rule` makes the anchors of headings that set none with `{#id}`.

    Its lines end as the parser ends them, so that blocks are counted in the lines of the text.
    """

    def __init__(self, text: str, rule: AnchorRule = github_anchors) -> None:
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.rule = rule

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the top level. Inline markup takes most of a parser's time: only that of headings is parsed."""
        references: dict[str, Any] = {}
        root = SyntaxTreeNode(markdown_parser("inline").parse(self.text, references))
        headings = [_heading(node, references) for node in root.walk() if node.type == "heading"]
        anchors = self.rule([heading for _, heading in headings])
        return tuple(_blocks(root, iter(zip((shown for shown, _ in headings), anchors, strict=True))))

    @property
    def code_lines(self) -> list[tuple[int, int]]:
        """The line ranges of the indented code blocks, at any depth."""
        return [(block.begin, block.end) for block in walk(self.blocks) if block.kind == "code_block"]

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


def _blocks(parent: SyntaxTreeNode, headings: Iterator[tuple[str, str]]) -> Iterator[Block]:
    """The blocks under a node. `headings` holds the texts and the anchors of the page's headings, in order."""
    for node in parent.children:
        if node.map is None:
            continue
        children = tuple(_blocks(node, headings)) if node.type in CONTAINERS else ()
        level, (text, anchor) = (int(node.tag[1]), next(headings)) if node.type == "heading" else (0, ("", ""))
        yield Block(node.type, *node.map, children, level, text, anchor)


def walk(blocks: tuple[Block, ...]) -> Iterator[Block]:
    """The blocks and all that are in them, in order."""
    for block in blocks:
        yield block
        yield from walk(block.children)


def _heading(node: SyntaxTreeNode, references: dict[str, Any]) -> tuple[str, HeadingText]:
    """A heading's text as a reader sees it, and as its anchor is made from it, which `{#~text}` at its end gives."""
    tokens = _inline(node.children[0].content, references)
    text, as_written, typeset = (
        _one_line(_plain(tokens)),
        _spaced(_plain(tokens)),
        _spaced(_plain(tokens, typeset=True)),
    )
    level, mark = int(node.tag[1]), _CUSTOM_ID.search(text)
    if mark is None:
        return text, HeadingText(level, as_written, None, typeset)
    shown, custom = text[: mark.start()], mark[1].strip()
    if custom.startswith("~"):
        return shown, HeadingText(level, custom[1:], None, custom[1:])
    return shown, HeadingText(level, shown, custom, shown)


def plain_inline(source: str) -> str:
    """One line of Markdown as the text that a reader sees."""
    return _one_line(_plain(_inline(source, {})))


def _inline(source: str, references: dict[str, Any]) -> list[Token]:
    (inline,) = markdown_parser().parseInline(source, references)
    return inline.children or []


def _one_line(pieces: Iterable[str]) -> str:
    return " ".join("".join(pieces).split())


def _spaced(pieces: Iterable[str]) -> str:
    """One line with all its spaces: an anchor has a hyphen for each."""
    return "".join(pieces).strip()


def _plain(tokens: list[Token], *, typeset: bool = False) -> Iterator[str]:
    for token in tokens:
        if token.type == "image":
            yield from _plain(token.children or [], typeset=typeset)
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif typeset and token.type == "text":
            yield _DASHES.sub("–", token.content)
        else:
            yield token.content
