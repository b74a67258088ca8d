"""A book in the product's own index, for measurements through the product's own retriever."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from rag.embedding.local import OnnxEmbeddings
from rag.embedding.sparse import Bm25Encoder
from rag.embedding.vector_cache import SqliteVectorCache
from rag.index.catalog import open_index
from rag.ingest.pipeline import ingest
from rag.search.retriever import Retriever


async def open_book(source: Path, home: Path, collection: str) -> Retriever:
    """The retriever on a folder of pages, which are ingested into the index in `home` first if that is not done."""
    embedder, sparse = OnnxEmbeddings(), Bm25Encoder()
    index = open_index(home=home, collection=collection)
    await ingest(
        [source], index=index, embedder=embedder, sparse=sparse, vectors=SqliteVectorCache(home / "vectors.sqlite")
    )
    return Retriever(embedder, sparse, index)


def start(run: Callable[[Path, Path], Awaitable[None]], description: str | None) -> None:
    """Run a benchmark with the arguments of its command line: a folder to read, and a home for the index."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    options = parser.parse_args()

    async def whole() -> None:
        await run(options.folder, options.home)

    asyncio.run(whole())
