"""The index in the process: what other programs, accidents and a full disk may do to it. `test_contract_index` does the
rest.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from rag.book import Point
from rag.errors import RetrievalError, UsageError
from rag.index.catalog import build_index, list_collections
from rag.index.qdrant_index import QdrantIndex
from tests.fork_server import Forked, fork_server
from tests.index_cases import INFO, chunk_id, make_point, rankings, terms
from tests.toys import edge_index

NORTH = [1.0, 0.0, 0.0, 0.0]
FOLDER = "[0-9a-f]" * 32

# What the other program runs: it prints a line when it is where the test wants it, and waits there to be killed.
OTHER = """
import asyncio, sys
from pathlib import Path
from rag.index.edge_client import EdgeClient
from tests.index_cases import INFO, chunk_id, make_point, rankings
from tests.toys import edge_index

index = edge_index(Path(sys.argv[1]))

def stop(*_, **__):
    print("here", flush=True)
    sys.stdin.read()

def points():
    for i in range(600):
        yield make_point(f"new{i}")
    stop()

async def build(add=None):
    await index.replace(INFO, add=add or [make_point("new")], remove=[chunk_id("old")])
"""
BUILDER = "asyncio.run(build(points()))"
DEATHS = {
    "while it adds": BUILDER,
    "before the switch": "EdgeClient._show = stop\nasyncio.run(build())",
    "after the switch": """
show = EdgeClient._show
def late(*given):
    show(*given)
    stop()
EdgeClient._show = late
asyncio.run(build())
""",
}
READER = """
async def read():
    for _ in range(25):
        (hits,) = await rankings(index, [[1.0, 0.0, 0.0, 0.0]], limit=1)
        assert len(hits) == 1

print("here", flush=True)
sys.stdin.readline()
asyncio.run(read())
print("read", flush=True)
"""


@pytest.fixture
def index(tmp_path: Path) -> QdrantIndex:
    return edge_index(tmp_path)


def start(code: str, folder: Path) -> Forked:
    if not (program := folder / "other.py").exists():
        program.write_text(OTHER + code)
    return fork_server().start(str(folder), program=program, cwd=folder, env=os.environ)


def line(process: Forked) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


def kill(process: Forked) -> None:
    process.kill()
    process.communicate()


def states(folder: Path) -> list[Path]:
    return list((folder / "book").glob(FOLDER))


@pytest.mark.parametrize("moment", DEATHS)
async def test_an_ingestion_that_is_killed_leaves_a_whole_index_and_its_rubbish_goes_with_the_next(
    index: QdrantIndex, tmp_path: Path, moment: str
) -> None:
    await index.replace(INFO, add=[make_point("old")], remove=[])
    process = start(DEATHS[moment], tmp_path)
    assert await asyncio.to_thread(line, process) == b"here\n"
    kill(process)
    survivor = "new" if moment == "after the switch" else "old"
    assert len(states(tmp_path)) == 2
    assert [entry.id for entry in await index.entries()] == [chunk_id(survivor)]
    await index.replace(INFO, add=[make_point("next")], remove=[])
    assert {entry.id for entry in await index.entries()} == {chunk_id(survivor), chunk_id("next")}
    assert len(states(tmp_path)) == 1


async def test_processes_and_threads_search_one_book_at_once(index: QdrantIndex, tmp_path: Path) -> None:
    await index.replace(INFO, add=[make_point("a")], remove=[])
    processes = [start(READER, tmp_path) for _ in range(4)]
    assert [line(process) for process in processes] == [b"here\n"] * 4
    answers = await asyncio.gather(*(asyncio.to_thread(process.communicate, b"go\n") for process in processes))
    assert [out for out, _ in answers] == [b"read\n"] * 4

    def search(number: int) -> int:
        mine = index if number % 2 else edge_index(tmp_path)
        return sum(len(asyncio.run(rankings(mine, [NORTH, terms(1)], limit=1))[0]) for _ in range(10))

    with ThreadPoolExecutor(10) as pool:
        assert list(pool.map(search, range(10))) == [10] * 10


async def test_a_search_does_not_wait_for_an_ingestion_and_a_second_ingestion_says_who_is_at_it(
    index: QdrantIndex, tmp_path: Path
) -> None:
    await index.replace(INFO, add=[make_point("old")], remove=[])
    process = start(BUILDER, tmp_path)
    assert await asyncio.to_thread(line, process) == b"here\n"
    assert await index.info() == replace(INFO, chunks=1)
    assert (await rankings(index, [NORTH], limit=1))[0][0].chunk.id == chunk_id("old")
    with pytest.raises(RetrievalError, match=f"by process {process.pid} on") as caught:
        await edge_index(tmp_path, wait=0).replace(INFO, add=[make_point("a")], remove=[])
    kill(process)
    assert caught.value.code == "index_locked"


async def test_searches_during_changes_find_one_edition_and_never_a_mixture(index: QdrantIndex, tmp_path: Path) -> None:
    def edition(number: int) -> list[Point]:
        points = [make_point(f"chunk {i}") for i in range(20)]
        return [replace(point, chunk=replace(point.chunk, title=f"edition {number}")) for point in points]

    async def read(reader: QdrantIndex) -> list[set[str]]:
        seen = []
        while not finished.is_set():
            found = await rankings(reader, [NORTH, terms(1)], limit=20)
            assert len(found[0]) == 20
            seen.append({hit.chunk.title for ranking in found for hit in ranking})
        return seen

    finished, shared = threading.Event(), edge_index(tmp_path)
    await index.replace(INFO, add=edition(0), remove=[])
    readers = [asyncio.create_task(read(reader)) for reader in (shared, shared, edge_index(tmp_path))]
    for number in range(1, 9):
        await index.replace(INFO, add=edition(number), remove=[])
    finished.set()
    for seen in await asyncio.gather(*readers):
        assert seen
        assert all(len(found) == 1 for found in seen)
    assert len(states(tmp_path)) == 1


@pytest.mark.parametrize("how", ["fails", "is interrupted"])
async def test_an_ingestion_that_breaks_off_leaves_the_index_as_it_was(
    index: QdrantIndex, tmp_path: Path, how: str
) -> None:
    await index.replace(INFO, add=[make_point("old")], remove=[])
    started, loop = asyncio.Event(), asyncio.get_running_loop()

    def points() -> Iterator[Point]:
        loop.call_soon_threadsafe(started.set)
        for i in range(10**9):  # nothing but the interruption ends it
            yield make_point(f"p{i % 500}")
            if how == "fails":
                raise UsageError("The embedding model is gone.")

    task = asyncio.create_task(index.replace(INFO, add=points(), remove=[]))
    await started.wait()
    if how != "fails":
        task.cancel()
    with pytest.raises((UsageError, asyncio.CancelledError)):
        await task
    await edge_index(tmp_path).replace(INFO, add=[make_point("next")], remove=[])
    assert {entry.id for entry in await index.entries()} == {chunk_id("old"), chunk_id("next")}
    assert len(states(tmp_path)) == 1


async def test_a_change_of_nothing_builds_nothing_and_a_chunk_added_twice_is_there_as_it_came_last(
    index: QdrantIndex, tmp_path: Path
) -> None:
    await index.replace(INFO, add=[make_point("a"), make_point("a", text="Last.")], remove=[])
    before = states(tmp_path)
    await index.replace(INFO, add=[], remove=[])
    assert states(tmp_path) == before
    assert await index.info() == replace(INFO, chunks=1)
    assert [chunk.text for chunk in await index.fetch([chunk_id("a")])] == ["Last."]


def test_searching_what_is_not_there_makes_no_folder(index: QdrantIndex, tmp_path: Path) -> None:
    assert asyncio.run(index.info()) is None
    with pytest.raises(RetrievalError):
        asyncio.run(rankings(index, [NORTH], limit=1))
    assert list(tmp_path.iterdir()) == []


async def test_the_folders_are_private(tmp_path: Path) -> None:
    await build_index(home=tmp_path / "home", collection="book").replace(INFO, add=[make_point("a")], remove=[])
    for folder in (tmp_path / "home", tmp_path / "home" / "index", tmp_path / "home" / "index" / "book"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage",
    [
        "current: garbage",
        "current: elsewhere",
        "*/collection.json: garbage",
        "*/collection.json: missing",
        "*/points.txt: missing",
        "*/points.txt: garbage",
        "*/shard/edge_config.json: missing",
        "*/shard/edge_config.json: truncated",
        "*/shard/segments/*/segment.json: garbage",
        "*/shard/segments/*/vector_storage-dense/vectors/status.dat: truncated",
        "*/shard/segments/*/vector_storage-dense/vectors/chunk_0.mmap: missing",
    ],
)
async def test_a_broken_folder_is_an_error_that_says_how_to_mend_it_and_dropping_mends_it(
    index: QdrantIndex, tmp_path: Path, damage: str
) -> None:
    await index.replace(INFO, add=[make_point("a"), make_point("b")], remove=[])
    what, _, how = damage.partition(": ")
    (path,) = (tmp_path / "book").glob(what)
    if how == "missing":
        path.unlink()
    elif how == "truncated":
        os.truncate(path, path.stat().st_size // 2)
    else:
        path.write_bytes(b"0" * 32 if how == "elsewhere" else b"\x00\xff nonsense")
    with pytest.raises(RetrievalError) as caught:
        await rankings(index, [NORTH, terms(1)], limit=2)
    assert caught.value.code in ("index_broken", "index_files")
    assert "\n" not in caught.value.message
    await index.drop()
    await index.replace(INFO, add=[make_point("c")], remove=[])
    assert len((await rankings(index, [NORTH], limit=2))[0]) == 1


async def test_the_index_of_another_version_is_named_as_one(index: QdrantIndex, tmp_path: Path) -> None:
    await index.replace(INFO, add=[make_point("a")], remove=[])
    (card,) = (tmp_path / "book").glob("*/collection.json")
    card.write_text('{"collection": "book", "embedding_model": "toy-4", "dimension": 4, "chunks": 1}')
    with pytest.raises(RetrievalError, match="another version of askbook wrote it") as caught:
        await index.info()
    assert "run.py ingest" in caught.value.hint


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells what a process has mapped")
async def test_nothing_of_the_folder_is_held_after_closing_and_nothing_old_after_a_search(
    index: QdrantIndex, tmp_path: Path
) -> None:
    def held() -> list[str]:
        links = [link for link in Path("/proc/self/fd").iterdir() if link.exists()]
        return [
            text
            for text in [*(str(link.readlink()) for link in links), *Path("/proc/self/maps").read_text().splitlines()]
            if str(tmp_path) in text
        ]

    await index.replace(INFO, add=[make_point("a")], remove=[])
    assert held() == []
    reader = edge_index(tmp_path)
    await rankings(reader, [NORTH, terms(1)], limit=5)
    await index.replace(INFO, add=[make_point("b")], remove=[])
    await rankings(reader, [NORTH], limit=1)
    assert held()
    assert not [text for text in held() if text.endswith("(deleted)")]
    await reader.aclose()
    await index.aclose()
    assert held() == []


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


async def test_a_disk_without_room_leaves_the_book_as_it_was(
    index: QdrantIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine, whose files are mapped, would be ended by a signal."""
    await index.replace(INFO, add=[make_point("one")], remove=[])
    before = sorted((tmp_path / "book").iterdir())
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**9, 10**9 - 5_000_000, 5_000_000))
    with pytest.raises(RetrievalError, match=r"needs about 10 MB in .+, and 5 MB are free") as caught:
        await index.replace(replace(INFO, chunks=1_000), add=[make_point("two")], remove=[])
    assert caught.value.code == "index_write"
    assert sorted((tmp_path / "book").iterdir()) == before
    assert await index.info() == replace(INFO, chunks=1)


@pytest.mark.parametrize("name", ["", ".", "..", "../book", "a/b", "a\\b", "~", "-x", "a b", "a\n", "é", "x" * 101])
def test_a_name_that_could_be_a_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        build_index(home=tmp_path, collection=name)
    assert caught.value.code == "collection_name"


async def test_the_collections_of_a_home_are_listed_by_name(tmp_path: Path) -> None:
    assert await list_collections(home=tmp_path) == []
    for name in ("zoo", "book"):
        await build_index(home=tmp_path, collection=name).replace(INFO, add=[], remove=[])
    (tmp_path / "index" / "no collection").mkdir()
    (tmp_path / "index" / "file").touch()
    assert await list_collections(home=tmp_path) == ["book", "zoo"]


def test_looking_at_the_embedded_index_loads_no_client_of_a_server(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path; from rag.index.catalog import build_index\n"
        f"asyncio.run(build_index(home=Path({str(tmp_path)!r}), collection='b').info())\n"
        "heavy = {'qdrant_client', 'qdrant_edge', 'langchain_qdrant', 'onnxruntime', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent.parent)


def test_listing_the_entries_of_a_book_loads_no_client_of_a_server(tmp_path: Path) -> None:
    """The manual is compared with its pages at every start."""
    asyncio.run(build_index(home=tmp_path, collection="b").replace(INFO, add=[make_point("a")], remove=[]))
    code = (
        "import asyncio, sys; from pathlib import Path; from rag.index.catalog import build_index\n"
        f"assert len(asyncio.run(build_index(home=Path({str(tmp_path)!r}), collection='b').entries())) == 1\n"
        "heavy = {'qdrant_client', 'langchain_qdrant'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent.parent)
