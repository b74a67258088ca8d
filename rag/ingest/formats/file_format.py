"""The interface of loaders, which turn the bytes of a file into texts with fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final, Literal, Protocol

from rag.ingest.formats.reader_process import read_apart
from rag.system.process import PACKAGE

# The syntax that a loaded text is written in. A generator rewrites all but "plain", which is CommonMark with tables
# and `{#id}` after a heading that has an id of its own; of a plain text only the links change.
Syntax = Literal["markdown", "mdx", "rst", "plain"]

_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
LARGEST: Final = 10_000_000  # bytes of a file of text; a novel has one million


@dataclass(frozen=True, slots=True)
class LoadedText:
    """One text of a file, and the fields that stand above it, such as `title`.

    `has_head` says that there is front matter, even if it is empty. A file that holds several texts, such as an EPUB,
    names each by its `part`, the POSIX path inside the file, and gives the titles `above` it, outermost first. A text
    with printed pages says in `page_lines` at which line each of them begins; such a text is used as it is.
    """

    body: str
    syntax: Syntax
    fields: Mapping[str, Any] = field(default_factory=dict)
    has_head: bool = False
    part: str = ""
    above: tuple[str, ...] = ()
    page_lines: tuple[int, ...] = ()


def texts_apart(module: str, function: str, raw: bytes, *, seconds: float, alone: bool = False) -> list[LoadedText]:
    """The texts that a function makes of a file in a process of its own, see `read_apart`."""
    found: list[dict[str, Any]] = read_apart(module, function, raw, seconds=seconds, alone=alone)
    # JSON knows no tuples.
    return [LoadedText(**one | {name: tuple(one[name]) for name in ("above", "page_lines")}) for one in found]


class Loader(Protocol):
    """Reads the files of one format."""

    suffixes: frozenset[str]  # in lower case, with the dot
    largest: int  # bytes of a file; a larger one is not read

    def load(self, raw: bytes) -> Sequence[LoadedText]:
        """The texts of a file. Raises `ValueError` with the reason if it cannot be read."""
        ...


def need_extra(library: str, extra: str, kind: str) -> None:
    """Raise `ValueError` unless the library is installed that reads a kind of files."""
    if find_spec(library) is None:
        raise ValueError(f'{kind} need the extra {extra}; install it: pip install "{PACKAGE}[{extra}]"')


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
