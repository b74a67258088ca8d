"""reStructuredText files."""

from __future__ import annotations

from rag.ingest.formats.file_format import LoadedText
from rag.ingest.formats.markdown_files import decoded


class RstLoader:
    """The text as it is; the generator parses it, because labels and includes reach beyond the file."""

    suffixes = frozenset({".rst"})

    def load(self, raw: bytes) -> LoadedText:
        return LoadedText(decoded(raw), "rst")
