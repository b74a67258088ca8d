"""Folders and files for the user's own data, locks on files, and what tells a file from its successor."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from rag.errors import RetrievalError

Stamp = tuple[int, int, int, int]  # inode, size, time of change of the content and of the file


def private_folder(path: Path) -> Path:
    """Make the folder and its missing parents, closed to other users; an existing folder is closed to them too."""
    if path.is_dir():
        close_to_others(path)
    else:
        _make(path)
    return path


def _make(path: Path) -> None:
    """Make the folder and its missing parents. Not `parents=True`, which gives the parents the default permissions."""
    if not path.is_dir():
        _make(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step by one that only its owner can read."""
    new = path.with_name(f"{path.name}.{os.getpid()}")  # another process may be writing it too
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)


def close_to_others(path: Path) -> None:
    """Take every permission on a folder from other users, unless it is theirs, a link, /tmp, the home or the current
    one.
    """
    try:
        found = path.lstat()
        shared = found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & stat.S_ISVTX
        if shared or not found.st_mode & 0o077:
            return
        real = path.resolve()
        if not any(place.resolve().is_relative_to(real) for place in (Path.home(), Path.cwd())):
            path.chmod(found.st_mode & 0o700)
    except OSError:  # missing, or on a file system without permissions
        return


def check_room(folder: Path, needed: int) -> None:
    """Raise `RetrievalError` unless `needed` bytes are free: a full disk kills a process that maps files."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        message = f"The index needs about {needed / 1e6:,.0f} MB in {folder}, and {free / 1e6:,.0f} MB are free."
        raise RetrievalError("index_write", message, hint="Free disk space; the book is unchanged.")


def try_lock(path: Path) -> int | None:
    """The descriptor of the file, locked until it is closed; None if another process has it. Raises `OSError`."""
    import portalocker

    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            portalocker.lock(descriptor, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.AlreadyLocked:
            os.close(descriptor)
            return None
        except portalocker.LockException as error:
            os.close(descriptor)
            raise OSError(f"the file system refuses a lock: {error}") from error
        if _is_still(path, descriptor):
            return descriptor
        os.close(descriptor)  # its holder deleted the file, or renamed its folder, between our `open` and `lock`


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def stamp(path: Path | str) -> Stamp | None:
    """What differs between a file or folder and any that replaces it later; None if there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116  # each search asks twice, and making a `Path` takes longer
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
