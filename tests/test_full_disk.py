"""A disk that is full: it is told by its name, and what is stored stays whole."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from graph.memory import FILE, open_memory
from rag.embedding.vector_cache import SqliteVectorCache
from rag.errors import MemoryFailureError
from tests.homes import stored
from tests.machine import ANSWER, Machine


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder], capture_output=True).returncode:
        pytest.skip("only root may mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(disk: Path) -> None:
    with suppress(OSError), (disk / "filler").open("ab", buffering=0) as file:
        while True:
            file.write(b"x" * 512)
    assert shutil.disk_usage(disk).free == 0


async def talked(disk: Path) -> None:
    async with open_memory(disk) as memory:
        machine = Machine(*[ANSWER] * 3, memory=memory)
        for thread, question in (("t", "What is a canary?"), ("t", "And then?"), ("u", "What is a node?")):
            await machine.agent.ask(question, thread_id=thread)


def leave(disk: Path, kilobytes: int) -> None:
    os.truncate(disk / "filler", (disk / "filler").stat().st_size - kilobytes * 1024)


@pytest.mark.parametrize("free", [0, 16, 40, 80, 200, 400])
async def test_a_conversation_is_deleted_whole_or_the_disk_is_said_to_be_full(disk: Path, free: int) -> None:
    await talked(disk)
    fill(disk)
    leave(disk, free)
    failures: list[MemoryFailureError] = []
    try:
        async with open_memory(disk) as memory:
            await memory.delete("t")
    except MemoryFailureError as failure:
        failures.append(failure)
    assert all((one.code, one.hint) == ("disk_full", "Free disk space, then try again.") for one in failures)
    (disk / "filler").unlink()
    async with open_memory(disk) as memory:
        assert await memory.threads() == (["u", "t"] if failures else ["u"])
        await memory.delete("t")
    assert b"canary" not in stored(disk, f"{FILE}*")


async def test_what_is_deleted_with_little_room_is_overwritten_at_once(disk: Path) -> None:
    await talked(disk)
    fill(disk)
    leave(disk, 400)
    async with open_memory(disk) as memory:
        await memory.delete("t")
    assert b"canary" not in stored(disk, f"{FILE}*")


async def test_a_turn_on_a_full_disk_is_told_so_and_goes_on_with_room(disk: Path) -> None:
    await talked(disk)
    async with open_memory(disk) as memory:
        fill(disk)
        response = await Machine(memory=memory).agent.ask("Is there room?", thread_id="t")
        assert response.error is not None
        assert response.error.code == "disk_full"
        (disk / "filler").unlink()
        assert (await Machine(ANSWER, memory=memory).agent.ask("And now?", thread_id="t")).turn_number == 3


async def test_a_full_disk_costs_a_cache_of_vectors_only_its_use(disk: Path) -> None:
    cache = SqliteVectorCache(disk / "vectors.sqlite")
    cache.put("model", {"text": [1.0, 2.0]})
    fill(disk)
    cache.put("model", {str(n): [float(n)] * 2000 for n in range(100)})
    assert cache.get("model", ["99"]) == {}
    (disk / "filler").unlink()
    assert cache.get("model", ["text"]) == {"text": [1.0, 2.0]}
