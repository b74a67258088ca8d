"""The points that a search found: their order in each leg, the score of each in every leg, and cosines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from rag.book import SparseVector

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Id = TypeVar("Id", int, str)  # of a point, as a number or as text, by which UUIDs have the same order

TIE_SLACK: Final = 8  # points requested beyond the limit, to detect a tie at the last place


def is_empty(leg: object) -> bool:
    """Whether a leg cannot find anything: the sparse vector of a text of stop words only."""
    return isinstance(leg, SparseVector) and not leg.indices


def best(points: Sequence[tuple[Id, float]], *, limit: int, asked: int) -> list[tuple[Id, float]] | None:
    """The best `limit` of scored ids, ties by id; None if more than the `asked` points must be requested to decide.

    `points` are in the engine's order, best first. Engines return equal scores in any order. If the last place is tied
    with the last point of a full answer, a point beyond the answer may belong into the ranking. With limit=2 and
    asked=3, the scores 9, 7, 7 are undecided: a fourth point could score 7 too and have a smaller id. The scores 9, 7,
    6 are decided.
    """
    ordered = points
    if len({score for _, score in points}) < len(points):
        ordered = sorted(points, key=lambda point: (-point[1], point[0]))
    if 0 < limit < len(ordered) and len(ordered) >= asked and ordered[limit - 1][1] == ordered[-1][1]:
        return None
    return list(ordered[:limit])


class Scores(Generic[Id]):
    """The scores of every point that a search found, in every leg, from which its `Matches` are made.

    `rankings` are the scored ids of each leg, best first. Points that a leg did not find have a score of 0 there until
    `add` gives another.
    """

    def __init__(self, rankings: Sequence[Sequence[tuple[Id, float]]]) -> None:
        import numpy as np

        self.ids: list[Id] = sorted(set().union(*(dict(ranking) for ranking in rankings)))
        self._row: dict[Id, int] = {id: row for row, id in enumerate(self.ids)}
        self.matrix = np.zeros((len(self.ids), len(rankings)))
        self.rankings = [self.add(leg, ranking) for leg, ranking in enumerate(rankings)]

    def add(self, leg: int, points: Sequence[tuple[Id, float]]) -> list[int]:
        """Set the scores of points in a leg. Returns their rows."""
        rows = [self._row[id] for id, _ in points]
        self.matrix[rows, leg] = [score for _, score in points]
        return rows

    def lacking(self, leg: int) -> list[Id]:
        """The points that the leg did not find, but another one did."""
        own = {self.ids[row] for row in self.rankings[leg]}
        return [id for id in self.ids if id not in own]


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
