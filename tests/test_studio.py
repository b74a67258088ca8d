"""LangGraph's development server, started for real as `make studio` starts it, and asked through its SDK."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from pydantic import ValidationError

from graph.assistants import assistant_id, create_assistants, wait_for
from graph.studio import is_free
from graph.studio import main as studio_main
from rag.profiles.profile import profile_names
from state import AgentState, Context, InputState
from tests.homes import copied
from tests.studio_server import studio
from tests.wire import free_port


@pytest.fixture(scope="module")
def server(tiny_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over the tiny book."""
    folder = tmp_path_factory.mktemp("studio")
    with studio(folder, copied(tiny_book, folder / "home")) as address:
        yield address


@pytest.fixture
async def client(server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server) as opened:
        yield opened


def question(text: str) -> Any:
    """The graph's input: a new message, as any client sends it."""
    return {"messages": [{"role": "user", "content": text}]}


async def test_a_turn_runs_in_studio_and_its_phases_go_by(client: LangGraphClient) -> None:
    thread = await client.threads.create()
    phases, updated, sentences = [], [], []
    async for event in client.runs.stream(
        thread["thread_id"],
        "agent",
        input=question("What is a widget?"),
        stream_mode=["custom", "updates"],
        context={"top_k": 3},
    ):
        if event.event == "custom" and event.data["type"] == "phase":
            phases.append(event.data["phase"])
        elif event.event == "custom" and event.data["type"] == "sentence":
            sentences.append(event.data["text"])
        elif event.event == "updates":
            updated += list(event.data)
    assert phases == ["RETRIEVING", "GENERATING", "IDLE"]
    assert updated == ["IDLE", "RETRIEVING", "GENERATING", "IDLE"]
    state = await client.threads.get_state(thread["thread_id"])
    values = state["values"]
    assert isinstance(values, dict)
    assert values["phase"] == "IDLE"
    assert state["next"] == []
    assert "".join(sentences) == values["response"]["content"] == values["messages"][-1]["content"]
    assert values["messages"][-1]["response_metadata"]["citations"]


async def test_a_second_turn_belongs_to_the_same_conversation(client: LangGraphClient) -> None:
    thread = await client.threads.create()
    for text in ("What is a widget?", "What is a gadget?"):
        await client.runs.wait(thread["thread_id"], "agent", input=question(text))
    state = await client.threads.get_state(thread["thread_id"])
    assert isinstance(state["values"], dict)
    assert state["values"]["turn_number"] == 2


async def test_an_unknown_profile_is_told_and_ends_no_thread(client: LangGraphClient) -> None:
    thread = await client.threads.create()
    values = await client.runs.wait(
        thread["thread_id"],
        "agent",
        input=question("What is a widget?"),
        context={"profile": "nobody"},
    )
    assert isinstance(values, dict)
    assert values["response"]["error"]["code"] == "unknown_profile"


async def test_each_profile_is_an_assistant_of_its_name(client: LangGraphClient) -> None:
    for name in profile_names():
        assistant = await client.assistants.get(assistant_id(name))
        assert (assistant["name"], assistant["graph_id"]) == (name, "agent")
        assert assistant["context"] == {"profile": name}
        assert assistant["description"]


async def test_creating_the_assistants_again_changes_nothing(client: LangGraphClient, server: str) -> None:
    before = await client.assistants.search(limit=100)
    await asyncio.to_thread(create_assistants, server, {name: "another text" for name in profile_names()})
    after = await client.assistants.search(limit=100)
    assert sorted(after, key=str) == sorted(before, key=str)


@pytest.fixture(scope="module")
def answers(server: str) -> dict[str, Any]:
    """What each assistant answers, all asked at once: the server looks for work twice a second."""

    async def ask(client: LangGraphClient, profile: str) -> Any:
        thread = await client.threads.create()
        return await client.runs.wait(thread["thread_id"], assistant_id(profile), input=question("What is a widget?"))

    async def ask_all() -> list[Any]:
        async with get_client(url=server) as client:
            return await asyncio.gather(*(ask(client, profile) for profile in profile_names()))

    return dict(zip(profile_names(), asyncio.run(ask_all()), strict=True))


@pytest.mark.parametrize("profile", profile_names())
def test_a_run_with_an_assistant_is_answered_by_its_profile(answers: dict[str, Any], profile: str) -> None:
    values = answers[profile]
    assert isinstance(values, dict)
    assert (values["response"]["profile"], values["response"]["status"]) == (profile, "success")


async def test_the_form_of_an_assistant_holds_the_safe_knobs_and_nothing_else(client: LangGraphClient) -> None:
    schemas = await client.assistants.get_schemas(assistant_id("default"))
    form = schemas["context_schema"]
    assert form is not None
    assert set(form["properties"]) == set(Context.model_fields) == {
        "profile", "model", "top_k", "score_threshold", "filter", "temperature", "max_tokens", "citation_style",
        "grounding",
    }  # fmt: skip
    assert form["additionalProperties"] is False


async def test_the_server_knows_what_a_run_takes_and_gives(client: LangGraphClient) -> None:
    schemas = await client.assistants.get_schemas(assistant_id("default"))
    assert schemas["input_schema"] is not None
    assert schemas["output_schema"] is not None
    assert set(schemas["input_schema"]["properties"]) == set(InputState.__annotations__)
    assert set(schemas["output_schema"]["properties"]) == set(AgentState.__annotations__)


@pytest.mark.parametrize("key", ["api_key", "base_url", "home", "instructions"])
def test_a_context_refuses_a_key_an_address_a_path_and_a_prompt(key: str) -> None:
    with pytest.raises(ValidationError, match=key):
        Context.model_validate({key: "x"})


async def test_the_server_drops_what_the_form_does_not_have_before_the_run(client: LangGraphClient) -> None:
    thread = await client.threads.create()
    values = await client.runs.wait(
        thread["thread_id"],
        assistant_id("default"),
        input=question("What is a widget?"),
        context={"base_url": "http://127.0.0.1:9", "api_key": "x", "instructions": "Say boo."},
    )
    assert isinstance(values, dict)
    assert (values["response"]["status"], values["response"]["model"]) == ("success", "askbook-quoting")


async def test_the_form_lists_the_profiles_and_the_node_of_each_option(client: LangGraphClient) -> None:
    schemas = await client.assistants.get_schemas(assistant_id("default"))
    options = (schemas["context_schema"] or {})["properties"]
    assert options["profile"]["anyOf"][0]["enum"] == profile_names()
    nodes = {name: option["langgraph_nodes"] for name, option in options.items()}
    graph = await client.assistants.get_graph(assistant_id("default"))
    assert {node for named in nodes.values() for node in named} <= {str(node["id"]) for node in graph["nodes"]}
    assert (nodes["top_k"], nodes["temperature"]) == (["RETRIEVING", "tools"], ["GENERATING"])


async def test_a_turn_is_stepped_through_its_passages_edited_and_resumed(client: LangGraphClient) -> None:
    """As Studio does it: stop before a node, change the state there, go on; then fork from an earlier step."""
    thread = (await client.threads.create())["thread_id"]
    asked = question("How many teeth does a widget have?")
    await client.runs.wait(thread, "agent", input=asked, interrupt_before=["GENERATING"])
    stopped = await client.threads.get_state(thread)
    assert (stopped["next"], stopped["values"]["phase"]) == (["GENERATING"], "GENERATING")  # type: ignore[call-overload]
    passages = stopped["values"]["passages"]  # type: ignore[call-overload]
    edited = [{**passages[0], "text": "Every widget has exactly nine teeth.", "title": "Edited"}]
    await client.threads.update_state(thread, {"passages": edited})
    values: Any = await client.runs.wait(thread, "agent", input=None)
    assert "exactly nine teeth" in values["response"]["plain_content"]
    assert [one["text"] for one in values["contexts"]] == ["Every widget has exactly nine teeth."]

    history = await client.threads.get_history(thread, limit=50)
    before = next(one for one in history if one["next"] == ["RETRIEVING"])
    fork: Any = await client.runs.wait(thread, "agent", input=None, checkpoint=before["checkpoint"])
    assert "exactly four teeth" in fork["response"]["plain_content"]
    assert (await client.threads.get_state(thread))["next"] == []
    again: Any = await client.runs.wait(thread, "agent", input=question("What is a gadget?"))
    assert again["response"]["turn_number"] == 2


def test_the_user_may_send_traces_and_otherwise_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, str]] = []
    monkeypatch.setattr("graph.studio.start_helper", lambda _address: None)
    monkeypatch.setattr("os.execve", lambda _path, _command, environment: started.append(environment))
    for value in (None, "true"):
        monkeypatch.delenv("LANGSMITH_TRACING", raising=False)
        if value:
            monkeypatch.setenv("LANGSMITH_TRACING", value)
        studio_main(["--port", str(free_port())])
    assert [environment["LANGSMITH_TRACING"] for environment in started] == ["false", "true"]


def test_the_helper_gives_up_when_its_server_is_gone() -> None:
    assert not wait_for(f"http://127.0.0.1:{free_port()}", server=-1)


def test_a_port_that_is_taken_is_not_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert not is_free(taken.getsockname()[1])
