"""Open a book in the product's own index, for measurements through the product's retriever."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from rag.embedding.local import Bm25Encoder, OnnxEmbeddings
from rag.embedding.vector_cache import SqliteVectorCache
from rag.index.catalog import build_index
from rag.search.retriever import HybridRetriever
from tests.ingesting import ingest

BOOKS: Final = {"physical-ai": "physical-ai/docs", "rust": "rust/src", "react-native": "react-native/docs"}  # folders


async def open_book(source: Path, home: Path, collection: str) -> HybridRetriever:
    """The retriever over a folder of pages, which is first ingested into the index in `home` as far as needed."""
    embedder, sparse = OnnxEmbeddings(), Bm25Encoder()
    index = build_index(home=home, collection=collection)
    await ingest(
        [source], index=index, embedder=embedder, sparse=sparse, vectors=SqliteVectorCache(home / "vectors.sqlite")
    )
    return HybridRetriever(embedder, sparse, index)


def start(run: Callable[[Path, Path], Awaitable[None]], description: str | None) -> None:
    """Run a benchmark with its command-line arguments: a folder to read and a home for the index."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    options = parser.parse_args()

    async def whole() -> None:
        await run(options.folder, options.home)

    asyncio.run(whole())
