"""The formats that a book can have, by the endings of its files."""

from __future__ import annotations

from typing import Final

from rag.ingest.formats.file_format import Loader
from rag.ingest.formats.markdown_files import MarkdownLoader, MdxLoader
from rag.ingest.formats.rst_files import RstLoader

LOADERS: Final[tuple[Loader, ...]] = (MarkdownLoader(), MdxLoader(), RstLoader())
BY_SUFFIX: Final = {suffix: loader for loader in LOADERS for suffix in loader.suffixes}
