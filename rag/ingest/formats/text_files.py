"""Files whose text is read as it is: reStructuredText and plain text."""

from __future__ import annotations

from rag.ingest.formats.file_format import LARGEST, LoadedText
from rag.ingest.formats.markdown_files import decoded


class RstLoader:
    """reStructuredText. The generator parses it, because labels and includes reach beyond the file."""

    suffixes = frozenset({".rst"})
    largest = LARGEST

    def load(self, raw: bytes) -> list[LoadedText]:
        return [LoadedText(decoded(raw), "rst")]


class PlainTextLoader:
    """Plain text. Blank lines separate paragraphs, and underlined titles become headings."""

    suffixes = frozenset({".txt", ".text"})
    largest = LARGEST

    def load(self, raw: bytes) -> list[LoadedText]:
        return [LoadedText(decoded(raw), "plain")]
