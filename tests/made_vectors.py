"""Vectors of the packaged model that were made before, in this run of the suite or in an earlier one.

The model computes with 32 bits, so the texts that share a run with a text change no more than the last digits of its
vector. Here the model runs for each text alone, and the vector is kept under a hash of all that it depends on. With the
vectors of whole texts a book is searched; with those of tokens an answer without a model is chosen.

A first run would embed a whole textbook. Its vectors are in `data/vectors.txt`; a text that the file lacks is embedded
as any other. `python -m tests.made_vectors` writes the file again, after the pages of the test books are cut
differently.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sqlite3
import subprocess
import sys
import tempfile
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
from rag.embedding.vector_cache import read_vectors, text_key
from rag.ports import TokenVectors
from tests.manual_vectors import write_vectors

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

Vectors = list[list[float]]
Found = TypeVar("Found")
LookUp = Callable[[list[str], Callable[[list[str]], list[Found]]], list[Found]]
STORED: Final = Path(__file__).parent / "data" / "vectors.txt"
_OF_BOOKS: Final = ("test_real_book.py", "test_quoting_languages.py")  # the tests that embed most
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
        self._table.execute("create table if not exists made (key blob primary key, rows blob, about text)")

    def close(self) -> None:
        self._table.close()

    def of(self, texts: list[str], make: Callable[[list[str]], Vectors]) -> Vectors:
        """One vector per text: the one that was made before, or else the one that `make` makes."""
        return [self._vector(text, make) for text in texts]

    def of_tokens(self, texts: list[str], make: Callable[[list[str]], list[TokenVectors]]) -> list[TokenVectors]:
        """The vectors of each text and of its tokens, likewise."""
        return [self._tokens(text, make) for text in texts]

    def _vector(self, text: str, make: Callable[[list[str]], Vectors]) -> list[float]:
        key = self._key("text", text)
        if stored := self._stored(key):
            return array("f", stored[0]).tolist()
        vector = stored_vectors().get(text_key(text)) or make([text])[0]
        self._store(key, array("f", vector), json.dumps(text))
        return vector

    def _tokens(self, text: str, make: Callable[[list[str]], list[TokenVectors]]) -> TokenVectors:
        key = self._key("tokens", text)
        if stored := self._stored(key):
            return _token_vectors(_rows(stored[0]), json.loads(stored[1]))
        (found,) = make([text])
        rows = array("f", found.vector)
        rows.frombytes(found.tokens.tobytes())
        self._store(key, rows, json.dumps(found.spans))
        return found

    def _key(self, kind: str, text: str) -> bytes:
        key = self._base.copy()
        key.update(json.dumps([kind, text]).encode())
        return key.digest()

    def _stored(self, key: bytes) -> tuple[bytes, str] | None:
        with self._lock:
            found: tuple[bytes, str] | None = self._table.execute(
                "select rows, about from made where key = ?", [key]
            ).fetchone()
        return found

    def _store(self, key: bytes, rows: array[float], about: str) -> None:
        """Keep the rows with the text as JSON, or those of tokens with their places."""
        with self._lock:
            self._table.execute("insert or ignore into made values (?, ?, ?)", [key, rows.tobytes(), about])


def _rows(stored: bytes) -> NDArray[float32]:
    import numpy as np

    return np.frombuffer(stored, np.float32).reshape(-1, PACKAGED_DIMENSION)


def _token_vectors(rows: NDArray[float32], spans: list[tuple[int, int]]) -> TokenVectors:
    return TokenVectors(rows[0].tolist(), rows[1:], [(first, last) for first, last in spans])


@functools.cache
def stored_vectors() -> dict[bytes, list[float]]:
    """The vectors in the repository, by `text_key`. Rounded to 16 bits, they differ in the fourth digit."""
    return read_vectors(STORED, PACKAGED) if STORED.exists() else {}


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


def _remembered(embed: Callable[[OnnxEmbeddings, list[str]], list[Found]], look_up: LookUp[Found]) -> Any:
    """A method that runs the packaged model for what is not in the table, and any other model always."""

    @functools.wraps(embed)
    def remembered(self: OnnxEmbeddings, texts: list[str]) -> list[Found]:
        if self.model_id != PACKAGED:
            return embed(self, texts)
        return look_up(texts, functools.partial(embed, self))

    return remembered


def _write() -> None:
    """Run the tests of whole books with an empty table, and write the vectors of texts that are in it then."""
    STORED.unlink(missing_ok=True)
    folder = Path(__file__).parent
    with tempfile.TemporaryDirectory() as cache:
        tests = [str(folder / name) for name in _OF_BOOKS]
        subprocess.run([sys.executable, "-m", "pytest", "-o", f"cache_dir={cache}", *tests], check=True)
        (file,) = Path(cache).rglob("vectors.sqlite")
        table = sqlite3.connect(file)
        rows = table.execute("select about, rows from made").fetchall()
        table.close()
    texts = {text: row for about, row in rows if isinstance(text := json.loads(about), str)}
    write_vectors(STORED, PACKAGED, {text_key(text): array("f", row).tolist() for text, row in texts.items()})


if __name__ == "__main__":
    _write()
