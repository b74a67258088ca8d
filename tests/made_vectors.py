"""Vectors of the packaged model that were made before, in this run of the suite or in an earlier one.

The same model gives the same vectors for the same list of texts. They are kept under a hash of all that they depend on.
With those of whole texts a book is searched; with those of tokens an answer without a model is chosen.
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
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rag.embedding import local
from rag.embedding.known_models import PACKAGED
from rag.embedding.local import MINILM_SHA256, PACKAGED_DIMENSION, VOCABULARY, OnnxEmbeddings
from rag.ports import TokenVectors

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

Vectors = list[list[float]]
Spans = list[list[tuple[int, int]]]
Found = TypeVar("Found")
LookUp = Callable[[list[str], Callable[[list[str]], Found]], Found]
_MOST: Final = 400_000_000  # bytes of the file; a run of the suite writes a quarter of it
_MODEL: Final = MINILM_SHA256 + sys.byteorder + "".join(map(version, ("numpy", "onnxruntime", "tokenizers")))


class MadeVectors:
    """A table of vectors in a file, which all workers use; in memory without one."""

    def __init__(self, file: Path | None) -> None:
        if file is not None and file.exists() and file.stat().st_size > _MOST:
            file.unlink()
        self._lock = threading.Lock()
        code = Path(str(local.__file__)).read_bytes()
        self._base = hashlib.sha256(b"".join([_MODEL.encode(), VOCABULARY.read_bytes(), code]))
        self._table = sqlite3.connect(file or ":memory:", check_same_thread=False, isolation_level=None, timeout=60)
        self._table.execute("pragma journal_mode = wal")
        self._table.execute("pragma synchronous = off")
        self._table.execute("create table if not exists vectors (texts blob primary key, rows blob, spans text)")

    def close(self) -> None:
        self._table.close()

    def of(self, texts: list[str], make: Callable[[list[str]], Vectors]) -> Vectors:
        """One vector per text: those that were made for this list, or else those of `make`."""
        key = self._key("texts", texts)
        if (stored := self._stored(key)) is None:
            vectors = make(texts)
            self._store(key, array("f", [value for vector in vectors for value in vector]), None)
            return vectors
        known: Vectors = _rows(stored[0]).tolist()
        return known

    def of_tokens(self, texts: list[str], make: Callable[[list[str]], list[TokenVectors]]) -> list[TokenVectors]:
        """The vectors of each text and of its tokens, likewise."""
        key = self._key("tokens", texts)
        if (stored := self._stored(key)) is None:
            found = make(texts)
            rows = array("f")
            for one in found:
                rows.extend(one.vector)
                rows.frombytes(one.tokens.tobytes())
            self._store(key, rows, json.dumps([one.spans for one in found]))
            return found
        return list(_token_vectors(_rows(stored[0]), json.loads(stored[1])))

    def _key(self, kind: str, texts: list[str]) -> bytes:
        key = self._base.copy()
        key.update(json.dumps([kind, texts]).encode())
        return key.digest()

    def _stored(self, key: bytes) -> tuple[bytes, str] | None:
        with self._lock:
            found: tuple[bytes, str] | None = self._table.execute(
                "select rows, spans from vectors where texts = ?", [key]
            ).fetchone()
        return found

    def _store(self, key: bytes, rows: array[float], spans: str | None) -> None:
        with self._lock:
            self._table.execute("insert or ignore into vectors values (?, ?, ?)", [key, rows.tobytes(), spans])


def _rows(stored: bytes) -> NDArray[float32]:
    import numpy as np

    return np.frombuffer(stored, np.float32).reshape(-1, PACKAGED_DIMENSION)


def _token_vectors(rows: NDArray[float32], spans: Spans) -> Iterator[TokenVectors]:
    begin = 0
    for each in spans:
        end = begin + 1 + len(each)
        yield TokenVectors(rows[begin].tolist(), rows[begin + 1 : end], [(first, last) for first, last in each])
        begin = end


@contextmanager
def used(file: Path | None) -> Iterator[None]:
    """Until the block ends, the packaged model runs in this process only for texts whose vectors are not in `file`."""
    made = MadeVectors(file)
    texts, tokens = OnnxEmbeddings.embed_documents, OnnxEmbeddings.embed_tokens
    OnnxEmbeddings.embed_documents = _remembered(texts, made.of)  # type: ignore[method-assign]
    OnnxEmbeddings.embed_tokens = _remembered(tokens, made.of_tokens)  # type: ignore[method-assign]
    try:
        yield
    finally:
        OnnxEmbeddings.embed_documents = texts  # type: ignore[method-assign]
        OnnxEmbeddings.embed_tokens = tokens  # type: ignore[method-assign]
        made.close()


def _remembered(embed: Callable[[OnnxEmbeddings, list[str]], Found], look_up: LookUp[Found]) -> Any:
    """A method that runs the packaged model for what is not in the table, and any other model always."""

    @functools.wraps(embed)
    def remembered(self: OnnxEmbeddings, texts: list[str]) -> Found:
        if self.model_id != PACKAGED:
            return embed(self, texts)
        return look_up(texts, functools.partial(embed, self))

    return remembered
