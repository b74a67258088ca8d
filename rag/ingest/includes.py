"""Text that a page includes from other files, in the forms of the generators.

Only files inside a root are read, the repository of the source or the source itself, wherever links point, and no
hidden files, such as the `.env` of a folder.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Final

from rag.ingest.fences import fenced, fenced_lines, language_of, without_empty_fences
from rag.ingest.source_files import is_inside, read_inside, resolved

INCLUDED: Final = 2_000_000  # characters of all files that a page includes
USE: Final = 1_000
DEPTH: Final = 4  # levels of included files; a file that includes itself ends here
_SPAN: Final = re.compile(r"(-?\d*)(:?)(-?\d*)")
_SNIPPET: Final = re.compile(
    r"^(?P<indent>[ \t]*)(?P<escape>;*)-{1,}8<-{1,}(?:[ \t]+(?P<quote>[\"'])(?P<name>[^\"'\n]+)(?P=quote))?[ \t]*$"
)
_SNIPPET_SECTION: Final = re.compile(
    r"-{1,}8<-{1,}[ \t]+\[[ \t]*(?:start|(?P<end>end))[ \t]*:[ \t]*(?P<name>[a-z][-\w]*)[ \t]*\]", re.I
)
_SNIPPET_PART: Final = re.compile(
    r"(?P<file>.*?)(?P<lines>(?::-?\d*){1,2}(?:,-?\d*(?::-?\d*)?){0,50})?(?::(?P<section>[a-zA-Z][-\w]*))?$"
)
_INCLUDED_FILE: Final = re.compile(
    r"^(?P<indent>[ \t]*)\{(?P<kind>\*|![<>]{0,2})[ \t]*"
    r"(?P<name>[^\s*{}!]{1,500})(?P<options>[^{}\n]{0,500}?)[<>]?(?:\*|!)\}[ \t]*$"
)
_CHOSEN_LINES: Final = re.compile(r"\bln\[(?P<ranges>[\d:,\s]*)\]|\[ln:(?P<dashed>[\d.,\s-]*)\]")
_TAG: Final = re.compile(
    r"(?P<indent>^[ \t]*)?\{%-?\s*include(?:-markdown)?\s+(?P<quote>[\"'])(?P<name>[^\"'\n]{1,500})(?P=quote)"
    r"(?P<options>(?:[^%]|%(?!\})){0,1000})%\}",
    re.MULTILINE,
)
_TAG_OPTION: Final = re.compile(r"(?P<name>start|end)\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')")
_BRACES: Final = re.compile(
    r"(?<!\\)\{\{#(?P<kind>include|rustdoc_include|playground|playpen|title)\s++(?P<target>[^{}\s]++)[^{}]*+\}\}"
)
_ANCHOR: Final = re.compile(r"ANCHOR(?P<end>_END)?:\s*(?P<name>[\w-]+)")


class Includes:
    """The files that one page includes from below `root`. All parts of a page share how much they may include.

    `refused` says by the names of files why they are not read, and `used` has those that were read.
    """

    def __init__(self, source: Path, root: Path) -> None:
        self.refused: dict[str, str] = {}
        self.used: set[Path] = set()
        self._roots = (source, root)
        self._level = 0
        self._used = [0]

    def below(self) -> Includes:
        """The same for an included file, which may include others down to `DEPTH`."""
        inner = copy(self)
        inner._level += 1
        return inner

    def read(self, name: str, *folders: Path) -> str | None:
        """The text of a file from the first folder that has it; None where there is none that may be read.

        Each use counts, since also an empty file has to be read. Raises `ValueError` if a page includes too much.
        """
        if not name or self._level > DEPTH or "://" in name or len(name) > 500:
            return None
        for folder in folders:
            for root in self._roots:
                if (text := read_inside(root, folder / name)) is not None:
                    self.used.add(resolved(folder / name))
                    self._used[0] += len(text) + USE
                    if self._used[0] > INCLUDED:
                        raise ValueError(f"the files that it includes add up to more than {INCLUDED:,} characters")
                    return text
        self.refused[name] = next((why for one in folders if (why := self._why(one / name))), "missing")
        return None

    def _why(self, path: Path) -> str:
        """Why a file that is there is not read; empty for one that is not there, or is no file's name."""
        try:
            if not path.exists():
                return ""
            if any(is_inside(root, path) for root in self._roots):
                return "not a text"
            outside = not any(resolved(path).is_relative_to(root) for root in self._roots)
        except (OSError, RuntimeError, ValueError):
            return ""
        return "outside the source and its repository" if outside else "hidden"


def line_span(lines: Sequence[str], span: str) -> list[str]:
    """The lines of a span, counted from 1, both ends included. `-1` is the last line.

    >>> [line_span(["a", "b", "c"], span) for span in ("2", "2:", ":2", "-1", "2:3", "x")]
    [['b'], ['b', 'c'], ['a', 'b'], ['c'], ['b', 'c'], []]
    """
    found = _SPAN.fullmatch(span.strip())
    if found is None or not found[0]:
        return []

    def place(text: str, usual: int) -> int:
        number = int(text) if text.strip("-") else usual
        return max(number if number >= 0 else len(lines) + number + 1, 1)

    begin = place(found[1], 1)
    return list(lines[begin - 1 : place(found[3], len(lines)) if found[2] else begin])


def section(lines: Sequence[str], mark: re.Pattern[str], name: str = "") -> list[str]:
    """The lines between the marks of a section, or all without a name. `mark` has the groups `name` and `end`."""
    found: list[str] = []
    inside = not name
    for line in lines:
        if begins := mark.search(line):
            inside = begins["end"] is None if begins["name"] == name else inside
        elif inside:
            found.append(line)
    return found


def with_snippets(text: str, folders: Sequence[Path], includes: Includes) -> str:
    """The text with the files of `--8<-- "file"` (pymdownx), `{! file !}` (mdx_include) and `{* file *}` (FastAPI).

    Also inside code. Raises `ValueError` if a page includes too much.
    """
    if "8<-" not in text and not re.search(r"\{[*!]", text):
        return text
    found: list[str] = []
    block = False
    for line in text.split("\n"):
        snippet = _SNIPPET.match(line)
        file = None if snippet or block else _INCLUDED_FILE.match(line)
        if snippet and snippet["escape"]:
            found.append(line.replace(";", "", 1))
        elif snippet and not snippet["name"]:
            block = not block
        elif snippet or (block and line.strip()):
            name = snippet["name"] if snippet else line.strip().removeprefix(";")
            indent = snippet["indent"] if snippet else ""
            found += [indent + one for one in _snippet(name, folders, includes)]
        elif file:
            found += [file["indent"] + one for one in _included_file(file, folders, includes)]
        elif not block and not _SNIPPET_SECTION.search(line):
            found.append(line)
    return without_empty_fences("\n".join(found))


def _snippet(name: str, folders: Sequence[Path], includes: Includes) -> list[str]:
    part = _SNIPPET_PART.fullmatch(name.strip())
    content = None if part is None else includes.read(part["file"], *folders)
    if part is None or content is None:
        return []
    lines = content.rstrip("\n").split("\n")
    if part["section"]:
        lines = section(lines, _SNIPPET_SECTION, part["section"])
    elif part["lines"]:
        lines = [line for span in part["lines"][1:].split(",") for line in line_span(lines, span)]
    return with_snippets("\n".join(lines), folders, includes.below()).split("\n")


def _included_file(match: re.Match[str], folders: Sequence[Path], includes: Includes) -> list[str]:
    """The lines of `{* file *}`, as a fenced block, or of `{! file !}`. `ln[1:5,8]` and `[ln:1-5,8]` choose them."""
    content = includes.read(match["name"], *folders)
    if content is None:
        return []
    lines = content.rstrip("\n").split("\n")
    if ranges := _CHOSEN_LINES.search(match["options"]):
        # In `[ln:1.4-5.2]` the numbers after the dots are columns.
        spans = ranges["ranges"] or re.sub(r"\.\d+", "", ranges["dashed"] or "").replace("-", ":")
        lines = [line for span in spans.split(",") for line in line_span(lines, span)]
    if match["kind"] != "*":
        return with_snippets("\n".join(lines), folders, includes.below()).split("\n")
    return fenced("\n".join(lines), language_of(match["name"])).split("\n")


def with_include_tags(text: str, page: Path, content: Path, includes: Includes) -> str:
    """The text with the files of `{% include-markdown "file" %}`, from the folder of the page or that of the docs."""
    if "{%" not in text:
        return text

    def put_in(tag: re.Match[str]) -> str:
        name = tag["name"]
        folders = [page.parent] if name.startswith(".") else [content, page.parent]
        found = includes.read(name.lstrip("/"), *folders)
        if found is None:
            return tag["indent"] or ""
        place = Path(posixpath.normpath(folders[0] / name.lstrip("/")))
        lines = with_include_tags(_between(found, tag["options"]), place, content, includes.below()).split("\n")
        return "\n".join((tag["indent"] or "") + line for line in lines)

    return _TAG.sub(put_in, text)


def _between(text: str, options: str) -> str:
    """The text between the strings that the options name, of each place where they stand; all without options."""
    named = {one["name"]: one["double"] or one["single"] or "" for one in _TAG_OPTION.finditer(options)}
    start, end = (named.get(name, "").replace("\\n", "\n") for name in ("start", "end"))
    parts: Sequence[str] = text.split(start)[1:] if start else [text]
    return "".join(part.partition(end)[0] if end else part for part in parts).strip("\n")


def with_braces(text: str, folder: Path, includes: Includes) -> str:
    """The text with the files of mdBook's `{{#include file}}`.

    A missing one is removed, with its fence if nothing else is inside. A playground outside a fence gets one.
    """
    if "{{#" not in text:
        return text
    lines = text.split("\n")
    inside = fenced_lines(lines)

    def included(match: re.Match[str], number: int) -> str:
        name, _, part = match["target"].partition(":")
        content = None if match["kind"] == "title" else includes.read(name, folder)
        chosen = _part(content.split("\n"), part) if content is not None else ""
        chosen = with_braces(chosen, (folder / name).parent, includes.below())
        is_code = match["kind"] in ("playground", "playpen") and number not in inside and chosen
        return f"```rust\n{chosen}\n```" if is_code else chosen

    found: list[str] = []
    for n, line in enumerate(lines):
        expanded = _BRACES.sub(lambda match, n=n: included(match, n), line)  # type: ignore[misc]
        if expanded == line or expanded.strip():
            found.append(expanded.replace("\\{{#", "{{#") if expanded == line else expanded)
    return without_empty_fences("\n".join(found))


def _part(lines: list[str], part: str) -> str:
    """The lines of a range or of an anchor; all for an empty `part`. Anchor comments are left out."""
    is_span = part[:1].isdigit() or part[:1] == ":"
    chosen = section(line_span(lines, part), _ANCHOR) if is_span else section(lines, _ANCHOR, part)
    return "\n".join(chosen).strip("\n")
