"""What an ingestion costs: against the bare embedding model, unchanged, after an edit, and in memory.

`python -m bench.ingestion [FOLDER]` measures on the pages of a book, by default the manual. Each part is a process of
its own. The throughput is a ratio measured in one run, in turns, so that it means the same on every machine.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from bench.ingest_kill import HashedVectors, write_pages
from bench.table import Row
from rag.embedding.local import Bm25Encoder, OnnxEmbeddings
from rag.embedding.vector_cache import SqliteVectorCache
from rag.index.catalog import build_index
from rag.ingest.book_sources import SourceMemory
from rag.ingest.report import IngestProgress, IngestReport
from rag.ports import Embedder
from tests.ingesting import ingest

DOCS: Final = Path(__file__).parent.parent / "docs"
ROUNDS: Final = 2


def told(progress: IngestProgress) -> None:
    """Print the memory in use at the end of each step to standard error."""
    if progress.done == progress.total:
        with suppress(OSError):
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
            print(f"{progress.step}: {pages * resource.getpagesize() // 2**20} megabytes", file=sys.stderr)


async def read_in(home: Path, source: Path, embedder: Embedder, *, tell: bool = False) -> IngestReport:
    index, vectors = build_index(home=home, collection="book"), SqliteVectorCache(home / "vectors.sqlite")
    memory = SourceMemory(home / "sources")
    try:
        return await ingest(
            [source],
            index=index,
            embedder=embedder,
            sparse=Bm25Encoder(),
            vectors=vectors,
            memory=memory,
            watch=told if tell else None,
        )
    finally:
        await index.aclose()


class Recorded(OnnxEmbeddings):
    """The packaged model, which remembers what it embedded."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        super().__init__()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return super().embed_documents(texts)


def throughput(source: Path) -> dict[str, float]:
    """The time of the bare model over all texts, divided by the time of the whole ingestion, in turns."""
    bare = whole = 0.0
    embedder, model = Recorded(), OnnxEmbeddings()
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as home:
            embedder.texts.clear()
            began = time.monotonic()
            asyncio.run(read_in(Path(home), source, embedder))
            whole += time.monotonic() - began
        texts = sorted(embedder.texts)
        began = time.monotonic()
        model.embed_documents(texts)
        bare += time.monotonic() - began
    return {"texts": len(texts), "bare_seconds": round(bare, 1), "share_of_the_bare_model": round(bare / whole, 3)}


def unchanged(count: int) -> dict[str, float]:
    """A second run over pages that have not changed, and one after a paragraph was edited."""
    with tempfile.TemporaryDirectory() as folder:
        home, embedder = Path(folder) / "home", HashedVectors()
        source = write_pages(Path(folder) / "pages", seed=1, count=count, sections=12)
        first = asyncio.run(read_in(home, source, embedder))
        began = time.monotonic()
        again = asyncio.run(read_in(home, source, embedder))
        second = time.monotonic() - began
        page = source / f"p{count // 2}.md"
        page.write_text(page.read_text("utf-8").replace("## Part 3\n\n", "## Part 3\n\nEdited. "), "utf-8")
        edited = asyncio.run(read_in(home, source, embedder))
    return {
        "pages": count,
        "passages": first.chunks.total,
        "embedded_again": again.embedded,
        "second_run_seconds": round(second, 2),
        "embedded_after_an_edit": edited.embedded,
    }


def memory(count: int) -> dict[str, float]:
    """The peak memory of a first run, with the packaged model loaded and used for as long as a real run needs it."""
    with tempfile.TemporaryDirectory() as folder:
        source = write_pages(Path(folder) / "pages", seed=1, count=count, sections=12)
        size = sum(page.stat().st_size for page in source.iterdir())
        embedder = Counted()
        report = asyncio.run(read_in(Path(folder) / "home", source, embedder, tell=True))
    peak = largest_megabytes()
    return {
        "pages": count,
        "passages": report.chunks.total,
        "megabytes_of_pages": size // 10**6,
        "peak_megabytes": peak,
    }


def largest_megabytes() -> int:
    """The most memory of this process. On Linux `ru_maxrss` would count that of the parent, too."""
    if sys.platform == "linux":
        status = Path("/proc/self/status").read_text("ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**20


class Counted(HashedVectors):
    """Tokens counted by the packaged model's tokenizer; one batch in a hundred is embedded by the model itself."""

    batch_size = 32
    dimension = 384

    def __init__(self) -> None:
        super().__init__()
        self._model = OnnxEmbeddings(lazy=True)
        self._batches = 0

    def count_tokens(self, text: str) -> int:
        return self._model.count_tokens(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self._batches += 1
        if self._batches % 100 == 1:
            return self._model.embed_documents(texts)
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return super().embed_query(text) * (384 // 32)

    def unload(self) -> None:
        self._model.unload()


PARTS: Final[dict[str, Any]] = {"throughput": throughput, "unchanged": unchanged, "memory": memory}


def measured(folder: str, pages: int = 5000) -> Iterator[tuple[str, dict[str, float]]]:
    """Each part by its name, measured in a process of its own; the memory is that of so many pages."""
    for name, argument in (("throughput", folder), ("unchanged", "1000"), ("memory", str(pages))):
        command = [sys.executable, "-m", "bench.ingestion", "--part", name, argument]
        yield name, json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def rows(pages: int) -> Iterator[Row]:
    """The share of the bare model's throughput, a second run over unchanged pages, and the peak memory."""
    found = dict(measured(str(DOCS), pages))
    share = found["throughput"]["share_of_the_bare_model"]
    seconds = found["throughput"]["bare_seconds"] / share
    yield Row("ingestion of the manual; ratio: the bare model's time to it", "s", [seconds], share)
    yield Row("ingestion of 1,000 unchanged pages", "s", [found["unchanged"]["second_run_seconds"]])
    yield Row(f"ingestion of {pages:,} pages, most memory", "MB", [found["memory"]["peak_megabytes"]])


def main(folder: str) -> None:
    for name, found in measured(folder):
        print(f"{name}: {json.dumps(found)}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--part"]:
        name, argument = sys.argv[2:]
        print(json.dumps(PARTS[name](Path(argument) if name == "throughput" else int(argument))))
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else str(DOCS))
