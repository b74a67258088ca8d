"""The files of a source: which ones there are, and their bytes."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rag.errors import UsageError
from rag.ingest.formats.known_formats import BY_SUFFIX
from rag.ingest.includes import is_inside

KINDS: Final = "Give a folder with .md, .mdx or .markdown files, or one such file."


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """A source with its paths resolved. `root` is the folder that paths are relative to.

    `files` could be pages, in the order of their paths.
    """

    source: Path
    root: Path
    files: tuple[Path, ...]


def source_files(source: Path, skip: Collection[str] = ()) -> SourceFiles:
    """The files of a folder (recursively), or one file. Paths in `skip` are left out.

    Hidden folders, `node_modules` and links to folders are not entered. Raises `UsageError` when the source is missing
    or has an unsupported suffix.
    """
    try:
        resolved = source.expanduser().resolve()
        resolved.as_posix().encode()
    except (OSError, RuntimeError, UnicodeEncodeError) as error:
        why = why_unreadable(error) if isinstance(error, UnicodeEncodeError) else error
        raise UsageError(f"The source {source} cannot be opened: {why}.", code="source") from error
    if resolved.is_dir():
        files = sorted(_walk(resolved, skip), key=lambda file: file.relative_to(resolved).parts)
        return SourceFiles(resolved, resolved, tuple(files))
    if not resolved.exists():
        raise UsageError(f"There is no {source}.", code="source", hint=KINDS)
    if resolved.suffix.lower() not in BY_SUFFIX or not resolved.is_file():
        raise UsageError(f"{source} is not a Markdown file.", code="source", hint=KINDS)
    return SourceFiles(resolved, resolved.parent, (resolved,))


def _walk(root: Path, skip: Collection[str]) -> Iterator[Path]:
    left_out = {root / path for path in skip}
    for name, folders, files in os.walk(root):  # does not follow links to folders, so it ends
        folder = Path(name)
        folders[:] = [
            f for f in folders if not f.startswith(".") and f != "node_modules" and folder / f not in left_out
        ]
        for file in (folder / f for f in files if not f.startswith(".")):
            # Reading a pipe or a socket would hang. A broken link is kept, so that it is reported.
            present = file.is_file() or (file.is_symlink() and not file.exists())
            if file.suffix.lower() in BY_SUFFIX and file not in left_out and present:
                yield file


def read_bytes(file: Path, root: Path) -> bytes:
    """The bytes of a file. Raises `ValueError` for a link that leads out of the source, and `OSError`."""
    if file.is_symlink() and not _may_follow(file, root):
        raise ValueError("it is a link to a file outside the folder or to a hidden one; copy the file instead")
    return file.read_bytes()


def _may_follow(link: Path, root: Path) -> bool:
    """Whether a link leads to a file of the same folder. Opening a broken one says what is wrong."""
    try:
        return is_inside(root, link) or not link.exists()
    except RuntimeError:  # a loop of links
        return True


def why_unreadable(error: OSError | ValueError) -> str:
    """The reason of an error in reading a file, in words."""
    if isinstance(error, UnicodeEncodeError):
        return "its name is not UTF-8; rename it"
    if isinstance(error, UnicodeDecodeError):
        return (
            f"it is not UTF-8 text: byte 0x{error.object[error.start]:02x} at position {error.start}; save it as UTF-8"
        )
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
