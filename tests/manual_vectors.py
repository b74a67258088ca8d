"""The vectors of the manual's passages, which the program ships. `make manual` writes them again.

python -m tests.manual_vectors
"""

from __future__ import annotations

import asyncio
import base64
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rag.embedding.local import Bm25Encoder, OnnxEmbeddings
from rag.embedding.vector_cache import text_key
from rag.index.catalog import build_index
from rag.ingest.manual import DOCS, VECTORS, index_manual
from rag.system.process import as_packaged
from tests.fakes import FakeVectors


def packaged_pages(folder: Path) -> Path:
    """Write the pages as the package has them into a folder, and return it."""
    for page in DOCS.glob("*.md"):
        (folder / page.name).write_text(as_packaged(page.read_text(encoding="utf-8")), encoding="utf-8")
    return folder


def write_vectors(file: Path, model_id: str, vectors: Mapping[bytes, Sequence[float]]) -> None:
    """Write vectors, given by `text_key`, in the format of `rag.embedding.vector_cache.read_vectors`."""
    rows = {key.hex(): np.asarray(vector, dtype="<f2").tobytes() for key, vector in vectors.items()}
    lines = [f"{key} {base64.b64encode(rows[key]).decode('ascii')}\n" for key in sorted(rows)]
    file.write_text(f"{model_id}\n{''.join(lines)}", "ascii")


async def embed_manual() -> None:
    """Embed the manual as the checkout and the package have it."""
    embedder, cache = OnnxEmbeddings(), FakeVectors()
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as packaged:
        index = build_index(home=Path(home), collection="manual")
        for pages in (DOCS, packaged_pages(Path(packaged))):
            await index_manual(index, embedder, Bm25Encoder(), cache, pages=pages)
        await index.aclose()
    write_vectors(VECTORS, embedder.model_id, {text_key(text): vector for (_, text), vector in cache.kept.items()})


if __name__ == "__main__":
    asyncio.run(embed_manual())
