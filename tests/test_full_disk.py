"""A disk that is full: it is told by its name, and what is stored can still be read and deleted."""

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


async def test_conversations_are_read_and_deleted_on_a_full_disk(disk: Path) -> None:
    await talked(disk)
    fill(disk)
    async with open_memory(disk) as memory:
        agent = Machine(memory=memory).agent
        assert len((await agent.conversation("t"))["turns"]) == 2
        await agent.clear("t")
    async with open_memory(disk) as memory:
        assert await memory.threads() == ["u"]
    assert b"canary" not in stored(disk, f"{FILE}*")


@pytest.mark.parametrize("free", [0, 16, 40, 80, 200, 400])
async def test_a_conversation_is_deleted_however_little_room_is_left(disk: Path, free: int) -> None:
    await talked(disk)
    fill(disk)
    os.truncate(disk / "filler", (disk / "filler").stat().st_size - free * 1024)
    async with open_memory(disk) as memory:
        await memory.delete("t")
        assert await memory.threads() == ["u"]
    assert b"canary" not in stored(disk, f"{FILE}*")


async def test_a_deletion_that_another_program_holds_up_says_what_to_close(disk: Path) -> None:
    await talked(disk)
    async with open_memory(disk) as memory:
        fill(disk)
        async with open_memory(disk) as other:
            with pytest.raises(MemoryFailureError, match="The disk is full") as caught:
                await other.delete("t")
            assert "close every askbook program" in caught.value.hint
            assert "t" in await memory.threads()
    async with open_memory(disk) as memory:
        await memory.delete("t")
        assert await memory.threads() == ["u"]


async def test_a_turn_on_a_full_disk_is_told_so_and_goes_on_with_room(disk: Path) -> None:
    await talked(disk)
    fill(disk)
    async with open_memory(disk) as memory:
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
