"""The files of a source: which ones there are, and their bytes.

A folder may come from a stranger and may change while it is read. So a file is judged by what was opened, not by what a
look at its name said before.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

SUFFIXES: Final = frozenset({".md", ".mdx", ".markdown"})
LARGEST: Final = 10_000_000  # bytes of one file; a novel has one million
_LINK: Final = "it is a link to a file outside the folder or to a hidden one; copy the file instead"
_HARD_LINK: Final = "it is a hard link, so it may be a file of another folder; copy the file instead"


def page_files(root: Path, left_out: set[Path], failed: Callable[[Path, OSError], None]) -> Iterator[Path]:
    """The pages under a folder, and links, pipes and devices that are named like pages, so that they are reported.

    Hidden folders, `node_modules` and links to folders are not entered. `failed` is told of a folder that cannot be
    listed.
    """
    folders = [root]
    while folders:  # not recursive: a folder may be a thousand levels deep
        folder = folders.pop()
        try:
            with os.scandir(folder) as listing:
                entries = list(listing)
        except OSError as error:
            failed(folder, error)
            continue
        for entry in entries:
            path = folder / entry.name
            if path in left_out or entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "node_modules":
                    folders.append(path)
            elif path.suffix.lower() in SUFFIXES and not entry.name.startswith("_") and not _is_folder(entry):
                yield path


def read_file(path: Path, root: Path, *, hard_links: bool = False) -> bytes:
    """The bytes of a file of the source `root`.

    Raises OSError for a file that cannot be opened, and ValueError for one that must not be read: a link out of `root`
    or to a hidden file, a pipe or a device, a file of more than `LARGEST` bytes, and a hard link unless `hard_links`.
    """
    if path.is_symlink() and not _may_follow(path, root):
        raise ValueError(_LINK)
    # Without O_NONBLOCK a pipe would be waited for until somebody writes into it.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is a pipe, a socket or a device, not a file")
        if status.st_nlink > 1 and not hard_links:
            raise ValueError(_HARD_LINK)
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST // 10**6} megabytes; split it into several files")
    return content


def is_inside(root: Path, path: Path) -> bool:
    """Whether the path, with its links followed, is in `root` and in no hidden folder or file of it."""
    real, root = path.resolve(), root.resolve()
    return real.is_relative_to(root) and not any(part.startswith(".") for part in real.relative_to(root).parts)


def read_inside(root: Path, path: Path) -> str | None:
    """The text of a file, with plain newlines; None if it may not be read, is missing, or is not UTF-8 text."""
    try:
        real = path.resolve()
        if not is_inside(root, real):
            return None
        return plain_text(read_file(real, root))
    except (OSError, ValueError, RuntimeError):  # RuntimeError: a loop of symbolic links
        return None


def plain_text(content: bytes) -> str:
    """The bytes as text, with plain newlines and without a byte order mark. Raises ValueError if they are no text."""
    if b"\0" in content:
        raise ValueError("it is not a text file: it contains NUL bytes")
    return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _may_follow(link: Path, root: Path) -> bool:
    """Whether a link leads to a file of the same folder. Opening a broken one says what is wrong."""
    try:
        return is_inside(root, link) or not link.exists()
    except RuntimeError:  # a loop of links
        return True
