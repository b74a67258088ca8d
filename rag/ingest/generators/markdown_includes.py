"""Files that the plugin include-markdown of MkDocs (the package mkdocs-include-markdown-plugin) puts into a page.

`{% include-markdown "file" start="..." end="..." %}` puts in the text between two strings, and `{% include "file" %}`
does the same. A line that is indented indents what it puts in.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rag.ingest.includes import Includes

_TAG: Final = re.compile(
    r"(?P<indent>^[ \t]*)?\{%-?\s*include(?:-markdown)?\s+(?P<quote>[\"'])(?P<name>[^\"'\n]{1,500})(?P=quote)"
    r"(?P<options>(?:[^%]|%(?!\})){0,1000})%\}",
    re.MULTILINE,
)
_OPTION: Final = re.compile(r"(?P<name>start|end)\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')")


def with_included(text: str, page: Path, content: Path, includes: Includes) -> str:
    """The text of a file of the docs in `content` with the files that it names in their places.

    A name that begins with a dot is relative to the file `page`, any other one to the docs. Raises `ValueError` if a
    page includes too much.
    """
    if "{%" not in text:
        return text

    def put_in(tag: re.Match[str]) -> str:
        name = tag["name"]
        folders = [page.parent] if name.startswith(".") else [content, page.parent]
        name = name.lstrip("/")
        found = includes.read(name, *folders)
        if found is None:
            return tag["indent"] or ""
        place = Path(posixpath.normpath(folders[0] / name))
        lines = with_included(_between(found, tag["options"]), place, content, includes.below()).split("\n")
        return "\n".join((tag["indent"] or "") + line for line in lines)

    return _TAG.sub(put_in, text)


def _between(text: str, options: str) -> str:
    """The text between the strings that the options name, of each place where they stand; all without options."""
    named = {one["name"]: _spelt(one["double"] or one["single"] or "") for one in _OPTION.finditer(options)}
    start, end = named.get("start", ""), named.get("end", "")
    parts: Sequence[str] = text.split(start)[1:] if start else [text]
    return "".join(part.partition(end)[0] if end else part for part in parts).strip("\n")


def _spelt(value: str) -> str:
    return value.replace("\\n", "\n").replace("\\t", "\t")
