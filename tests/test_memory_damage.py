"""Rows of one conversation that are damaged: it is told, others are not touched, and nothing goes without a word."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.threads import as_markdown, delete, row, summaries
from graph.memory import FILE, Memory, open_memory
from graph.storage import thread_config
from nodes.archive import BLOCK, WINDOW
from rag.errors import MemoryFailureError
from tests.machine import ANSWER, Machine
from tests.mending import talked

MANY = WINDOW + BLOCK


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a conversation `t` with archived turns, and of `u`. Tests work on copies."""
    home = tmp_path_factory.mktemp("talk")

    async def converse() -> None:
        async with open_memory(home) as memory:
            machine = Machine(memory=memory)
            await talked(machine, MANY)
            machine.model.script[:] = [ANSWER]
            await machine.agent.ask("What is a node?", thread_id="u")

    asyncio.run(converse())
    return home / FILE


@pytest.fixture
def home(talk: Path, tmp_path: Path) -> Path:
    """A home with both conversations."""
    shutil.copy(talk, tmp_path / FILE)
    return tmp_path


def damage(home: Path, statement: str) -> None:
    """Run the statement on the file of the conversations."""
    with closing(sqlite3.connect(home / FILE)) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize("metadata", ["x'c1ff'", "null", "'{}'"])
async def test_damaged_metadata_are_told_and_harm_no_other_conversation(home: Path, metadata: str) -> None:
    damage(home, f"update checkpoints set metadata = {metadata} where thread_id = 't'")
    async with open_memory(home) as memory:
        machine = Machine(ANSWER, memory=memory)
        response = await machine.agent.ask("And then?", thread_id="t")
        assert response.error is not None
        assert response.error.code == "conversation_broken"
        assert await memory.prune()
        assert len((await machine.agent.conversation("u"))["turns"]) == 1


@pytest.mark.parametrize("value", ["'{}'", "'no json'"])
async def test_an_archive_that_cannot_be_read_is_told_and_the_conversation_goes_on(home: Path, value: str) -> None:
    damage(home, f"update store set value = {value}")
    async with open_memory(home) as memory:
        machine = Machine(ANSWER, memory=memory)
        with pytest.raises(MemoryFailureError) as caught:
            await machine.agent.conversation("t")
        assert caught.value.code == "conversation_broken"
        assert (await machine.agent.ask("And then?", thread_id="t")).turn_number == MANY + 1


async def test_turns_that_are_missing_from_the_archive_are_told(home: Path) -> None:
    damage(home, "delete from store")
    async with open_memory(home) as memory:
        found = await Machine(memory=memory).agent.conversation("t")
    assert (found["turn_count"], found["missing_turns"]) == (WINDOW, BLOCK)
    assert f"{BLOCK} turns missing" in as_markdown(found)


async def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as other:
        other.execute("create table notes (text)")
        other.commit()
        with pytest.raises(MemoryFailureError) as caught:
            async with open_memory(tmp_path):
                pass
        assert caught.value.code == "memory_broken"
        assert other.execute("select name from sqlite_master").fetchall() == [("notes",)]


STRANGE = [b"\xff", b"", b"\xc0", b"\x80", b"\x90", b"\xa1x", b"\x83\xa1v\x04\xa2id\xa1x\xaechannel_values\x05"]
STRANGE_TYPES = ["msgpack", "msgpack.zlib", "msgpack+aes", "json", "pickle", "bytes", "null", "nothing"]


@pytest.mark.parametrize("kind", STRANGE_TYPES)
@pytest.mark.parametrize("data", STRANGE)
async def test_whatever_the_bytes_of_a_conversation_are_it_is_listed_as_damaged_and_can_be_deleted(
    home: Path, kind: str, data: bytes
) -> None:
    damage(home, f"update checkpoints set type = '{kind}', checkpoint = x'{data.hex()}' where thread_id = 't'")
    async with open_memory(home) as memory:
        await told_and_deleted(memory)


async def told_and_deleted(memory: Memory) -> None:
    """The conversation `t` is told as unreadable by every command, `u` is not touched, and `t` can be deleted."""
    listed = {one["thread_id"]: row(one) for one in await summaries(memory)}
    assert "cannot be read" in listed["t"]
    assert "What is a node?" in listed["u"]
    with pytest.raises(MemoryFailureError) as caught:
        await memory.conversation("t")
    assert caught.value.code in ("conversation_broken", "memory_key")
    response = await Machine(memory=memory).agent.ask("And then?", thread_id="t")
    assert response.error is not None
    assert response.error.error_type == "memory_error"
    await delete(memory, Path("nowhere"), "t")
    assert await memory.threads() == ["u"]


def _changes(stored: dict[str, Any]) -> list[dict[str, Any]]:
    """The checkpoint with a value of another type in the place of each of its own."""
    values = stored["channel_values"]
    found = [{**stored, name: strange} for name in stored for strange in (5, "x", [1], {"a": 1}) if name != "v"]
    found += [{**stored, "channel_values": {**values, name: strange}} for name in values for strange in (5, [1])]
    return found


async def test_a_value_of_another_type_in_a_checkpoint_harms_only_its_own_conversation(home: Path) -> None:
    async with open_memory(home) as memory:
        saver: Any = memory.database.saver
        newest = await saver.aget_tuple(thread_config("t"))
        machine = Machine(memory=memory)
        for changed in _changes(newest.checkpoint):
            row_of_it = (*saver.serde.dumps_typed(changed), newest.checkpoint["id"])
            await saver.conn.execute(
                "update checkpoints set type = ?, checkpoint = ? where checkpoint_id = ?", row_of_it
            )
            listed = {one["thread_id"]: row(one) for one in await summaries(memory)}
            assert set(listed) == {"t", "u"}
            machine.model.script[:] = [ANSWER]
            response = await machine.agent.ask("And then?", thread_id="t")
            assert response.error is None or response.error.code in ("conversation_broken", "internal"), changed
