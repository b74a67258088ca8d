"""What the tests of the index share: small chunks whose vectors can be worked out by hand."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from uuid import UUID, uuid5

from rag.book import Chunk, IndexInfo, Point, SparseVector

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
