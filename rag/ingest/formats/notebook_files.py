"""Jupyter notebooks: the text of Markdown cells, and code cells as fenced code."""

from __future__ import annotations

import re
from typing import Any, Final

from rag.ingest.data_values import unicode_text
from rag.ingest.formats.file_format import LoadedText, need_extra
from rag.ingest.formats.markdown_files import decoded

LARGEST: Final = 50_000_000  # bytes: the images of the outputs are in the file


class NotebookLoader:
    """What the author wrote. Outputs are left out: they repeat data, images and the states of programs."""

    suffixes = frozenset({".ipynb"})
    largest = LARGEST

    def load(self, raw: bytes) -> list[LoadedText]:
        need_extra("nbformat", "notebooks", "notebooks")
        import nbformat

        try:
            reads: Any = nbformat.reads
            notebook = reads(decoded(raw), as_version=4)
            language = _language(notebook)
            cells = [_cell(cell.cell_type, _source(cell), language) for cell in notebook.cells]
            title = notebook.metadata.get("title")
        except (RecursionError, MemoryError):
            raise ValueError("it is nested too deeply") from None
        except Exception as error:  # nbformat passes on exceptions of its parsers and converters
            raise ValueError("it is not a notebook of Jupyter, or it is broken") from error
        fields = {"title": unicode_text(title)} if isinstance(title, str) else {}
        return [LoadedText(unicode_text("\n\n".join(cell for cell in cells if cell)), "markdown", fields)]


def _language(notebook: Any) -> str:
    """The language of the code, such as `python`; empty where the notebook does not say it."""
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        value = (notebook.metadata.get(key) or {}).get(name)
        if isinstance(value, str) and re.fullmatch(r"[\w+#.-]{1,20}", value):
            return value.lower()
    return ""


def _source(cell: Any) -> str:
    source = cell.get("source", "")
    return ("".join(source) if isinstance(source, list) else str(source)).strip("\n")


def _cell(kind: str, source: str, language: str) -> str:
    """A cell as Markdown; empty for a raw cell."""
    if kind == "markdown" or not source.strip():
        return source if kind == "markdown" else ""
    if kind != "code":
        return ""
    return fenced(source, language)


def fenced(code: str, language: str = "") -> str:
    """Code as a fenced block, whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"
