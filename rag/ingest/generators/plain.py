"""A folder of pages without a known generator, or a built site."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Final

from rag.ingest.generators.generator import Generator
from rag.ingest.source_files import is_file

_SITE_KINDS: Final = frozenset({".html", ".htm", ".xhtml", ".pdf", ".epub"})
_NO_PAGES: Final = frozenset({"404.html", "search.html", "genindex.html", "py-modindex.html", "print.html"})
_NO_FOLDERS: Final = frozenset({"search", "genindex", "py-modindex"})  # of Sphinx, with a folder for each page


class PlainFolder(Generator):
    """Addresses are paths without the endings of Markdown, and anchors are GitHub's."""

    name = "plain"

    @cached_property
    def is_built_site(self) -> bool:
        """Whether the folder is a built site, which may also hold the sources of its pages."""
        return is_file(self.source / "index.html") and not any(
            is_file(self.source / name) for name in ("index.md", "README.md", "index.rst")
        )

    def reads(self, suffix: str) -> bool:
        return suffix in _SITE_KINDS or not self.is_built_site

    def is_page(self, file: Path) -> bool:
        listing = file.name in _NO_PAGES or (file.name == "index.html" and self.inner(file.parent) in _NO_FOLDERS)
        return super().is_page(file) and not (self.is_built_site and listing)
