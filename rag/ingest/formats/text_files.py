"""Plain text files."""

from __future__ import annotations

from rag.ingest.formats.file_format import LARGEST, LoadedText
from rag.ingest.formats.markdown_files import decoded


class PlainTextLoader:
    """The text as it is. Paragraphs are what blank lines part; titles that are underlined become headings."""

    suffixes = frozenset({".txt", ".text"})
    largest = LARGEST

    def load(self, raw: bytes) -> list[LoadedText]:
        return [LoadedText(decoded(raw), "plain")]
