"""Files that people write: Markdown, MDX, plain text and notebooks of Jupyter."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import yaml

from rag.ingest.data_values import from_json, from_toml, from_yaml, unicode_values
from rag.ingest.fences import fenced
from rag.ingest.formats.file_format import LoadedText, Syntax, decoded
from rag.ingest.text_form import one_form

_YAML: Final = re.compile(r"---[ \t]*\n(?P<head>(?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_TOML: Final = re.compile(r"\+\+\+[ \t]*\n(?P<head>(?:.*\n)*?)\+\+\+[ \t]*(?:\n|\Z)")
_TEXT_LINE: Final = re.compile(r"^[ \t]*[^#\s]", re.MULTILINE)


def markdown_texts(raw: bytes) -> list[LoadedText]:
    """CommonMark and its dialects; the generator knows which one."""
    return _with_head(raw, "markdown")


def mdx_texts(raw: bytes) -> list[LoadedText]:
    """Markdown with components of React."""
    return _with_head(raw, "mdx")


def plain_texts(raw: bytes) -> list[LoadedText]:
    """Plain text. Blank lines separate paragraphs, and underlined titles become headings."""
    return [LoadedText(decoded(raw), "plain")]


def _with_head(raw: bytes, syntax: Syntax) -> list[LoadedText]:
    text = decoded(raw)
    fields, body = front_matter(text)
    return [LoadedText(body, syntax, fields, has_head=len(body) < len(text))]


def notebook_texts(raw: bytes) -> list[LoadedText]:
    """What the author wrote, in nbformat 3 or 4. Outputs are left out: they repeat data and the states of programs.

    Raises `ValueError` if it is no notebook.
    """
    try:
        notebook = from_json(decoded(raw))
        sheets = notebook.get("worksheets") or [notebook]
        cells = [_cell(cell, _language(notebook["metadata"])) for sheet in sheets for cell in sheet["cells"]]
        title = notebook["metadata"].get("title")
    except RecursionError:
        raise ValueError("it is nested too deeply; take some of its levels apart") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("it is not a notebook of Jupyter, or it is broken") from error
    fields = {"title": title} if isinstance(title, str) else {}
    return [LoadedText(one_form("\n\n".join(filter(None, cells))), "markdown", fields)]


def _language(metadata: Any) -> str:
    """The language of the code, such as `python`; empty where the notebook does not say it."""
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        value = (metadata.get(key) or {}).get(name)
        if isinstance(value, str) and re.fullmatch(r"[\w+#.-]{1,20}", value):
            return value.lower()
    return ""


def _cell(cell: Any, language: str) -> str:
    """A cell as Markdown; empty for a raw cell."""
    source = cell.get("source", cell.get("input", ""))
    text = ("".join(source) if isinstance(source, list) else str(source)).strip("\n")
    if cell["cell_type"] == "code":
        return fenced(text, language) if text.strip() else ""
    if cell["cell_type"] == "heading":  # of nbformat 3
        return f"{'#' * max(1, min(6, int(cell.get('level', 1))))} {' '.join(text.split())}"
    return text if cell["cell_type"] == "markdown" else ""


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
