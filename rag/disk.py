"""Folders for the user's own data."""

from __future__ import annotations

import shutil
from pathlib import Path

from rag.errors import RetrievalError


def private_folder(path: Path) -> Path:
    """Make the folder and what is missing above it, closed to other users. What exists keeps its permissions."""
    if not path.is_dir():
        # Not `parents=True`: pathlib makes the parents with the default permissions.
        private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def check_room(folder: Path, needed: int) -> None:
    """Raise `RetrievalError` where the folder's disk has fewer than `needed` bytes free.

    To be asked before the engine writes: its files are mapped into memory, and a disk that fills up under a mapped file
    ends the process without a word (SIGBUS).
    """
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise RetrievalError(
            "index_write",
            f"The index needs about {needed / 1e6:,.0f} MB in {folder}, and {free / 1e6:,.0f} MB are free.",
            hint="Make room on the disk; the book is as before.",
        )
