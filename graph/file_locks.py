"""Locks between processes, by name: a file for each that is held, which goes when it is given back."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import portalocker

from graph.memory_faults import border

_EXCLUSIVE = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING


class FileLocks:
    """The operating system takes the lock of a dead process back, so a file that was left behind is in nobody's way.

    The name of a file is a hash: ids of conversations are not for everyone who can list a folder.
    """

    def __init__(self, folder: Path, place: str) -> None:
        self._folder = folder
        self._place = place

    @asynccontextmanager
    async def tried(self, name: str) -> AsyncIterator[bool]:
        """Whether the lock could be had at once; then it is held for the block. Raises `MemoryFailureError`."""
        path = self._folder / f"turn-{hashlib.sha256(name.encode()).hexdigest()[:32]}.lock"
        with border(self._place):
            descriptor = self._acquire(path)
        if descriptor is None:
            yield False
            return
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)  # while it is still held: who waits for it sees that its file is no more
            os.close(descriptor)

    def _acquire(self, path: Path) -> int | None:
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                portalocker.lock(descriptor, _EXCLUSIVE)
            except portalocker.AlreadyLocked:
                os.close(descriptor)
                return None
            except portalocker.LockException as error:
                os.close(descriptor)
                raise OSError("the file system refuses a lock") from error
            if _is_still(path, descriptor):
                return descriptor
            os.close(descriptor)  # its holder took the file away between our two calls


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False
