"""What a search knows of each passage without reading it, in a file beside the shard.

The engine numbers its points, because a number is read, compared and filtered for a tenth of what a UUID costs. The
table says which chunk each number is, and how many words of prose it has: a search ranks by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID, uuid4

from rag.index.prose import counted_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FILE: Final = "points-1.npy"  # the number changes with `prose_words`, so that files of another rule are not read
_BY_ID: Final = -1  # the number of a point that has its chunk's id, as in the shards of earlier versions


class StoredText(NamedTuple):
    """What the table needs of a point: its id, that of its chunk, and the chunk's text and heading."""

    point: int | UUID
    chunk: UUID
    text: str
    heading: str


class PointTable:
    """The point and the words of prose of each chunk. A row is a chunk's place in the order of all ids.

    `rows` is an array of ids as 16 bytes in ascending order, of points from 0 on, and of words.
    """

    def __init__(self, rows: NDArray[np.void]) -> None:
        import numpy as np

        self._ids = rows["id"].copy()
        self._points = rows["point"].copy()
        self._words = rows["words"].astype(float)
        self._rows: NDArray[np.int64] | None = None  # by point
        if not (self._points == _BY_ID).all():
            self._rows = np.argsort(self._points)

    @classmethod
    def of(cls, folder: Path, chunks: int, texts: Callable[[], Iterable[StoredText]]) -> PointTable:
        """The table of a generation's folder. One that lacks it, or is damaged, gets a new one if it can be written.

        `texts` gives every point.
        """
        import numpy as np

        try:
            rows = np.load(folder / FILE, allow_pickle=False)
            if rows.dtype == _row() and len(rows) == chunks and _is_whole(rows):
                return cls(rows)
        except (OSError, ValueError, EOFError):
            pass
        rows = counted(texts())
        write(folder, rows)
        return cls(rows)

    def rows(self, points: Sequence[int | UUID]) -> list[int]:
        """The row of each point. Raises `ValueError` for a point that is not in the table."""
        import numpy as np

        if self._rows is None:
            found = self._places([point for point in points if isinstance(point, UUID)])
            if len(found) < len(points) or None in found:
                raise ValueError("a point is missing in the table beside its shard")
            return [row for row in found if row is not None]
        try:
            rows: list[int] = self._rows.take(np.array(points, dtype=np.int64)).tolist()
        except (IndexError, TypeError, OverflowError) as error:
            raise ValueError("a point is missing in the table beside its shard") from error
        return rows

    def points(self, rows: Sequence[int]) -> list[int | UUID]:
        """The point of each row."""
        if self._rows is None:
            return list(map(UUID, self.chunk_ids(rows)))
        points: list[int | UUID] = self._points.take(rows).tolist()
        return points

    def find(self, ids: Iterable[str]) -> list[int]:
        """The rows of the chunks with these ids, which are UUIDs, in their order; unknown ones are left out."""
        return [row for row in self._places([UUID(id) for id in ids]) if row is not None]

    def chunk_ids(self, rows: Sequence[int]) -> list[str]:
        """The id of the chunk in each row."""
        # numpy leaves out zero bytes at the end
        return [str(UUID(bytes=id.ljust(16, b"\0"))) for id in self._ids.take(rows).tolist()]

    def words(self, rows: Sequence[int]) -> NDArray[np.float64]:
        """The words of prose of the chunks in these rows."""
        return self._words.take(rows)

    def _places(self, ids: Sequence[UUID]) -> list[int | None]:
        import numpy as np

        if not ids or not len(self._ids):
            return [None for _ in ids]
        wanted = np.frombuffer(b"".join([id.bytes for id in ids]), dtype="S16")
        rows = np.searchsorted(self._ids, wanted)
        known = self._ids.take(rows, mode="clip") == wanted
        return [row if one else None for row, one in zip(rows.tolist(), known.tolist(), strict=True)]


def counted(texts: Iterable[StoredText]) -> NDArray[np.void]:
    """The rows of a table."""
    import numpy as np

    rows = (
        (chunk.bytes, point if isinstance(point, int) else _BY_ID, counted_words(text, heading))
        for point, chunk, text, heading in texts
    )
    return np.array(sorted(rows), dtype=_row())


def write(folder: Path, rows: NDArray[np.void]) -> None:
    """Write the rows of a generation's table, if the folder allows it: it can be made again."""
    import numpy as np

    unfinished = folder / f"{uuid4().hex}.npy"
    try:
        np.save(unfinished, rows)
        unfinished.replace(folder / FILE)
    except OSError:
        unfinished.unlink(missing_ok=True)


def _is_whole(rows: NDArray[np.void]) -> bool:
    """Whether every point from 0 on has a row, or none has a number."""
    import numpy as np

    points = rows["point"]
    return bool((points == _BY_ID).all() or np.array_equal(np.sort(points), np.arange(len(points))))


def _row() -> np.dtype[np.void]:
    import numpy as np

    return np.dtype([("id", "S16"), ("point", "<i4"), ("words", "u1")])
