"""A turn that was broken off: it is finished where it stopped, or left behind, and nothing is lost or doubled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from graph.memory import Memory
from graph.storage import thread_config
from rag.errors import UsageError
from rag.types import Response
from state import Context, InputState
from tests.fakes import passage
from tests.machine import ANSWER, Machine

STEPS = ("IDLE", "RETRIEVING", "GENERATING")


async def broken_off(machine: Machine, before: str, question: str = "What is a node?", **context: Any) -> None:
    """Leave a turn as a process that is killed before it enters a node."""
    start = InputState(messages=[HumanMessage(question)], metadata={"client": "a"})
    graph, config = machine.graph, thread_config("t")
    options: dict[str, Any] = {"interrupt_before": [before], "context": Context(**context), "durability": "sync"}
    assert [step async for step in graph.astream(start, config, **options)]


async def resumed(machine: Machine) -> Response:
    events = [event async for event in machine.agent.resume("t")]
    assert events[-1].response is not None
    return events[-1].response


async def questions(machine: Machine) -> list[str]:
    return [turn["question"] for turn in (await machine.agent.conversation("t"))["turns"]]


@pytest.mark.parametrize("before", STEPS)
async def test_a_turn_is_finished_where_it_was_broken_off(memory: Memory, before: str) -> None:
    await broken_off(Machine(memory=memory), before)
    machine = Machine(ANSWER, memory=memory)
    assert await machine.agent.unfinished("t") == "What is a node?"
    response = await resumed(machine)
    assert (response.status, response.turn_number, response.metadata) == ("success", 1, {"client": "a"})
    assert await questions(machine) == ["What is a node?"]
    assert await machine.agent.unfinished("t") is None


async def test_what_was_found_is_not_searched_again(memory: Memory) -> None:
    await broken_off(Machine(memory=memory, passages=[passage(text="A node is found.")]), "GENERATING")
    machine = Machine("A node is found [1].", memory=memory, passages=[])
    response = await resumed(machine)
    assert machine.searcher.asked == []
    assert response.citations[0].quote == "A node is found."


async def test_a_turn_is_finished_with_the_knobs_that_it_began_with(memory: Memory) -> None:
    await broken_off(Machine(memory=memory), "GENERATING", citation_style="chapter", temperature=0.5)
    machine = Machine(ANSWER, memory=memory)
    assert (await resumed(machine)).content == "A node is a process (from Page 1, Nodes)."
    assert machine.model.options[-1]["temperature"] == 0.5


async def test_a_turn_whose_search_was_done_and_not_yet_taken_is_finished_without_another(memory: Memory) -> None:
    await broken_off(Machine(memory=memory), "RETRIEVING")
    head = await Machine(memory=memory).graph.aget_state(thread_config("t"))
    found = {"phase": "GENERATING", "passages": [passage().model_dump(mode="json")], "branch:to:GENERATING": None}
    await memory.database.saver.aput_writes(head.config, list(found.items()), head.tasks[0].id)
    machine = Machine(ANSWER, memory=memory)
    assert await machine.agent.unfinished("t") == "What is a node?"
    assert (await resumed(machine)).status == "success"
    assert machine.searcher.asked == []


@pytest.mark.parametrize("before", STEPS)
async def test_a_new_question_leaves_the_broken_turn_behind(memory: Memory, before: str) -> None:
    await broken_off(Machine(memory=memory), before, "What is a wreck?")
    machine = Machine(ANSWER, memory=memory)
    response = await machine.agent.ask("What is a node?", thread_id="t")
    assert response.status == "success"
    assert "wreck" not in machine.prompt()
    assert await questions(machine) == ["What is a node?"]
    assert await machine.agent.unfinished("t") is None


@pytest.mark.parametrize("before", STEPS)
async def test_a_broken_turn_can_be_taken_back_and_asked_again(memory: Memory, before: str) -> None:
    await broken_off(Machine(memory=memory), before)
    machine = Machine(ANSWER, memory=memory)
    assert (await machine.agent.retry("t")).turn_number == 1
    assert await questions(machine) == ["What is a node?"]


async def test_a_conversation_tells_of_the_question_that_was_broken_off(memory: Memory) -> None:
    machine = Machine(ANSWER, memory=memory)
    await machine.agent.ask("What is a node?", thread_id="t")
    assert (await machine.agent.conversation("t"))["unanswered"] is None
    await broken_off(machine, "GENERATING", "And then?")
    assert (await machine.agent.conversation("t"))["unanswered"] == "And then?"
    summary = await memory.summary("t")
    assert summary is not None
    assert (summary["turns"], summary["unanswered"]) == (1, "And then?")


@pytest.mark.parametrize("script", [(), (ANSWER,)])
async def test_without_a_broken_turn_there_is_nothing_to_finish(memory: Memory, script: Sequence[str]) -> None:
    machine = Machine(*script, memory=memory)
    for _ in script:
        await machine.agent.ask("What is a node?", thread_id="t")
    assert await machine.agent.unfinished("t") is None
    with pytest.raises(UsageError) as caught:
        await resumed(machine)
    assert caught.value.code == "nothing_to_resume"


async def left_behind(memory: Memory) -> Machine:
    """A conversation of two turns whose last question was being asked again when the process was killed."""
    machine = Machine("A node is old [1].", ANSWER, memory=memory, passages=[passage(text="A node is old, a process.")])
    await machine.agent.ask("What is a first?", thread_id="t")
    await machine.agent.ask("What is a node?", thread_id="t")
    stuck = Machine(["A node ", asyncio.Event()], memory=memory)
    events = stuck.agent.stream_retry("t")
    async for event in events:
        if event.type == "phase" and event.data["phase"] == "GENERATING":
            break
    await events.aclose()
    return machine


async def test_a_retry_that_was_killed_leaves_the_old_answer(memory: Memory) -> None:
    await left_behind(memory)
    machine = Machine(ANSWER, memory=memory)
    told = await machine.agent.conversation("t")
    assert [turn["plain_content"] for turn in told["turns"]] == ["A node is old [1].", ANSWER]
    assert told["unanswered"] is None
    summary = await memory.summary("t")
    assert summary is not None
    assert (summary["turns"], summary["unanswered"]) == (2, None)
    response = await machine.agent.ask("And then?", thread_id="t")
    assert response.turn_number == 3
    assert await questions(machine) == ["What is a first?", "What is a node?", "And then?"]
    assert "A node is a process" in machine.prompt()


async def test_a_retry_that_was_killed_can_be_finished_asked_again_or_taken_back(memory: Memory) -> None:
    await left_behind(memory)
    machine = Machine("A node is a process, again [1].", ANSWER, memory=memory)
    assert (await machine.agent.retry("t")).turn_number == 2
    assert await questions(machine) == ["What is a first?", "What is a node?"]
    assert (await machine.agent.ask("And then?", thread_id="t")).turn_number == 3
    assert await machine.agent.undo("t") == "And then?"
    assert await machine.agent.undo("t") == "What is a node?"
    assert await questions(machine) == ["What is a first?"]


async def test_a_retry_that_was_killed_is_finished_with_another_answer(memory: Memory) -> None:
    await left_behind(memory)
    machine = Machine("A node is a process [1].", memory=memory)
    assert (await resumed(machine)).turn_number == 2
    assert len(await questions(machine)) == 2


async def test_an_invalid_question_after_a_killed_retry_loses_nothing(memory: Memory) -> None:
    await left_behind(memory)
    machine = Machine(memory=memory)
    await machine.graph.ainvoke(InputState(messages=[HumanMessage("  ")]), thread_config("t"))
    assert await questions(machine) == ["What is a first?", "What is a node?"]
