"""Files that people write: Markdown, MDX, reStructuredText, plain text and notebooks of Jupyter."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import yaml

from rag.ingest.data_values import from_toml, from_yaml, unicode_text, unicode_values
from rag.ingest.fences import fenced
from rag.ingest.formats.file_format import LoadedText, Syntax, decoded
from rag.ingest.formats.text_columns import with_lists

_YAML: Final = re.compile(r"---[ \t]*\n(?P<head>(?:.*\n)*?)---[ \t]*(?:\n|\Z)")
_TOML: Final = re.compile(r"\+\+\+[ \t]*\n(?P<head>(?:.*\n)*?)\+\+\+[ \t]*(?:\n|\Z)")
_TEXT_LINE: Final = re.compile(r"^[ \t]*[^#\s]", re.MULTILINE)


def markdown_texts(raw: bytes) -> list[LoadedText]:
    """CommonMark and its dialects; the generator knows which one."""
    return _with_head(raw, "markdown")


def mdx_texts(raw: bytes) -> list[LoadedText]:
    """Markdown with components of React."""
    return _with_head(raw, "mdx")


def rst_texts(raw: bytes) -> list[LoadedText]:
    """reStructuredText. The generator parses it, because labels and includes reach beyond the file."""
    return [LoadedText(decoded(raw), "rst")]


def plain_texts(raw: bytes) -> list[LoadedText]:
    """Plain text. Blank lines separate paragraphs, underlined titles become headings, and two columns a list."""
    return [LoadedText(with_lists(decoded(raw)), "plain")]


def _with_head(raw: bytes, syntax: Syntax) -> list[LoadedText]:
    text = decoded(raw)
    fields, body = front_matter(text)
    return [LoadedText(body, syntax, fields, has_head=len(body) < len(text))]


def notebook_texts(raw: bytes) -> list[LoadedText]:
    """What the author wrote. Outputs are left out: they repeat data, images and the states of programs."""
    import nbformat

    try:
        reads: Any = nbformat.reads
        notebook = reads(decoded(raw), as_version=4)
        language = _language(notebook)
        cells = [_cell(cell.cell_type, _source(cell), language) for cell in notebook.cells]
        title = notebook.metadata.get("title")
    except (RecursionError, MemoryError):
        raise ValueError("it is nested too deeply; take some of its levels apart") from None
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
    if kind == "markdown":
        return source
    return fenced(source, language) if kind == "code" and source.strip() else ""


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The fields at the head of a page, empty where there are none, and the text after them.

    All values of YAML are strings, lists or mappings: `title: 2024` is a title. Broken YAML is read line by line and
    never fails the page.
    """
    if found := _YAML.match(text):
        fields = _yaml_fields(found["head"])
        # Text between two horizontal rules is not front matter; comments alone are.
        is_head = fields or ":" in found["head"] or not _TEXT_LINE.search(found["head"])
        return (fields, text[found.end() :]) if is_head else ({}, text)
    if found := _TOML.match(text):
        try:
            return from_toml(found["head"]), text[found.end() :]
        except (ValueError, RecursionError):
            return {}, text[found.end() :]
    if text.startswith("{"):
        try:
            loaded, end = json.JSONDecoder().raw_decode(text)
            loaded = unicode_values(loaded)
        except (ValueError, RecursionError):
            return {}, text
        if isinstance(loaded, dict) and text[end : end + 1] in ("", "\n"):
            return loaded, text[end:].lstrip("\n")
    return {}, text


def _yaml_fields(head: str) -> dict[str, Any]:
    try:
        loaded = from_yaml(head)
    except (yaml.YAMLError, ValueError, RecursionError):
        lines = (line.partition(":") for line in head.split("\n"))
        return {key.strip(): value.strip(" '\"") for key, colon, value in lines if colon and key.strip().isidentifier()}
    return {str(key): value for key, value in loaded.items()} if isinstance(loaded, dict) else {}
