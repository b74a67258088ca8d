"""The archive: old turns leave the state, and the conversation is whole all the same."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from graph.memory import Memory
from graph.storage import thread_config
from nodes import archive
from nodes.archive import BLOCK, EMPTY_ARCHIVE, WINDOW, blocks_to_archive, namespace_of, with_blocks, without_block
from rag.answer.render import WORDS_ONLY
from rag.conversation.turns import turns
from rag.errors import MemoryFailureError, UsageError
from state import InputState
from tests.machine import ANSWER, Machine
from tests.stage import limited

MANY = WINDOW + 2 * BLOCK + 1


async def converse(machine: Machine, number: int, thread: str = "t") -> list[str]:
    """Ask `number` questions; returns them."""
    asked = [f"Question {one}?" for one in range(1, number + 1)]
    machine.model.script += [ANSWER] * number
    for question in asked:
        assert (await machine.agent.ask(question, thread_id=thread)).error is None
    return asked


async def questions(machine: Machine, thread: str = "t") -> list[str]:
    return [turn["question"] for turn in (await machine.agent.conversation(thread))["turns"]]


def turn(number: int) -> list[AnyMessage]:
    """A question and its answer, as they are remembered."""
    record = {
        "request_id": f"r{number}",
        "question": f"Q{number}",
        "created_at": f"day {number}",
        "turn_number": number,
    }
    tokens = {"tokens_used": {"total": 10}}
    return [HumanMessage(f"Q{number}", id=f"q{number}"), AIMessage("A", response_metadata=record | tokens)]


def conversation(number: int) -> list[AnyMessage]:
    return [message for one in range(1, number + 1) for message in turn(one)]


def split(messages: list[AnyMessage], **sizes: int) -> tuple[list[list[AnyMessage]], list[AnyMessage]]:
    """The blocks to archive, and the messages that stay."""
    blocks = blocks_to_archive(messages, **sizes)
    return blocks, messages[sum(map(len, blocks)) :]


# --- which turns leave ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(30))
def test_no_message_is_lost_and_none_is_doubled_by_a_cut(number: int) -> None:
    messages = conversation(number)
    to_archive, staying = split(messages)
    assert [message for block in to_archive for message in block] + staying == messages


@pytest.mark.parametrize("number", range(30))
def test_the_window_stays_and_what_leaves_leaves_in_whole_blocks(number: int) -> None:
    to_archive, staying = split(conversation(number))
    assert min(number, WINDOW) <= len(turns(staying)) < WINDOW + BLOCK
    assert all(len(turns(block)) == BLOCK for block in to_archive)


def test_a_question_that_was_broken_off_goes_with_the_turn_after_it() -> None:
    to_archive, staying = split([HumanMessage("Lost?", id="lost"), *conversation(3)], window=1, block=1)
    assert [message.text for message in to_archive[0]] == ["Lost?", "Q1", "A"]
    assert len(staying) == 2


def test_a_question_without_an_answer_yet_stays() -> None:
    _, staying = split([*conversation(3), HumanMessage("Open?", id="open")], window=0, block=1)
    assert [message.text for message in staying] == ["Open?"]


def test_what_is_known_of_turns_adds_up_and_comes_off_again() -> None:
    blocks = blocks_to_archive(conversation(4), window=0, block=2)
    one, two = with_blocks(EMPTY_ARCHIVE, blocks[:1]), with_blocks(EMPTY_ARCHIVE, blocks)
    assert two == {
        "blocks": 2,
        "turns": 4,
        "messages": 8,
        "first_question": "Q1",
    }
    assert without_block(two, blocks[1]) == one
    assert without_block(one, blocks[0]) == EMPTY_ARCHIVE


# --- in a conversation ----------------------------------------------------------------------------------------------


async def test_a_long_conversation_stays_whole_while_the_state_stays_small(memory: Memory) -> None:
    machine = Machine(memory=memory, profile=limited(max_messages=2 * MANY))
    asked = await converse(machine, MANY - 1)
    # Messages are counted with those in the archive.
    machine.model.script += [ANSWER]
    asked.append(f"Question {MANY}?")
    long, *others = (await machine.agent.ask(asked[-1], thread_id="t")).notices
    assert f"{2 * MANY + 1} messages" in long
    assert others == [WORDS_ONLY]
    assert len(turns((await machine.state())["messages"])) < WINDOW + BLOCK
    assert await questions(machine) == asked
    # An archived turn keeps its citations.
    found = (await machine.agent.conversation("t"))["turns"]
    assert all(one["citations"][0]["quote"] == found[-1]["citations"][0]["quote"] for one in found)
    # A list knows of archived turns without reading them.
    short, whole = await memory.summary("t"), await memory.conversation("t")
    assert short is not None
    assert whole is not None
    assert (short["turns"], short["first_question"]) == (MANY, "Question 1?")
    assert whole["turn_count"] == MANY
    # A prompt sees no turn twice.
    assert all(machine.prompt().count(f"Question {number}?") <= 1 for number in range(1, MANY + 1))
    # After some turns are taken back it goes on with the right number.
    for _ in range(WINDOW + 1):
        assert await machine.agent.undo("t") == asked.pop()
    machine.model.script[:] = [ANSWER] * MANY
    again = [f"Again {n}?" for n in range(MANY)]
    numbers = [(await machine.agent.ask(question, thread_id="t")).turn_number for question in again]
    assert numbers == list(range(len(asked) + 1, len(asked) + 1 + MANY))
    asked += again
    assert await questions(machine) == asked
    # The conversation can be taken back to its beginning.
    while asked:
        assert await machine.agent.undo("t") == asked.pop()
        assert await questions(machine) == asked
    with pytest.raises(UsageError, match="no turn to undo"):
        await machine.agent.undo("t")


async def test_a_forgotten_conversation_leaves_nothing_in_the_archive(memory: Memory) -> None:
    machine, many = Machine(memory=memory), WINDOW + BLOCK
    for thread in ("t", "t.1", "T"):
        await converse(machine, many, thread)
        assert len(turns((await machine.state(thread))["messages"])) < many, thread
    await machine.agent.clear("t")
    await converse(machine, 1)
    assert await questions(machine) == ["Question 1?"]
    assert len(await questions(machine, "t.1")) == len(await questions(machine, "T")) == many


def test_ids_with_full_stops_do_not_meet() -> None:
    assert len({namespace_of(one) for one in ("a.b", "a%2Eb", "a", "A.B")}) == 4


# --- without an archive, and with one that fails --------------------------------------------------------------------


async def test_without_a_store_all_turns_stay_in_the_state() -> None:
    machine = Machine()
    graph = archive_free(machine)
    machine.model.script += [ANSWER] * MANY
    for number in range(MANY):
        await graph.ainvoke(InputState(messages=[HumanMessage(f"Question {number}?")]), thread_config("t"))
    state = await graph.aget_state(thread_config("t"))
    assert len(turns(state.values["messages"])) == MANY


def archive_free(machine: Machine) -> Any:
    from graph.build import build_graph

    return build_graph(machine.services).compile(checkpointer=InMemorySaver())


async def test_a_store_of_another_program_is_used_as_it_is() -> None:
    from graph.build import build_graph

    machine, store = Machine(*[ANSWER] * MANY), InMemoryStore()
    graph = build_graph(machine.services).compile(checkpointer=InMemorySaver(), store=store)
    for number in range(MANY):
        await graph.ainvoke(InputState(messages=[HumanMessage(f"Question {number}?")]), thread_config("t"))
    first = await store.aget(namespace_of("t"), "1")
    assert first is not None
    assert first.value["messages"][0]["data"]["content"] == "Question 0?"


async def test_while_the_archive_fails_answers_come_and_nothing_is_lost(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(memory=memory)

    async def fails(*_: object, **__: object) -> None:
        raise MemoryFailureError("disk_full", "There is no room.")

    with monkeypatch.context() as patch:
        patch.setattr(archive, "put_blocks", fails)
        asked = await converse(machine, MANY)
        assert len(turns((await machine.state())["messages"])) == MANY
    machine.model.script += [ANSWER]
    await machine.agent.ask("One more?", thread_id="t")
    assert len(turns((await machine.state())["messages"])) < WINDOW + BLOCK
    assert await questions(machine) == [*asked, "One more?"]


async def test_a_block_that_is_written_again_after_a_crash_is_there_once(memory: Memory) -> None:
    machine = Machine(memory=memory)
    asked = await converse(machine, WINDOW + BLOCK - 1)
    messages = (await machine.state())["messages"]
    assert memory.database.store is not None
    await archive.put_blocks(memory.database.store, "t", [messages[: 2 * BLOCK]], after=0)  # and then it was killed
    assert await questions(machine) == asked
    machine.model.script += [ANSWER]
    await machine.agent.ask("One more?", thread_id="t")
    assert await questions(machine) == [*asked, "One more?"]
