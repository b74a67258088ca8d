"""Memory: conversations survive the process, stay private, and can be listed, pruned and forgotten."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from pathlib import Path

import ormsgpack
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde import jsonplus

from graph.memory import FILE, Memory, open_memory
from graph.memory_errors import memory_failure
from graph.storage import thread_config
from rag.errors import MemoryFailureError, UsageError
from rag.types import Tokens
from tests.machine import ANSWER, Machine


def counted(path: Path, table: str) -> int:
    with sqlite3.connect(path) as connection:
        number: int = connection.execute(f"select count(*) from {table}").fetchone()[0]
    connection.close()
    return number


# --- what both kinds do ---------------------------------------------------------------------------------------------


async def test_a_conversation_is_read_back_with_its_citations(memory: Memory) -> None:
    response = await Machine(ANSWER, memory=memory).ask("What is a node?")
    found = await memory.conversation("t")
    assert found is not None
    assert found["thread_id"] == "t"
    (turn,) = found["turns"]
    assert (turn["question"], turn["content"]) == ("What is a node?", response.content)
    assert turn["citations"] == [one.model_dump(mode="json") for one in response.citations]


async def test_a_probe_leaves_nothing_behind(memory: Memory) -> None:
    await Machine(ANSWER, memory=memory).ask("What is a node?")
    await memory.probe()
    assert await memory.threads() == ["t"]


async def test_an_unknown_conversation_is_none_and_is_not_made_by_asking(memory: Memory) -> None:
    assert await memory.conversation("nope") is None
    assert await memory.threads() == []


async def test_the_conversation_used_last_is_listed_first(memory: Memory) -> None:
    machine = Machine(*[ANSWER] * 4, memory=memory)
    for thread in ("a", "b", "c", "a"):
        await machine.ask("What is a node?", thread=thread)
    assert await memory.threads() == ["a", "c", "b"]


async def test_a_deleted_conversation_is_gone(memory: Memory) -> None:
    machine = Machine(ANSWER, ANSWER, memory=memory)
    await machine.ask("What is a node?", thread="a")
    await machine.ask("What is a node?", thread="b")
    await memory.delete("a")
    assert await memory.threads() == ["b"]
    assert await memory.conversation("a") is None


async def test_a_conversation_goes_on_after_pruning(memory: Memory) -> None:
    machine = Machine(ANSWER, ANSWER, memory=memory)
    await machine.ask("What is a node?")
    await memory.prune()
    assert (await machine.ask("And then?")).turn_number == 2
    assert "What is a node?" in machine.prompt()


# --- the file -------------------------------------------------------------------------------------------------------


async def test_a_second_process_reads_the_conversation(tmp_path: Path) -> None:
    async with open_memory(tmp_path, persistent=True) as memory:
        await Machine(ANSWER, memory=memory).ask("What is a node?")
    async with open_memory(tmp_path, persistent=True) as memory:
        machine = Machine(ANSWER, memory=memory)
        assert (await machine.ask("And then?")).turn_number == 2
        assert "What is a node?" in machine.prompt()


async def test_two_processes_may_have_it_open_at_once(tmp_path: Path) -> None:
    async with open_memory(tmp_path, persistent=True) as one, open_memory(tmp_path, persistent=True) as two:
        await asyncio.gather(
            Machine(ANSWER, memory=one).ask("What is a node?", thread="a"),
            Machine(ANSWER, memory=two).ask("What is a node?", thread="b"),
        )
        assert sorted(await one.threads()) == ["a", "b"]


async def test_the_file_is_the_users_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with open_memory(home, persistent=True):
        pass
    assert stat.S_IMODE((home / FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


async def test_memory_that_ends_with_the_process_writes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with open_memory(home, persistent=False) as memory:
        assert isinstance(memory.database.saver, InMemorySaver)
        await Machine(ANSWER, memory=memory).ask("What is a node?")
    assert not home.exists()


async def test_pruning_keeps_one_checkpoint_of_each_conversation(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        machine = Machine(*[ANSWER] * 3, memory=memory)
        for thread in ("a", "a", "b"):
            await machine.ask("What is a node?", thread=thread)
        before = counted(tmp_path / FILE, "checkpoints")
        assert await memory.prune() == before - 2
        assert await memory.prune() == 0
    assert counted(tmp_path / FILE, "checkpoints") == 2


async def test_deleting_leaves_no_row_behind(tmp_path: Path) -> None:
    async with open_memory(tmp_path, persistent=True) as memory:
        await Machine(ANSWER, memory=memory).ask("What is a node?")
        await memory.delete("t")
    assert [counted(tmp_path / FILE, table) for table in ("checkpoints", "writes", "store")] == [0, 0, 0]


async def test_a_checkpoint_runs_no_code(memory: Memory) -> None:
    crafted = ormsgpack.packb(
        ormsgpack.Ext(jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG, ormsgpack.packb(("builtins", "eval", "1 + 1")))
    )
    assert memory.database.saver.serde.loads_typed(("msgpack", crafted)) == "1 + 1"


async def test_a_checkpoint_brings_back_no_class_but_messages(memory: Memory) -> None:
    stored = memory.database.saver.serde.dumps_typed([Tokens(total=3), HumanMessage("Why?", id="h")])
    tokens, message = memory.database.saver.serde.loads_typed(stored)
    assert isinstance(tokens, dict)
    assert message == HumanMessage("Why?", id="h")


# --- what can be wrong with it --------------------------------------------------------------------------------------


async def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("this is not a database, but it is long enough to be mistaken for one" * 20)
    with pytest.raises(MemoryFailureError) as caught:
        async with open_memory(tmp_path, persistent=True):
            pass
    assert caught.value.code == "memory_broken"
    assert FILE in caught.value.message


async def test_a_home_that_is_a_file_is_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("")
    with pytest.raises(MemoryFailureError) as caught:
        async with open_memory(home, persistent=True):
            pass
    assert caught.value.code == "memory_unreachable"
    assert "ASKBOOK_HOME" in caught.value.hint


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (sqlite3.OperationalError("database is locked"), "memory_locked"),
        (sqlite3.OperationalError("database or disk is full"), "disk_full"),
        (sqlite3.DatabaseError("file is not a database"), "memory_broken"),
        (sqlite3.OperationalError("unable to open database file"), "memory_unreachable"),
        (PermissionError(), "memory_unreachable"),
    ],
)
def test_a_failing_memory_has_a_name(failure: Exception, code: str) -> None:
    found = memory_failure(failure, FILE)
    assert found is not None
    assert found.code == code


def test_a_conversation_is_addressed_by_its_id() -> None:
    assert thread_config("t") == {"configurable": {"thread_id": "t"}}


async def test_a_memory_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    async with open_memory(tmp_path):
        (tmp_path / FILE).chmod(0o644)
    async with open_memory(tmp_path):
        assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


async def test_a_closed_memory_says_that_it_is_closed_and_not_that_conversations_are_damaged(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        machine = Machine(ANSWER, memory=memory)
        assert (await machine.agent.ask("What is a node?", thread_id="t")).error is None
    with pytest.raises(UsageError, match="closed"):
        await machine.agent.ask("And then?", thread_id="t")
    with pytest.raises(UsageError, match="closed"):
        await machine.agent.graph.ainvoke({"messages": [HumanMessage("And then?")]}, thread_config("t"))
    with pytest.raises(UsageError, match="closed"):
        await machine.agent.threads()
