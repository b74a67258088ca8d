"""Markdown and MDX files, with their front matter in YAML, TOML or JSON."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import yaml

from rag.ingest.data_values import TextLoader, from_toml, unicode_values
from rag.ingest.formats.file_format import LARGEST, LoadedText, Syntax

_YAML: Final = re.compile(r"---[ \t]*\n(?P<head>(?:.*\n)*?)---[ \t]*(?:\n|\Z)")
_TOML: Final = re.compile(r"\+\+\+[ \t]*\n(?P<head>(?:.*\n)*?)\+\+\+[ \t]*(?:\n|\Z)")
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_TEXT_LINE: Final = re.compile(r"^[ \t]*[^#\s]", re.MULTILINE)


class MarkdownLoader:
    """CommonMark and its dialects; the generator knows which one."""

    suffixes = frozenset({".md", ".markdown"})
    largest = LARGEST
    syntax: Syntax = "markdown"

    def load(self, raw: bytes) -> list[LoadedText]:
        text = decoded(raw)
        fields, body = front_matter(text)
        return [LoadedText(body, self.syntax, fields, has_head=len(body) < len(text))]


class MdxLoader(MarkdownLoader):
    """Markdown with components of React."""

    suffixes = frozenset({".mdx"})
    syntax: Syntax = "mdx"


def decoded(raw: bytes) -> str:
    """The text of a file, with plain newlines and without a byte order mark. Raises `ValueError` for other bytes.

    UTF-16 begins with a byte order mark, as editors of Windows write it.
    """
    if raw.startswith(_UTF_16):
        try:
            text = raw.decode("utf-16")
        except UnicodeDecodeError:
            raise ValueError("it begins as UTF-16 text and is none; save it as UTF-8") from None
        if "\0" in text:
            raise ValueError("it is not a text file: it contains NUL characters")
        return text.replace("\r\n", "\n").replace("\r", "\n")
    if b"\0" in raw:
        raise ValueError("it is not a text file: it contains NUL bytes")
    return raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


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
        loaded = yaml.load(head, Loader=TextLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        lines = (line.partition(":") for line in head.split("\n"))
        return {key.strip(): value.strip(" '\"") for key, colon, value in lines if colon and key.strip().isidentifier()}
    return {str(key): value for key, value in loaded.items()} if isinstance(loaded, dict) else {}
