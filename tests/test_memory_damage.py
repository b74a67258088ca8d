"""Rows of one conversation that are damaged: it is told, others are not touched, and nothing goes without a word."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from cli.threads import as_markdown
from graph.memory import FILE, open_memory
from rag.conversation.turns import BLOCK, WINDOW
from rag.errors import MemoryFailureError
from tests.machine import ANSWER, Machine
from tests.mending import talked

MANY = WINDOW + BLOCK


async def damaged(home: Path, statement: str) -> None:
    """A conversation `t` with archived turns, and `u`; then the statement is run on the file."""
    async with open_memory(home) as memory:
        machine = Machine(memory=memory)
        await talked(machine, MANY)
        machine.model.script[:] = [ANSWER]
        await machine.agent.ask("What is a node?", thread_id="u")
    connection = sqlite3.connect(home / FILE)
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("metadata", ["x'c1ff'", "null", "'{}'"])
async def test_damaged_metadata_are_told_and_harm_no_other_conversation(tmp_path: Path, metadata: str) -> None:
    await damaged(tmp_path, f"update checkpoints set metadata = {metadata} where thread_id = 't'")
    async with open_memory(tmp_path) as memory:
        machine = Machine(ANSWER, memory=memory)
        response = await machine.agent.ask("And then?", thread_id="t")
        assert response.error is not None
        assert response.error.code == "conversation_broken"
        assert await memory.prune()
        assert len((await machine.agent.conversation("u"))["turns"]) == 1


@pytest.mark.parametrize("value", ["'{}'", "'no json'"])
async def test_an_archive_that_cannot_be_read_is_told_and_the_conversation_goes_on(tmp_path: Path, value: str) -> None:
    await damaged(tmp_path, f"update store set value = {value}")
    async with open_memory(tmp_path) as memory:
        machine = Machine(ANSWER, memory=memory)
        with pytest.raises(MemoryFailureError) as caught:
            await machine.agent.conversation("t")
        assert caught.value.code == "conversation_broken"
        assert (await machine.agent.ask("And then?", thread_id="t")).turn_number == MANY + 1


async def test_turns_that_are_missing_from_the_archive_are_told(tmp_path: Path) -> None:
    await damaged(tmp_path, "delete from store")
    async with open_memory(tmp_path) as memory:
        found = await Machine(memory=memory).agent.conversation("t")
    assert (found["turn_count"], found["missing_turns"]) == (WINDOW, BLOCK)
    assert f"{BLOCK} turns missing" in as_markdown(found)
