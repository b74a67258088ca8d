"""Files that an MkDocs page puts into its text.

`--8<--` of pymdownx.snippets and `{! file !}` of mdx_include put in the text as it is, also inside code; FastAPI's
`{* file *}` puts in a block of code. Described at facelessuser.github.io/pymdown-extensions/extensions/snippets and
pypi.org/project/mdx-include.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rag.ingest.includes import Allowance
from rag.ingest.masking import fences
from rag.ingest.source_files import read_inside, resolved

DEPTH: Final = 5  # levels of snippets in snippets
_SNIPPET: Final = re.compile(
    r"^(?P<indent>[ \t]*)(?P<escape>;*)-{1,}8<-{1,}(?:[ \t]+(?P<quote>[\"'])(?P<name>[^\"'\n]+)(?P=quote))?[ \t]*$"
)
_SECTION: Final = re.compile(
    r"-{1,}8<-{1,}[ \t]+\[[ \t]*(?P<type>start|end)[ \t]*:[ \t]*(?P<name>[a-z][-\w]*)[ \t]*\]", re.I
)
_PART: Final = re.compile(
    r"(?P<file>.*?)(?P<lines>(?::-?\d*){1,2}(?:,-?\d*(?::-?\d*)?){0,50})?(?::(?P<section>[a-zA-Z][-\w]*))?$"
)
_FILE: Final = re.compile(
    r"^(?P<indent>[ \t]*)\{(?P<kind>\*|![<>]{0,2})[ \t]*"
    r"(?P<name>[^\s*{}!]{1,500})(?P<options>[^{}\n]{0,500}?)[<>]?(?:\*|!)\}[ \t]*$"
)
_LINES: Final = re.compile(r"\bln\[(?P<ranges>[\d:,\s]*)\]|\[ln:(?P<dashed>[\d.,\s-]*)\]")
_TEXTS: Final = (".md", ".markdown", ".txt")
_LANGUAGES: Final = {"yml": "yaml", "htm": "html", "jsonc": "json", "sh": "bash"}


@dataclass(frozen=True, slots=True)
class SnippetFolders:
    """Where snippets are looked for, in order, and the folders that no snippet may leave.

    A folder that is named for snippets may be hidden, such as `docs/.snippets`. Only texts are read from such a folder,
    since a stranger's configuration could name `.git`.
    """

    bases: Sequence[Path]
    roots: Sequence[Path]

    def read(self, name: str) -> str | None:
        """The text of a file, as it is named in a page; None where there is none that may be read."""
        for base in self.bases:
            for root in self.roots:
                text = read_inside(root, base / name)
                if text is None and Path(name).suffix in _TEXTS and resolved(base).is_relative_to(resolved(root)):
                    text = read_inside(base, base / name)
                if text is not None:
                    return text
        return None


def with_snippets(text: str, folders: SnippetFolders, allowance: Allowance, depth: int = DEPTH) -> str:
    """The text with the files that it names in their places; a file that is missing leaves nothing.

    Raises `ValueError` if they are more than the allowance of the page.
    """
    if "8<-" not in text and not re.search(r"\{[*!]", text):
        return text
    found: list[str] = []
    block = False
    for line in text.split("\n"):
        snippet = _SNIPPET.match(line)
        file = None if snippet or block else _FILE.match(line)
        if snippet and snippet["escape"]:
            found.append(line.replace(";", "", 1))
        elif snippet and not snippet["name"]:
            block = not block
        elif snippet or (block and line.strip()):
            name = snippet["name"] if snippet else line.strip().removeprefix(";")
            indent = snippet["indent"] if snippet else ""
            found += [indent + one for one in _snippet(name, folders, allowance, depth)]
        elif file:
            found += [file["indent"] + one for one in _file(file, folders, allowance, depth)]
        elif not block and not _SECTION.search(line):
            found.append(line)
    return "\n".join(_without_empty_fences(found))


def _without_empty_fences(lines: list[str]) -> list[str]:
    """The lines without the blocks of code that have nothing inside, since their files are missing."""
    empty = {
        n
        for block in fences(lines)
        if not any(line.strip() for line in lines[block.begin + 1 : block.end - block.closed])
        for n in range(block.begin, block.end)
    }
    return [line for n, line in enumerate(lines) if n not in empty]


def _snippet(name: str, folders: SnippetFolders, allowance: Allowance, depth: int) -> list[str]:
    part = _PART.fullmatch(name.strip())
    if part is None or depth == 0 or "://" in name or len(name) > 500:
        return []
    content = folders.read(part["file"])
    if content is None:
        return []
    allowance.take(content)
    lines = content.rstrip("\n").split("\n")
    if part["section"]:
        lines = _section(lines, part["section"])
    elif part["lines"]:
        lines = [line for span in part["lines"][1:].split(",") for line in _span(lines, span)]
    return with_snippets("\n".join(lines), folders, allowance, depth - 1).split("\n")


def _section(lines: list[str], name: str) -> list[str]:
    """The lines between the marks of a section."""
    found: list[str] = []
    inside = False
    for line in lines:
        mark = _SECTION.search(line)
        if mark and mark["name"] == name:
            inside = mark["type"].lower() == "start"
        elif inside and not mark:
            found.append(line)
    return found


def _span(lines: list[str], span: str) -> list[str]:
    """The lines of `3`, `3:`, `:5` or `3:5`, counted from 1, both ends included. `-1` is the last line."""
    first, colon, last = span.partition(":")

    def place(text: str, usual: int) -> int:
        number = int(text) if text not in ("", "-") else usual
        return max(number if number >= 0 else len(lines) + number + 1, 1)

    begin = place(first, 1)
    end = place(last, len(lines)) if colon else begin
    return lines[begin - 1 : end]


def _file(match: re.Match[str], folders: SnippetFolders, allowance: Allowance, depth: int) -> list[str]:
    """The lines of `{* file *}`, as a fenced block, or of `{! file !}`. `ln[1:5,8]` and `[ln:1-5,8]` choose them."""
    content = folders.read(match["name"]) if depth else None
    if content is None:
        return []
    allowance.take(content)
    lines = content.rstrip("\n").split("\n")
    if ranges := _LINES.search(match["options"]):
        # In `[ln:1.4-5.2]` the numbers after the dots are columns.
        spans = ranges["ranges"] or re.sub(r"\.\d+", "", ranges["dashed"] or "").replace("-", ":")
        lines = [line for span in spans.split(",") if span.strip() for line in _span(lines, span.strip())]
    if match["kind"] != "*":
        return with_snippets("\n".join(lines), folders, allowance, depth - 1).split("\n")
    suffix = Path(match["name"]).suffix.lstrip(".").lower()
    return [f"```{_LANGUAGES.get(suffix, suffix)}", *lines, "```"]
