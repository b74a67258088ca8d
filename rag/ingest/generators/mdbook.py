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
from rag.ingest.dialects import titled, with_own_ids
from rag.ingest.fences import fenced_lines, fences, without_empty_fences
from rag.ingest.generators.config_files import as_text
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.includes import Includes, line_span, section
from rag.ingest.page import markdown_parser
from rag.ingest.page_draft import PageDraft
from rag.ingest.source_files import is_file, read_inside, resolved

_SUMMARY: Final = "SUMMARY.md"
_INCLUDE: Final = re.compile(
    r"(?<!\\)\{\{#(?P<kind>include|rustdoc_include|playground|playpen|title)\s++(?P<target>[^{}\s]++)[^{}]*+\}\}"
)
_ANCHOR: Final = re.compile(r"ANCHOR(?P<end>_END)?:\s*(?P<name>[\w-]+)")
_RULE: Final = re.compile(r"^r\[(?P<id>[\w.-]{1,200})\][ \t]*+$\n?", re.MULTILINE)
_ITEM: Final = re.compile(r"[\w:@]+(?:#[\w.]+)?")  # an item of Rust's libraries, such as `std::ops::Fn` or `mod@test`
_UNFILLED: Final = re.compile(r"^[ \t]*\{\{[\w-]{1,100}\}\}[ \t]*$\n?", re.MULTILINE)
_HIDELINES: Final = re.compile(r"\bhidelines=(?P<mark>[^\s,`]+)")
_ADMONISH: Final = re.compile(r"[ \t]*admonish\b[ \t]*(?P<kind>[A-Za-z][\w-]*+(?!=))?[^\"]*(?:\"(?P<title>[^\"]*)\")?")
_HIDDEN: Final = re.compile(r"(?P<indent>\s*)#(?P<mark>[ #]|$)(?P<rest>.*)")


class _Entry(NamedTuple):
    """A page's title in the table of contents, and the titles above it, outermost first."""

    title: str
    above: tuple[str, ...]


class MdBook(Generator):
    """One `.html` file for each chapter of the table of contents."""

    name = "mdbook"
    tells_missing = True
    configurations = ("book.toml",)
    title_options = (("book", "title"),)
    description_option = ("book", "description")

    @classmethod
    def own_file(cls, source: Path, files: Sequence[Path]) -> Path | None:
        return next((at for at in (source / _SUMMARY, source / "src" / _SUMMARY) if read_inside(source, at)), None)

    @cached_property
    def content(self) -> Path:
        has_summary = is_file(self.source / _SUMMARY)
        if self.config is None or (has_summary and self.source.is_relative_to(self.config.parent)):
            return self.source if has_summary else self.source / "src"
        return resolved(self.config.parent / (as_text(self.option("book", "src")) or "src"))

    @cached_property
    def _has_rules(self) -> bool:
        """Whether the preprocessor of the Rust Reference is on: `r[items.fn]` marks a rule, and links name items."""
        return self.option("preprocessor", "spec") is not None

    @cached_property
    def _rules(self) -> dict[str, PageFile]:
        """The page of each rule."""
        return {rule["id"]: page for page in self.pages.values() for rule in _RULE.finditer(page.body)}

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

    def usual_title(self, page: PageFile) -> str:
        return self._entries[self.inner(page.file)].title or super().usual_title(page)

    def breadcrumb(self, page: PageFile) -> tuple[str, ...]:
        return self._entries[self.inner(page.file)].above

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        typeset = self.option("output", "html", "smart-punctuation") is not False
        return typeset_anchors(headings) if typeset else github_anchors(headings)

    def expanded(self, page: PageFile, includes: Includes) -> str:
        return _unfolded(without_hidden_lines(_with_includes(page.body, page.file.parent, includes)))

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        """What a program fills in when the book is built, `{{table}}`, is not in its sources."""
        text = _UNFILLED.sub("", _RULE.sub("", draft.text) if self._has_rules else draft.text)
        draft.text = with_own_ids(text)

    def link(self, page: PageFile, destination: str) -> str:
        is_item = self._has_rules and "." not in destination.partition("#")[0] and _ITEM.fullmatch(destination)
        return "" if is_item else super().link(page, destination)

    def unknown_reference(self, text: str, label: str) -> str | None:
        rule = self._rules.get(label) if self._has_rules else None
        return f"[{text}]({self.url(rule)}#r-{label})" if rule else None


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


def _with_includes(text: str, folder: Path, includes: Includes) -> str:
    """The text with the files that it names. A missing one is removed, with its fence if nothing else is inside."""
    if "{{#" not in text:
        return text
    lines = text.split("\n")
    inside = fenced_lines(lines)

    def included(match: re.Match[str], number: int) -> str:
        """A playground outside a fence gets one."""
        name, _, part = match["target"].partition(":")
        content = None if match["kind"] == "title" else includes.read(name, folder)
        chosen = _part(content.split("\n"), part) if content is not None else ""
        chosen = _with_includes(chosen, (folder / name).parent, includes.below())
        fenced = match["kind"] not in ("playground", "playpen") or number in inside or not chosen
        return chosen if fenced else f"```rust\n{chosen}\n```"

    found: list[str] = []
    for n, line in enumerate(lines):
        expanded = _INCLUDE.sub(lambda match, n=n: included(match, n), line)  # type: ignore[misc]
        if expanded == line or expanded.strip():
            found.append(expanded.replace("\\{{#", "{{#") if expanded == line else expanded)
    return without_empty_fences("\n".join(found))


def _part(lines: list[str], part: str) -> str:
    """The lines of a range or of an anchor; all for an empty `part`. Anchor comments are left out."""
    is_span = part[:1].isdigit() or part[:1] == ":"
    chosen = section(line_span(lines, part), _ANCHOR) if is_span else section(lines, _ANCHOR, part)
    return "\n".join(chosen).strip("\n")


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


def _unfolded(text: str) -> str:
    """The text with the blocks of mdbook-admonish, such as ```` ```admonish tip ````, as titles and their texts."""
    if "admonish" not in text:
        return text
    lines = text.split("\n")
    for block in fences(lines):
        if opening := _ADMONISH.match(block.info):
            indent, title = block.prefix, opening["title"] or (opening["kind"] or "note").capitalize()
            lines[block.begin] = f"{indent}{titled(title)}\n{indent.rstrip()}"
            if block.closed:
                lines[block.end - 1] = indent.rstrip()
    return "\n".join(lines)
