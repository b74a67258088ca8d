"""Reasoning models over the wire: what comes with a tool call goes back, and thoughts and written calls are told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage

from rag.model.chat_model import EndpointChatModel
from rag.model.received_answer import FIELDS, whole_fields
from tests.fakes import tool_call
from tests.machine import ANSWER, Machine
from tests.openai_server import Endpoint, Reply, answer, refuses
from tests.profile_wire import Wire

SHOWN = "A node is a process [1]."
GOOD = answer(SHOWN)
CALL: dict[str, Any] = {
    "index": 0,
    "id": "c1",
    "type": "function",
    "function": {"name": "search_book", "arguments": '{"query": "x"}'},
}
WRITTEN = '<tool_call>{"name": "search_book", "arguments": {"query": "topics"}}</tool_call>'


@pytest.fixture
def wired(endpoint: Endpoint) -> Wire:
    return Wire("default", endpoint, thread="t")


def streamed(*deltas: Any, finish: str | None = "stop", done: bool = True) -> Reply:
    chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    chunks += [{"index": 0, "delta": {}, "finish_reason": finish}] if finish else []
    lines = [json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [one]}) for one in chunks]
    return Reply(raw="".join(f"data: {line}\n\n" for line in [*lines, *(["[DONE]"] if done else [])]))


def sent_back(wired: Wire) -> dict[str, Any]:
    """The message with the tool call, as the endpoint gets it with the result."""
    (message,) = [one for one in wired.bodies[-1]["messages"] if one.get("tool_calls")]
    return dict(message)


DETAILS: list[dict[str, Any]] = [
    {"type": "reasoning.text", "index": 0, "text": "I look."},
    {"type": "reasoning.encrypted", "data": "9f"},
]
SIGNATURE = {"google": {"thought_signature": "c2ln"}}
FIELDS_OF_ENDPOINTS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "DeepSeek": ([{"reasoning_content": "I "}, {"reasoning_content": "look."}], {"reasoning_content": "I look."}),
    "OpenRouter": (
        [{"reasoning": "I look.", "reasoning_details": [DETAILS[0] | {"text": "I "}]},
         {"reasoning_details": [DETAILS[0] | {"text": "look."}]}, {"reasoning_details": [DETAILS[1]]}],
        {"reasoning": "I look.", "reasoning_details": DETAILS},
    ),
    "blocks": (
        [{"content": [{"type": "thinking", "thinking": "I look.", "signature": "s"}]}],
        {"content": [{"type": "thinking", "thinking": "I look.", "signature": "s"}]},
    ),
    "an empty one": ([{"reasoning_content": ""}], {"reasoning_content": ""}),
}  # fmt: skip


@pytest.mark.parametrize(("deltas", "fields"), FIELDS_OF_ENDPOINTS.values(), ids=FIELDS_OF_ENDPOINTS)
async def test_what_came_with_a_tool_call_goes_back_with_it_as_it_came(
    deltas: list[dict[str, Any]], fields: dict[str, Any], wired: Wire
) -> None:
    response = await wired.ask(streamed(*deltas, {"tool_calls": [CALL]}, finish="tool_calls"), GOOD)
    assert (response.status, response.plain_content) == ("success", SHOWN)
    assert fields.items() <= sent_back(wired).items()
    assert "look" not in response.model_dump_json()


async def test_a_signature_of_a_call_goes_back_with_that_call(wired: Wire) -> None:
    other = CALL | {"index": 1, "id": "c2"}
    calls = {"tool_calls": [CALL | {"extra_content": SIGNATURE}]}
    await wired.ask(streamed(calls, {"tool_calls": [other]}, finish="tool_calls"), GOOD)
    first, second = sent_back(wired)["tool_calls"]
    assert (first["extra_content"], first["id"], "extra_content" in second) == (SIGNATURE, "c1", False)


async def test_a_field_that_an_endpoint_refuses_is_left_out(wired: Wire) -> None:
    asked = streamed({"reasoning": "I look."}, {"tool_calls": [CALL]}, finish="tool_calls")
    response = await wired.ask(asked, refuses(400, "property 'reasoning' is unsupported"), GOOD)
    assert response.status == "success"
    assert "reasoning" not in sent_back(wired)


async def test_blocks_of_thoughts_go_back_to_a_model_of_a_package() -> None:
    """Anthropic's package wants them with the result of a tool."""
    thought = {"type": "thinking", "thinking": "I look.", "signature": "s"}
    asked = tool_call("nodes")
    chunk = AIMessageChunk(
        content=[thought, {"type": "text", "text": "I search."}], tool_call_chunks=asked.tool_call_chunks
    )
    machine = Machine([chunk], ANSWER)
    assert (await machine.ask("What is a node?")).status == "success"
    (message,) = [one for one in machine.model.prompts[-1] if isinstance(one, AIMessage) and one.tool_calls]
    assert message.content == [thought]


def test_a_message_of_an_openai_model_is_sent_as_before() -> None:
    model = EndpointChatModel(model="m", api_key="k")  # type: ignore[arg-type]  # it takes a text
    messages = [HumanMessage("q"), AIMessage("a", additional_kwargs={FIELDS: {}})]
    assert model._get_request_payload(messages)["messages"] == [
        {"content": "q", "role": "user"}, {"content": "a", "role": "assistant"}
    ]  # fmt: skip


def test_whole_fields_of_nothing_are_nothing() -> None:
    assert whole_fields([]) == {}


@pytest.mark.parametrize(
    ("deltas", "shown"),
    [
        ([{"reasoning_content": "A node is a goat [1]."}, {"content": SHOWN}], SHOWN),
        ([{"content": "A node is a goat.\n</think>\n"}, {"content": SHOWN}], SHOWN),
        ([{"content": [{"type": "thinking", "thinking": "goat"}, {"type": "text", "text": SHOWN}]}],
         SHOWN),
    ],
    ids=["field", "text", "block"],
)  # fmt: skip
async def test_thoughts_reach_neither_reader_nor_check(deltas: list[Any], shown: str, wired: Wire) -> None:
    response = await wired.ask(streamed(*deltas))
    assert (response.status, response.plain_content, response.grounding.removed) == ("success", shown, 0)
    assert "goat" not in response.model_dump_json() + str(wired.events)


async def test_a_thought_that_was_shown_is_withdrawn_and_the_model_is_asked_again(wired: Wire) -> None:
    late = answer("A node is a process [1]. ", "A node is a process [1].\n\n", "Hm.\n</think>\n", SHOWN)
    response = await wired.ask(late, late)
    assert (response.status, response.plain_content, len(wired.bodies)) == ("success", SHOWN, 2)
    kinds = [event.type for event in wired.events]
    assert "sentence" not in kinds or "retract" in kinds
    again = await wired.ask(late)
    assert (again.plain_content, len(wired.bodies)) == (SHOWN, 3)


async def test_only_thoughts_are_an_empty_answer(wired: Wire) -> None:
    response = await wired.ask(answer("<think>A node is", finish="length"))
    assert response.error is not None
    assert (response.error.code, "model.max_tokens" in response.error.hint) == ("empty_answer", True)


async def test_a_search_that_was_written_as_text_is_carried_out(wired: Wire) -> None:
    response = await wired.ask(answer(WRITTEN[:20], WRITTEN[20:]), GOOD)
    assert (response.status, [one.args for one in response.tool_calls]) == ("success", [{"query": "topics"}])
    assert sent_back(wired)["tool_calls"][0]["function"]["name"] == "search_book"


async def test_a_search_that_was_written_where_there_is_no_tool_is_told(endpoint: Endpoint) -> None:
    response = await Wire("isaac-sim", endpoint, own_endpoint=True).ask(answer(WRITTEN))
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("api_error", "written_search")
    assert "search_book" not in response.content


async def test_a_stream_that_says_done_is_an_answer_without_a_reason_too(wired: Wire) -> None:
    response = await wired.ask(streamed({"content": SHOWN}, finish=None))
    assert (response.status, len(wired.bodies)) == ("success", 1)


async def test_a_stream_without_done_and_without_a_reason_was_cut(wired: Wire) -> None:
    cut = streamed({"content": "A node is a process [1]"}, finish=None, done=False)
    response = await wired.ask(cut, cut, cut)
    assert response.error is not None
    assert response.error.code == "stream_cut"


GARBLED = refuses(400, "Failed to call a function.", "tool_use_failed")


async def test_a_search_that_the_endpoint_could_not_read_is_asked_for_again_and_then_without_the_tool(
    wired: Wire,
) -> None:
    response = await wired.ask(GARBLED, GARBLED, GOOD)
    assert response.status == "success"
    assert ["tools" in body for body in wired.bodies] == [True, True, False]
