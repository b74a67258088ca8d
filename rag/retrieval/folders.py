"""Folders for the user's own data."""

from __future__ import annotations

from pathlib import Path


def private_folder(path: Path) -> Path:
    """Make the folder and what is missing above it, closed to other users. What exists keeps its permissions."""
    if not path.is_dir():
        # Not `parents=True`: pathlib makes the parents with the default permissions.
        private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path
