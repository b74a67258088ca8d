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
from rag.ingest.anchors import HeadingText, github_anchors, typeset_anchors
from rag.ingest.generators.config_files import as_text, config_options
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.includes import Allowance, expand_includes
from rag.ingest.masking import fences
from rag.ingest.source_files import is_file, read_inside, resolved

_SUMMARY: Final = "SUMMARY.md"
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
