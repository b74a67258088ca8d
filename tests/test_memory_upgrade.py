"""A database of an earlier version, in which the state held the whole conversation, goes on as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiosqlite
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from graph.build import build_graph
from graph.memory import FILE, open_memory
from graph.storage import thread_config
from nodes.archive import BLOCK, WINDOW
from rag.conversation.turns import turns
from state import InputState
from tests.machine import ANSWER, Machine

MANY = WINDOW + 3 * BLOCK + 1


async def as_it_was(home: Path, number: int, *, broken_off: bool = False) -> None:
    """A database as askbook made it before there was an archive: every step of every turn, all turns in the state."""
    machine = Machine(*[ANSWER] * number)
    async with aiosqlite.connect(home / FILE) as connection:
        saver = AsyncSqliteSaver(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
        graph = build_graph(machine.services).compile(checkpointer=saver)
        config: Any = thread_config("t")
        for one in range(number):
            await graph.ainvoke(InputState(messages=[HumanMessage(f"Question {one}?")]), config)
        if broken_off:
            start = InputState(messages=[HumanMessage("What is a wreck?")])
            assert [one async for one in graph.astream(start, config, interrupt_before=["GENERATING"])]
            opened = (await graph.aget_state(config)).values["turn"]
            without = {name: value for name, value in opened.items() if name != "context"}
            await graph.aupdate_state(config, {"turn": without}, as_node="RETRIEVING")


async def test_an_old_conversation_is_whole_before_and_after_it_goes_on(tmp_path: Path) -> None:
    await as_it_was(tmp_path, MANY)
    asked = [f"Question {number}?" for number in range(MANY)]
    async with open_memory(tmp_path) as memory:
        machine = Machine(ANSWER, memory=memory)
        assert [turn["question"] for turn in (await machine.agent.conversation("t"))["turns"]] == asked
        assert (await machine.agent.ask("And then?", thread_id="t")).turn_number == MANY + 1
        assert len(turns((await machine.state())["messages"])) < WINDOW + BLOCK
        whole = await machine.agent.conversation("t")
    assert [turn["question"] for turn in whole["turns"]] == [*asked, "And then?"]
    assert [turn["turn_number"] for turn in whole["turns"]] == list(range(1, MANY + 2))
    assert all(turn["citations"] for turn in whole["turns"])


async def test_the_steps_of_an_old_conversation_are_gone_once_it_has_gone_on(tmp_path: Path) -> None:
    await as_it_was(tmp_path, MANY)
    async with open_memory(tmp_path) as memory:
        machine = Machine(ANSWER, ANSWER, memory=memory)
        before = len([one async for one in machine.graph.aget_state_history(thread_config("t"))])
        for question in ("And then?", "And after that?"):
            await machine.agent.ask(question, thread_id="t")
        after = len([one async for one in machine.graph.aget_state_history(thread_config("t"))])
    assert before > 5 * MANY
    assert after < 12


async def test_an_old_conversation_can_be_taken_back_and_deleted(tmp_path: Path) -> None:
    await as_it_was(tmp_path, 2)
    async with open_memory(tmp_path) as memory:
        machine = Machine(memory=memory)
        assert await machine.agent.undo("t") == "Question 1?"
        await machine.agent.clear("t")
        assert await memory.threads() == []


async def test_a_turn_that_an_old_version_was_stopped_in_can_be_finished(tmp_path: Path) -> None:
    await as_it_was(tmp_path, 1, broken_off=True)
    async with open_memory(tmp_path) as memory:
        machine = Machine(ANSWER, memory=memory)
        assert await machine.agent.unfinished("t") == "What is a wreck?"
        events = [event async for event in machine.agent.resume("t")]
        assert events[-1].response is not None
        assert events[-1].response.turn_number == 2
