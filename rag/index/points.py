"""The points of a collection: how a chunk is stored, and what a search knows of each point.

The layout is langchain-qdrant's default, which other LangChain code reads: the text is `page_content`, the other fields
are in `metadata`, and the id is the point's.

The embedded engine numbers its points, since a UUID costs ten times as much as a number. A table beside its shard has
the chunk of each number, and its words of prose, which count in the ranking.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID, uuid4

from rag.book import Chunk, IndexEntry, SparseVector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DENSE: Final = "dense"
SPARSE: Final = "sparse"
CONTENT: Final = "page_content"
METADATA: Final = "metadata"
CHUNK_ID: Final = "chunk_id"  # beside them in the embedded index, whose points have numbers
ENTRY_FIELDS: Final = ("source", "source_file_path", "document_sha256", "sha256")
ENTRY_KEYS: Final = [f"{METADATA}.{name}" for name in (*ENTRY_FIELDS, "chunk_index", "page_chunks")]
_FIELDS: Final = tuple(field.name for field in fields(Chunk) if field.name not in ("id", "text"))
_NAMES: Final = frozenset(_FIELDS)
_EMPTY: Final[Mapping[str, Any]] = {"chunk_index": 0, "page_chunks": 0, "chapter": None, "page_number": None}
TABLE: Final = "points-2.npy"  # the number changes with `prose_words`, so that files of another rule are not read
TIE_SLACK: Final = 8  # points requested beyond the limit, to detect a tie at the last place
MOST_WORDS: Final = 255  # words of prose that are counted
CODE_WORDS: Final = 60  # words of prose that the code of a passage stands for
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_ADDRESS: Final = re.compile(
    r"^[^\n]{0,200}(?<!\()https?://\S*[^\w\n]*$"  # a short line that ends in an address only points elsewhere
    r"|https?://\S+",
    re.MULTILINE,
)
_POINTERS: Final = re.compile(
    r"\W*(?:\d+\.?\s*)?(?:references?|bibliography|literature|works cited|(?:further|suggested) reading|see also"
    r"|external links)\W*",
    re.IGNORECASE,
)
_PROSE_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def to_payload(chunk: Chunk) -> dict[str, Any]:
    """The payload of the chunk's point."""
    values = asdict(chunk)
    return {CONTENT: values["text"], METADATA: {name: values[name] for name in _FIELDS}}


def chunk_id(payload: Mapping[str, Any] | None) -> str:
    """The id of a point's chunk in the embedded index. Raises `ValueError` if it has none, as in earlier versions."""
    id = (payload or {}).get(CHUNK_ID)
    if not isinstance(id, str):
        raise ValueError("an earlier version of askbook wrote it, or it is damaged")
    return id


def from_payload(id: object, payload: Mapping[str, Any] | None) -> Chunk:
    """The chunk of a point. Fields that another writer left out are empty. Raises `ValueError` without a text."""
    text = (payload or {}).get(CONTENT)
    if not isinstance(text, str):
        raise ValueError(f"The point {id} has no text.")
    stored = (payload or {}).get(METADATA) or {}
    values = stored
    if stored.keys() != _NAMES:
        values = {name: stored[name] if name in stored else _EMPTY.get(name, "") for name in _FIELDS}
    if not values["sha256"]:
        values = {**values, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return Chunk(id=str(id), text=text, **values)


def to_entry(id: object, payload: Mapping[str, Any] | None) -> IndexEntry:
    """The index entry of a point whose payload holds at least `ENTRY_KEYS`."""
    stored = (payload or {}).get(METADATA) or {}
    # Kept once in memory for all chunks of a page: a book may have a hundred thousand entries.
    source, path, document = (sys.intern(str(stored.get(name, ""))) for name in ENTRY_FIELDS[:3])
    text = str(stored.get(ENTRY_FIELDS[3], ""))
    numbers = [value if isinstance(value := stored.get(name), int) else 0 for name in ("chunk_index", "page_chunks")]
    return IndexEntry(str(id), source, path, document, text, *numbers)


def point_ids(ids: Iterable[str]) -> list[str]:
    """The valid ids, which are UUIDs, in Qdrant's spelling. Qdrant rejects a whole request for one invalid id."""
    known = []
    for id in ids:
        try:
            known.append(str(UUID(str(id))))
        except ValueError:
            continue
    return known


def server_ids(ids: Iterable[str]) -> list[int | str]:
    """The valid ids of a server, where others may also have used whole numbers: UUIDs and numbers below 2**64."""
    known: list[int | str] = []
    for id in ids:
        is_number = id.isascii() and id.isdecimal()  # also a UUID of 32 decimal digits, which is too large a number
        known += [int(id)] if is_number and int(id) < 2**64 else point_ids([id])
    return known


def prose_words(text: str, heading: str = "") -> int:
    """The number of words outside code blocks and addresses; 0 under a heading such as "References".

    Short texts, such as a label, have little prose, and embeddings often place them too close to a question. A section
    that shows a command does answer: its code counts as `CODE_WORDS` words.
    """
    if _POINTERS.fullmatch(heading):
        return 0
    prose, blocks = _CODE.subn(" ", text)
    return len(_PROSE_WORD.findall(_ADDRESS.sub(" ", prose))) + (CODE_WORDS if blocks else 0)


def counted_words(text: str, heading: str) -> int:
    """The `prose_words` of a chunk, at most `MOST_WORDS`."""
    return min(MOST_WORDS, prose_words(text, heading))


def prose_of(chunks: Sequence[Chunk]) -> NDArray[np.float64]:
    """The words of prose of chunks at hand, counted as in a `PointTable`."""
    import numpy as np

    return np.array([counted_words(chunk.text, chunk.heading) for chunk in chunks], dtype=float)


def is_empty(leg: object) -> bool:
    """Whether a leg cannot find anything: the sparse vector of a text of stop words only."""
    return isinstance(leg, SparseVector) and not leg.indices


class Hits(NamedTuple):
    """The ids of points and their scores, two arrays of one length."""

    ids: NDArray[Any]
    scores: NDArray[np.float64]

    def best(self, *, limit: int, asked: int) -> Hits | None:
        """The best `limit`, ties by id; None if more than the `asked` points must be requested to decide.

        With limit=2 and asked=3, the scores 9, 7, 7 are undecided: a fourth point could score 7 too and have a smaller
        id. The scores 9, 7, 6 are decided.
        """
        import numpy as np

        order = np.lexsort((self.ids, -self.scores))
        ids, scores = self.ids[order], self.scores[order]
        if 0 < limit < len(ids) and len(ids) >= asked and scores[limit - 1] == scores[-1]:
            return None
        return Hits(ids[:limit], scores[:limit])


class Scores:
    """The scores of every point that a search found, in every leg; 0 where a leg did not find it, until `add`.

    `rankings` are the rows of each leg's points, best first.
    """

    def __init__(self, rankings: Sequence[Hits]) -> None:
        import numpy as np

        ids = [ranking.ids for ranking in rankings]
        # With the indexes, which nobody needs, numpy does not import its masked arrays: 10 ms of a first search.
        self.ids = np.unique(np.concatenate(ids), return_index=True)[0] if ids else np.empty(0, dtype=np.int64)
        self.matrix = np.zeros((len(self.ids), len(rankings)))
        self.rankings = [self.add(leg, ranking) for leg, ranking in enumerate(rankings)]

    def add(self, leg: int, hits: Hits) -> NDArray[np.intp]:
        """Set the scores of points in a leg. Returns their rows."""
        rows = self.ids.searchsorted(hits.ids)
        self.matrix[rows, leg] = hits.scores
        return rows

    def lacking(self, leg: int) -> NDArray[Any]:
        """The points that the leg did not find, but another one did."""
        import numpy as np

        others = np.ones(len(self.ids), dtype=bool)
        others[self.rankings[leg]] = False
        return self.ids[others]


def cosines(rows: Sequence[Sequence[float]], columns: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """The matrix of cosines, a row for each of `rows`, a column for each of `columns`; 0 for a vector of length 0."""
    import numpy as np

    if not rows or not columns:
        return np.zeros((len(rows), len(columns)))
    left, right = np.asarray(rows, dtype=np.float64), np.asarray(columns, dtype=np.float64)
    lengths = np.linalg.norm(left, axis=1)[:, None] * np.linalg.norm(right, axis=1)[None, :]
    similarities: NDArray[np.float64] = np.zeros(lengths.shape)
    np.divide(left @ right.T, lengths, out=similarities, where=lengths > 0)
    return similarities


class StoredText(NamedTuple):
    """What the table needs of a point: its id, that of its chunk, and the chunk's text and heading."""

    point: int
    chunk: UUID
    text: str
    heading: str


class PointTable:
    """The point and the words of prose of each chunk. A row is a chunk's place in the order of all ids."""

    def __init__(self, rows: NDArray[np.void]) -> None:
        import numpy as np

        self._ids = rows["id"].copy()
        self._points = rows["point"].copy()
        self._words = rows["words"].astype(float)
        self._rows: NDArray[np.int64] = np.argsort(self._points)  # by point

    @classmethod
    def of(cls, folder: Path, chunks: int, texts: Callable[[], Iterable[StoredText]]) -> PointTable:
        """The table of a generation's folder. A missing or damaged one is made of `texts`, and written."""
        import numpy as np

        try:
            rows = np.load(folder / TABLE, allow_pickle=False)
            if rows.dtype == _row() and len(rows) == chunks and _is_whole(rows):
                return cls(rows)
        except (OSError, ValueError, EOFError):
            pass
        rows = table_rows(texts())
        write_table(folder, rows)
        return cls(rows)

    def rows(self, points: Sequence[int]) -> NDArray[np.int64]:
        """The row of each point. Raises `ValueError` for a point that is not in the table."""
        import numpy as np

        try:
            return self._rows.take(np.array(points, dtype=np.int64))
        except (IndexError, TypeError, OverflowError) as error:
            raise ValueError("a point is missing in the table beside its shard") from error

    def points(self, rows: Sequence[int] | NDArray[np.integer[Any]]) -> list[int]:
        """The point of each row."""
        points: list[int] = self._points.take(rows).tolist()
        return points

    def find(self, ids: Iterable[str]) -> list[int]:
        """The rows of the chunks with these ids, which are UUIDs, in their order; unknown ones are left out."""
        return [row for row in self._places([UUID(id) for id in ids]) if row is not None]

    def chunk_ids(self, rows: Sequence[int] | NDArray[np.integer[Any]]) -> list[str]:
        """The id of the chunk in each row."""
        # numpy leaves out zero bytes at the end
        return [str(UUID(bytes=id.ljust(16, b"\0"))) for id in self._ids.take(rows).tolist()]

    def words(self, rows: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[np.float64]:
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


def table_rows(texts: Iterable[StoredText]) -> NDArray[np.void]:
    """The rows of a table."""
    import numpy as np

    rows = ((chunk.bytes, point, counted_words(text, heading)) for point, chunk, text, heading in texts)
    return np.array(sorted(rows), dtype=_row())


def write_table(folder: Path, rows: NDArray[np.void]) -> None:
    """Write the rows of a generation's table, if the folder allows it: it can be made again."""
    import numpy as np

    unfinished = folder / f"{uuid4().hex}.npy"
    try:
        np.save(unfinished, rows)
        unfinished.replace(folder / TABLE)
    except OSError:
        unfinished.unlink(missing_ok=True)


def _is_whole(rows: NDArray[np.void]) -> bool:
    """Whether every point from 0 on has a row."""
    import numpy as np

    return np.array_equal(np.sort(rows["point"]), np.arange(len(rows)))


def _row() -> np.dtype[np.void]:
    import numpy as np

    return np.dtype([("id", "S16"), ("point", "<i4"), ("words", "u1")])
