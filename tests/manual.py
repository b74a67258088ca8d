"""The manual and its neighbours as data: pages, sections, commands, error codes."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT: Final = Path(__file__).parent.parent
DOCS: Final = ROOT / "docs"
PAGES: Final = sorted(DOCS.glob("*.md"))
BESIDE: Final = [ROOT / "tests" / "profile_rules.md", *sorted((ROOT / "bench").glob("*.md"))]  # no part of the book
EVERYTHING: Final = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(DOCS.rglob("*.md")),
    *BESIDE,
]

# The position of `code`. `FailureKind` is a row of the table of failures of services.
_CODE_ARGUMENT: Final = {"AskbookError": 1, "RetrievalError": 0, "MemoryFailureError": 0, "FailureKind": 1}
_TYPES: Final = {
    "RetrievalError": "retrieval_error",
    "MemoryFailureError": "memory_error",
    "SourceFailedError": "invalid_input",
    "UsageError": "invalid_input",
    "InvalidQuestionError": "invalid_input",
}


@dataclass(frozen=True)
class Section:
    """A heading with the blocks under it, up to the next heading of any level."""

    page: Path
    heading: str
    tokens: tuple[Token, ...]

    def first_cells(self) -> list[str]:
        """The inline code in the first cell of every table row."""
        found = []
        for position, token in enumerate(self.tokens):
            if token.type == "td_open" and self.tokens[position - 1].type == "tr_open":
                found += re.findall(r"`([^`]+)`", self.tokens[position + 1].content)
        return found


@cache
def tokens(page: Path) -> list[Token]:
    """The page as tokens of Markdown; nobody changes them."""
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def examples(page: Path) -> list[str]:
    """The blocks of Python on a page."""
    return [token.content for token in tokens(page) if token.type == "fence" and token.info == "python"]


@cache
def sections(page: Path) -> tuple[Section, ...]:
    found: list[Section] = []
    heading, begun = "", list[Token]()
    parsed = tokens(page)
    for position, token in enumerate(parsed):
        if token.type == "heading_open":
            found.append(Section(page, heading, tuple(begun)))
            heading, begun = parsed[position + 1].content, []
        elif parsed[position - 1].type != "heading_open" and token.type != "heading_close":
            begun.append(token)
    return tuple(one for one in [*found, Section(page, heading, tuple(begun))] if one.heading)


def section(page: str, heading: str) -> Section:
    """The section whose heading is `heading`, or begins with it and a colon."""
    return next(one for one in sections(DOCS / page) if one.heading == heading or one.heading.startswith(f"{heading}:"))


def snippets(page: Path) -> Iterator[str]:
    """Every line of a fenced block and every piece of inline code."""
    for token in tokens(page):
        if token.type == "fence" and token.info != "python":
            yield from token.content.splitlines()
        for child in token.children or []:
            if child.type == "code_inline":
                yield child.content


def commands(page: Path, program: tuple[str, ...]) -> Iterator[list[str]]:
    """The arguments of every shell command on the page that runs `program`."""
    for snippet in snippets(page):
        if f"{program[0]} " not in f"{snippet} " or not re.match(r"[\w./$'\"<-]", snippet):
            continue
        lexer = shlex.shlex(snippet, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        command: list[str] = []
        for word in [*lexer, ";"]:
            if set(word) <= set("|;&<>"):
                yield from _arguments(command, program)
                command = []
            else:
                command.append(word)


def _arguments(command: list[str], program: tuple[str, ...]) -> Iterator[list[str]]:
    while command and re.match(r"[A-Z_]+=", command[0]):
        command = command[1:]
    if tuple(command[: len(program)]) == program:
        yield command[len(program) :]


@cache
def raised_codes(*names_of_files: str) -> set[tuple[str | None, str]]:
    """(error type, code) of every failure that the files, or all, can make; the type is None where it is computed."""
    found: set[tuple[str | None, str]] = set()
    sources = [ROOT / name for name in names_of_files or ("run.py", "state.py")]
    for folder in () if names_of_files else ("rag", "nodes", "graph", "cli"):
        sources += sorted((ROOT / folder).rglob("*.py"))
    names = re.compile("|".join({*_CODE_ARGUMENT, *_TYPES}))
    for text in (source.read_text(encoding="utf-8") for source in sources):
        for node in ast.walk(ast.parse(text)) if names.search(text) else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found |= _code_of(node, node.func.id)
            elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_FAILURES":
                # The table of failures of a Qdrant server, by code.
                rows = node.value.keys if isinstance(node.value, ast.Dict) else []
                found |= {("retrieval_error", str(row.value)) for row in rows if isinstance(row, ast.Constant)}
    return found


def _code_of(call: ast.Call, name: str) -> set[tuple[str | None, str]]:
    if name not in _CODE_ARGUMENT and name not in _TYPES:
        return set()
    code = next((one.value for one in call.keywords if one.arg == "code"), None)
    if code is None and name in _CODE_ARGUMENT:
        code = call.args[_CODE_ARGUMENT[name]]
    if code is None:
        return {(_TYPES[name], "usage")}
    if not isinstance(code, ast.Constant):
        return set()  # made of a row of a table
    first = call.args[0]
    error_type = _TYPES.get(name) or (str(first.value) if isinstance(first, ast.Constant) else None)
    return {(error_type, str(code.value))}
