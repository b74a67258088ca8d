"""Text that a page includes from other files: mdBook's `{{#include}}` and MDX partials.

Only files inside `root` are read, even if a path or a symbolic link points elsewhere, and no hidden files: otherwise a
book could include the `.env` of the folder that it was unpacked in.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Final

from rag.ingest.masking import fences
from rag.ingest.source_files import read_inside

_INCLUDE: Final = re.compile(
    r"(?<!\\)\{\{#(?P<kind>include|rustdoc_include|playground|playpen|title)\s++(?P<target>[^{}\s]++)[^{}]*+\}\}"
)
INCLUDED: Final = 2_000_000  # characters of all files that a page includes
USE: Final = 1_000
_ANCHOR: Final = re.compile(r"ANCHOR(?:_END)?:\s*[\w-]+")
_IMPORT: Final = re.compile(r"import\s+(?P<name>[A-Z]\w*)\s+from\s+(['\"])(?P<target>[^'\"\n]+\.mdx?)\2")


class Allowance:
    """How much one page may include in all: partials that use partials multiply.

    A use costs as much as `USE` characters, since also an empty file has to be read.
    """

    def __init__(self) -> None:
        self._left = INCLUDED

    def take(self, content: str) -> None:
        """Count a file that is included. Raises ValueError if it is too much."""
        self._left -= len(content) + USE
        if self._left < 0:
            raise ValueError(f"the files that it includes add up to more than {INCLUDED:,} characters")


def expand_includes(text: str, *, file: Path, root: Path, allowance: Allowance) -> str:
    """Replace mdBook's includes by their files. A missing one is removed, with its fence if nothing else is inside."""
    if "{{#" not in text:
        return text
    lines = text.split("\n")
    blocks = fences(lines)
    inside = {n for block in blocks for n in range(block.begin, block.end)}
    expanded: list[str | None] = []
    for n, line in enumerate(lines):
        expand = partial(_included, file=file, root=root, fenced=n in inside, allowance=allowance)
        expanded.append(_INCLUDE.sub(expand, line))
    for n, line in enumerate(lines):
        if expanded[n] != line and not (expanded[n] or "").strip():
            expanded[n] = None
    for block in blocks:
        body = range(block.begin + 1, block.end - block.closed)
        emptied = any(expanded[n] is None for n in body)
        if emptied and all(expanded[n] is None or not (expanded[n] or "").strip() for n in body):
            expanded[block.begin : block.end] = [None] * (block.end - block.begin)
    return "\n".join(line for line in expanded if line is not None)


def _included(match: re.Match[str], *, file: Path, root: Path, fenced: bool, allowance: Allowance) -> str:
    """The text that replaces an include, empty for a missing file. A playground outside a fence gets one."""
    name, _, part = match["target"].partition(":")
    content = None if match["kind"] == "title" else read_inside(root, file.parent / name)
    if content is None:
        return ""
    allowance.take(content)
    included = "\n".join(_part(content.split("\n"), part)).strip("\n")
    if match["kind"] in ("playground", "playpen") and not fenced and included:
        return f"```rust\n{included}\n```"
    return included


def _part(lines: list[str], part: str) -> list[str]:
    """The lines of a range, counted from 1, or of an anchor; all for an empty `part`. Anchor comments are left out.

    >>> [_part(["a", "b", "c"], part) for part in ("2", "2:", ":2")]
    [['b'], ['b', 'c'], ['a', 'b']]
    """
    if re.fullmatch(r"\d*(:\d*)?", part) and part:
        first, colon, last = part.partition(":")
        begin = max(int(first or 1), 1) - 1
        lines = lines[begin : (int(last) if last else None) if colon else begin + 1]
    elif part:
        begins = [n for n, line in enumerate(lines) if re.search(rf"ANCHOR:\s*{re.escape(part)}\b", line)]
        ends = [n for n, line in enumerate(lines) if re.search(rf"ANCHOR_END:\s*{re.escape(part)}\b", line)]
        lines = lines[begins[0] + 1 : next((n for n in ends if n > begins[0]), None)] if begins else []
    return [line for line in lines if not _ANCHOR.search(line)]


def partial_imports(text: str) -> dict[str, str]:
    """The paths of the Markdown files that an MDX page imports, by the name of the component.

    Backslashes are removed: formatters escape the underscore of a partial's name (`./\\_partial.md`).
    """
    return {m["name"]: m["target"].replace("\\", "") for m in _IMPORT.finditer(text)}


def resolve_partial(target: str, *, file: Path, root: Path) -> Path:
    """The file that an import names. `@site`, the folder of the site, is `root`."""
    return root / target.removeprefix("@site/") if target.startswith("@site/") else file.parent / target
