"""A source in which nothing has changed is not read again, and any change in or around it is noticed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rag.ingest import loaders
from rag.ingest.book_sources import SourceMemory
from rag.ingest.report import IngestReport
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder, FakeSparse, FakeVectors
from tests.ingesting import ingest


class Reader:
    """Ingestions that remember, and the number of pages that they have read."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.source = root / "site" / "docs"
        self.source.mkdir(parents=True)
        self.index = FakeIndex()
        self.memory = SourceMemory(root / "home" / "sources")
        self.vectors = FakeVectors()
        self.read = 0
        convert = loaders._document

        def counted(*arguments: object) -> object:
            self.read += 1
            return convert(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(loaders, "_document", counted)

    async def __call__(self, **options: str) -> tuple[IngestReport, int]:
        before = self.read
        report = await ingest(
            [self.source],
            index=self.index,
            embedder=FakeEmbedder(),
            sparse=FakeSparse(),
            vectors=self.vectors,
            memory=self.memory,
            base_url=options.get("base_url"),
        )
        return report, self.read - before


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    made = Reader(tmp_path, monkeypatch)
    (made.source / "a.md").write_text("# A\n\nOne.\n\nSee [b](b.md).")
    (made.source / "b.md").write_text("# B\n\nTwo.")
    (made.source / "empty.md").write_text("")
    return made


async def test_an_unchanged_source_is_not_read_again(reader: Reader) -> None:
    first, read = await reader()
    assert read == 3
    again, read = await reader()
    assert read == 0
    assert again.documents.unchanged == 3
    assert (again.chunks.total, again.sources) == (first.chunks.total, first.sources)
    assert (await reader(base_url="https://x.example"))[1] == 3  # another address, other pages


CHANGES: dict[str, Callable[[Path], object]] = {
    "an edited page": lambda source: (source / "a.md").write_text("# A\n\nNew."),
    "a page of the same size and time": lambda source: _same_size_and_time(source / "b.md"),
    "a new page": lambda source: (source / "c.md").write_text("# C\n\nThree."),
    "a new page in a folder": lambda source: _write(source / "deep" / "c.md"),
    "a deleted page": lambda source: (source / "b.md").unlink(),
    "a configuration": lambda source: (source.parent / "mkdocs.yml").write_text("site_name: x\n"),
    "a site beside it": lambda source: _write(source.parent / "website" / "docusaurus.config.js"),
    "a replaced folder": lambda source: _replaced(source),
}


def _write(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("# C\n\nThree.")


def _same_size_and_time(file: Path) -> None:
    status = file.stat()
    file.write_text(file.read_text().replace("Two", "Owt"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def _replaced(source: Path) -> None:
    shutil.copytree(source, source.parent / "copy")
    shutil.rmtree(source)
    (source.parent / "copy").rename(source)
    (source / "a.md").write_text("# A\n\nNew.")


@pytest.mark.parametrize("change", CHANGES)
async def test_every_change_is_noticed(reader: Reader, change: str) -> None:
    await reader()
    CHANGES[change](reader.source)
    _, read = await reader()
    assert read > 0


async def test_a_page_that_has_lost_a_chunk_is_read(reader: Reader) -> None:
    await reader()
    (gone,) = [one.id for one in reader.index.chunks if one.source_file_path == "b.md"]
    del reader.index.points[gone]
    report, read = await reader()
    assert (read, report.chunks.added) == (3, 1)


async def test_a_memory_that_is_damaged_is_not_believed(reader: Reader) -> None:
    await reader()
    (file,) = reader.memory._folder.iterdir()
    for damage in ("", "null", "{}", '{"code": 1}', file.read_text().replace('"pages": [[', '"pages": [[1, ')):
        file.write_text(damage)
        assert (await reader())[1] == 3


async def test_a_source_with_a_file_that_fails_is_read_every_time(reader: Reader) -> None:
    (reader.source / "c.md").write_bytes(b"\xff")
    for _ in range(2):
        report, read = await reader()
        assert (read, report.documents.failed) == (3, 1)
