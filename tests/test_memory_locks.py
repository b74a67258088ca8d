"""One turn at a time on a conversation: nothing interleaves, and whoever cannot have it is told so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from graph.memory import Memory, MemoryOptions, ThreadLocks, open_memory
from graph.sqlite_file import FileLocks
from rag.errors import MemoryFailureError
from tests.machine import ANSWER, Machine

HASTY = 0.02  # seconds that a test waits in vain


@pytest.fixture(params=["sqlite", "postgres"])
async def two(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Memory, Memory]]:
    """Two memories over one database, as two processes have them; the second is in a hurry."""
    url = request.getfixturevalue("emptied_url") if request.param == "postgres" else None
    patient, hasty = MemoryOptions(url), MemoryOptions(url, wait_seconds=HASTY)
    async with open_memory(tmp_path, options=patient) as one, open_memory(tmp_path, options=hasty) as other:
        yield one, other


async def test_a_second_turn_of_another_process_is_told_to_wait(two: tuple[Memory, Memory]) -> None:
    machine = Machine(ANSWER, memory=two[1])
    async with two[0].turn("t"):
        response = await machine.agent.ask("What is a node?", thread_id="t")
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("memory_error", "thread_busy")
    assert response.error.recoverable
    assert (await machine.agent.ask("What is a node?", thread_id="t")).turn_number == 1


async def test_another_conversation_is_not_held_up(two: tuple[Memory, Memory]) -> None:
    entered = False
    async with two[0].turn("t"), two[1].turn("u"):
        entered = True
    assert entered


@pytest.mark.parametrize("method", ["undo", "clear", "retry"])
async def test_a_running_turn_is_not_pulled_away(two: tuple[Memory, Memory], method: str) -> None:
    await Machine(ANSWER, memory=two[0]).agent.ask("What is a node?", thread_id="t")
    machine = Machine(memory=two[1])
    async with two[0].turn("t"):
        with pytest.raises(MemoryFailureError) as caught:
            await getattr(machine.agent, method)("t")
    assert caught.value.code == "thread_busy"
    assert len((await machine.agent.conversation("t"))["turns"]) == 1


async def test_turns_of_two_processes_on_one_conversation_follow_each_other(two: tuple[Memory, Memory]) -> None:
    machines = [Machine(*[ANSWER] * 4, memory=one) for one in (two[0], Memory(two[1].database))]
    asked = [(machine, f"{name}{n}?") for n in range(4) for name, machine in zip("ab", machines, strict=True)]
    responses = await asyncio.gather(*(machine.agent.ask(question, thread_id="t") for machine, question in asked))
    assert sorted(response.turn_number for response in responses) == list(range(1, 9))
    turns = (await machines[0].agent.conversation("t"))["turns"]
    assert sorted(turn["question"] for turn in turns) == sorted(question for _, question in asked)
    assert [turn["turn_number"] for turn in turns] == list(range(1, 9))


async def test_many_conversations_at_once_do_not_mix(memory: Memory) -> None:
    machine = Machine(*[ANSWER] * 36, memory=memory)

    async def converse(thread: str) -> None:
        for number in range(3):
            response = await machine.agent.ask(f"{thread} {number}?", thread_id=thread)
            assert (response.thread_id, response.turn_number) == (thread, number + 1)

    threads = [f"t{n}" for n in range(12)]  # more than a program opens connections
    await asyncio.gather(*(converse(thread) for thread in threads))
    for thread in threads:
        turns = (await machine.agent.conversation(thread))["turns"]
        assert [turn["question"] for turn in turns] == [f"{thread} {number}?" for number in range(3)]


async def test_a_conversation_is_free_when_its_response_is_given_out(memory: Memory) -> None:
    machine, free = Machine(ANSWER, memory=memory), []
    async for event in machine.agent.stream("What is a node?", thread_id="t"):
        if event.response is not None:
            async with asyncio.timeout(1), memory.turn("t"):
                free.append(event.response.status)
    assert free == ["success"]


async def test_who_stops_listening_leaves_the_conversation_free(memory: Memory) -> None:
    machine = Machine(ANSWER, memory=memory)
    async with aclosing(machine.agent.stream("What is a node?", thread_id="t")) as events:
        async for _ in events:
            break
    async with asyncio.timeout(1), memory.turn("t"):
        pass
    assert await machine.agent.unfinished("t") == "What is a node?"


# --- on a server ----------------------------------------------------------------------------------------------------


def end_sessions_of_locks(url: SecretStr) -> None:
    """As an administrator does, or a network that forgets what is idle."""
    with psycopg.connect(url.get_secret_value(), autocommit=True) as other:
        others = "from pg_stat_activity where pid <> pg_backend_pid()"
        other.execute(f"select pg_terminate_backend(pid) {others} and query like '%advisory%'")


async def test_a_session_of_locks_that_ended_while_nothing_ran_is_replaced(
    database_url: SecretStr, tmp_path: Path
) -> None:
    async with open_memory(tmp_path, options=MemoryOptions(database_url)) as memory:
        machine = Machine(ANSWER, ANSWER, memory=memory)
        await machine.agent.ask("What is a node?", thread_id="t")
        end_sessions_of_locks(database_url)
        assert (await machine.agent.ask("And then?", thread_id="t")).turn_number == 2


async def test_a_session_of_locks_that_ends_during_a_turn_costs_no_answer(
    database_url: SecretStr, tmp_path: Path
) -> None:
    async with open_memory(tmp_path, options=MemoryOptions(database_url)) as memory:
        machine = Machine(ANSWER, memory=memory)
        async for event in machine.agent.stream("What is a node?", thread_id="t"):
            if event.type == "retrieval":
                end_sessions_of_locks(database_url)
        assert event.response is not None
        assert event.response.status == "success"
        async with asyncio.timeout(1), memory.turn("t"):
            pass


# --- in one process -------------------------------------------------------------------------------------------------


@asynccontextmanager
async def nobody_else(_thread_id: str) -> AsyncIterator[bool]:
    yield True


async def test_turns_of_one_process_queue_in_their_order_and_run_alone() -> None:
    """Earlier turns take longer, so without the lock the last would end first."""
    locks, ended, inside = ThreadLocks(nobody_else), list[int](), set[int]()

    async def turn(number: int) -> None:
        async with locks.held("t"):
            inside.add(number)
            for _ in range(10 - number):
                await asyncio.sleep(0)
                assert inside == {number}
            inside.remove(number)
            ended.append(number)

    await asyncio.gather(*(turn(number) for number in range(10)))
    assert ended == list(range(10))


async def test_who_waits_too_long_is_told_the_conversation_and_what_to_do() -> None:
    locks = ThreadLocks(nobody_else, HASTY)
    async with locks.held("t"):
        with pytest.raises(MemoryFailureError, match='"t"') as caught:
            async with locks.held("t"):
                pass
    assert caught.value.hint


async def test_a_turn_that_is_cancelled_while_it_waits_is_in_nobodys_way() -> None:
    locks = ThreadLocks(nobody_else)
    async with locks.held("t"):
        waiting = asyncio.ensure_future(locks.held("t").__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with locks.held("t"):
        pass


async def test_nothing_is_kept_of_a_conversation_that_nobody_holds() -> None:
    locks = ThreadLocks(nobody_else)
    async with locks.held("t"):
        pass
    assert not locks._locks
    assert not locks._users


# --- files ----------------------------------------------------------------------------------------------------------


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_lock_leaves_no_file_and_its_file_no_name(tmp_path: Path) -> None:
    locks = FileLocks(tmp_path, "the memory")
    async with locks.tried("a conversation") as had:
        assert had
        (file,) = files(tmp_path)
        assert "conversation" not in file.name
        assert file.stat().st_mode & 0o777 == 0o600
    assert not files(tmp_path)


async def test_a_file_that_a_dead_process_left_is_in_nobodys_way(tmp_path: Path) -> None:
    locks = FileLocks(tmp_path, "the memory")
    async with locks.tried("t"):
        (file,) = files(tmp_path)
    file.touch()
    async with locks.tried("t") as had:
        assert had


async def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(MemoryFailureError):
        async with FileLocks(tmp_path / "nowhere", "the memory").tried("t"):
            pass
