"""Cosine similarity of two sets of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


def cosines(rows: Sequence[Sequence[float]], columns: Sequence[Sequence[float]]) -> NDArray[float64]:
    """The matrix of cosines, a row for each of `rows`, a column for each of `columns`; 0 for a vector of length 0."""
    import numpy as np

    if not rows or not columns:
        return np.zeros((len(rows), len(columns)))
    left, right = np.asarray(rows, dtype=np.float64), np.asarray(columns, dtype=np.float64)
    lengths = np.linalg.norm(left, axis=1)[:, None] * np.linalg.norm(right, axis=1)[None, :]
    similarities: NDArray[float64] = np.zeros(lengths.shape)
    np.divide(left @ right.T, lengths, out=similarities, where=lengths > 0)
    return similarities
