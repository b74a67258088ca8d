"""The manual as a book: its pages, and the vectors of its passages, which are shipped with the program.

Without them the first question would wait for half a minute on a small machine. Texts that the file lacks, after a page
has changed, are embedded as for any book. `make manual` writes the file again.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rag import ports
from rag.embedding.vector_cache import SqliteVectorCache, write_vectors
from rag.errors import RetrievalError

DOCS: Final = Path(__file__).parent.parent.parent / "docs"
VECTORS: Final = Path(__file__).parent.parent / "data" / "manual-vectors.txt"


async def index_manual(
    index: ports.ChunkIndex,
    embedder: ports.Embedder,
    sparse: ports.SparseEncoder,
    vectors: ports.VectorCache,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Bring a collection up to date with the pages of `docs/`. If it is, this only reads the pages."""
    from rag.ingest.pipeline import ingest

    if not await _is_encoded_by(index, embedder, sparse):
        await index.drop()
    await ingest(
        [DOCS],
        index=index,
        embedder=embedder,
        sparse=sparse,
        vectors=vectors,
        skip=("decisions",),
        own=True,
        alone=True,  # after the program has moved to another folder, the pages of the old one must go
        progress=progress,
    )


async def _is_encoded_by(index: ports.ChunkIndex, embedder: ports.Embedder, sparse: ports.SparseEncoder) -> bool:
    """Whether these models encoded the collection, or there is none; False for a broken one."""
    try:
        info = await index.info()
    except RetrievalError as error:
        if error.code != "index_broken":
            raise
        return False
    return info is None or (info.embedding_model, info.sparse_model) == (embedder.model_id, sparse.model_id)


def embed_manual(file: Path) -> int:
    """Embed the manual and write its vectors to a file. Returns their number."""
    from rag.embedding.local import OnnxEmbeddings
    from rag.embedding.vectors import Bm25Encoder
    from rag.index.catalog import open_index

    embedder = OnnxEmbeddings()
    with tempfile.TemporaryDirectory() as folder:
        cache = SqliteVectorCache(Path(folder) / "vectors.sqlite")
        index = open_index(home=Path(folder), collection="manual")
        asyncio.run(index_manual(index, embedder, Bm25Encoder(), cache))
        asyncio.run(index.aclose())
        vectors = cache.all(embedder.model_id)
    write_vectors(file, embedder.model_id, vectors)
    return len(vectors)


if __name__ == "__main__":
    embed_manual(VECTORS)
