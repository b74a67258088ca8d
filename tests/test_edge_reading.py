"""The embedded index stays open between searches: what it holds, what it sees of a change, and what it lets go of."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag.book import Point
from rag.errors import RetrievalError
from rag.index.edge import EdgeIndex
from rag.index.points import to_payload
from tests.index_cases import INFO, Hit, chunk_id, make_point, rankings, terms

NORTH = [1.0, 0.0, 0.0, 0.0]
SYSTEM = Path("/proc/self")


@pytest.fixture
def index(tmp_path: Path) -> EdgeIndex:
    return EdgeIndex(tmp_path, "book")


def generation(folder: Path) -> Path:
    return folder / "book" / (folder / "book" / "current").read_text()


def last_opened(folder: Path) -> int:
    """When the shard was opened: the engine writes its configuration anew whenever it opens one."""
    return (generation(folder) / "shard" / "edge_config.json").stat().st_mtime_ns


def held(folder: Path) -> list[str]:
    """What this process has open or mapped of a folder."""
    open_files = []
    for link in (SYSTEM / "fd").iterdir():
        try:
            open_files.append(str(link.readlink()))
        except FileNotFoundError:  # the listing's own
            continue
    return [line for line in [*open_files, *(SYSTEM / "maps").read_text().splitlines()] if str(folder) in line]


def resident(folder: Path) -> int:
    """Kilobytes of the folder's files that this process has in its memory."""
    sizes, ours = 0, False
    for line in (SYSTEM / "smaps").read_text().splitlines():
        if "-" in line.split()[0]:  # the addresses of a mapping, and its file
            ours = str(folder) in line
        elif ours and line.startswith("Rss:"):
            sizes += int(line.split()[1])
    return sizes


def edition(number: int) -> list[Point]:
    """Twenty chunks under the same ids as in every other edition, each with the edition's number in its title."""
    points = [make_point(f"chunk {i}") for i in range(20)]
    return [replace(point, chunk=replace(point.chunk, title=f"edition {number}")) for point in points]


def titles(found: list[list[Hit]]) -> set[str]:
    return {hit.chunk.title for ranking in found for hit in ranking}


async def test_searches_share_one_opening_and_a_change_is_opened_anew(index: EdgeIndex, tmp_path: Path) -> None:
    await index.replace(INFO, add=[make_point("old")], remove=[])
    other = EdgeIndex(tmp_path, "book")
    await rankings(index, [NORTH], limit=1)
    opened = last_opened(tmp_path)
    for reader in (index, other, index):
        await rankings(reader, [NORTH], limit=1)
        await reader.fetch([chunk_id("old")])
    assert last_opened(tmp_path) == opened
    await index.replace(INFO, add=[make_point("new")], remove=[chunk_id("old")])
    for reader in (index, other):
        assert [hit.chunk.id for hit in (await rankings(reader, [NORTH], limit=3))[0]] == [chunk_id("new")]


async def test_opening_a_small_book_reads_little(index: EdgeIndex, tmp_path: Path) -> None:
    """The engine has files of 32 MB for the vectors of any book."""
    await index.replace(INFO, add=[make_point("one")], remove=[])
    assert len(await index.entries()) == 1
    assert 0 < resident(tmp_path) < 2_000


async def test_searches_during_changes_find_the_old_or_the_new_and_never_a_mixture(
    index: EdgeIndex, tmp_path: Path
) -> None:
    await index.replace(INFO, add=edition(0), remove=[])
    finished = threading.Event()

    async def read(reader: EdgeIndex) -> list[set[str]]:
        seen = []
        while not finished.is_set():
            found = await rankings(reader, [NORTH, terms(1)], limit=20)
            assert len(found[0]) == 20
            seen.append(titles(found))
        return seen

    shared = EdgeIndex(tmp_path, "book")
    readers = [asyncio.create_task(read(reader)) for reader in (shared, shared, EdgeIndex(tmp_path, "book"))]
    for number in range(1, 9):
        await index.replace(INFO, add=edition(number), remove=[])
    finished.set()
    for seen in await asyncio.gather(*readers):
        assert all(len(found) == 1 for found in seen)
        assert seen
    assert titles(await rankings(shared, [NORTH], limit=20)) == {"edition 8"}
    assert [path.name for path in (tmp_path / "book").iterdir() if path.is_dir()] == [generation(tmp_path).name]


async def test_a_generation_in_use_is_read_to_the_end_and_its_folder_is_gone(index: EdgeIndex, tmp_path: Path) -> None:
    await index.replace(INFO, add=edition(0), remove=[])
    reader = EdgeIndex(tmp_path, "book")
    old = generation(tmp_path)
    with reader.reading() as opened:
        await index.replace(INFO, add=edition(1), remove=[])
        assert not old.exists()
        assert opened.info.chunks == 20
        points: list[Any] = opened.table.points(opened.table.find([chunk_id("chunk 3")]))
        (record,) = opened.shard.retrieve(points, True, True)
        assert record.payload is not None
        assert record.payload["metadata"]["title"] == "edition 0"
    assert titles(await rankings(reader, [NORTH], limit=20)) == {"edition 1"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells what a process has mapped")
async def test_nothing_of_the_folder_is_open_after_closing(index: EdgeIndex, tmp_path: Path) -> None:
    await index.replace(INFO, add=edition(0), remove=[])
    assert held(tmp_path) == []
    other = EdgeIndex(tmp_path, "book")
    for reader in (index, other):
        await rankings(reader, [NORTH, terms(1)], limit=5)
    assert held(tmp_path)
    await index.aclose()
    assert held(tmp_path)  # the other one's
    await other.aclose()
    assert held(tmp_path) == []
    shutil.rmtree(tmp_path / "book")
    assert await index.info() is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells what a process has mapped")
async def test_an_old_generation_is_let_go_by_the_next_search_and_by_a_failed_one(
    index: EdgeIndex, tmp_path: Path
) -> None:
    await index.replace(INFO, add=edition(0), remove=[])
    reader = EdgeIndex(tmp_path, "book")
    await rankings(reader, [NORTH], limit=1)
    await index.replace(INFO, add=edition(1), remove=[])
    await rankings(reader, [NORTH], limit=1)
    assert not [line for line in held(tmp_path) if line.endswith("(deleted)")]
    (generation(tmp_path) / "collection.json").write_text("{")
    with pytest.raises(RetrievalError, match="broken"):
        await rankings(reader, [NORTH], limit=1)
    assert held(tmp_path) == []


def older_shard(folder: Path, points: list[Point]) -> None:
    """Replace the shard by one of an earlier askbook: its log has a lock, and its points have the chunks' ids."""
    from qdrant_edge import (
        Distance,
        EdgeConfig,
        EdgeShard,
        EdgeSparseVectorParams,
        EdgeVectorParams,
        Modifier,
        UpdateOperation,
    )
    from qdrant_edge import Point as EdgePoint
    from qdrant_edge import SparseVector as EdgeSparse

    shutil.rmtree(folder)
    (folder.parent / "points-2.npy").unlink()
    folder.mkdir()
    config = EdgeConfig(
        vectors={"dense": EdgeVectorParams(size=4, distance=Distance.Cosine)},
        sparse_vectors={"sparse": EdgeSparseVectorParams(modifier=Modifier.Idf)},
    )
    shard = EdgeShard.create(str(folder), config)
    rows = []
    for point in points:
        sparse = EdgeSparse(list(point.sparse.indices), list(point.sparse.values))
        rows.append(EdgePoint(point.chunk.id, {"dense": list(point.dense), "sparse": sparse}, to_payload(point.chunk)))
    shard.update(UpdateOperation.upsert_points(rows))
    shard.flush()
    shard.close()


async def test_a_book_of_an_older_askbook_is_named_as_one_and_read_from_its_sources_again(
    index: EdgeIndex, tmp_path: Path
) -> None:
    await index.replace(INFO, add=edition(0), remove=[])
    older_shard(generation(tmp_path) / "shard", edition(7))
    for read in (lambda: rankings(index, [NORTH], limit=1), index.entries):
        with pytest.raises(RetrievalError, match="an earlier version of askbook wrote it") as caught:
            await read()
        assert caught.value.code == "index_broken"
        assert "ingest" in str(caught.value.hint)
    await index.drop()
    await index.replace(INFO, add=edition(1), remove=[])
    assert titles(await rankings(index, [NORTH], limit=20)) == {"edition 1"}


@pytest.mark.parametrize("damage", ["lost", "cut", "of another state"])
async def test_a_table_of_points_that_is_damaged_is_made_again(index: EdgeIndex, tmp_path: Path, damage: str) -> None:
    await index.replace(INFO, add=edition(0), remove=[])
    before = await rankings(index, [NORTH, terms(1)], limit=5)
    await index.aclose()
    table = generation(tmp_path) / "points-2.npy"
    whole = table.read_bytes()
    rows = np.load(table)
    table.unlink()
    if damage == "cut":
        table.write_bytes(whole[:200])
    if damage == "of another state":
        rows["point"] += 1
        np.save(table, rows)
    assert await rankings(EdgeIndex(tmp_path, "book"), [NORTH, terms(1)], limit=5) == before
    assert table.read_bytes() == whole


async def test_a_chunk_that_is_added_twice_is_there_once_as_it_came_last(index: EdgeIndex) -> None:
    await index.replace(INFO, add=[*edition(0), *edition(1)], remove=[])
    info = await index.info()
    assert info is not None
    assert info.chunks == 20
    assert titles(await rankings(index, [NORTH, terms(1)], limit=20)) == {"edition 1"}


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
async def test_a_folder_that_forbids_opening_is_not_taken_for_a_broken_index(index: EdgeIndex, number: int) -> None:
    """The engine says what the system told it as in this text, recorded from a read-only disk."""
    said = f"Service runtime error: Failed to open mmap payload storage: {os.strerror(number)} (os error {number})"
    await index.replace(INFO, add=edition(0), remove=[])
    with pytest.raises(RetrievalError) as caught, index.reading():
        raise Exception(said)
    assert caught.value.code == "index_files"
    assert os.strerror(number) in caught.value.message
