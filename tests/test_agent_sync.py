"""The agent without an event loop of the caller's own."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from flask import Flask, Response
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from graph.agent_sync import SyncAgent, open_agent_sync
from graph.storage import thread_config
from rag.errors import UsageError
from rag.settings import Settings
from tests.command_line import QUESTION
from tests.homes import copied

INPUT: Any = {"messages": [{"role": "user", "content": QUESTION}]}


@pytest.fixture(scope="module")
def settings(tiny_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(home=copied(tiny_book, tmp_path_factory.mktemp("sync") / "home"))


@pytest.fixture(scope="module")
def agent(settings: Settings) -> Iterator[SyncAgent]:
    with open_agent_sync(settings) as opened:
        yield opened


def test_every_method_waits_for_its_result(agent: SyncAgent) -> None:
    assert agent.ask(QUESTION, thread_id="all").status == "success"
    assert agent.retry("all").turn_number == 1
    assert [*agent.stream_retry("all")][-1].response is not None
    assert "all" in agent.threads()
    assert agent.conversation("all")["turn_count"] == 1
    assert agent.last_retrieval("all") is not None
    assert agent.unfinished("all") is None
    assert agent.undo("all") == QUESTION
    agent.clear("all")
    with pytest.raises(UsageError):
        agent.conversation("all")


def test_a_stream_is_an_iterator_of_events(agent: SyncAgent) -> None:
    events = [*agent.stream(QUESTION)]
    response = events[-1].response
    assert response is not None
    assert "".join(event.data["text"] for event in events if event.type == "sentence") == response.content


def test_a_stream_that_is_left_early_can_be_resumed(agent: SyncAgent) -> None:
    stream: Any = agent.stream(QUESTION, thread_id="early")
    next(event for event in stream if event.type == "retrieval")
    stream.close()
    assert agent.unfinished("early") in (QUESTION, None)  # None where the turn was quicker than the cancellation
    rest = [*agent.resume("early")] if agent.unfinished("early") else []
    assert not rest or rest[-1].response is not None
    assert agent.ask(QUESTION, thread_id="early").status == "success"


def test_the_graph_has_its_synchronous_methods(agent: SyncAgent) -> None:
    config = thread_config("graph")
    assert agent.graph.invoke(INPUT, config)["response"]["status"] == "success"
    modes = {mode for mode, _ in agent.graph.stream(INPUT, config, stream_mode=["messages", "values"])}
    assert modes == {"messages", "values"}
    assert agent.graph.get_state(config).values["turn_number"] == 2
    assert len([*agent.graph.get_state_history(config)]) > 2
    agent.graph.update_state(config, {"turn_number": 7}, as_node="IDLE")
    assert agent.graph.get_state(config).values["turn_number"] == 7


def test_the_graph_is_a_node_of_a_synchronous_graph(agent: SyncAgent) -> None:
    parent = StateGraph(MessagesState).add_node("book", agent.graph).add_edge(START, "book")
    config = thread_config("parent")
    result = parent.compile(checkpointer=InMemorySaver()).invoke({"messages": [HumanMessage(QUESTION)]}, config)
    assert "four teeth" in result["messages"][-1].text


def test_threads_share_an_agent(agent: SyncAgent) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda number: agent.ask(QUESTION, thread_id=f"pool-{number % 2}"), range(8))]
    assert {answer.status for answer in answers} == {"success"}
    assert sorted(answer.turn_number for answer in answers) == [1, 1, 2, 2, 3, 3, 4, 4]


async def test_a_notebook_may_use_it_inside_its_running_loop(agent: SyncAgent) -> None:
    assert asyncio.get_running_loop()
    assert agent.ask(QUESTION).status == "success"


def test_what_opening_raises_comes_out() -> None:
    with pytest.raises(UsageError, match="nobody"):
        open_agent_sync(Settings(), profile="nobody")


def test_a_closed_agent_says_so_and_leaves_no_thread(settings: Settings) -> None:
    before = set(threading.enumerate())
    agent = open_agent_sync(settings)
    agent.ask(QUESTION)
    agent.close()
    agent.close()
    with pytest.raises(UsageError) as caught:
        agent.ask(QUESTION)
    assert caught.value.code == "closed"
    left = set(threading.enumerate()) - before
    for thread in left:
        thread.join(10)  # SQLite's thread ends a moment after its connection is closed
    assert not any(thread.is_alive() for thread in left)


def test_a_forked_worker_is_told_to_open_its_own(agent: SyncAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(UsageError, match="another process") as caught:
        agent.ask(QUESTION)
    assert "each worker" in caught.value.hint
    with pytest.raises(UsageError):
        next(agent.stream(QUESTION))


def test_flask_streams_and_answers(agent: SyncAgent) -> None:
    app = Flask(__name__)

    @app.get("/ask")
    def ask() -> Response:
        texts = (event.data["text"] for event in agent.stream(QUESTION) if event.type == "sentence")
        return Response(texts, mimetype="text/plain")

    with ThreadPoolExecutor(4) as pool:
        pages = [*pool.map(lambda _: app.test_client().get("/ask").get_data(as_text=True), range(4))]
    assert all("four teeth" in page for page in pages)


def test_fastapi_answers_in_its_worker_threads(agent: SyncAgent) -> None:
    app = FastAPI()

    @app.get("/ask")
    def ask() -> str:
        return agent.ask(QUESTION).content

    with TestClient(app) as client, ThreadPoolExecutor(4) as pool:
        pages = [*pool.map(lambda _: client.get("/ask").text, range(4))]
    assert all("four teeth" in page for page in pages)
