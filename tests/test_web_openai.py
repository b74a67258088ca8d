"""OpenAI's wire format, with OpenAI's own client and LangChain's."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from rag.errors import AskbookError
from tests.fakes import passage
from tests.machine import ANSWER, Machine
from tests.test_finish import ends, machine
from tests.web import KEYS, LOCAL, bearer, client, events

ASKED: Any = [{"role": "user", "content": "What is a node?"}]


def sdk(machine: Machine, keys: str = "", key: str = "unused") -> openai.AsyncOpenAI:
    """OpenAI's client on an application over the machine."""
    return openai.AsyncOpenAI(
        api_key=key, base_url=f"{LOCAL}/v1", http_client=client(machine, keys=keys), max_retries=0
    )


async def test_a_completion_holds_the_answer_and_the_whole_response() -> None:
    machine = Machine(ANSWER)
    done = await sdk(machine).chat.completions.create(model="default", messages=ASKED)
    message: Any = done.choices[0].message
    assert message.content == message.askbook["content"]
    assert message.askbook["citations"][0]["quote"] == "A node is a process."
    assert done.choices[0].finish_reason == "stop"
    assert done.usage is not None
    assert done.usage.total_tokens == message.askbook["tokens_used"]["total"]
    assert await machine.agent.threads() == []


async def test_a_streamed_completion_is_the_same_text() -> None:
    stream = await sdk(Machine(ANSWER)).chat.completions.create(
        model="default", messages=ASKED, stream=True, stream_options={"include_usage": True}
    )
    chunks: list[Any] = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    last = chunks[-1]
    assert text == last.askbook["content"]
    assert last.usage.total_tokens == last.askbook["tokens_used"]["total"]
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert len({chunk.id for chunk in chunks}) == 1


async def test_an_answer_that_was_cut_at_its_length_says_so() -> None:
    cut = ends(f"{ANSWER} And the", finish_reason="length")
    done = await sdk(machine(cut)).chat.completions.create(model="default", messages=ASKED)
    assert done.choices[0].finish_reason == "length"
    stream = await sdk(machine(cut)).chat.completions.create(model="default", messages=ASKED, stream=True)
    assert [chunk.choices[0].finish_reason async for chunk in stream if chunk.choices][-1] == "length"


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "user", "content": "\ud800 What is a node?"}]},
        {"messages": [{"role": "user", "content": "\ud800"}, *ASKED]},
        {"messages": ASKED, "model": "\ud800"},
    ],
)
async def test_half_of_a_character_is_refused(body: Any) -> None:
    async with client(Machine(ANSWER)) as http:
        answer = await http.post(
            "/v1/chat/completions", content=json.dumps(body), headers={"Content-Type": "application/json"}
        )
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "not_text")


async def test_a_stream_ends_with_the_word_that_clients_wait_for() -> None:
    async with client(Machine(ANSWER)) as http:
        answer = await http.post("/v1/chat/completions", json={"messages": ASKED, "stream": True})
    assert events(answer.text)[-1] == ("message", "[DONE]")
    assert "askbook" in events(answer.text)[-2][1]


async def test_the_messages_that_are_sent_are_the_history() -> None:
    machine = Machine(ANSWER)
    earlier = [{"role": "user", "content": "What is a topic?"}, {"role": "assistant", "content": "A named bus."}]
    messages: Any = [{"role": "system", "content": "Be a pirate."}, *earlier, *ASKED]
    await sdk(machine).chat.completions.create(model="default", messages=messages)
    assert "A named bus." in machine.prompt()
    assert "pirate" not in machine.prompt()


async def test_a_thread_in_the_metadata_continues_a_stored_conversation() -> None:
    machine = Machine(ANSWER, ANSWER)
    for _ in range(2):
        done = await sdk(machine).chat.completions.create(
            model="default", messages=ASKED, metadata={"thread_id": "kept"}
        )
    message: Any = done.choices[0].message
    assert (message.askbook["thread_id"], message.askbook["turn_number"]) == ("kept", 2)
    assert await machine.agent.threads() == ["kept"]


async def test_a_thread_belongs_to_its_key() -> None:
    machine = Machine(ANSWER, ANSWER)
    for name in ("ann", "bob"):
        key = bearer(name)["Authorization"].removeprefix("Bearer ")
        done = await sdk(machine, KEYS, key).chat.completions.create(
            model="default", messages=ASKED, metadata={"thread_id": "same"}
        )
        message: Any = done.choices[0].message
        assert (message.askbook["thread_id"], message.askbook["turn_number"]) == ("same", 1)


async def test_what_was_sent_and_then_withdrawn_is_told() -> None:
    cut: Any = ("A node is a process [1]. ", AskbookError("api_error", "stream_cut", "Cut.", retryable=True))
    machine = Machine(cut, "A node is a process. [1]", passages=(passage(),))
    async with client(machine) as http:
        answer = await http.post("/v1/chat/completions", json={"messages": ASKED, "stream": True})
    chunks = [data for _, data in events(answer.text) if data != "[DONE]"]
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert text.endswith(chunks[-1]["askbook"]["content"])


@pytest.mark.parametrize(
    ("failure", "raised", "status"),
    [
        (AskbookError("rate_limit", "rate_limited", "Busy.", retry_after=7), openai.RateLimitError, 429),
        (AskbookError("auth_error", "invalid_key", "No."), openai.APIStatusError, 502),
        (AskbookError("api_error", "server_error", "Down."), openai.InternalServerError, 502),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_failed_turn_has_its_status(
    failure: AskbookError, raised: type[openai.APIStatusError], status: int, *, stream: bool
) -> None:
    machine = Machine(*[failure] * 5)
    with pytest.raises(raised) as caught:
        await sdk(machine).chat.completions.create(model="default", messages=ASKED, stream=stream)
    assert caught.value.status_code == status
    assert caught.value.response.headers.get("retry-after") == ("7" if status == 429 else None)


async def test_an_unknown_model_is_not_found_and_the_profiles_are_the_models() -> None:
    with pytest.raises(openai.NotFoundError):
        await sdk(Machine()).chat.completions.create(model="gpt-4o", messages=ASKED)
    models = await sdk(Machine()).models.list()
    assert [model.id for model in models.data] == ["default", "book-agent"]
    assert (await sdk(Machine()).models.retrieve("default")).id == "default"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": []},
        {"messages": "hello"},
        {"messages": [{"role": "assistant", "content": "Hello."}]},
        {"messages": [{"role": "user", "content": 7}]},
        {"messages": ASKED, "n": 2},
        {"messages": ASKED, "stream": "false"},
        {"messages": ASKED, "model": 7},
        {"messages": ASKED, "metadata": {"thread_id": 7}},
        {"messages": ASKED, "metadata": {"thread_id": "a\nb"}},
        {"messages": ASKED, "metadata": {"n": 10**22}},
        {"messages": ASKED, "temperature": -1},
    ],
)
async def test_a_request_of_another_form_is_refused(body: Any) -> None:
    async with client(Machine()) as http:
        answer = await http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_options_that_askbook_does_not_know_are_ignored() -> None:
    unknown = {"stop": ["\n"], "top_p": 0.5, "tools": [], "temperature": 1.7, "seed": 1, "user": "u", "chat_id": "c"}
    parts = [{"role": "user", "content": [{"type": "text", "text": "What is a node?"}]}]
    async with client(Machine(ANSWER)) as http:
        answer = await http.post("/v1/chat/completions", json=unknown | {"messages": parts})
    assert answer.status_code == 200


TITLE = (
    "Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title\n\n"
    "User: What is a node?\nAssistant: A."
)


class Titled(BaseModel):
    """The object that LibreChat wants for a title."""

    language: str
    title: str


@pytest.mark.parametrize("method", ["function_calling", "json_schema"])
async def test_a_title_is_given_in_the_form_that_the_client_reads(method: Any) -> None:
    async with client(Machine()) as http:
        model = ChatOpenAI(
            model="default", base_url=f"{LOCAL}/v1", api_key=SecretStr("unused"), http_async_client=http, max_retries=0
        )
        found = await model.with_structured_output(Titled, method=method).ainvoke(TITLE)
    assert found == Titled(language="unknown", title="What is a node?")


async def test_a_title_without_a_language_has_only_what_is_asked_for() -> None:
    parameters = {"type": "object", "properties": {"title": {"type": "string"}}}
    tool = {"type": "function", "function": {"name": "extract", "parameters": parameters}}
    body = {"messages": [{"role": "user", "content": TITLE}], "tools": [tool], "tool_choice": "required"}
    async with client(Machine()) as http:
        (choice,) = (await http.post("/v1/chat/completions", json=body)).json()["choices"]
        streamed = events((await http.post("/v1/chat/completions", json=body | {"stream": True})).text)
    assert choice["finish_reason"] == "tool_calls"
    (call,) = choice["message"]["tool_calls"]
    assert call["function"] == {"name": "extract", "arguments": '{"title": "What is a node?"}'}
    assert streamed[0][1]["choices"][0]["delta"]["tool_calls"][0]["function"] == call["function"]


async def test_langchain_s_client_gets_the_answer() -> None:
    machine = Machine(ANSWER, ANSWER)
    async with client(machine) as http:
        model = ChatOpenAI(
            model="default", base_url=f"{LOCAL}/v1", api_key=SecretStr("unused"), http_async_client=http, max_retries=0
        )
        whole = await model.ainvoke("What is a node?")
        streamed = "".join([chunk.text async for chunk in model.astream("What is a node?")])
    assert whole.text == streamed
    assert "process" in whole.text


@pytest.mark.parametrize(
    ("request_of_the_page", "done"),
    [
        (
            "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n"
            "### Chat History:\n<chat_history>\nUSER: What is a node?\nASSISTANT: A process.\n</chat_history>",
            '{"title": "What is a node?"}',
        ),
        ("### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history", '{"tags": []}'),
        ("### Task:\nSuggest 3-5 relevant follow-up questions or prompts", '{"follow_ups": []}'),
        (
            "### Task:\nAnalyze the chat history to determine the necessity of generating search queries",
            '{"queries": []}',
        ),
        (
            "### Task:\nYou are an autocompletion system.\n<type>General</type>\n<text>What is a</text>",
            '{"text": ""}',
        ),
        ("### Task:\nGenerate a detailed prompt for am image generation task based on the language", '{"prompt": ""}'),
        (
            "Please generate a concise, 5-word-or-less title for the conversation, using its same language, with no "
            "punctuation.\n\nUser: What is a node?",
            "What is a node?",
        ),
        (
            "Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A title\n\n"
            "User: What is a node?\nAssistant: A.",
            "What is a node?",
        ),
        (
            "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return "
            "the title itself.\n\nConversation:\nUser: What is a node?\nAI: A process.",
            "What is a node?",
        ),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_what_a_chat_page_asks_for_itself_costs_no_turn(
    request_of_the_page: str, done: str, *, stream: bool
) -> None:
    machine = Machine()  # a model that is asked anything fails the test
    messages: Any = [{"role": "user", "content": request_of_the_page}]
    answer: Any = await sdk(machine).chat.completions.create(model="default", messages=messages, stream=stream)
    if stream:
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in answer])
    else:
        text = answer.choices[0].message.content
    assert text == done
    assert machine.model.prompts == []


OPEN_WEBUI: Any = {
    "stream": True,
    "model": "default",
    "messages": [
        {"role": "system", "content": "User Context:\n\nThe user is called Ann."},
        {"role": "user", "content": "What is a book?"},
        {"role": "assistant", "content": "A book is old. [1]"},
        {"role": "user", "content": [{"type": "text", "text": "What is a node?"}]},
    ],
    "params": {"function_calling": "native"},
    "features": {"web_search": False, "image_generation": False, "code_interpreter": False, "memory": False},
    "tool_ids": [],
    "files": [],
    "session_id": "s",
    "chat_id": "c",
    "id": "m",
    "background_tasks": {"title_generation": True, "tags_generation": True, "follow_up_generation": True},
    "stream_options": {"include_usage": True},
    "variables": {"{{USER_NAME}}": "Ann"},
    "model_item": {"id": "default", "object": "model", "owned_by": "openai"},
}
LIBRECHAT: Any = {
    "model": "default",
    "user": "65f0c0ffee",
    "stream": True,
    "temperature": 1,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "stop": ["||>", "\nUser:", "<|diff_marker|>"],
    "stream_options": {"include_usage": True},
    "messages": [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "What is a book?", "name": "Ann"},
        {"role": "assistant", "content": "A book is old. [1]"},
        {"role": "user", "content": "What is a node?", "name": "Ann"},
    ],
}


@pytest.mark.parametrize("body", [OPEN_WEBUI, LIBRECHAT], ids=["Open WebUI", "LibreChat"])
async def test_what_a_chat_page_sends_is_answered_with_its_history_and_usage(body: Any) -> None:
    machine = Machine(ANSWER)
    async with client(machine) as http:
        answer = await http.post("/v1/chat/completions", json=body)
        whole = await http.post("/v1/chat/completions", json=body | {"stream": False, "n": 2})
    found = [data for _, data in events(answer.text)]
    assert found[-1] == "[DONE]"
    assert found[-2]["choices"] == []
    assert set(found[-2]["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in found[:-2])
    assert "A node is a process" in text
    assert "What is a book?" in machine.prompt()
    assert "helpful assistant" not in machine.prompt(), "instructions belong to the profile"
    assert whole.status_code == 400, "several answers cannot be had"
