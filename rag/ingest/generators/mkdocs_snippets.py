"""Files that an MkDocs page puts into its text.

`--8<--` of pymdownx.snippets and `{! file !}` of mdx_include put in the text as it is, also inside code; FastAPI's
`{* file *}` puts in a block of code. Described at facelessuser.github.io/pymdown-extensions/extensions/snippets and
pypi.org/project/mdx-include.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rag.ingest.includes import Includes, line_span, section
from rag.ingest.masking import without_empty_fences

_SNIPPET: Final = re.compile(
    r"^(?P<indent>[ \t]*)(?P<escape>;*)-{1,}8<-{1,}(?:[ \t]+(?P<quote>[\"'])(?P<name>[^\"'\n]+)(?P=quote))?[ \t]*$"
)
_SECTION: Final = re.compile(
    r"-{1,}8<-{1,}[ \t]+\[[ \t]*(?:start|(?P<end>end))[ \t]*:[ \t]*(?P<name>[a-z][-\w]*)[ \t]*\]", re.I
)
_PART: Final = re.compile(
    r"(?P<file>.*?)(?P<lines>(?::-?\d*){1,2}(?:,-?\d*(?::-?\d*)?){0,50})?(?::(?P<section>[a-zA-Z][-\w]*))?$"
)
_FILE: Final = re.compile(
    r"^(?P<indent>[ \t]*)\{(?P<kind>\*|![<>]{0,2})[ \t]*"
    r"(?P<name>[^\s*{}!]{1,500})(?P<options>[^{}\n]{0,500}?)[<>]?(?:\*|!)\}[ \t]*$"
)
_LINES: Final = re.compile(r"\bln\[(?P<ranges>[\d:,\s]*)\]|\[ln:(?P<dashed>[\d.,\s-]*)\]")
_LANGUAGES: Final = {"yml": "yaml", "htm": "html", "jsonc": "json", "sh": "bash"}


def with_snippets(text: str, folders: Sequence[Path], includes: Includes) -> str:
    """The text with the files that it names in their places; a file that is in none of the folders leaves nothing.

    Raises `ValueError` if they are more than the page may include.
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
            found += [indent + one for one in _snippet(name, folders, includes)]
        elif file:
            found += [file["indent"] + one for one in _file(file, folders, includes)]
        elif not block and not _SECTION.search(line):
            found.append(line)
    return without_empty_fences("\n".join(found))


def _snippet(name: str, folders: Sequence[Path], includes: Includes) -> list[str]:
    part = _PART.fullmatch(name.strip())
    content = None if part is None or "://" in name or len(name) > 500 else includes.read(part["file"], *folders)
    if part is None or content is None:
        return []
    lines = content.rstrip("\n").split("\n")
    if part["section"]:
        lines = section(lines, _SECTION, part["section"])
    elif part["lines"]:
        lines = [line for span in part["lines"][1:].split(",") for line in line_span(lines, span)]
    return with_snippets("\n".join(lines), folders, includes.below()).split("\n")


def _file(match: re.Match[str], folders: Sequence[Path], includes: Includes) -> list[str]:
    """The lines of `{* file *}`, as a fenced block, or of `{! file !}`. `ln[1:5,8]` and `[ln:1-5,8]` choose them."""
    content = includes.read(match["name"], *folders)
    if content is None:
        return []
    lines = content.rstrip("\n").split("\n")
    if ranges := _LINES.search(match["options"]):
        # In `[ln:1.4-5.2]` the numbers after the dots are columns.
        spans = ranges["ranges"] or re.sub(r"\.\d+", "", ranges["dashed"] or "").replace("-", ":")
        lines = [line for span in spans.split(",") for line in line_span(lines, span)]
    if match["kind"] != "*":
        return with_snippets("\n".join(lines), folders, includes.below()).split("\n")
    suffix = Path(match["name"]).suffix.lstrip(".").lower()
    return [f"```{_LANGUAGES.get(suffix, suffix)}", *lines, "```"]
