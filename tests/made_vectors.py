"""Vectors of the packaged model that were made before, in this run of the suite or in an earlier one.

The same model gives the same vectors for the same list of texts. They are kept under a hash of all that they depend on.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sqlite3
import sys
import threading
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Final

from rag.embedding import local
from rag.embedding.known_models import PACKAGED
from rag.embedding.local import MINILM_SHA256, PACKAGED_DIMENSION, VOCABULARY, OnnxEmbeddings

Vectors = list[list[float]]
_MOST: Final = 100_000_000  # bytes of the file; a run of the suite writes a tenth of it
_MODEL: Final = MINILM_SHA256 + sys.byteorder + "".join(map(version, ("numpy", "onnxruntime", "tokenizers")))


class MadeVectors:
    """A table of vectors in a file, which all workers use; in memory without one."""

    def __init__(self, file: Path | None) -> None:
        if file is not None and file.exists() and file.stat().st_size > _MOST:
            file.unlink()
        self._kept: dict[bytes, array[float]] = {}
        self._lock = threading.Lock()
        self._base = hashlib.sha256(_MODEL.encode() + VOCABULARY.read_bytes() + Path(local.__file__).read_bytes())
        self._table = sqlite3.connect(file or ":memory:", check_same_thread=False, isolation_level=None, timeout=60)
        self._table.execute("pragma journal_mode = wal")
        self._table.execute("pragma synchronous = off")
        self._table.execute("create table if not exists made (texts blob primary key, vectors blob) without rowid")

    def close(self) -> None:
        self._table.close()

    def of(self, texts: list[str], make: Callable[[list[str]], Vectors]) -> Vectors:
        """One vector per text: those that were made for this list, or else those of `make`."""
        key = self._base.copy()
        key.update(json.dumps(texts).encode())
        found = self._stored(key.digest())
        if found is None:
            found = array("f", [value for vector in make(texts) for value in vector])
            self._store(key.digest(), found)
        return [found[at : at + PACKAGED_DIMENSION].tolist() for at in range(0, len(found), PACKAGED_DIMENSION)]

    def _stored(self, key: bytes) -> array[float] | None:
        with self._lock:
            if key not in self._kept:
                row = self._table.execute("select vectors from made where texts = ?", [key]).fetchone()
                if row is None:
                    return None
                self._kept[key] = array("f", row[0])
            return self._kept[key]

    def _store(self, key: bytes, vectors: array[float]) -> None:
        with self._lock:
            self._kept[key] = vectors
            self._table.execute("insert or ignore into made values (?, ?)", [key, vectors.tobytes()])


@contextmanager
def used(file: Path | None) -> Iterator[None]:
    """Until the block ends, the packaged model runs in this process only for texts whose vectors are not in `file`."""
    embed, made = OnnxEmbeddings.embed_documents, MadeVectors(file)

    @functools.wraps(embed)
    def remembered(self: OnnxEmbeddings, texts: list[str]) -> Vectors:
        if self.model_id != PACKAGED:
            return embed(self, texts)
        return made.of(texts, functools.partial(embed, self))

    OnnxEmbeddings.embed_documents = remembered  # type: ignore[method-assign]
    try:
        yield
    finally:
        OnnxEmbeddings.embed_documents = embed  # type: ignore[method-assign]
        made.close()
