"""reStructuredText files."""

from __future__ import annotations

from rag.ingest.formats.file_format import LARGEST, LoadedText
from rag.ingest.formats.markdown_files import decoded


class RstLoader:
    """The text as it is; the generator parses it, because labels and includes reach beyond the file."""

    suffixes = frozenset({".rst"})
    largest = LARGEST

    def load(self, raw: bytes) -> list[LoadedText]:
        return [LoadedText(decoded(raw), "rst")]
