"""LangGraph's stream modes, as chat clients read them: checked text only, in chunks of one message."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessageChunk, BaseMessage

from graph.storage import thread_config
from rag.errors import AskbookError
from tests.fakes import passage, tool_call
from tests.machine import ANSWER, Machine

QUESTION: Any = {"messages": [{"role": "user", "content": "What is a node?", "id": "asked"}]}
MODES: Any = ["messages", "values", "updates", "custom", "debug", "tasks", "checkpoints"]
TWO = "A node is a process [1]. A node costs 17 euros [1]. A node is a process [1]."


async def streamed(machine: Machine, modes: Sequence[Any] = ("messages",)) -> list[Any]:
    return [
        part
        async for part in machine.graph.astream(QUESTION, thread_config("t"), stream_mode=list(modes), subgraphs=False)
    ]


def chunks(parts: Sequence[Any]) -> list[BaseMessage]:
    return [data[0] for mode, data in parts if mode == "messages"]


async def final(machine: Machine) -> Any:
    return (await machine.graph.aget_state(thread_config("t"))).values


async def test_the_chunks_are_the_answer_and_have_its_id() -> None:
    machine = Machine("A node is a process [1]. A node is a process [1].")
    found = chunks(await streamed(machine))
    values = await final(machine)
    answer = values["messages"][-1]
    assert len(found) > 1
    assert all(isinstance(one, AIMessageChunk) for one in found)
    assert {one.id for one in found} == {answer.id} == {values["response"]["id"]}
    assert "".join(one.text for one in found) == answer.text


@pytest.mark.parametrize("script", [[], [ANSWER]], ids=["refusal", "answer"])
async def test_a_message_that_was_streamed_does_not_come_twice(script: list[str]) -> None:
    machine = Machine(*script, passages=[passage()] if script else [])
    found = chunks(await streamed(machine))
    assert "".join(one.text for one in found) == (await final(machine))["messages"][-1].text


async def test_the_message_of_an_error_comes_whole() -> None:
    machine = Machine(failures=[AskbookError("retrieval_error", "index_broken", "The index is broken.")])
    (message,) = chunks(await streamed(machine))
    answer = (await final(machine))["messages"][-1]
    assert (message.id, message.text) == (answer.id, answer.text)
    assert "Could not search the book content" in answer.text


async def test_after_a_retraction_the_final_state_has_the_answer() -> None:
    machine = Machine(["A node is a process [1]. Let me look", tool_call()], ANSWER)
    found = chunks(await streamed(machine))
    answer = (await final(machine))["messages"][-1]
    assert {one.id for one in found} == {answer.id}
    assert "".join(one.text for one in found) != answer.text
    assert answer.text.startswith("A node is a process [1].")


async def test_no_stream_has_text_that_was_not_checked() -> None:
    """What the check removes stands only in the record of the check, which says so."""
    machine = Machine(["Canary beside a call", tool_call("canary-query")], TWO)
    parts = await streamed(machine, MODES)
    assert "17 euros" not in "".join(one.text for one in chunks(parts))
    assert "Canary beside a call" not in repr(parts)
    spoken = [data for mode, data in parts if mode == "custom" and data["type"] == "sentence"]
    assert "17 euros" not in json.dumps(spoken)


async def test_clients_get_neither_calls_nor_results_of_tools_as_messages() -> None:
    found = chunks(await streamed(Machine([tool_call()], ANSWER)))
    assert {one.type for one in found} == {"AIMessageChunk"}
    assert not any(getattr(one, "tool_calls", []) for one in found)


async def test_events_and_chunks_say_the_same() -> None:
    parts = await streamed(Machine(TWO), ["messages", "custom"])
    spoken = [data["text"] for mode, data in parts if mode == "custom" and data["type"] == "sentence"]
    assert [one.text for one in chunks(parts)] == spoken


async def test_a_stream_of_events_has_no_call_of_the_model_and_no_text_that_was_not_checked() -> None:
    machine = Machine(["Canary beside a call", tool_call("canary-query")], TWO)
    found = [event async for event in machine.graph.astream_events(QUESTION, thread_config("t"), version="v2")]
    assert {event["event"] for event in found} >= {"on_chain_start", "on_retriever_end", "on_tool_end"}
    assert not [event for event in found if "chat_model" in event["event"]]
    assert "Canary beside a call" not in repr(found)
    machine.model.assert_complete()


async def test_a_tracer_still_sees_the_calls_of_the_model() -> None:
    class Seen(AsyncCallbackHandler):
        calls = 0

        async def on_chat_model_start(self, *_arguments: Any, **_options: Any) -> None:
            Seen.calls += 1

    await Machine(ANSWER).graph.ainvoke(QUESTION, {**thread_config("t"), "callbacks": [Seen()]})
    assert Seen.calls == 1
