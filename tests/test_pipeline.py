"""An ingestion is one change of the index, and no work for what has not changed."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag.book import Chunk, Document, IndexInfo
from rag.errors import RetrievalError, UsageError
from rag.ingest.chunking import chunk
from rag.ingest.report import IngestReport
from tests.books_on_disk import close_folders
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder, FakeSparse, FakeVectors
from tests.ingesting import ingest

BATCH = FakeEmbedder.batch_size


class Bench:
    """A source, an index and everything between."""

    def __init__(self, root: Path) -> None:
        self.source = root / "docs"
        self.source.mkdir()
        self.index = FakeIndex()
        self.embedder = FakeEmbedder()
        self.vectors = FakeVectors()

    def write(self, name: str, text: str) -> None:
        (self.source / name).parent.mkdir(exist_ok=True, parents=True)
        (self.source / name).write_text(text)

    async def run(self, *sources: Path, **options: Any) -> IngestReport:
        return await ingest(
            list(sources) or [self.source],
            index=self.index,
            embedder=options.pop("embedder", self.embedder),
            sparse=FakeSparse(),
            vectors=self.vectors,
            **options,
        )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.write("a.md", "# A\n\nOne.\n\n## B\n\nTwo.")
    made.write("b.md", "Three.")
    return made


async def test_a_folder_becomes_an_index_and_a_report(bench: Bench) -> None:
    report = await bench.run()
    assert sorted(c.text for c in bench.index.chunks) == ["One.", "Three.", "Two."]
    assert report.model_dump(exclude={"seconds"}) == {
        "collection": "book",
        "embedding_model": "fake-embedder",
        "documents": {"added": 2, "changed": 0, "unchanged": 0, "deleted": 0, "failed": 0},
        "chunks": {"added": 3, "deleted": 0, "unchanged": 0, "total": 3},
        "embedded": 3,
        "tokens": 9,
        "failures": [],
        "sources": [
            {
                "source": bench.source.as_posix(),
                "generator": "plain",
                "reason": "no generator's configuration was found",
                "passed_over": {},
                "refused": {},
                "advice": "",
            }
        ],
        "without_text": [],
        "beside": [],
    }


async def test_the_embedding_model_is_unloaded_before_the_index_is_written(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    class Unloading(FakeEmbedder):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            done.append("embed")
            return super().embed_documents(texts)

        def unload(self) -> None:
            done.append("unload")

    replaced = bench.index.replace

    async def replace(*args: Any, **options: Any) -> None:
        done.append("write")
        await replaced(*args, **options)

    monkeypatch.setattr(bench.index, "replace", replace)
    await bench.run(embedder=Unloading())
    assert done == ["embed", "unload", "write"]
    await bench.run(embedder=Unloading())
    assert done == ["embed", "unload", "write"], "nothing was embedded, so nothing was loaded"


async def test_an_index_of_another_recipe_is_encoded_anew_though_its_pages_are_the_same(bench: Bench) -> None:
    await bench.run()
    made = await bench.index.info()
    assert made is not None
    await bench.index.replace(replace(made, recipe="an older one"), add=[], remove=[])
    report = await bench.run()
    assert report.documents.changed == 2
    assert report.chunks.model_dump() == {"added": 0, "deleted": 0, "unchanged": 3, "total": 3}
    assert await bench.index.info() == made


async def test_a_page_on_which_cutting_has_a_bug_is_reported_keeps_its_passages_and_is_read_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.run()
    bench.write("a.md", "Changed.")
    bench.write("c.md", "Three.")

    def with_bug(document: Document, **options: Any) -> list[Chunk]:
        return chunk(document, **options) if document.path != "a.md" else [][0]

    monkeypatch.setattr("rag.ingest.ingestion.chunk", with_bug)
    report = await bench.run()
    assert [(Path(one.source).name, "please report it" in one.reason) for one in report.failures] == [("a.md", True)]
    assert (report.documents.added, report.documents.deleted, report.documents.failed) == (1, 0, 1)
    assert "Changed." not in [c.text for c in bench.index.chunks]
    monkeypatch.undo()
    assert (await bench.run()).documents.changed == 1
    assert "Changed." in [c.text for c in bench.index.chunks]


async def test_the_pages_of_a_folder_that_cannot_be_listed_stay(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write("closed/deep/c.md", "Three.")
    await bench.run()
    close_folders(monkeypatch, "closed")
    report = await bench.run()
    assert (report.documents.deleted, report.documents.failed) == (0, 1)
    assert "Three." in [c.text for c in bench.index.chunks]


async def test_a_dry_run_reports_and_touches_nothing(bench: Bench) -> None:
    report = await bench.run(dry_run=True)
    assert (bench.index.replaced, bench.embedder.embedded, bench.vectors.kept) == (0, [], {})
    real = await bench.run()
    assert report.model_copy(update={"seconds": 0}) == real.model_copy(update={"seconds": 0})


async def test_progress_moves_with_every_batch_and_ends_at_the_total(bench: Bench) -> None:
    bench.write("long.md", "\n\n".join(f"## H{n}\n\nText {n}." for n in range(BATCH)))
    steps: list[tuple[int, int]] = []
    await bench.run(progress=lambda done, total: steps.append((done, total)))
    assert (steps[0], steps[-1], len(steps)) == ((0, BATCH + 3), (BATCH + 3, BATCH + 3), 3)


async def test_a_cancelled_run_keeps_its_vectors_and_leaves_the_index(bench: Bench) -> None:
    bench.write("long.md", "\n\n".join(f"## H{n}\n\nText {n}." for n in range(2 * BATCH)))
    first_done, go_on = threading.Event(), threading.Event()

    class Slow(FakeEmbedder):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if self.embedded:
                first_done.set()
                go_on.wait(10)
            return super().embed_documents(texts)

    run = asyncio.create_task(bench.run(embedder=Slow()))
    await asyncio.to_thread(first_done.wait, 10)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert len(bench.vectors.kept) == BATCH
    assert bench.index.replaced == 0
    go_on.set()


async def test_an_address_shared_by_two_sources_is_one_page_of_the_later(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.md").write_text("Newer.")
    for _ in range(2):
        report = await bench.run(bench.source, other, base_url="https://x.org")
    assert sorted(c.text for c in bench.index.chunks) == ["Newer.", "One.", "Two."]
    assert (bench.index.replaced, report.documents.unchanged) == (1, 2)


async def test_a_broken_index_is_built_anew(bench: Bench) -> None:
    bench.index = BrokenIndex()
    report = await bench.run()
    assert report.documents.added == 2
    assert len(bench.index.points) == 3


async def test_a_dry_run_leaves_a_broken_index_as_it_is(bench: Bench) -> None:
    bench.index = BrokenIndex()
    await bench.run(dry_run=True)
    assert isinstance(bench.index, BrokenIndex)
    assert bench.index.broken


class BrokenIndex(FakeIndex):
    """An index that cannot be read until it is dropped."""

    broken = True

    async def info(self) -> IndexInfo | None:
        if self.broken:
            raise RetrievalError("index_broken", "The index is broken.")
        return await super().info()

    async def drop(self) -> None:
        self.broken = False
        await super().drop()


async def test_a_book_that_has_its_collection_alone_drops_what_other_sources_brought(bench: Bench) -> None:
    await bench.run()
    moved = bench.source.rename(bench.source.parent / "moved")
    report = await bench.run(moved, alone=True)
    assert {chunk.source for chunk in bench.index.chunks} == {moved.as_posix()}
    assert report.documents.deleted == 2


async def test_a_book_without_any_text_is_refused(bench: Bench) -> None:
    for page in bench.source.iterdir():
        page.write_text("")
    with pytest.raises(UsageError, match="are empty"):
        await bench.run()
    assert bench.index.replaced == 0
