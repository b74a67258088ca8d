"""Planted keys are looked for in everything that the program shows, keeps or passes on."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler

from cli.commands import COMMANDS
from cli.session import ChatSession
from graph.agent import Agent, open_agent
from graph.storage import thread_config
from rag.profiles.effective_values import effective
from rag.settings import Settings, variables
from rag.system.trusted_files import trust
from run import main
from state import Context, InputState
from tests.fakes import AT_ONCE
from tests.homes import copied, stored
from tests.openai_server import Endpoint, answer, refuses

QUESTION = "What is a widget?"
GOOD = answer("A widget is a small part that turns a shaft [1].")
KEYS = {
    "OPENAI_API_KEY": "sk-canary-openai-0123456789",
    "GROQ_API_KEY": "gsk-canary-groq-0123456789",
    "COHERE_API_KEY": "co-canary-cohere-0123456789",
    "QDRANT_API_KEY": "qd-canary-qdrant-0123456789",
    "ASKBOOK_DATABASE_URL": "postgresql://someone:pw-canary@127.0.0.1:1/askbook",
}
CANARY = "canary"
# The key of the model's endpoint goes over the wire; the endpoint repeats it in its refusal.
TELLTALE = refuses(401, f"Incorrect API key provided: {KEYS['GROQ_API_KEY']}", "invalid_api_key")


@pytest.fixture
def home(tiny_book: Path, tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a profile that has an endpoint and a key of its own, and the keys that a run meets."""
    folder = tmp_path / "home"
    copied(tiny_book, folder)
    (folder / "profiles").mkdir()
    profile = f'extends = "default"\n[model]\nbase_url = "{endpoint.address}"\napi_key_env = "GROQ_API_KEY"\n'
    profile += '[answer]\njudge = "none"\n'  # each request of these tests is one answer
    (folder / "profiles" / "mine.toml").write_text(profile, encoding="utf-8")
    trust(folder / "profiles" / "mine.toml", profile.encode())
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBOOK_HOME", str(folder))
    for name in ("OPENAI_API_KEY", "GROQ_API_KEY"):
        monkeypatch.setenv(name, KEYS[name])
    return folder


@pytest.mark.usefixtures("home")
def test_no_key_is_in_the_settings_or_the_values_of_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    settings = Settings.from_env(None)
    said = [
        repr(settings),
        str(settings),
        settings.model_dump_json(exclude={"database_url"}),
        effective("mine", settings),
    ]
    assert CANARY not in str(said)


async def test_no_key_is_in_anything_of_a_run(
    home: Path, endpoint: Endpoint, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.script += [GOOD, TELLTALE, GOOD]
    traces = RunCollectorCallbackHandler()
    async with open_agent(Settings.from_env(None), "mine", retries=AT_ONCE) as agent:
        said: list[Any] = [repr(agent.services), vars(agent.services), agent.services.parts("mine")]
        said += [event async for event in agent.stream(QUESTION, thread_id="t")]
        said += [await _traced(agent, traces), await _traced(agent, traces)]  # one fails, one does not
        said.append(await agent.graph.aget_state(thread_config("t")))
        session = ChatSession(agent, Settings.from_env(None), "mine")
        await session.resume("t")
        await COMMANDS["export"].run(session, str(tmp_path / "export"))
    assert [request.headers["authorization"] for request in endpoint.requests] == [f"Bearer {KEYS['GROQ_API_KEY']}"] * 3
    assert "Authentication failed" in str(said)
    traced = "".join(_whole(run) for run in traces.traced_runs)
    assert "AskbookError" in traced
    assert "EndpointChatModel" in traced
    files = [stored(home).decode("latin-1"), stored(tmp_path, "export*").decode("latin-1")]
    for text in (str(said), traced, caplog.text, *files):
        assert text
        assert CANARY not in text


def _whole(run: Any) -> str:
    """A run of a trace with those inside it, which its own dump leaves out."""
    return str(run.model_dump()) + "".join(_whole(child) for child in run.child_runs)


async def _traced(agent: Agent, traces: RunCollectorCallbackHandler) -> Any:
    """A turn through the graph itself, with a tracer that sees everything in it."""
    question = {"messages": [{"role": "user", "content": QUESTION}]}
    return await agent.graph.ainvoke(
        cast("InputState", question), {**thread_config("t"), "callbacks": [traces]}, context=Context(profile="mine")
    )


@pytest.mark.usefixtures("home")
def test_no_key_is_in_what_the_commands_print(
    endpoint: Endpoint, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", KEYS["QDRANT_API_KEY"])
    endpoint.script += [GOOD, TELLTALE, TELLTALE]
    arguments = ["--profile", "mine", "--json"]
    assert main(["ask", QUESTION, "--thread", "t", *arguments]) == 0
    assert main(["ask", QUESTION, "--thread", "t", *arguments]) == 1
    assert main(["doctor", *arguments]) == 1
    assert main(["threads", "export", "t", "--json"]) == 0
    assert endpoint.script == []
    shown = capfd.readouterr()
    assert '"code": "wrong_key"' in shown.out
    assert CANARY not in shown.out + shown.err
