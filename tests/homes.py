"""Home folders, copied and read whole. Most of an index on disk is room that it keeps and nothing was written to.

A file system has no blocks for such room and reads it as zeros; only what was written is read here.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def copied(home: Path, to: Path) -> Path:
    """A copy of a home folder, which may be there already. The room that its files keep stays room."""
    shutil.copytree(home, to, copy_function=_copy, dirs_exist_ok=True)
    return to


def stored(home: Path, pattern: str = "*") -> bytes:
    """Every byte that was written to the files of a folder and of those below it."""
    return b"".join(written(file) for file in sorted(home.rglob(pattern)) if file.is_file())


def written(file: Path) -> bytes:
    """What was written to a file."""
    return b"".join(data for _, data in _pieces(file))


def _pieces(file: Path) -> list[tuple[int, bytes]]:
    """Where data begins in a file, and the data up to the next hole."""
    found, end = [], 0
    with file.open("rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        while end < size:
            try:
                begin = os.lseek(opened.fileno(), end, os.SEEK_DATA)
            except OSError:  # nothing but a hole is left
                break
            end = os.lseek(opened.fileno(), begin, os.SEEK_HOLE)
            opened.seek(begin)
            found.append((begin, opened.read(end - begin)))
    return found


def _copy(source: str, target: str) -> None:
    with Path(target).open("wb") as opened:
        for begin, data in _pieces(Path(source)):
            opened.seek(begin)
            opened.write(data)
        opened.truncate(Path(source).stat().st_size)
    shutil.copystat(source, target)
