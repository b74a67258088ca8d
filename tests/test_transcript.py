"""A stored conversation as it is read: its messages, its times, its tokens, its searches."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from rag.conversation.turns import messages, transcript
from rag.errors import RetrievalError
from rag.profiles.profile import load_profile
from rag.prompt.prompts import estimate_tokens, system_prompt
from tests.message_rules import problems
from tests.openai_server import Endpoint, answer
from tests.profile_wire import QUESTION, Wire

GOOD = answer("A node is ", "a process [1", "].")


@pytest.fixture
def wire(endpoint: Endpoint, tmp_path: Path) -> Wire:
    return Wire("isaac-sim", endpoint, tmp_path, thread="t")


async def test_a_question_and_its_answer_are_two_messages_each_with_its_id_and_time(wire: Wire) -> None:
    response = await wire.ask(GOOD, metadata={"course": "robotics"})
    asked, answered = (await wire.conversation("t"))["messages"]
    assert (asked["id"], asked["role"], asked["content"]) == (response.request_id, "user", QUESTION)
    assert (answered["id"], answered["role"], answered["content"]) == (response.id, "assistant", response.content)
    times = [datetime.fromisoformat(one["timestamp"]) for one in (asked, answered)]
    assert times[0] <= times[1] == datetime.fromisoformat(response.created_at)
    assert (asked["metadata"], asked["citations"]) == ({"course": "robotics"}, [])
    assert [one["id"] for one in answered["citations"]] == [one.id for one in response.citations]


async def test_each_message_counts_its_own_tokens_and_the_conversation_their_sum(wire: Wire) -> None:
    for _ in range(2):
        await wire.ask(GOOD)
    found = await wire.conversation("t")
    assert all(one["token_count"] == estimate_tokens(one["content"]) > 0 for one in found["messages"])
    assert found["total_tokens"] == sum(one["token_count"] for one in found["messages"])


async def test_messages_are_in_order_after_the_systems(wire: Wire) -> None:
    for _ in range(2):
        await wire.ask(GOOD)
    system = {"role": "system", "content": system_prompt(load_profile("isaac-sim"))}
    said = (await wire.conversation("t"))["messages"]
    assert problems([system, *said]) == []
    assert [one["timestamp"] for one in said] == sorted(one["timestamp"] for one in said)


async def test_the_last_retrieval_is_the_newest_search_with_the_chunks_of_its_turn(wire: Wire) -> None:
    for question in (QUESTION, "What is a topic?"):
        await wire.ask(GOOD, question=question)
    last = (await wire.conversation("t"))["last_retrieval"]
    assert (last["query"], last["filter_applied"], last["results_count"]) == ("What is a topic?", None, 2)
    assert [one["title"] for one in last["results"]] == ["Page 1", "Page 2"]


async def test_a_turn_whose_search_failed_leaves_the_last_retrieval_as_it_was(wire: Wire) -> None:
    await wire.ask(GOOD)
    wire.searcher.failures = [RetrievalError("index_broken", "It broke.")]
    await wire.ask(question="What is a topic?")
    assert (await wire.conversation("t"))["last_retrieval"]["query"] == QUESTION


def test_a_conversation_without_a_turn_has_nothing() -> None:
    empty = transcript("t", [], "2026-01-01T00:00:00+00:00")
    assert (empty["started_at"], empty["model"], empty["last_retrieval"]) == (None, None, None)
    assert (empty["turn_count"], empty["total_tokens"], empty["total_tokens_used"]) == (0, 0, 0)


def test_a_turn_of_an_earlier_version_was_asked_when_it_was_answered() -> None:
    turn = {"id": "2", "request_id": "1", "question": "Why?", "content": "So.", "created_at": "2026-01-01T00:00:00Z"}
    assert [one["timestamp"] for one in messages([turn])] == ["2026-01-01T00:00:00Z"] * 2
