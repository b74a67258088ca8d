"""The formats that a book can have, by the endings of its files."""

from __future__ import annotations

from typing import Final

from rag.ingest.formats.epub_files import EpubLoader
from rag.ingest.formats.file_format import Loader
from rag.ingest.formats.html_files import HtmlLoader
from rag.ingest.formats.pdf_files import PdfLoader
from rag.ingest.formats.text_files import MarkdownLoader, MdxLoader, NotebookLoader, PlainTextLoader, RstLoader

LOADERS: Final[tuple[Loader, ...]] = (
    MarkdownLoader(),
    MdxLoader(),
    RstLoader(),
    HtmlLoader(),
    EpubLoader(),
    PdfLoader(),
    NotebookLoader(),
    PlainTextLoader(),
)
BY_SUFFIX: Final = {suffix: loader for loader in LOADERS for suffix in loader.suffixes}
MARKUP: Final = frozenset({".md", ".markdown", ".mdx", ".rst"})  # what the generators of sites read
