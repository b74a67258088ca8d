"""The formats that a book can have, by the endings of its files."""

from __future__ import annotations

from typing import Final

from rag.ingest.formats.epub_files import epub_texts
from rag.ingest.formats.file_format import Loader
from rag.ingest.formats.html_files import page_texts
from rag.ingest.formats.office_files import office_texts
from rag.ingest.formats.pdf_files import pdf_texts
from rag.ingest.formats.rst_files import rst_texts
from rag.ingest.formats.text_files import markdown_texts, mdx_texts, notebook_texts, plain_texts

PICTURED: Final = 300_000_000  # bytes: the pictures of a textbook are in the file
MARKDOWN: Final = Loader(frozenset({".md", ".markdown"}), markdown_texts)
# Some steps of the libraries take time with the square of a page's tags, or with their depth.
HTML: Final = Loader(
    frozenset({".html", ".htm", ".xhtml"}), page_texts, needs=("markdownify",), extra="html", kind="HTML pages",
    seconds=60.0,
)  # fmt: skip
LOADERS: Final = (
    MARKDOWN,
    Loader(frozenset({".mdx"}), mdx_texts),
    Loader(
        frozenset({".rst"}),
        rst_texts,
        needs=("markdownify",),
        extra="html",
        kind="pages of reStructuredText",
        seconds=60.0,
    ),
    Loader(frozenset({".txt", ".text"}), plain_texts),
    HTML,
    # A novel takes about three seconds, and a PDF of a thousand pages about ten.
    Loader(
        frozenset({".epub"}), epub_texts, PICTURED, ("markdownify", "defusedxml"), "epub", "EPUB books", seconds=180.0
    ),
    Loader(frozenset({".pdf"}), pdf_texts, PICTURED, ("pypdfium2",), "pdf", "PDF files", seconds=180.0, alone=True),
    Loader(
        frozenset({".docx", ".odt", ".rtf", ".pptx", ".odp", ".doc", ".ppt"}),
        office_texts,
        PICTURED,
        ("anydoc",),
        "office",
        "documents of office programs",
        seconds=60.0,
        alone=True,
    ),
    Loader(frozenset({".ipynb"}), notebook_texts, 50_000_000),
)
BY_SUFFIX: Final = {suffix: loader for loader in LOADERS for suffix in loader.suffixes}
MARKUP: Final = frozenset({".md", ".markdown", ".mdx", ".rst"})  # what the generators of sites read
