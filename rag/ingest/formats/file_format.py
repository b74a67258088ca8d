"""What every loader does: it turns the bytes of a file into text with fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

# The syntax that a loaded text is written in. A generator rewrites all but "plain", which is CommonMark with tables
# and `{#id}` after a heading that has an id of its own.
Syntax = Literal["markdown", "mdx", "rst", "plain"]


@dataclass(frozen=True, slots=True)
class LoadedText:
    """The text of a file, and the fields that stand above it, such as `title`.

    `has_head` says that there is front matter, even if it is empty.
    """

    body: str
    syntax: Syntax
    fields: Mapping[str, Any] = field(default_factory=dict)
    has_head: bool = False


class Loader(Protocol):
    """Reads the files of one format."""

    suffixes: frozenset[str]  # in lower case, with the dot

    def load(self, raw: bytes) -> LoadedText:
        """The text of a file. Raises `ValueError` with the reason if it cannot be read."""
        ...
