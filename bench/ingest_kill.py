"""Kill ingestions at random moments, run them again, and compare the points with those of a clean run.

`python -m bench.ingest_kill [TIMES]` prints how many runs were killed in which step, and whether all ended the same.
The vectors are made of hashes, since what is tried is the pipeline and not the model.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rag.book import IndexEntry
from rag.embedding.local import Bm25Encoder
from rag.embedding.vector_cache import SqliteVectorCache
from rag.index.catalog import build_index
from rag.ingest.report import IngestProgress
from tests.fork_server import fork_server
from tests.ingesting import ingest

PAGES: Final = 60
DIMENSION: Final = 32
WORDS: Final = ("gear", "shaft", "tooth", "widget", "turns", "holds", "when", "oil", "is", "on", "the", "steel")
PAUSE: Final = 0.005  # seconds for a batch, so that there is time to be killed in


class HashedVectors:
    """A `rag.ports.Embedder` that makes vectors of hashes, a batch in `pause` seconds."""

    model_id = "hashed"
    dimension = DIMENSION
    max_tokens = 254
    batch_size = 16

    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause
        self.embedded = 0

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        time.sleep(self.pause)
        self.embedded += len(texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        numbers = [byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()[:DIMENSION]]
        length = sum(number * number for number in numbers) ** 0.5
        return [number / length for number in numbers]

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def write_pages(folder: Path, *, seed: int, count: int = PAGES, sections: int = 6) -> Path:
    """Pages of made-up sentences. Two seeds share about half of their pages."""
    folder.mkdir(exist_ok=True, parents=True)
    for page in range(count):
        chosen = random.Random(page if page % 2 else f"{seed} {page}")
        parts = [f"## Part {n}\n\n{' '.join(chosen.choices(WORDS, k=20))} {chosen.random()}." for n in range(sections)]
        (folder / f"p{page}.md").write_text(f"# Page {page}\n\n" + "\n\n".join(parts), encoding="utf-8")
    return folder


async def read_in(home: Path, source: Path, *, pause: float = 0.0, tell: bool = False) -> int:
    """Ingest the pages; returns how many texts were embedded. With `tell`, print each step as it begins."""
    index, embedder, steps = build_index(home=home, collection="book"), HashedVectors(pause), set[str]()

    def watch(progress: IngestProgress) -> None:
        if tell and progress.step not in steps:
            steps.add(progress.step)
            print(progress.step, flush=True)

    vectors = SqliteVectorCache(home / "vectors.sqlite")
    try:
        await ingest([source], index=index, embedder=embedder, sparse=Bm25Encoder(), vectors=vectors, watch=watch)
    finally:
        await index.aclose()
    return embedder.embedded


async def points(home: Path) -> set[IndexEntry]:
    """The points of the book."""
    index = build_index(home=home, collection="book")
    try:
        return set(await index.entries())
    finally:
        await index.aclose()


def killed(home: Path, source: Path, seconds: float) -> str:
    """Start an ingestion in another process and kill it after that time. Returns the step that it was in."""
    arguments = ["--child", str(home), str(source)]
    with fork_server().start(*arguments, program=Path(__file__), cwd=home, env=os.environ) as process:
        told: Any = process.stdout
        line = told.readline()  # it has begun
        time.sleep(seconds)
        alive = process.poll() is None
        process.kill()
        lines = (line + told.read()).decode().splitlines()
    return lines[-1] if alive else "done"


async def trial(folder: Path, moment: float) -> tuple[str, bool]:
    """A book, a new version whose ingestion is killed, then the same again: the step, and whether it ended well.

    Between the kill and the second run, a reader must see the old book or the new one as a whole.
    """
    home, clean = folder / "home", folder / "clean"
    source = write_pages(folder / "pages", seed=1)
    await read_in(home, source)
    old = await points(home)
    write_pages(source, seed=2)
    await read_in(clean, source)
    new = await points(clean)
    step = await asyncio.to_thread(killed, home, source, moment)
    between = await points(home)
    await read_in(home, source)
    return step, between in (old, new) and await points(home) == new and old != new


def main(times: int) -> None:
    chosen, steps, good = random.Random(), Counter[str](), 0
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            step, is_good = asyncio.run(trial(Path(folder), chosen.uniform(0, 1.0)))
        steps[step] += 1
        good += is_good
    print(f"{times} ingestions were killed: {dict(steps)}. {good} ended with the points of a clean run.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        asyncio.run(read_in(Path(sys.argv[2]), Path(sys.argv[3]), pause=PAUSE, tell=True))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
