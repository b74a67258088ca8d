"""One at a time, across threads and processes, and a name for whoever is in the way."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import portalocker

from rag.errors import RetrievalError
from rag.types import now

_EXCLUSIVE = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING


class NamedLock:
    """An exclusive lock on a file, with a note beside it that says who holds it.

    The operating system gives the lock of a dead process back, so a note that was left behind is never in the way: it
    is read only while somebody alive holds the lock, and every holder writes its own. The note is a second file because
    some platforms forbid reading a locked one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.note = path.with_name(path.name + ".holder")
        self._threads = threading.Lock()  # threads of this process queue here, so that only one of them polls the file

    @contextmanager
    def held(self, what: str, *, seconds: float) -> Iterator[None]:
        """Hold the lock for the block, waiting at most `seconds`; `what` is told to others who wait.

        Raises `RetrievalError` "index_locked" that names the holder, and lets `OSError` through.
        """
        deadline = time.monotonic() + seconds
        if not self._threads.acquire(timeout=seconds):
            raise self._refusal(seconds)
        try:
            with os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600), "rb") as file:
                while not _locked(file.fileno()):
                    if time.monotonic() >= deadline:
                        raise self._refusal(seconds)
                    time.sleep(random.uniform(0.004, 0.012))  # uneven, so that two who wait do not move in step
                self.note.write_text(json.dumps({"pid": os.getpid(), "since": now(), "what": what}))
                try:
                    yield
                finally:
                    self.note.unlink(missing_ok=True)
        finally:
            self._threads.release()

    def _refusal(self, seconds: float) -> RetrievalError:
        try:
            note = json.loads(self.note.read_text())
            holder = f"process {note['pid']} ({note['what']}, since {note['since']})"
        except (OSError, ValueError, KeyError, TypeError):  # given back this moment, or half written
            holder = "another process"
        return RetrievalError(
            "index_locked",
            f'The index of "{self.path.parent.name}" is held by {holder}; waited {seconds:g} seconds.',
            hint="Try again in a moment. A book that several programs share needs a Qdrant server: set QDRANT_URL.",
            retryable=True,
        )


def _locked(descriptor: int) -> bool:
    try:
        portalocker.lock(descriptor, _EXCLUSIVE)
    except portalocker.AlreadyLocked:
        return False
    except portalocker.LockException as error:
        raise OSError(f"the file system refuses a lock: {error}") from error
    return True
