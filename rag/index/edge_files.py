"""The files of an embedded collection: generations beside each other, the pointer to the current one, and the lock."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final
from uuid import uuid4

import portalocker

from rag.book import IndexInfo
from rag.disk import private_folder
from rag.errors import RetrievalError, UsageError
from rag.types import now

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_GENERATION: Final = re.compile(r"[0-9a-f]{32}")
_CARD: Final = "collection.json"
_POINTER: Final = "current"


def collection_name(name: str) -> str:
    """The name, if it can be a collection's; else `UsageError`. It becomes a folder, so it must not be a path."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f'"{name[:100]}" cannot be the name of a collection.',
            code="collection_name",
            hint='Use up to 100 letters, digits, "-", "_" and ".", beginning with a letter or a digit.',
        )
    return name


def broken(collection: str, what: str) -> RetrievalError:
    """The error of an index that cannot be read."""
    return RetrievalError(
        "index_broken",
        f'The index of "{collection}" is broken: {" ".join(what.split())[:200]}.',
        hint='Run "python run.py ingest" again with the book\'s sources; it is rebuilt from them.',
    )


class Generations:
    """The generations of one collection. Every method but `info` expects the caller to hold the collection's lock."""

    def __init__(self, folder: Path, collection: str) -> None:
        self.collection = collection_name(collection)
        self.root = folder / self.collection

    def exists(self) -> bool:
        return os.path.lexists(self.root / _POINTER)

    def current(self) -> Path | None:
        """The folder of the generation in use, None where there is no collection; raises `RetrievalError`."""
        try:
            name = (self.root / _POINTER).read_text("utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise broken(self.collection, f"its pointer cannot be read ({error})") from error
        if not _GENERATION.fullmatch(name):
            raise broken(self.collection, f'its pointer says "{name[:40]}"')
        return self.root / name

    def info(self, generation: Path) -> IndexInfo:
        """What the generation says of itself; raises `RetrievalError`."""
        try:
            return IndexInfo(**json.loads((generation / _CARD).read_text("utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise broken(self.collection, f"{_CARD} cannot be read ({type(error).__name__})") from error

    def new(self) -> Path:
        """A folder for the next generation."""
        return private_folder(self.root / uuid4().hex)

    def finish(self, generation: Path, info: IndexInfo) -> None:
        """Record what the generation is, durably, before anything points to it."""
        _write(generation / _CARD, json.dumps(asdict(info)))
        _sync(generation)

    def switch(self, generation: Path) -> None:
        """Let readers find this generation from their next search on."""
        _sync(self.root)
        _write(self.root / "current.new", generation.name)
        (self.root / "current.new").replace(self.root / _POINTER)
        _sync(self.root)

    def sweep(self, *, keep: Path | None) -> None:
        """Delete every generation but one, with what builds that died have left."""
        for path in self.root.iterdir() if self.root.is_dir() else ():
            if _GENERATION.fullmatch(path.name) and path != keep:
                shutil.rmtree(path, ignore_errors=True)

    def forget(self) -> None:
        """Delete the collection in whatever state it is; the locks stay."""
        pointer = self.root / _POINTER
        if pointer.is_dir() and not pointer.is_symlink():
            shutil.rmtree(pointer)
        pointer.unlink(missing_ok=True)
        self.sweep(keep=None)


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make the names in a folder durable, as `fsync` of a file does its bytes."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
