"""What is stored is the user's alone: permissions, encryption, and nothing left of what was deleted."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from graph.memory import FILE, Memory, MemoryOptions, open_memory
from nodes.archive import BLOCK, WINDOW
from rag.errors import MemoryFailureError, UsageError
from tests.fakes import passage
from tests.machine import ANSWER, Machine

CANARY = "canary-of-the-question"
SAID = "canary-of-the-answer [1]."
FOUND = "canary-of-the-passage"
KEY = SecretStr("0123456789abcdef")
MANY = WINDOW + BLOCK + 1


def everything(home: Path) -> bytes:
    """All bytes of all files of a home, and their names."""
    files = [file for file in home.rglob("*") if file.is_file()]
    return b"".join(file.read_bytes() + str(file).encode() for file in files)


def rows(url: SecretStr) -> str:
    """All that is in the tables of a PostgreSQL database, as text."""
    with psycopg.connect(url.get_secret_value()) as connection:
        names = connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall()
        found = [connection.execute(f'select * from "{name}"').fetchall() for (name,) in names]
    return repr(found)


async def converse(memory: Memory, thread: str, turns: int = 1) -> None:
    machine = Machine(*[SAID] * turns, memory=memory, passages=[passage(text=FOUND)])
    for number in range(turns):
        assert (await machine.agent.ask(f"{CANARY}-{thread} {number}?", thread_id=thread)).status == "success"


# --- permissions ----------------------------------------------------------------------------------------------------


async def test_every_file_is_the_users_alone_while_the_memory_is_open(tmp_path: Path) -> None:
    home, before = tmp_path / "home", os.umask(0o022)
    try:
        async with open_memory(home) as memory:
            await converse(memory, "t")
            async with memory.turn("t"):
                modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [home, *home.rglob("*")]}
    finally:
        os.umask(before)
    assert {f"{FILE}-wal", f"{FILE}-shm"} <= set(modes)
    assert any(name.startswith("turn-") for name in modes)
    assert {name: mode for name, mode in modes.items() if mode not in (0o600, 0o700)} == {}


# --- deleting -------------------------------------------------------------------------------------------------------


async def test_what_was_deleted_is_in_no_file_while_the_memory_is_open(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await converse(memory, "t")
        await converse(memory, "kept")
        written = everything(tmp_path)
        assert all(text.encode() in written for text in (f"{CANARY}-t", SAID, FOUND))
        await memory.delete("t")
        assert f"{CANARY}-t".encode() not in everything(tmp_path)
        assert f"{CANARY}-kept".encode() in everything(tmp_path)
        await memory.delete("kept")
        left = everything(tmp_path)
    assert not [text for text in (CANARY, SAID, FOUND) if text.encode() in left]


async def test_what_was_deleted_while_another_process_looks_on_is_in_no_file(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as one, open_memory(tmp_path) as other:
        await converse(one, "t")
        assert await other.conversation("t")
        await one.delete("t")
        assert CANARY.encode() not in everything(tmp_path)


async def test_a_turn_that_was_taken_back_leaves_when_its_states_do(tmp_path: Path) -> None:
    async with open_memory(tmp_path, options=MemoryOptions(keep_turns=1)) as memory:
        await converse(memory, "t")
        machine = Machine(ANSWER, memory=memory)
        await machine.agent.undo("t")
        await machine.agent.ask("What is a node?", thread_id="t")
        await memory.prune()
        assert CANARY.encode() not in everything(tmp_path)


async def test_deleting_leaves_no_row_in_postgresql(database_url: SecretStr, tmp_path: Path) -> None:
    async with open_memory(tmp_path, options=MemoryOptions(database_url)) as memory:
        await converse(memory, "t", MANY)
        await converse(memory, "kept")
        assert f"{CANARY}-t" in rows(database_url)
        await memory.delete("t")
        assert f"{CANARY}-t" not in rows(database_url)
        assert "'t'" not in rows(database_url)
        assert await memory.threads() == ["kept"]


# --- encryption -----------------------------------------------------------------------------------------------------


async def test_with_a_key_no_text_is_readable(tmp_path: Path) -> None:
    async with open_memory(tmp_path, options=MemoryOptions(key=KEY)) as memory:
        await converse(memory, "t", MANY)
        written = everything(tmp_path)
        assert not [text for text in (CANARY, SAID, FOUND, KEY.get_secret_value()) if text.encode() in written]
        whole = await memory.conversation("t")
    assert whole is not None
    assert whole["turns"][0]["question"] == f"{CANARY}-t 0?"
    assert len(whole["turns"]) == MANY


async def test_with_a_key_no_text_is_readable_in_postgresql(database_url: SecretStr, tmp_path: Path) -> None:
    async with open_memory(tmp_path, options=MemoryOptions(database_url, KEY)) as memory:
        await converse(memory, "t", MANY)
        assert not [text for text in (CANARY, SAID, FOUND) if text in rows(database_url)]


@pytest.mark.parametrize("key", [None, SecretStr("another key of 16"[:16])], ids=["no key", "another key"])
@pytest.mark.parametrize("turns", [1, MANY])
async def test_with_another_key_or_none_a_conversation_cannot_be_read_and_says_why(
    tmp_path: Path, key: SecretStr | None, turns: int
) -> None:
    async with open_memory(tmp_path, options=MemoryOptions(key=KEY)) as memory:
        await converse(memory, "t", turns)
    async with open_memory(tmp_path, options=MemoryOptions(key=key)) as memory:
        with pytest.raises(MemoryFailureError, match="encrypted") as caught:
            await memory.conversation("t")
        response = await Machine(memory=memory).agent.ask("What is a node?", thread_id="t")
    assert caught.value.code == "memory_key"
    assert response.error is not None
    assert response.error.code == "memory_key"
    async with open_memory(tmp_path, options=MemoryOptions(key=KEY)) as memory:
        whole = await memory.conversation("t")
    assert whole is not None
    assert len(whole["turns"]) == turns


async def test_what_was_stored_before_there_was_a_key_stays_readable(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await converse(memory, "t")
    async with open_memory(tmp_path, options=MemoryOptions(key=KEY)) as memory:
        await Machine(ANSWER, memory=memory).agent.ask("What is a node?", thread_id="t")
        whole = await memory.conversation("t")
    assert whole is not None
    assert len(whole["turns"]) == 2


@pytest.mark.parametrize("key", ["short", "x" * 17, "ä" * 10])
async def test_a_key_of_another_length_is_refused_without_showing_it(tmp_path: Path, key: str) -> None:
    with pytest.raises(UsageError) as caught:
        async with open_memory(tmp_path, options=MemoryOptions(key=SecretStr(key))):
            pass
    assert key not in caught.value.message
    assert not list_of(tmp_path)


def list_of(folder: Path) -> list[Any]:
    return list(folder.iterdir())
