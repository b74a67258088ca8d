"""The agent as programs use it: ask, stream, undo, retry, clear, and go on in another process."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from graph.memory import open_memory
from graph.storage import thread_config
from rag.errors import USER_MESSAGES, UsageError
from rag.types import Event
from state import Context, InputState
from tests.fakes import final, passage
from tests.machine import ANSWER, Machine
from tests.stage import limited


def stored(home: Path) -> bytes:
    """Everything that the memory has on disk."""
    return b"".join(file.read_bytes() for file in home.iterdir() if file.is_file())


async def events(machine: Machine, question: str) -> list[Event]:
    return [event async for event in machine.agent.stream(question, thread_id="t")]


# --- asking ---------------------------------------------------------------------------------------------------------


async def test_a_question_gets_a_response() -> None:
    response = await Machine(ANSWER).agent.ask("What is a node?", thread_id="t", metadata={"client": "a"})
    assert (response.status, response.plain_content, response.thread_id) == ("success", ANSWER, "t")
    assert response.metadata == {"client": "a"}


async def test_without_a_thread_each_question_begins_a_conversation() -> None:
    agent = Machine(ANSWER, ANSWER).agent
    first, second = await agent.ask("What is a node?"), await agent.ask("What is a node?")
    assert first.thread_id != second.thread_id
    assert await agent.threads() == [second.thread_id, first.thread_id]


async def test_a_turn_is_streamed_in_the_order_in_which_it_happens() -> None:
    found = await events(Machine(ANSWER), "What is a node?")
    types = [event.data["phase"] if event.type == "phase" else event.type for event in found]
    assert types == ["RETRIEVING", "retrieval", "GENERATING", "sentence", "sentence", "IDLE", "response"]


async def test_the_sentences_of_a_stream_are_the_content() -> None:
    found = await events(Machine("A node [1]. It talks [9].\n\n- And more [1]."), "What is a node?")
    assert found[-1].response is not None
    assert "".join(event.data["text"] for event in found if event.type == "sentence") == found[-1].response.content


async def test_the_last_event_is_the_response_as_object_and_as_data() -> None:
    last = (await events(Machine(ANSWER), "What is a node?"))[-1]
    assert last.response is not None
    assert last.data == last.response.model_dump(mode="json")


async def test_the_context_of_the_caller_reaches_the_turn() -> None:
    machine = Machine(ANSWER)
    response = await machine.agent.ask("What is a node?", context=Context(top_k=2, citation_style="chapter"))
    assert machine.searcher.asked[0][1] == 2
    assert response.content == "A node is a process (from Page 1, Nodes)."


async def test_conversations_at_the_same_time_do_not_mix() -> None:
    machine = Machine(*[ANSWER] * 8)
    threads = [f"t{n}" for n in range(8)]
    responses = await asyncio.gather(*(machine.agent.ask(f"About {one}?", thread_id=one) for one in threads))
    assert [response.thread_id for response in responses] == threads
    for one in threads:
        assert (await machine.contents(one))[0] == f"About {one}?"


# --- what can go wrong ----------------------------------------------------------------------------------------------


async def test_a_failed_turn_comes_back_as_a_response() -> None:
    response = await Machine(final()).agent.ask("What is a node?")
    assert response.error is not None
    assert (response.status, response.error.code) == ("error", "wrong_key")
    assert response.content == USER_MESSAGES["auth_error"]


@pytest.mark.parametrize(
    ("question", "code"), [(" ", "empty_question"), ("\u200b", "empty_question"), ("x" * 2001, "question_too_long")]
)
async def test_an_invalid_question_stores_nothing(question: str, code: str) -> None:
    machine = Machine()
    response = await machine.agent.ask(question, thread_id="t")
    assert response.error is not None
    assert (response.error.code, response.turn_number) == (code, 1)
    assert await machine.agent.threads() == []


async def test_an_invalid_question_is_numbered_as_the_turn_it_would_have_been() -> None:
    machine = Machine(ANSWER)
    await machine.agent.ask("What is a node?", thread_id="t")
    assert (await machine.agent.ask("", thread_id="t")).turn_number == 2


async def test_an_unknown_profile_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="nobody"):
        await Machine().agent.ask("What is a node?", context=Context(profile="nobody"))


async def test_a_memory_that_fails_is_a_response(tmp_path: Path) -> None:
    async with open_memory(tmp_path, persistent=True) as memory:
        machine = Machine(ANSWER, memory=memory)
        await memory.database.saver.conn.execute("drop table writes")  # type: ignore[attr-defined]  # AsyncSqliteSaver's own
        response = await machine.agent.ask("What is a node?")
    assert response.error is not None
    assert response.error.error_type == "memory_error"
    assert response.content == USER_MESSAGES["memory_error"]


async def test_a_memory_that_fails_in_an_invalid_turn_is_a_response(tmp_path: Path) -> None:
    async with open_memory(tmp_path, persistent=True) as memory:
        machine = Machine(memory=memory)
        await memory.database.saver.conn.execute("drop table checkpoints")  # type: ignore[attr-defined]  # AsyncSqliteSaver's own
        response = await machine.agent.ask("", thread_id="t")
    assert response.status == "error"


async def test_a_failure_that_cannot_be_reported_is_still_a_response(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("the report failed")

    machine = Machine(ANSWER)
    monkeypatch.setattr("nodes.idle.retrieved_chunk", fails)
    response = await machine.agent.ask("What is a node?")
    assert response.error is not None
    assert response.error.code == "internal"


# --- undo, retry, clear ---------------------------------------------------------------------------------------------


async def test_undo_takes_the_last_turn_back() -> None:
    machine = Machine(ANSWER, ANSWER)
    await machine.agent.ask("First?", thread_id="t")
    await machine.agent.ask("Second?", thread_id="t")
    assert await machine.agent.undo("t") == "Second?"
    assert (await machine.contents())[0] == "First?"
    assert len(await machine.contents()) == 2


async def test_a_turn_that_was_undone_is_in_no_later_prompt_and_counts_for_nothing() -> None:
    machine = Machine(ANSWER, ANSWER, ANSWER)
    for question in ("First?", "Second?"):
        await machine.agent.ask(question, thread_id="t")
    await machine.agent.undo("t")
    assert (await machine.agent.ask("Third?", thread_id="t")).turn_number == 2
    assert "Second?" not in machine.prompt()


async def test_every_turn_can_be_undone_down_to_none() -> None:
    machine = Machine(ANSWER, ANSWER)
    for question in ("First?", "Second?"):
        await machine.agent.ask(question, thread_id="t")
    assert [await machine.agent.undo("t") for _ in range(2)] == ["Second?", "First?"]
    with pytest.raises(UsageError, match="no turn to undo") as none_left:
        await machine.agent.undo("t")
    assert none_left.value.code == "nothing_to_undo"


async def test_a_failed_turn_can_be_undone() -> None:
    machine = Machine(final(), ANSWER)
    await machine.agent.ask("What is a node?", thread_id="t")
    await machine.agent.undo("t")
    assert await machine.contents() == []
    assert (await machine.agent.ask("What is a node?", thread_id="t")).turn_number == 1


async def test_undo_of_an_unknown_conversation_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="nope"):
        await Machine().agent.undo("nope")


async def test_an_undone_machine_is_at_rest() -> None:
    machine = Machine(ANSWER)
    await machine.agent.ask("What is a node?", thread_id="t")
    await machine.agent.undo("t")
    assert await machine.is_at_rest()


async def test_a_turn_that_was_broken_off_can_be_undone() -> None:
    machine = Machine(ANSWER)
    start = InputState(messages=[HumanMessage("What is a wreck?")])
    stopped = machine.graph.astream(start, thread_config("t"), interrupt_before=["GENERATING"])
    assert [step async for step in stopped]
    assert await machine.agent.undo("t") == "What is a wreck?"
    assert await machine.contents() == []
    assert (await machine.agent.ask("What is a node?", thread_id="t")).turn_number == 1


async def test_a_question_that_was_broken_off_before_its_turn_opened_is_undone_without_miscounting() -> None:
    machine = Machine(ANSWER, ANSWER)
    await machine.agent.ask("First?", thread_id="t")
    start = InputState(messages=[HumanMessage("Second?")])
    assert [step async for step in machine.graph.astream(start, thread_config("t"), interrupt_before=["IDLE"])]
    await machine.agent.undo("t")
    assert (await machine.agent.ask("Third?", thread_id="t")).turn_number == 2


async def test_retry_asks_the_last_question_again_in_place_of_its_answer() -> None:
    machine = Machine(final(), ANSWER)
    await machine.agent.ask("What is a node?", thread_id="t")
    response = await machine.agent.retry("t")
    assert (response.status, response.turn_number) == ("success", 1)
    assert await machine.contents() == ["What is a node?", response.content]


async def test_a_retry_is_the_same_request_with_its_id_and_its_metadata() -> None:
    machine = Machine(final(), ANSWER, ANSWER)
    first = await machine.agent.ask("What is a node?", thread_id="t", metadata={"client": "a"})
    for _ in range(2):
        again = await machine.agent.retry("t")
        assert (again.status, again.request_id, again.metadata) == ("success", first.request_id, {"client": "a"})
    (turn,) = (await machine.agent.conversation("t"))["turns"]
    assert (turn["request_id"], turn["metadata"]) == (first.request_id, {"client": "a"})


@pytest.mark.parametrize("before", ["IDLE", "RETRIEVING", "GENERATING"])
async def test_a_retry_of_a_broken_turn_is_the_same_request(before: str) -> None:
    machine = Machine(ANSWER)
    asked = InputState(messages=[HumanMessage("What is a node?", id="request-1")], metadata={"client": "a"})
    async for _ in machine.graph.astream(asked, thread_config("t"), interrupt_before=[before]):
        pass
    events = [event async for event in machine.agent.stream_retry("t")]
    response = events[-1].response
    assert response is not None
    assert (response.status, response.request_id, response.metadata) == ("success", "request-1", {"client": "a"})


async def test_a_retry_holds_the_lock_of_its_conversation_once(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(ANSWER, ANSWER)
    await machine.agent.ask("What is a node?", thread_id="t")
    taken: list[str] = []
    turn = machine.agent.memory.turn

    def counted(thread: str) -> AbstractAsyncContextManager[None]:
        taken.append(thread)
        return turn(thread)

    monkeypatch.setattr(machine.agent.memory, "turn", counted)
    assert (await machine.agent.retry("t")).status == "success"
    assert taken == ["t"]  # between two locks another process could ask


async def test_a_retry_that_cannot_begin_takes_no_answer_away() -> None:
    machine = Machine(ANSWER)
    await machine.agent.ask("What is a node?", thread_id="t")
    with pytest.raises(UsageError):
        await machine.agent.retry("t", context=Context(profile="nobody"))
    assert len((await machine.agent.conversation("t"))["turns"]) == 1


async def test_retry_where_there_is_nothing_to_ask_is_wrong_usage() -> None:
    machine = Machine(ANSWER)
    await machine.agent.ask("What is a node?", thread_id="t")
    await machine.agent.undo("t")
    with pytest.raises(UsageError) as caught:
        await machine.agent.retry("t")
    assert caught.value.code == "nothing_to_retry"


async def test_clear_forgets_a_conversation_and_its_id_can_be_used_again() -> None:
    machine = Machine(ANSWER, ANSWER)
    await machine.agent.ask("What is a node?", thread_id="t")
    await machine.agent.clear("t")
    assert await machine.agent.threads() == []
    assert (await machine.agent.ask("What is a node?", thread_id="t")).turn_number == 1


async def test_a_conversation_that_is_full_can_be_cleared_and_used_again() -> None:
    machine = Machine(ANSWER, ANSWER, profile=limited(max_turns=1))
    await machine.agent.ask("What is a node?", thread_id="t")
    assert (await machine.agent.ask("And then?", thread_id="t")).status == "error"
    await machine.agent.clear("t")
    assert (await machine.agent.ask("And then?", thread_id="t")).status == "success"


async def test_an_unknown_conversation_cannot_be_shown() -> None:
    with pytest.raises(UsageError, match="nope"):
        await Machine().agent.conversation("nope")


# --- another process ------------------------------------------------------------------------------------------------


async def test_a_second_process_goes_on_with_the_conversation(tmp_path: Path) -> None:
    async with open_memory(tmp_path, persistent=True) as memory:
        await Machine(ANSWER, memory=memory).agent.ask("What is a node?", thread_id="t")
    async with open_memory(tmp_path, persistent=True) as memory:
        machine = Machine(ANSWER, memory=memory)
        response = await machine.agent.ask("And then?", thread_id="t")
        shown = await machine.agent.conversation("t")
    assert response.turn_number == 2
    assert [turn["question"] for turn in shown["turns"]] == ["What is a node?", "And then?"]
    assert shown["turns"][0]["citations"][0]["quote"] == passage().text


async def test_a_second_process_can_undo_what_the_first_was_stopped_in(tmp_path: Path) -> None:
    start = InputState(messages=[HumanMessage("What is a wreck?")])
    async with open_memory(tmp_path, persistent=True) as memory:
        graph = Machine(memory=memory).graph
        assert [step async for step in graph.astream(start, thread_config("t"), interrupt_before=["GENERATING"])]
    async with open_memory(tmp_path, persistent=True) as memory:
        machine = Machine(ANSWER, memory=memory)
        assert (await machine.agent.retry("t")).status == "success"


async def test_the_file_holds_no_text_of_a_foreign_exception(tmp_path: Path) -> None:
    async with open_memory(tmp_path, persistent=True) as memory:
        machine = Machine(RuntimeError("key sk-canary"), memory=memory, failures=[])
        assert (await machine.agent.ask("What is a node?")).status == "error"
    assert b"sk-canary" not in stored(tmp_path)


NOT_STORABLE: Any = (
    [1],
    "x",
    {1: "a"},
    {"a": object()},
    {"a": {1, 2}},
    {"a": [2**64]},
    {"a": float("nan")},
    {"a": "\ud800"},
    {"\ud800": 1},
)


@pytest.mark.parametrize(
    ("question", "options", "code"),
    [
        (None, {}, "not_text"),
        (5, {}, "not_text"),
        (b"What is a node?", {}, "not_text"),
        ("What is a node?", {"thread_id": 7}, "thread_id"),
        *(("What is a node?", {"metadata": metadata}, "usage") for metadata in NOT_STORABLE),
    ],
)
async def test_a_value_of_another_type_is_wrong_usage(question: Any, options: dict[str, Any], code: str) -> None:
    machine = Machine()
    if code == "not_text":  # a question that is refused has a response
        error = (await machine.agent.ask(question, **options)).error
        assert error is not None
        assert error.code == code
    else:
        with pytest.raises(UsageError) as caught:
            await machine.agent.ask(question, **options)
        assert caught.value.code == code
    assert await machine.agent.threads() == []


@pytest.mark.parametrize("metadata", NOT_STORABLE)
async def test_the_graph_refuses_the_same_metadata_and_stores_nothing(metadata: Any) -> None:
    machine = Machine(ANSWER)
    asked = InputState(messages=[HumanMessage("What is a node?")], metadata=metadata)
    with pytest.raises(UsageError, match="The metadata are not a mapping"):
        await machine.agent.graph.ainvoke(asked, thread_config("t"))
    assert await machine.agent.threads() == []
    assert (await machine.agent.ask("What is a node?", thread_id="t")).turn_number == 1


async def test_metadata_that_a_client_wrote_into_the_state_are_told_as_wrong_and_left_out() -> None:
    machine = Machine(ANSWER)
    await machine.graph.aupdate_state(thread_config("t"), {"metadata": [1]}, as_node="ERROR")
    response = await machine.ask("What is a node?")
    assert response.error is not None
    assert (response.error.code, response.metadata) == ("usage", {})
    assert (await machine.ask("What is a node?")).status == "success"


async def test_a_question_to_a_model_that_is_not_offered_stores_nothing() -> None:
    machine = Machine(ANSWER)
    response = await machine.agent.ask("What is a node?", thread_id="t", context=Context(model="expensive"))
    assert response.error is not None
    assert response.error.code == "unknown_model"
    assert await machine.agent.threads() == []
