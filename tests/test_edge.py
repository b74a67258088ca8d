"""The embedded index: what the other programs on the machine, and accidents, may do to it."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from rag.book import Point
from rag.errors import RetrievalError, UsageError
from rag.index.edge import EdgeIndex
from tests.fork_server import Forked, fork_server
from tests.index_cases import INFO, chunk_id, make_point, rankings, terms

NORTH = [1.0, 0.0, 0.0, 0.0]
GENERATION = "[0-9a-f]" * 32

# What the other program runs: it prints a line when it is where the test wants it, and waits there to be killed.
OTHER = """
import asyncio, sys
from pathlib import Path
from rag.index.edge import EdgeIndex
from rag.index.edge_files import Generations
from tests.index_cases import INFO, chunk_id, make_point, rankings

index = EdgeIndex(Path(sys.argv[1]), "book")

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
DEATHS = {
    "while it adds": "asyncio.run(build(points()))",
    "before the switch": "Generations.switch = stop\nasyncio.run(build())",
    "after the switch": """
switch = Generations.switch
def late(self, generation):
    switch(self, generation)
    stop()
Generations.switch = late
asyncio.run(build())
""",
}
BUILDER = "asyncio.run(build(points()))"
READER = """
async def read():
    for _ in range(25):
        (hits,) = await rankings(index, [[1.0, 0.0, 0.0, 0.0]], limit=1)
        assert len(hits) == 1
    await index.aclose()

print("here", flush=True)
sys.stdin.readline()
asyncio.run(read())
print("read", flush=True)
"""


@pytest.fixture
def index(tmp_path: Path) -> EdgeIndex:
    return EdgeIndex(tmp_path, "book")


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


def generations(folder: Path) -> list[Path]:
    return list((folder / "book").glob(GENERATION))


@pytest.mark.parametrize("moment", DEATHS)
async def test_an_ingestion_that_is_killed_leaves_a_whole_index_and_its_rubbish_goes_with_the_next(
    index: EdgeIndex, tmp_path: Path, moment: str
) -> None:
    await index.replace(INFO, add=[make_point("old")], remove=[])
    process = start(DEATHS[moment], tmp_path)
    assert await asyncio.to_thread(line, process) == b"here\n"
    kill(process)
    survivor = "new" if moment == "after the switch" else "old"
    assert len(generations(tmp_path)) == 2
    assert [entry.id for entry in await index.entries()] == [chunk_id(survivor)]
    assert (await rankings(index, [NORTH], limit=3))[0][0].chunk.id == chunk_id(survivor)
    await index.replace(INFO, add=[make_point("next")], remove=[])
    assert {entry.id for entry in await index.entries()} == {chunk_id(survivor), chunk_id("next")}
    assert len(generations(tmp_path)) == 1


async def test_eight_processes_search_one_book_at_once(index: EdgeIndex, tmp_path: Path) -> None:
    await index.replace(INFO, add=[make_point("a")], remove=[])
    processes = [start(READER, tmp_path) for _ in range(8)]
    assert [line(process) for process in processes] == [b"here\n"] * 8
    answers = await asyncio.gather(*(asyncio.to_thread(process.communicate, b"go\n") for process in processes))
    assert [out for out, _ in answers] == [b"read\n"] * 8


def test_twenty_threads_search_one_book_at_once(index: EdgeIndex, tmp_path: Path) -> None:
    """Ten with one index, ten with an index each, as ten agents have."""
    asyncio.run(index.replace(INFO, add=[make_point("a")], remove=[]))
    together = Barrier(20)

    def search(number: int) -> int:
        mine = index if number % 2 else EdgeIndex(tmp_path, "book")
        together.wait()
        return sum(len(asyncio.run(rankings(mine, [NORTH, terms(1)], limit=1))[0]) for _ in range(10))

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(search, range(20))) == [10] * 20


async def test_a_search_and_the_record_do_not_wait_for_an_ingestion(index: EdgeIndex, tmp_path: Path) -> None:
    await index.replace(INFO, add=[make_point("old")], remove=[])
    process = start(BUILDER, tmp_path)
    assert await asyncio.to_thread(line, process) == b"here\n"
    reader = EdgeIndex(tmp_path, "book", wait=0)
    assert await reader.info() == replace(INFO, chunks=1)
    assert (await rankings(reader, [NORTH], limit=1))[0][0].chunk.id == chunk_id("old")
    kill(process)


async def test_a_second_ingestion_gives_up_after_a_moment_and_says_who_is_at_it(tmp_path: Path) -> None:
    process = start(BUILDER, tmp_path)
    assert await asyncio.to_thread(line, process) == b"here\n"
    with pytest.raises(RetrievalError) as caught:
        await EdgeIndex(tmp_path, "book", wait=0.05).replace(INFO, add=[make_point("a")], remove=[])
    kill(process)
    assert caught.value.code == "index_locked"
    assert f"process {process.pid} (ingest" in caught.value.message


async def test_readers_find_the_old_version_until_the_new_one_is_whole(index: EdgeIndex, tmp_path: Path) -> None:
    await index.replace(INFO, add=[make_point("old")], remove=[])
    reader = EdgeIndex(tmp_path, "book")
    seen = []

    def points() -> Iterator[Point]:
        for i in range(300):
            yield make_point(f"new{i}")
        seen.append(asyncio.run(reader.entries()))

    await index.replace(INFO, add=points(), remove=[chunk_id("old")])
    assert [[entry.id for entry in entries] for entries in seen] == [[chunk_id("old")]]
    assert len(await reader.entries()) == 300
    assert len(generations(tmp_path)) == 1


async def test_an_ingestion_that_fails_leaves_the_index_as_it_was(index: EdgeIndex, tmp_path: Path) -> None:
    await index.replace(INFO, add=[make_point("old")], remove=[])

    def points() -> Iterator[Point]:
        yield make_point("new")
        raise UsageError("The embedding model is gone.")

    with pytest.raises(UsageError):
        await index.replace(INFO, add=points(), remove=[])
    assert [entry.id for entry in await index.entries()] == [chunk_id("old")]
    assert len(generations(tmp_path)) == 1


async def test_an_ingestion_that_is_interrupted_stops_and_leaves_the_index_as_it_was(
    index: EdgeIndex, tmp_path: Path
) -> None:
    await index.replace(INFO, add=[make_point("old")], remove=[])
    started, loop = asyncio.Event(), asyncio.get_running_loop()

    def points() -> Iterator[Point]:
        loop.call_soon_threadsafe(started.set)
        i = 0
        while True:  # nothing but the interruption ends it
            i += 1
            yield make_point(f"p{i % 500}")

    task = asyncio.create_task(index.replace(INFO, add=points(), remove=[]))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await EdgeIndex(tmp_path, "book").replace(INFO, add=[make_point("next")], remove=[])
    assert {entry.id for entry in await index.entries()} == {chunk_id("old"), chunk_id("next")}


async def test_a_change_of_nothing_builds_nothing(index: EdgeIndex, tmp_path: Path) -> None:
    await index.replace(INFO, add=[make_point("a")], remove=[])
    before = generations(tmp_path)
    await index.replace(INFO, add=[], remove=[])
    assert generations(tmp_path) == before


def test_searching_what_is_not_there_makes_no_folder(index: EdgeIndex, tmp_path: Path) -> None:
    assert asyncio.run(index.info()) is None
    with pytest.raises(RetrievalError):
        asyncio.run(rankings(index, [NORTH], limit=1))
    assert list(tmp_path.iterdir()) == []


async def test_the_folders_are_private(tmp_path: Path) -> None:
    await EdgeIndex(tmp_path / "home" / "index", "book").replace(INFO, add=[make_point("a")], remove=[])
    for folder in (tmp_path / "home", tmp_path / "home" / "index", tmp_path / "home" / "index" / "book"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
