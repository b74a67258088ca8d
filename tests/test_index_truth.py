"""The index is the truth: a plan is made against the points that are there, and what is missing comes back."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rag.book import IndexEntry
from rag.books.book_settings import build_embedder, collection_index, vector_cache
from rag.embedding.local import Bm25Encoder
from rag.ingest.plan import is_whole
from rag.ingest.report import IngestReport
from rag.settings import Settings
from tests.index_damage import delete_in_folder, delete_on_server
from tests.ingesting import ingest
from tests.test_stored_books import kinds, shelf


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve pages of one to four chunks each."""
    folder = tmp_path_factory.mktemp("pages")
    for page in range(12):
        sections = [f"## Part {part}\n\nPage {page} says {part} about it." for part in range(page % 4)]
        (folder / f"p{page}.md").write_text("\n\n".join([f"# Page {page}\n\nIt begins.", *sections]))
    return folder


async def run(settings: Settings, source: Path, *, dry_run: bool = False) -> IngestReport:
    index = collection_index(settings, "book")
    try:
        return await ingest(
            [source],
            index=index,
            embedder=build_embedder(settings),
            sparse=Bm25Encoder(),
            vectors=vector_cache(settings),
            dry_run=dry_run,
        )
    finally:
        await index.aclose()


async def points(settings: Settings) -> dict[str, IndexEntry]:
    index = collection_index(settings, "book")
    try:
        return {entry.id: entry for entry in await index.entries()}
    finally:
        await index.aclose()


@kinds
@pytest.mark.parametrize("part", [0.3, 1.0])
async def test_exactly_the_points_come_back_that_were_deleted(
    kind: str, part: float, tmp_path: Path, pages: Path
) -> None:
    with shelf(kind, tmp_path) as (settings, server):
        first = await run(settings, pages)
        before = await points(settings)
        gone = random.Random(7).sample(sorted(before), round(part * len(before)))
        if server is None:
            delete_in_folder(settings.home, "book", gone)
        else:
            delete_on_server(server.engine, "book", gone)
        assert (await points(settings)).keys() == before.keys() - set(gone)
        planned = await run(settings, pages, dry_run=True)
        assert planned.chunks.added == len(gone)
        again = await run(settings, pages)
        assert (again.chunks.added, again.chunks.deleted, again.embedded) == (len(gone), 0, 0)
        assert again.chunks.total == first.chunks.total
        assert await points(settings) == before
        third = await run(settings, pages)
        assert (third.chunks.added, third.documents.unchanged) == (0, 12)


async def test_points_of_another_source_are_missed_without_harm_to_this_one(tmp_path: Path, pages: Path) -> None:
    other = tmp_path / "other.md"
    other.write_text("# Other\n\nSomething else.")
    with shelf("folder", tmp_path) as (settings, _):
        await run(settings, pages)
        mine = await points(settings)
        await run(settings, other)
        (gone,) = (await points(settings)).keys() - mine.keys()
        delete_in_folder(settings.home, "book", [gone])
        report = await run(settings, pages)
        assert (report.chunks.added, report.chunks.total) == (0, len(mine))
        index = collection_index(settings, "book")
        assert len(await index.fetch(sorted(mine))) == len(mine)  # readers can open the book again
        await index.aclose()
        assert (await run(settings, other)).chunks.added == 1


def test_a_page_is_whole_by_its_recorded_number() -> None:
    def held(*places: int, chunks: int) -> list[IndexEntry]:
        return [IndexEntry(str(place), "s", "p", "d", "t", place, chunks) for place in places]

    assert is_whole(held(0, 1, chunks=2))
    assert not is_whole(held(0, 1, chunks=3))
    assert not is_whole(held(0, 1, 2, 3, chunks=3))
