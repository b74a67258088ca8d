"""The plain completions send what OpenAI's client sends, and LangChain reads the same from their chunks."""

from __future__ import annotations

import json
from typing import Any

import openai.resources.chat.completions.completions as slow
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.ai import add_ai_message_chunks

from rag.model.endpoint import build_model
from rag.profiles.profile import load_profile
from tests.fakes import FakeEmbedder
from tests.openai_server import Endpoint, Reply, answer, calls_tool
from tests.wired_services import environment

CALL = {"id": "call-1", "name": "search_book", "args": {"query": "nodes"}, "type": "tool_call"}
CONVERSATION = [
    SystemMessage("Answer from the passages."),
    HumanMessage("What is a node?"),
    AIMessage("A process [1]."),
    HumanMessage("And a topic?"),
    AIMessage("", tool_calls=[CALL]),
    ToolMessage("[1] A topic is a bus.", tool_call_id="call-1"),
]
TOOL = {"type": "function", "function": {"name": "search_book", "parameters": {"type": "object", "properties": {}}}}


def chunks(*parts: dict[str, Any]) -> Reply:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    return Reply(raw="".join(f"data: {json.dumps(head | part)}\n\n" for part in parts) + "data: [DONE]\n\n")


def choice(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, **fields}]}


REPLIES = {
    "an answer": answer("A node is ", "a process [1]."),
    "a call": calls_tool("nodes"),
    "a call without an index": chunks(
        choice(delta={"tool_calls": [{"id": "c", "function": {"name": "search_book", "arguments": "{}"}}]}),
        choice(delta={}, finish_reason="tool_calls"),
    ),
    "an end without a delta": chunks(choice(delta={"content": "A node."}), choice(finish_reason="stop")),
    "an end with an empty delta": chunks(
        choice(delta={"content": "A node."}), choice(delta=None, finish_reason="stop")
    ),
    "choices of null": chunks(choice(delta={"content": "A node."}), {"choices": None}),
    "no choices": chunks(choice(delta={"content": "A node."}), {"usage": {"prompt_tokens": 3, "completion_tokens": 2}}),
    "tool calls of null": chunks(choice(delta={"role": "assistant", "content": "A node.", "tool_calls": None})),
    "a field of its own": chunks(choice(delta={"content": "A node.", "reasoning_content": "hm"}), {"x": {"y": [1]}}),
}


def model_at(endpoint: Endpoint) -> Any:
    settings = environment(endpoint.address)
    return build_model(load_profile("default").in_environment(settings), settings, FakeEmbedder()).model


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
async def test_the_request_and_the_chunks_are_those_of_openais_client(reply: Reply, endpoint: Endpoint) -> None:
    model = model_at(endpoint)
    theirs = model.model_copy(update={"async_client": model.root_async_client.chat.completions})
    endpoint.script += [reply, reply]
    plain = [chunk async for chunk in model.bind_tools([TOOL]).astream(CONVERSATION)]
    full = [chunk async for chunk in theirs.bind_tools([TOOL]).astream(CONVERSATION)]
    assert len(plain) <= len(full)  # chunks that have arrived together are joined
    wholes = [add_ai_message_chunks(*found) for found in (plain, full)]
    dumps = [whole.model_dump(exclude={"id"}) for whole in wholes]
    assert dumps[0] == dumps[1]
    sent = [request.body for request in endpoint.requests]
    assert sent[0] == sent[1]
    headers = [{k: v for k, v in request.headers.items() if k != "host"} for request in endpoint.requests]
    assert headers[0] == headers[1]


async def test_a_streamed_request_is_not_compared_with_every_form_of_message(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def compare(*_: Any) -> None:
        raise AssertionError("this takes time for each message of the conversation")

    monkeypatch.setattr(slow, "async_maybe_transform", compare)
    endpoint.script.append(answer("A node."))
    found = [chunk.text async for chunk in model_at(endpoint).astream(CONVERSATION)]
    assert "".join(found) == "A node."


async def test_an_answer_that_is_not_streamed_still_comes(endpoint: Endpoint) -> None:
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted"}
    message = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "A node."}}
    endpoint.script.append(Reply(raw=json.dumps(body | {"choices": [message]})))
    model = model_at(endpoint)
    whole = await model.async_client.create(model="m", messages=[{"role": "user", "content": "What?"}])
    assert whole.choices[0].message.content == "A node."
