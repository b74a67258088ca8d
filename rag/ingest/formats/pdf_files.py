"""PDF files, read in a process of their own: a PDF is a program for a large library in C."""

from __future__ import annotations

from typing import Final

from rag.ingest.formats.file_format import LoadedText, need_extra, texts_apart

SECONDS: Final = 180.0  # for one file; a thousand pages take about ten


class PdfLoader:
    """The text of all pages as one, with headings from the outline and the line at which each page begins."""

    suffixes = frozenset({".pdf"})
    largest = 300_000_000  # bytes: the pictures of a textbook are in the file

    def load(self, raw: bytes) -> list[LoadedText]:
        need_extra("pypdfium2", "pdf", "PDF files")
        return texts_apart(f"{__package__}.pdf_process", "pdf_texts", raw, seconds=SECONDS, alone=True)
