"""PDF files, read in a process of their own.

A PDF is a program for a large library in C. A process that is ended after a time, that may use only so much memory and
that holds no keys bounds what a hostile file can do: it fails alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Final

from rag.ingest.data_values import unicode_text
from rag.ingest.formats.file_format import LoadedText, need_extra

SECONDS: Final = 180.0  # for one file; a thousand pages take about ten
_CHILD: Final = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {} import main; main()"


class PdfLoader:
    """The text of all pages as one, with headings from the outline and the line at which each page begins."""

    suffixes = frozenset({".pdf"})
    largest = 300_000_000  # bytes: the pictures of a textbook are in the file

    def load(self, raw: bytes) -> list[LoadedText]:
        need_extra("pypdfium2", "pdf", "PDF files")
        found = _read_apart(raw)
        if error := found.get("error"):
            raise ValueError(str(error))
        body, title = unicode_text(found["body"]), unicode_text(found["title"])
        fields = {"title": title} if title else {}
        return [LoadedText(body, "plain", fields, page_lines=tuple(found["page_lines"]))]


def _read_apart(raw: bytes) -> dict[str, Any]:
    """What the process finds. Raises `ValueError` if it takes too long or breaks."""
    module = f"{__package__}.pdf_process"
    command = [sys.executable, "-I", "-c", _CHILD.format(module), json.dumps(sys.path)]
    try:
        done = subprocess.run(command, input=raw, capture_output=True, timeout=SECONDS, env={}, check=False)
        found = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise ValueError(f"reading it takes longer than {SECONDS:.0f} seconds") from None
    except (OSError, ValueError):
        raise ValueError("it is broken, or reading it takes too much memory") from None
    return dict(found)
