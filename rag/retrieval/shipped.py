"""Vectors in a text file that comes with the program, so that nobody waits for what is known beforehand.

The first line names the model. Each line below has the SHA-256 of a text and its vector in Base64, the vector as
float16, which moves no cosine by more than 0.001. Sorted by hash, so that a change of a text changes one line.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path

from rag.ports import VectorCache
from rag.retrieval.vectors import text_key


class ShippedVectors:
    """A `rag.ports.VectorCache`: the vectors of a file, before another cache for what the file has not."""

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
    """The unit vectors of a file by `text_key`; none of another model's."""
    import numpy as np

    model, *lines = file.read_text("ascii").splitlines()
    if model != model_id:
        return {}
    keys, rows = zip(*(line.split(" ") for line in lines), strict=True)
    halves = np.stack([np.frombuffer(base64.b64decode(row), "<f2") for row in rows]).astype(np.float32)
    units = halves / np.linalg.norm(halves, axis=1, keepdims=True)
    return {bytes.fromhex(key): unit for key, unit in zip(keys, units.tolist(), strict=True)}


def write_vectors(file: Path, model_id: str, vectors: Mapping[bytes, Sequence[float]]) -> None:
    """What `read_vectors` reads."""
    import numpy as np

    rows = {key.hex(): np.asarray(vector, dtype="<f2").tobytes() for key, vector in vectors.items()}
    lines = [f"{key} {base64.b64encode(rows[key]).decode('ascii')}\n" for key in sorted(rows)]
    file.write_text(f"{model_id}\n{''.join(lines)}", "ascii")
