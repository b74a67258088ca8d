"""A prompt knows the older turns that it has room for, whether they stand in the state or in the archive."""

from __future__ import annotations

import re
from typing import Any

import pytest
from langgraph.store.base import PutOp

from graph.memory import Memory
from graph.storage import SealedStore
from nodes import archive
from nodes.archive import BLOCK, WINDOW, namespace_of
from rag.errors import MemoryFailureError
from rag.profiles.profile import Profile, load_profile
from tests.machine import ANSWER, Machine

MANY = WINDOW + 4 * BLOCK


async def talked(machine: Machine, number: int = MANY) -> list[int]:
    """Ask `number` questions; returns the numbers of those that the last prompt knows, as it has them."""
    machine.model.script += [ANSWER] * number
    for one in range(1, number + 1):
        assert (await machine.agent.ask(f"Question {one}?", thread_id="t")).error is None
    return known(machine)


async def one_more(machine: Machine) -> list[int]:
    """Ask another question; returns the numbers of those that its prompt knows."""
    machine.model.script += [ANSWER]
    assert (await machine.agent.ask("One more?", thread_id="t")).error is None
    return known(machine)


def known(machine: Machine) -> list[int]:
    return [int(number) for number in re.findall(r"Question (\d+)\?", machine.prompt())]


def windowed(tokens: int) -> Profile:
    profile = load_profile("default")
    return profile.model_copy(update={"model": profile.model.model_copy(update={"context_window": tokens})})


async def test_the_oldest_turns_give_way_where_the_window_is_small() -> None:
    numbers = await talked(Machine(profile=windowed(1800)))
    assert WINDOW + BLOCK < len(numbers) < MANY
    assert numbers == list(range(MANY + 1 - len(numbers), MANY + 1))


async def test_the_archive_is_not_read_for_what_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    async def remembers(*asked: object) -> Any:
        read.append(asked)

    monkeypatch.setattr(archive, "get_blocks", remembers)
    numbers = await talked(Machine(profile=windowed(800)))  # the state's turns alone are more than it has room for
    assert read == []
    assert numbers == list(range(MANY + 1 - len(numbers), MANY + 1))


async def test_the_archive_is_read_in_few_requests_and_a_turn_that_was_taken_back_is_in_no_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each block was a request of its own, so a turn took longer with every block of the conversation."""
    machine, asked, real, many = Machine(), [], archive.get_blocks, WINDOW + 12 * BLOCK
    assert len(await talked(machine, many)) == many

    async def counts(*arguments: Any) -> Any:
        asked.append(arguments)
        return await real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(archive, "get_blocks", counts)
        assert await one_more(machine) == list(range(1, many + 1))
        patch.setattr(archive, "_MOST", 2)
        newest = await one_more(machine)
        assert WINDOW + 2 * BLOCK - 2 <= len(newest) <= WINDOW + 3 * BLOCK - 3
        assert newest[-1] == many
    assert 2 <= len(asked) <= 3
    for _ in range(2 + WINDOW + BLOCK):
        await machine.agent.undo("t")
    assert await one_more(machine) == list(range(1, many - WINDOW - BLOCK + 1))


async def test_a_prompt_knows_the_archive_too_and_what_came_after_a_damaged_or_missing_block(memory: Memory) -> None:
    """Nothing from beyond a gap is taken for what came just before."""
    machine = Machine(memory=memory)
    assert await talked(machine) == list(range(1, MANY + 1))
    store = memory.database.store
    assert store is not None
    inner = store.inner if isinstance(store, SealedStore) else store
    for value in ({"type": "msgpack", "data": "AAAA"}, None):
        await inner.abatch([PutOp(namespace_of("t"), "2", value)])
        assert await one_more(machine) == list(range(2 * BLOCK + 1, MANY + 1)), value


async def test_while_the_archive_cannot_be_read_the_turns_of_the_state_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fails(*_: object) -> Any:
        raise MemoryFailureError("memory_locked", "The file is locked.")

    monkeypatch.setattr(archive, "get_blocks", fails)
    numbers = await talked(Machine())
    assert WINDOW <= len(numbers) <= WINDOW + BLOCK
    assert numbers[-1] == MANY
