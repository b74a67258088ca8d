"""The right to change a book, which one writer has at a time: a locked file, or on a server a small collection.

Qdrant has no locks, but creates a collection of a name only once. So a writer creates an empty collection that names
the writer, and deletes it at the end. The next writer removes that of a writer whose process is gone or silent.
"""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from rag.index.index_errors import locked
from rag.index.server import is_missing
from rag.system.files import private_folder, try_lock
from rag.types import iso_time, new_id

WAIT: Final = 2.0  # seconds that a change of a folder waits for another change
LOCK: Final = "ingest.lock"
SUFFIX: Final = ".askbook-writer"
LEASE: Final = "askbook_writer"  # the key of the record in the metadata of the lease's collection
BEAT: Final = 10.0  # seconds between two signs of life
DEAD: Final = 60.0  # seconds without one, after which a writer of another machine counts as dead
_held: Final[set[str]] = set()  # the tokens of this process: its number alone would not tell a lease that was lost


def is_lease(collection: str) -> bool:
    """Whether a collection is the lease of a writer and not a book."""
    return collection.endswith(SUFFIX)


@contextmanager
def folder_lock(folder: Path, book: str, *, seconds: float) -> Iterator[None]:
    """Hold the lock of a book's folder for the block.

    The operating system releases the lock of a dead process. A second file names the holder, since some platforms
    forbid reading a locked one. Raises `RetrievalError` "index_locked" if it is not free within `seconds`.
    """
    place, deadline = folder / book, time.monotonic() + seconds
    note = place / f"{LOCK}.holder"
    while (descriptor := try_lock(private_folder(place) / LOCK)) is None:
        if time.monotonic() >= deadline:
            holder: Any = {}
            with suppress(OSError, ValueError):  # gone by now, or half written
                holder = json.loads(note.read_text("utf-8"))
            raise locked(book, _who(holder))
        time.sleep(random.uniform(0.004, 0.012))  # random, so that two processes do not poll in step
    try:
        note.write_text(json.dumps(_record()), "utf-8")
        yield
    finally:
        note.unlink(missing_ok=True)
        os.close(descriptor)


@contextmanager
def server_lease(client: Any, book: str) -> Iterator[None]:
    """Hold the lease of a book on a server for the block. Raises `RetrievalError` "index_locked" if another has it."""
    name, record, done = f"{book}{SUFFIX}", _record(), threading.Event()
    _take(client, name, record, book)

    def beat() -> None:
        while not done.wait(BEAT):
            with suppress(Exception):  # the next one may succeed, and a server that is gone fails the change itself
                client.update_collection(name, metadata={LEASE: record | {"beat": time.time()}})

    beating = threading.Thread(target=beat, daemon=True)
    beating.start()
    _held.add(record["token"])
    try:
        yield
    finally:
        done.set()
        beating.join()
        _held.discard(record["token"])
        with suppress(Exception):  # the change is made or has failed already; the next writer takes the lease away
            client.delete_collection(name)


def _take(client: Any, name: str, record: dict[str, Any], book: str) -> None:
    from qdrant_client import models

    vectors = models.VectorParams(size=1, distance=models.Distance.DOT)
    for _ in range(3):
        try:
            client.create_collection(name, vectors_config=vectors, metadata={LEASE: record | {"beat": time.time()}})
        except Exception as error:
            if "already exists" not in str(error) and getattr(error, "status_code", None) != 409:
                raise
            holder = _holder(client, name)
            if _is_alive(holder):
                raise locked(book, _who(holder)) from None
            with suppress(Exception):
                client.delete_collection(name)
            continue
        if _holder(client, name).get("token") == record["token"]:  # else another writer took it as abandoned
            return
    raise locked(book)


def _holder(client: Any, name: str) -> dict[str, Any]:
    try:
        record = (client.get_collection(name).config.metadata or {}).get(LEASE)
    except Exception as error:
        if is_missing(error):
            return {}
        raise
    return dict(record) if isinstance(record, Mapping) else {}


def _record() -> dict[str, Any]:
    return {"token": new_id(), "host": socket.gethostname(), "pid": os.getpid(), "since": time.time()}


def _is_alive(holder: Mapping[str, Any]) -> bool:
    if holder.get("host") == socket.gethostname() and isinstance(holder.get("pid"), int | float):
        if holder["pid"] == os.getpid():
            return holder.get("token") in _held
        try:
            os.kill(int(holder["pid"]), 0)
        except ProcessLookupError:
            return False
        except OSError:  # it belongs to another user
            pass
    beat = holder.get("beat")
    return isinstance(beat, int | float) and time.time() - beat < DEAD


def _who(holder: Mapping[str, Any]) -> str:
    if not holder:
        return "another process"
    since = iso_time(float(holder.get("since", 0)))
    return f"process {int(holder.get('pid', 0))} on {str(holder.get('host', ''))[:100]} (since {since})"
