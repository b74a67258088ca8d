"""The files of an embedded collection: its generations, the pointer to the current one, and the locks."""

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
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

from rag.book import IndexInfo
from rag.errors import RetrievalError, UsageError
from rag.system.files import Stamp, private_folder, stamp, try_lock
from rag.system.process import program
from rag.types import now

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_GENERATION: Final = re.compile(r"[0-9a-f]{32}")
_OLD: Final = ".old"  # at the end of the name of a generation that is being deleted
_CARD: Final = "collection.json"
_POINTER: Final = "current"


def is_collection_name(name: str) -> bool:
    """Whether a name is valid. It becomes a folder, so it must not be a path."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def collection_name(name: str) -> str:
    """The name, if it is valid. Raises `UsageError` otherwise."""
    if not is_collection_name(name):
        hint = 'Use up to 100 letters, digits, "-", "_" and ".", beginning with a letter or a digit.'
        raise UsageError(f'"{name!s:.100}" cannot be the name of a collection.', code="collection_name", hint=hint)
    return name


def broken(collection: str, what: str) -> RetrievalError:
    """The error of an index that cannot be read."""
    message = f'The index of "{collection}" is broken: {" ".join(what.split())[:200]}.'
    hint = f'Run "{program()} ingest" again with the book\'s sources; it is rebuilt from them.'
    return RetrievalError("index_broken", message, hint=hint)


class Version(NamedTuple):
    """A generation's folder, and what tells its files, and the pointer to it, from others put in their place."""

    folder: Path
    card: Stamp | None
    pointer: Stamp | None


class Generations:
    """The generations of one collection. One never changes once the pointer names it, so reading takes no lock.

    The caller of a method that writes holds the collection's lock.
    """

    def __init__(self, folder: Path, collection: str) -> None:
        self.collection = collection_name(collection)
        self.root = folder / self.collection
        self._pointer = self.root / _POINTER

    def exists(self) -> bool:
        return os.path.lexists(self._pointer)

    def current(self) -> Path | None:
        """The folder of the current generation, if any. Raises `RetrievalError` "index_broken" for a bad pointer."""
        try:
            name = self._pointer.read_text("utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            what = f"the file that names its current version cannot be read ({error})"
            raise broken(self.collection, what) from error
        if not _GENERATION.fullmatch(name):
            raise broken(self.collection, f'the file that names its current version says "{name[:40]}"')
        return self.root / name

    def info(self, generation: Path) -> IndexInfo:
        """The record of a generation. Raises `RetrievalError` "index_broken" if it cannot be read."""
        try:
            info = IndexInfo(**json.loads((generation / _CARD).read_text("utf-8")))
            return replace(info, collection=self.collection)  # a book that was renamed has its old name in there
        except (OSError, ValueError, TypeError) as error:
            raise broken(self.collection, f"{_CARD} cannot be read ({type(error).__name__})") from error

    def version(self) -> Version | None:
        """The version of the current generation, None where there is no collection."""
        pointer = stamp(self._pointer)
        folder = self.current()
        return Version(folder.absolute(), stamp(folder / _CARD), pointer) if folder else None

    def is_current(self, version: Version) -> bool:
        """Whether a version is the current one. Reads no file: every change replaces the pointer by a new file."""
        return stamp(self._pointer) == version.pointer and stamp(f"{version.folder}/{_CARD}") == version.card

    def new(self) -> Path:
        """Make a folder for the next generation."""
        return private_folder(self.root / uuid4().hex)

    def finish(self, generation: Path, info: IndexInfo) -> None:
        """Write the record of a generation to the disk, before the pointer is switched to it."""
        _write(generation / _CARD, json.dumps(asdict(info)))
        _sync(generation)

    def switch(self, generation: Path) -> None:
        """Make this generation the current one, for every search from the next on."""
        _sync(self.root)
        _write(self.root / "current.new", generation.name)
        (self.root / "current.new").replace(self._pointer)
        _sync(self.root)

    def sweep(self, *, keep: Path | None) -> None:
        """Delete every generation but one, including unfinished ones of builds that died.

        The system keeps files that readers have open. A folder is renamed first, so that nobody opens an incomplete
        one.
        """
        for path in list(self.root.iterdir()) if self.root.is_dir() else ():
            if _GENERATION.fullmatch(path.name.removesuffix(_OLD)) and path != keep:
                old = path.with_name(path.name.removesuffix(_OLD) + _OLD)
                path.rename(old)
                shutil.rmtree(old, ignore_errors=True)

    def rename(self, new: Generations) -> None:
        """Move the whole collection to an unused name, with the locks of both. Readers keep what they have open."""
        for path in list(new.root.iterdir()):  # the lock, and what a deleted collection has left
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        self.root.rename(new.root)  # replaces the empty folder
        _sync(self.root.parent)

    def forget(self) -> None:
        """Delete the collection, even a broken one. The locks stay."""
        pointer = self._pointer
        if pointer.is_dir() and not pointer.is_symlink():
            shutil.rmtree(pointer)
        pointer.unlink(missing_ok=True)
        self.sweep(keep=None)


class NamedLock:
    """An exclusive lock on a file, with a note in a second file that names the holder.

    The operating system releases the lock of a dead process; its note does no harm. Some platforms forbid reading a
    locked file, so the note is another one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.note = path.with_name(path.name + ".holder")
        self._threads = threading.Lock()  # threads of this process queue here; only one of them polls the file

    @contextmanager
    def held(self, purpose: str, *, seconds: float) -> Iterator[None]:
        """Hold the lock for the block. `purpose` is shown to processes that wait.

        Raises `RetrievalError` "index_locked" if it is not free within `seconds`, and `OSError` of the file system.
        """
        deadline = time.monotonic() + seconds
        if not self._threads.acquire(timeout=seconds):
            raise self._refusal(seconds)
        try:
            descriptor = self._taken(deadline, seconds)
            try:
                self.note.write_text(json.dumps({"pid": os.getpid(), "since": now(), "what": purpose}))
                yield
            finally:
                self.note.unlink(missing_ok=True)
                os.close(descriptor)
        finally:
            self._threads.release()

    def _taken(self, deadline: float, seconds: float) -> int:
        """The descriptor of the file, locked. Its folder may be renamed while this process waits."""
        while (descriptor := try_lock(private_folder(self.path.parent) / self.path.name)) is None:
            if time.monotonic() >= deadline:
                raise self._refusal(seconds)
            time.sleep(random.uniform(0.004, 0.012))  # random, so that two processes do not poll in step
        return descriptor

    def _refusal(self, seconds: float) -> RetrievalError:
        try:
            note = json.loads(self.note.read_text())
            holder = f"process {note['pid']} ({note['what']}, since {note['since']})"
        except (OSError, ValueError, KeyError, TypeError):  # released just now, or half written
            holder = "another process"
        message = f'The index of "{self.path.parent.name}" is locked by {holder}; gave up after {seconds:g} seconds.'
        hint = "Try again in a moment. A book that several programs change needs a Qdrant server: set QDRANT_URL."
        return RetrievalError("index_locked", message, hint=hint, retryable=True)


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make the names in a folder durable; `fsync` of a file does so for its bytes only."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
