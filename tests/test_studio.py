"""LangGraph's development server, started for real as `make studio` starts it, and asked through its SDK."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from graph.studio import is_free

ROOT = Path(__file__).parent.parent
START_SECONDS = 120  # it takes six on a quiet machine


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def server(tiny_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of its own, over the tiny book; its files go to a folder that is thrown away."""
    port = free_port()
    work = tmp_path_factory.mktemp("studio")
    (work / "langgraph.json").write_text((ROOT / "langgraph.json").read_text())
    log = (work / "log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "graph.studio", "--port", str(port)],
        cwd=work,
        env={"PATH": os.environ["PATH"], "HOME": str(work), "PYTHONPATH": str(ROOT), "ASKBOOK_HOME": str(tiny_book)},
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, process, work / "log")
        yield address
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(f"{address}/ok").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(f"the server did not start: {log.read_text()}")


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
    assert updated == ["idle", "retrieve", "generate", "idle"]
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


def test_a_port_that_is_taken_is_not_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert not is_free(taken.getsockname()[1])
