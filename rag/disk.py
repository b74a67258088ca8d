"""Folders for the user's own data."""

from __future__ import annotations

import shutil
from pathlib import Path

from rag.errors import RetrievalError


def private_folder(path: Path) -> Path:
    """Make the folder and its missing parents, closed to other users. Existing folders keep their permissions."""
    if not path.is_dir():
        # Not `parents=True`, which makes the parents with the default permissions.
        private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def check_room(folder: Path, needed: int) -> None:
    """Raise `RetrievalError` if the folder's disk has fewer than `needed` bytes free.

    Call it before the engine writes: its files are mapped into memory, and when the disk fills up under a mapped file
    the process is killed without a message (SIGBUS).
    """
    free = shutil.disk_usage(folder).free
    if free < needed:
        message = f"The index needs about {needed / 1e6:,.0f} MB in {folder}, and {free / 1e6:,.0f} MB are free."
        raise RetrievalError("index_write", message, hint="Free disk space; the book is unchanged.")
