"""Loaders, which turn the bytes of a file into texts with fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final, Literal

from rag.ingest.formats.reader_process import read_apart
from rag.ingest.text_form import one_form
from rag.system.process import install_command

# The syntax that a loaded text is written in. A generator rewrites all but "plain", which is CommonMark with tables
# and `{#id}` after a heading that has an id of its own; of a plain text only the links change.
Syntax = Literal["markdown", "mdx", "plain"]

_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
LARGEST: Final = 10_000_000  # bytes of a file of text; a novel has one million


@dataclass(frozen=True, slots=True)
class LoadedText:
    """One text of a file, and the fields that stand above it, such as `title`.

    `has_head` says that there is front matter, even if it is empty. A file that holds several texts, such as an EPUB,
    names each by its `part`, the POSIX path inside the file, and gives the titles `above` it, outermost first. A text
    with printed pages says in `page_lines` at which line each of them begins; such a text is used as it is. A part that
    cannot be read has a `problem` in place of a body.
    """

    body: str
    syntax: Syntax
    fields: Mapping[str, Any] = field(default_factory=dict)
    has_head: bool = False
    part: str = ""
    above: tuple[str, ...] = ()
    page_lines: tuple[int, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Loader:
    """Reads the files of one format.

    `suffixes` are in lower case, with the dot. `read` makes the texts of a file, and raises `ValueError` with the
    reason if it cannot. Files of more than `largest` bytes are not read. The libraries in `needs` come with `extra`;
    `kind` is what such files are called. With `seconds`, each file is read in a process of its own, or in one for this
    file `alone`, and may take so long.
    """

    suffixes: frozenset[str]
    read: Callable[[bytes], list[LoadedText]]
    largest: int = LARGEST
    needs: tuple[str, ...] = ()
    extra: str = ""
    kind: str = ""
    seconds: float = 0.0
    alone: bool = False

    def load(self, raw: bytes) -> list[LoadedText]:
        """The texts of a file. Raises `ValueError` with the reason if it cannot be read."""
        if not all(map(find_spec, self.needs)):
            raise ValueError(f"{self.kind} need the extra {self.extra}; install it: {install_command(self.extra)}")
        if not self.seconds:
            return self.read(raw)
        module, function = self.read.__module__, self.read.__name__
        found: list[dict[str, Any]] = read_apart(module, function, raw, seconds=self.seconds, alone=self.alone)
        # JSON knows no tuples.
        return [LoadedText(**one | {name: tuple(one[name]) for name in ("above", "page_lines")}) for one in found]


def decoded(raw: bytes) -> str:
    """The text of a file in UTF-8, or in UTF-16 with a byte order mark, in one form. Raises `ValueError` for others."""
    if raw.startswith(_UTF_16):
        try:
            text = raw.decode("utf-16")
        except UnicodeDecodeError:
            raise ValueError("it begins as UTF-16 text and is none; save it as UTF-8") from None
        if "\0" in text:
            raise ValueError("it is not a text file: it contains NUL characters")
        return one_form(text)
    if b"\0" in raw:
        raise ValueError("it is not a text file: it contains NUL bytes")
    return one_form(raw.decode("utf-8-sig"))
