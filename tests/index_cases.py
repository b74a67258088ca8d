"""What the tests of the index share: small chunks whose vectors can be worked out by hand."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID, uuid5

from rag.book import Chunk, IndexInfo, Matches, Point, SearchFilter, SparseVector, Vector
from rag.ports import ChunkIndex

DIMENSION = 4
INFO = IndexInfo(collection="book", embedding_model="toy-4", dimension=DIMENSION, sparse_model="toy-bm25", chunks=0)


def chunk_id(name: str) -> str:
    return str(uuid5(UUID(int=0), name))


def make_chunk(name: str, text: str = "", url: str = "", source: str = "docs") -> Chunk:
    text = text or f"The text of {name}."
    return Chunk(
        id=chunk_id(name),
        text=text,
        title=f"Title of {name}",
        heading="Installation",
        breadcrumb=f"Book > {name}",
        url=url or f"https://book.example/{name}",
        anchor="installation",
        source=source,
        source_file_path=f"{name}.md",
        chunk_index=3,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        document_sha256="d" * 64,
        chapter="2",
        page_number=7,
    )


def make_point(
    name: str, dense: Sequence[float] = (1.0, 0.0, 0.0, 0.0), terms: Sequence[int] = (1,), **fields: str
) -> Point:
    """A point whose dense vector is brought to unit length and whose sparse vector has a 1.0 for each term."""
    length = math.hypot(*dense)
    sparse = SparseVector(sorted(terms), [1.0] * len(terms))
    return Point(make_chunk(name, **fields), [value / length for value in dense], sparse)


def terms(*indices: int) -> SparseVector:
    return SparseVector(list(indices), [1.0] * len(indices))


class Hit(NamedTuple):
    """A chunk in the ranking of one vector, with its scores for all vectors."""

    chunk: Chunk
    score: float
    scores: tuple[float, ...]


async def rankings(
    index: ChunkIndex, vectors: Sequence[Vector], *, limit: int, where: SearchFilter | None = None
) -> list[list[Hit]]:
    """The ranking of each vector, with the chunks read."""

    def rank(matches: Matches) -> list[list[Hit]]:
        return [
            [
                Hit(chunk, float(matches.scores[row, place]), tuple(matches.scores[row].tolist()))
                for row, chunk in zip(rows, matches.read(rows), strict=True)
            ]
            for place, rows in enumerate(matches.rankings)
        ]

    return await index.search(vectors, rank, limit=limit, where=where)
