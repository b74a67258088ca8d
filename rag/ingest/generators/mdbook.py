"""mdBook: the table of contents `SUMMARY.md` decides which files are pages.

Described at rust-lang.github.io/mdBook, in the chapters on `SUMMARY.md`, `book.toml` and the features of Markdown.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from rag.ingest import mdbook_summary
from rag.ingest.admonitions import alerts
from rag.ingest.anchors import HeadingText, github_anchors, typeset_anchors
from rag.ingest.generators.config_files import as_text, config_options
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.includes import Allowance, expand_includes
from rag.ingest.masking import PageDraft, fences
from rag.ingest.source_files import is_file, read_inside, resolved

_SUMMARY: Final = "SUMMARY.md"
_RULE: Final = re.compile(r"^r\[(?P<id>[\w.-]{1,200})\][ \t]*+$\n?", re.MULTILINE)
_ITEM: Final = re.compile(r"[\w:@]+(?:#[\w.]+)?")  # an item of Rust's libraries, such as `std::ops::Fn` or `mod@test`
_UNFILLED: Final = re.compile(r"^[ \t]*\{\{[\w-]{1,100}\}\}[ \t]*$\n?", re.MULTILINE)
_RUST: Final = re.compile(r"^[ \t>]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?(?:```+|~~~+)[ \t]*rust\b", re.MULTILINE)
_HIDDEN: Final = re.compile(r"(?P<indent>\s*)#(?P<mark>[ #]|$)(?P<rest>.*)")


class MdBook(Generator):
    """One `.html` file for each chapter of the table of contents."""

    name = "mdbook"
    configurations = ("book.toml",)

    @classmethod
    def recognises(cls, source: Path, files: Sequence[Path]) -> str:
        found = next((folder for folder in (source, source / "src") if read_inside(source, folder / _SUMMARY)), None)
        return (found / _SUMMARY).relative_to(source).as_posix() if found else ""

    @cached_property
    def content(self) -> Path:
        if self.config is None or is_file(self.source / _SUMMARY):
            return self.source if is_file(self.source / _SUMMARY) else self.source / "src"
        folder = self.config.parent
        book = config_options(self.config).get("book", {})
        src = book.get("src", "src") if isinstance(book, dict) else "src"
        return resolved(folder / src) if isinstance(src, str) else folder / "src"

    @cached_property
    def _typeset(self) -> bool:
        """Whether the typographer is on, as it is unless `book.toml` says otherwise."""
        output = config_options(self.config).get("output")
        options = output.get("html") if isinstance(output, dict) else None
        return not (isinstance(options, dict) and options.get("smart-punctuation") is False)

    @cached_property
    def _has_rules(self) -> bool:
        """Whether the preprocessor of the Rust Reference is on: `r[items.fn]` marks a rule, and links name items."""
        preprocessors = config_options(self.config).get("preprocessor")
        return isinstance(preprocessors, dict) and "spec" in preprocessors

    @cached_property
    def _rules(self) -> dict[str, PageFile]:
        """The page of each rule."""
        return {rule["id"]: page for page in self.pages.values() for rule in _RULE.finditer(page.body)}

    @cached_property
    def _entries(self) -> dict[str, mdbook_summary.Entry]:
        return mdbook_summary.read(read_inside(self.content, self.content / _SUMMARY) or "")

    def is_page(self, file: Path) -> bool:
        return file.is_relative_to(self.content) and self.inner(file) in self._entries

    def site_path(self, page: PageFile) -> str:
        folder, stem = posixpath.split(posixpath.splitext(self.inner(page.file))[0])
        return "/" + posixpath.join(folder, f"{'index' if stem.lower() == 'readme' else stem}.html")

    def site_title(self) -> str:
        book = config_options(self.config).get("book")
        return as_text(book.get("title")) if isinstance(book, dict) else ""

    def usual_title(self, page: PageFile) -> str:
        return self._entries[self.inner(page.file)].title or super().usual_title(page)

    def breadcrumb(self, page: PageFile) -> tuple[str, ...]:
        return self._entries[self.inner(page.file)].above

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        return typeset_anchors(headings) if self._typeset else github_anchors(headings)

    def expanded(self, page: PageFile, allowance: Allowance) -> str:
        text = expand_includes(page.body, file=page.file, root=self.include_root, allowance=allowance)
        return without_hidden_lines(text)

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        """What a program fills in when the book is built, `{{table}}`, is not in its sources."""
        draft.text = alerts(_UNFILLED.sub("", _RULE.sub("", draft.text) if self._has_rules else draft.text))

    def link(self, page: PageFile, destination: str) -> str:
        is_item = self._has_rules and "." not in destination.partition("#")[0] and _ITEM.fullmatch(destination)
        return "" if is_item else super().link(page, destination)

    def unknown_reference(self, text: str, label: str) -> str | None:
        rule = self._rules.get(label) if self._has_rules else None
        return f"[{text}]({self.url(rule)}#r-{label})" if rule else None


def without_hidden_lines(text: str) -> str:
    """The text without the lines of Rust code that mdBook hides: those that begin with `#` and a space.

    >>> without_hidden_lines("```rust\\n# fn main() {\\n## x\\n#[test]\\n# }\\n```")
    '```rust\\n# x\\n#[test]\\n```'
    """
    if not _RUST.search(text):
        return text
    lines: list[str | None] = list(text.split("\n"))
    for block in fences(text.split("\n")):
        if not _RUST.match(lines[block.begin] or ""):
            continue
        for n in range(block.begin + 1, block.end - block.closed):
            hidden = _HIDDEN.fullmatch(lines[n] or "")
            if hidden:
                lines[n] = f"{hidden['indent']}#{hidden['rest']}" if hidden["mark"] == "#" else None
    return "\n".join(line for line in lines if line is not None)
