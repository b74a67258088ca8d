"""Caches of vectors, so that ingesting a book again embeds only new texts."""

from __future__ import annotations

import base64
import errno
import hashlib
import os
import sqlite3
import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from rag.errors import UsageError
from rag.ports import VectorCache
from rag.system.files import private_folder

T = TypeVar("T")
APPLICATION: Final = 0x61736B76  # "askv" in the file's header, which tells our database from another program's
BATCH: Final = 500  # parameters of one statement, below SQLite's limit
WAIT: Final = 10.0  # seconds to wait for a writing process
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS vectors (model TEXT, text BLOB, vector BLOB, PRIMARY KEY (model, text)) WITHOUT ROWID"
)
_SELECT: Final = "SELECT text, vector FROM vectors WHERE model = ?"


class SqliteVectorCache:
    """A SQLite file of float32 vectors, keyed by model id and the SHA-256 of the text, for threads and processes.

    A broken file, or one of another program, is renamed to `<name>.broken`. While the file is locked, or the disk is
    full, reads find nothing and writes are dropped. Raises `UsageError` if the file cannot be opened or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.Lock()

    def get(self, model_id: str, texts: Sequence[str]) -> dict[str, list[float]]:
        """The known vectors, by text; unknown texts are left out. Does not create the file."""
        if not self.path.exists():
            return {}
        return self._run(lambda db: _read(db, model_id, texts), {})

    def put(self, model_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        """Store vectors by text, as float32, the precision of embedding models."""
        rows = [(model_id, text_key(text), array("f", vector).tobytes()) for text, vector in vectors.items()]

        def write(db: sqlite3.Connection) -> None:
            with db:  # commits, or rolls back
                db.execute("BEGIN IMMEDIATE")
                db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

        self._run(write, None)

    def _run(self, work: Callable[[sqlite3.Connection], T], missed: T) -> T:
        """Do the work, once more on a new file if the file is broken; `missed` if the file is locked or has no room."""
        with self._guard:
            for last in (False, True):
                try:
                    with closing(self._open()) as db:
                        return work(db)
                except sqlite3.OperationalError as error:
                    if "locked" in str(error) or "full" in str(error):
                        return missed
                    raise self._unusable(error) from error
                except sqlite3.DatabaseError as error:
                    if last:
                        raise self._unusable(error) from error
                    self._set_aside()
                except OSError as error:
                    if error.errno in _NO_ROOM:
                        return missed
                    raise self._unusable(error) from error
        return missed

    def _open(self) -> sqlite3.Connection:
        # One connection per call: nothing is left to close, and threads share none.
        private_folder(self.path.parent)
        # Create the file before SQLite does: SQLite's journals get the permissions of the file.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)
        try:
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_aside(self) -> None:
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        if self.path.exists():  # another process may have been faster
            self.path.replace(self.path.with_name(self.path.name + ".broken"))

    def _unusable(self, error: Exception) -> UsageError:
        hint = "Make the file and its folder writable, or delete the file."
        return UsageError(f"The vector cache {self.path} cannot be used: {error}.", code="vector_cache", hint=hint)


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("BEGIN")  # a snapshot: another process may be creating the tables
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    owner = db.execute("PRAGMA application_id").fetchone()[0]
    db.execute("COMMIT")
    if owner != APPLICATION and tables:
        raise sqlite3.DatabaseError("it belongs to another program")
    if owner != APPLICATION:
        db.execute("BEGIN IMMEDIATE")
        db.execute(_TABLE)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute("COMMIT")


def _read(db: sqlite3.Connection, model_id: str, texts: Sequence[str]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    keyed = iter({text_key(text): text for text in texts}.items())
    while names := dict(islice(keyed, BATCH)):
        marks = ",".join("?" * len(names))
        for key, blob in db.execute(f"{_SELECT} AND text IN ({marks})", [model_id, *names]):
            if isinstance(blob, bytes) and blob and len(blob) % 4 == 0:  # else it is no vector
                found[names[key]] = array("f", blob).tolist()
    return found


def text_key(text: str) -> bytes:
    """The key of a text's vector: the SHA-256 of the text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class PassingVectors:
    """A `rag.ports.VectorCache` in memory, for a model without a name: the file would give it another one's vectors."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, bytes], array[float]] = {}

    def get(self, model_id: str, texts: Sequence[str]) -> dict[str, list[float]]:
        keys = {text: (model_id, text_key(text)) for text in texts}
        return {text: self._kept[key].tolist() for text, key in keys.items() if key in self._kept}

    def put(self, model_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        self._kept.update(((model_id, text_key(text)), array("f", vector)) for text, vector in vectors.items())


class ShippedVectors:
    """A `rag.ports.VectorCache` that reads from a file first, then from another cache, to which it also writes."""

    def __init__(self, file: Path, others: VectorCache) -> None:
        self._file = file
        self._others = others

    def get(self, model_id: str, texts: Sequence[str]) -> dict[str, list[float]]:
        shipped = read_vectors(self._file, model_id)
        found = {text: shipped[key] for text in texts if (key := text_key(text)) in shipped}
        missing = [text for text in texts if text not in found]
        return found | (self._others.get(model_id, missing) if missing else {})

    def put(self, model_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        self._others.put(model_id, vectors)


def read_vectors(file: Path, model_id: str) -> dict[bytes, list[float]]:
    """The unit vectors of a file, by `text_key`; empty if they are another model's.

    The first line of the file is the model id. Every other line is the key in hexadecimal, a space, and the vector as
    little-endian float16 in Base64.
    """
    import numpy as np

    model, *lines = file.read_text("ascii").splitlines()
    if model != model_id:
        return {}
    keys, rows = zip(*(line.split(" ") for line in lines), strict=True)
    halves = np.stack([np.frombuffer(base64.b64decode(row), "<f2") for row in rows]).astype(np.float32)
    units = halves / np.linalg.norm(halves, axis=1, keepdims=True)
    return {bytes.fromhex(key): unit for key, unit in zip(keys, units.tolist(), strict=True)}
